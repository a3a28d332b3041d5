"""``fathom serve``: pages, an API and metrics of what is measured here."""

from __future__ import annotations

import getpass
import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

import fathom
from fathom import web
from fathom._extras import install_line, missing_of
from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.plain import unguarded
from fathom.cli.views.runs import console, text_table
from fathom.web import ROLES, Accounts, Role, Settings, server_folder

__all__ = ["app"]

_DEFAULT_PORT = 8765
app = typer.Typer(help="Serve pages, an API and metrics of what is measured here.")
user_app = typer.Typer(help="The users of a server on other addresses.", no_args_is_help=True)
token_app = typer.Typer(help="Tokens for programs, such as Prometheus.", no_args_is_help=True)
app.add_typer(user_app, name="user")
app.add_typer(token_app, name="token")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]
_Folder = Annotated[
    Path | None,
    typer.Option(help="The server's folder; otherwise serve beside the usual store."),
]
_RoleOption = Annotated[str, typer.Option("--role", help="What it may do: look, or measure, too.")]


@app.callback(invoke_without_command=True)
def serve(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    address: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen; other addresses than 127.0.0.1 need a certificate and users.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="NUMBER", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = _DEFAULT_PORT,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The certificate in PEM.", show_default=False),
    ] = None,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its key in PEM.", show_default=False)
    ] = None,
    answers_to: Annotated[
        list[str] | None,
        typer.Option(
            "--answers-to",
            metavar="HOST",
            help="A further name under which it answers. May stand several times.",
        ),
    ] = None,
    opens: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser of this machine.")
    ] = False,
    folder: _Folder = None,
    store: StoreOption = None,
) -> None:
    """Serve pages, an API and metrics of what is measured here.

    It prints the address with a token, which lets in whoever has it, and answers until Ctrl-C. Runs
    that were started through it go on when it ends, and it finds them again.
    """
    if context.invoked_subcommand is not None:
        return
    if missing := missing_of("web"):
        fail(f"fathom serve needs {' and '.join(missing)}: {install_line('web')}", EXIT_FAILED)

    def tell(place: str) -> None:
        # Whoever reads this is to have the token, which is hidden everywhere else.
        typer.echo(f"Fathom is at {place}", file=unguarded(sys.stdout))
        sys.stdout.flush()
        if opens:
            webbrowser.open(place)

    # A service manager ends it so; what runs goes on.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with opened_store(store) as opened:
            settings = Settings(
                address,
                port,
                server_folder(folder),
                store or os.environ.get("FATHOM_STORE"),
                certificate,
                key,
                tuple(answers_to or ()),
            )
            web.serve(settings, opened, tell)
    except fathom.FathomError as error:
        fail(error, exit_code(error))


@user_app.command("add")
def add_user(
    name: _Name,
    *,
    role: _RoleOption = "look",
    replace: Annotated[
        bool, typer.Option("--replace", help="Give a user another password and role.")
    ] = False,
    folder: _Folder = None,
) -> None:
    """Add a user; the password is prompted for, or read as a line of standard input."""
    _require_extra()
    with _told():
        accounts = Accounts(server_folder(folder))
        accounts.add_user(name, _password(), _role(role), replace=replace)
    typer.echo(f"added user {name}, who may {_may(role)}")


@user_app.command("list")
def list_users(*, folder: _Folder = None, as_json: JsonOption = False) -> None:
    """List the users."""
    with _told():
        found = Accounts(server_folder(folder)).users()
    _show([(one.name, one.role) for one in found], as_json=as_json)


@user_app.command("remove")
def remove_user(name: _Name, *, folder: _Folder = None) -> None:
    """Remove a user, whose sessions end at once."""
    with _told():
        Accounts(server_folder(folder)).remove("users", name)
    typer.echo(f"removed user {name}")


@token_app.command("add")
def add_token(name: _Name, *, role: _RoleOption = "look", folder: _Folder = None) -> None:
    """Add a token for a program, and print it, once: Authorization: Bearer TOKEN."""
    with _told():
        token = Accounts(server_folder(folder)).add_token(name, _role(role))
    typer.echo(token)


@token_app.command("list")
def list_tokens(*, folder: _Folder = None, as_json: JsonOption = False) -> None:
    """List the tokens by name; what they are is kept nowhere."""
    with _told():
        found = Accounts(server_folder(folder)).tokens()
    _show([(one.name, one.role) for one in found], as_json=as_json)


@token_app.command("remove")
def remove_token(name: _Name, *, folder: _Folder = None) -> None:
    """Remove a token, which lets in nobody any more."""
    with _told():
        Accounts(server_folder(folder)).remove("tokens", name)
    typer.echo(f"removed token {name}")


class _told:  # noqa: N801 - It reads as a word in front of what it is about.
    """Ends the command in words if something of Fathom's goes wrong."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, fathom.FathomError):
            fail(error, EXIT_INVALID)


def _require_extra() -> None:
    if missing := missing_of("web"):
        fail(f"users need {' and '.join(missing)}: {install_line('web')}", EXIT_FAILED)


def _role(words: str) -> Role:
    found = next((one for one in ROLES if one == words), None)
    if found is None:
        fail(f"{words!r} is no role: {' or '.join(ROLES)}", EXIT_INVALID)
    return found


def _may(role: str) -> str:
    return "look and measure" if role == "measure" else "look"


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    given = getpass.getpass("password: ")
    if getpass.getpass("again: ") != given:
        fail("the passwords differ; nothing was changed", EXIT_INVALID)
    return given


def _show(rows: list[tuple[str, str]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words([{"name": name, "role": role} for name, role in rows]))
        return
    console().print(text_table("", ("name", "role"), [[*row] for row in rows]))
