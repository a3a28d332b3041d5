"""What all verbs share: opening the store, and ending with the right exit code."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

import fathom
from fathom import store as stores
from fathom import tools
from fathom.cli.exit_codes import (
    EXIT_FAILED,
    EXIT_FAULTY,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_NOT_SAVED,
    EXIT_REFUSED,
)
from fathom.cli.fleet_choice import chosen_fleet
from fathom.store.errors import BadNameError, NoStoreError, NotFoundError, NotSavedError
from fathom.store.where import store_file

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = [
    "DryRunOption",
    "JsonOption",
    "LaterStore",
    "RedactOption",
    "RunnerOption",
    "StoreOption",
    "chosen_runner",
    "fail",
    "is_there",
    "listed_store",
    "opened_store",
]

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        envvar="FATHOM_STORE",
        help="The store: a file, or postgresql://user@host/database; "
        "otherwise a file in the user's data folder.",
    ),
]
RunnerOption = Annotated[
    str | None,
    typer.Option(
        "--runner",
        metavar="fio|PATH",
        help="Measure with another tool: fio, or the DiskSpd at this path.",
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would do and how long it would take.")
]
RedactOption = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Put names such as host-1 in place of hosts, serial numbers, paths and users.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def chosen_runner(name: str | None) -> dict[str, str]:
    """Return what a plan keeps of a runner that is not ours, after finding it; else nothing.

    A fleet (``--fleet``) is one, too.

    Raises
    ------
    InvalidRequestError
        If there is no such tool.

    """
    fleet = chosen_fleet()
    if fleet is not None:
        if name is not None:
            raise fathom.InvalidRequestError(
                "--runner: a fleet measures with Fathom's own engine; leave out one of both"
            )
        return {"runner": fleet.runner_name(), "tool_version": f"a fleet ({fleet.address})"}
    if name is None:
        return {}

    found = tools.foreign_runner(name, None)
    return {} if found is None else {"runner": name, "tool_version": found.name}


def is_there(where: str | None) -> bool:
    """Whether there is a store already; a server's database is taken to be one."""
    file = store_file(where)
    return file is None or file.exists()


def fail(error: BaseException | str, code: int) -> NoReturn:
    """Say what is wrong, and end."""
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(code)


def exit_code(error: BaseException) -> int:
    """Return the exit code that stands for an error."""
    if isinstance(error, fathom.RefusedError):
        return EXIT_REFUSED
    if isinstance(error, fathom.DataFaultError):
        return EXIT_FAULTY
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, NotSavedError):
        return EXIT_NOT_SAVED
    wrong = isinstance(error, fathom.InvalidRequestError | NotFoundError | BadNameError)
    return EXIT_INVALID if wrong else EXIT_FAILED


@contextmanager
def opened_store(where: str | None, *, make: bool = True) -> Iterator[stores.Store]:
    """Return the store; whatever of Fathom's goes wrong with it ends the command in words."""
    try:
        with stores.Store(where, make=make) as store:
            yield store
    except fathom.FathomError as error:
        fail(error, exit_code(error))


class LaterStore(AbstractContextManager["LaterStore"]):
    """A store that is opened when it is needed, and made only for what is to be saved in it."""

    def __init__(self, where: str | None) -> None:
        """Take where it is, or is to be."""
        self._where = where
        self._opened: ExitStack = ExitStack()
        self._store: stores.Store | None = None

    def __exit__(self, *error: object) -> None:
        """Close it, if it was opened."""
        self._opened.close()

    def known(self) -> stores.Store | None:
        """Return it if there is one already."""
        return self.made() if self._store or is_there(self._where) else None

    def made(self) -> stores.Store:
        """Return it, and make it if there is none; what goes wrong ends the command in words."""
        if self._store is None:
            self._store = self._opened.enter_context(opened_store(self._where))
        return self._store


@contextmanager
def listed_store(where: str | None, *, as_json: bool = False) -> Iterator[stores.Store]:
    """Return a store that is listed; where there is none yet, say so, list nothing, and end well.

    Who only reads makes no store: ``opened_store(where, make=False)`` ends as for what is not
    found, since something in it was requested.
    """
    try:
        store = stores.Store(where, make=False)
    except NoStoreError as error:
        if as_json:
            typer.echo("[]")
        typer.echo(str(error), err=as_json)
        raise typer.Exit from error
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    try:
        with store:
            yield store
    except fathom.FathomError as error:
        fail(error, exit_code(error))
