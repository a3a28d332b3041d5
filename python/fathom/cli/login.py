"""User and password for targets over the network: from a file, or typed at a terminal."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import _fathom
from fathom._addresses import protocol_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typer.core import TyperOption

__all__ = ["ask_for_password", "checked_credentials", "credentials_option", "log_in"]

_VARIABLE = "FATHOM_CREDENTIALS"
# Where servers let users in by a password.
_WITH_USERS = ("smb", "iscsi")


def checked_credentials(file: str) -> str:
    """Return the absolute path of a file of credentials that can be used.

    Raises
    ------
    InvalidRequestError
        If it cannot; no word of it is repeated.

    """
    path = str(Path(file).absolute())
    _fathom.check_credentials(path)
    return path


def _use(value: str | None) -> None:
    """Use a file from now on, also in the processes that this one starts."""
    if value is not None:
        os.environ[_VARIABLE] = checked_credentials(value)


def log_in(user: str, password: str) -> None:
    """Log in with this from now on, in this process alone."""
    _fathom.log_in(user, password)


def _with_credentials(
    *,
    credentials: Annotated[
        str | None,
        typer.Option(
            is_eager=True,
            callback=_use,
            help="User and password for servers, as mount.cifs has them, in a file with mode 0600.",
        ),
    ] = None,
) -> None:
    del credentials


def credentials_option() -> TyperOption:
    """Return ``--credentials``."""
    alone = typer.Typer(add_completion=False)
    alone.command()(_with_credentials)
    command: Any = typer.main.get_command(alone)
    (found,) = (one for one in command.params if one.name == "credentials")
    found.expose_value = False
    return found  # type: ignore[no-any-return]


def ask_for_password(arguments: Iterable[str]) -> None:
    """Ask once for the first server that wants a password, at a terminal, if none was given."""
    arguments = list(arguments)
    addresses = [one for one in arguments if protocol_of(one) in _WITH_USERS]
    is_given = any(one.startswith("--credentials") for one in arguments)
    if not addresses or is_given or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    wanted = next(filter(None, map(_fathom.login_wanted, addresses)), None)
    if wanted is None:
        return
    server, user = wanted
    user = user or typer.prompt(f"User on {server}", err=True)
    with _ended_as_by_ctrl_c():
        password = getpass.getpass(f"Password of {user} on {server}: ")
    log_in(user, password)


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Let no signal end the program while the terminal shows nothing of what is typed."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, end) for one in (signal.SIGHUP, signal.SIGQUIT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
