"""What the guard says, before anything begins, of the loads that an experiment would run."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

import fathom
from fathom import tools
from fathom._hanging import LOOK_S, within
from fathom.cli.common import is_there
from fathom.cli.exit_codes import EXIT_REFUSED
from fathom.experiments.first_look import FirstLook, look_at, refusal
from fathom.units import MIB, clock_words, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fathom._permission import Permission

    _Explain = Callable[[Sequence[str]], list[Any]]

__all__ = [
    "explaining",
    "foretold_words",
    "refusal",
    "refuse_before_a_store",
    "refuse_what_cannot_run",
    "some_cannot_run",
]

# Less is written before long anywhere.
_MUCH_BYTES = 64 * MIB
# What a slow and a fast target write.
_RATES_MIB_PER_S = (20, 1000)


def foretold_words(seconds: float, *, ends_by_amount: bool) -> str:
    """Return how long runs take, in words that say where the target's speed decides it."""
    if not ends_by_amount:
        return f"about {clock_words(seconds)}"
    return (
        f"{clock_words(seconds)} at most (each ends after so many I/Os or bytes, so that the "
        "target's speed decides how long it takes; the first runs tell it)"
    )


@contextmanager
def explaining(permission: Permission, runner: str | None) -> Iterator[_Explain]:
    """Return what tells what would be done by a load; with a fleet, what each host tells of it.

    It raises as ``fathom.explain``.
    """
    fleet = tools.fleet_named(runner)
    if fleet is None:
        yield lambda load: [
            fathom.explain(load, overwrite=permission.overwrite, allow_write=permission.allow_write)
        ]
        return
    many = tools.fleet_runner(None, fleet, permission)
    try:
        yield lambda load: [*many.explain(load).values()]
    finally:
        many.close()


def refuse_what_cannot_run(
    loads: Iterable[Sequence[str]],
    permission: Permission,
    runner: str | None,
    *,
    is_asked: bool = False,
    forecast: Callable[[], None] | None = None,
) -> None:
    """Look at loads as each run will, before anything is measured; nothing is made or written.

    Dry runs and runs have this one look. Where what would be done is asked (``is_asked``, or with
    a ``forecast``, which shows it), what the guard says is shown behind it, and ends the command
    with the exit code of a refusal. There is no forecast of what cannot be run.

    Raises
    ------
    RefusedError
        If the guard would refuse one of them.
    InvalidRequestError
        If one of them cannot be run.

    """
    look = _looked(loads, permission, runner)
    _judge(look, is_asked=is_asked, forecast=forecast)


def refuse_before_a_store(
    where: str | None, load: Sequence[str], permission: Permission, runner: str | None
) -> None:
    """Look at the first load where there is no store yet: none is made for what cannot be run.

    Where there is one, the run itself looks; this would only look twice.

    Raises
    ------
    RefusedError
        If the guard would refuse it.
    InvalidRequestError
        If it cannot be run.
    HangingError
        If a target of this host does not answer; the run itself waits as long as --io-timeout says.

    """
    if not is_there(where):
        with warnings.catch_warnings():
            # The run itself tells them.
            warnings.simplefilter("ignore")
            look = _looked_soon(load, permission, runner)
        look.raise_wrong()
        look.raise_refused()


def some_cannot_run(
    loads: Iterable[Sequence[str]],
    permission: Permission,
    runner: str | None,
    *,
    forecast: Callable[[], None] | None = None,
) -> bool:
    """Look as ``refuse_what_cannot_run``, and say which loads others are measured without.

    Raises
    ------
    RefusedError
        As there.
    InvalidRequestError
        As there, if none of them can be run.

    """
    look = _looked(loads, permission, runner)
    _judge(look, some_can_run=True, forecast=forecast)
    for words in dict.fromkeys(map(str, look.wrong)):
        typer.echo(f"note: not all of it can be measured: {words}", err=True)
    return bool(look.wrong)


def _looked_soon(load: Sequence[str], permission: Permission, runner: str | None) -> FirstLook:
    """Look by the engine of this host for a few seconds; another tool or a fleet takes its time."""
    if runner is not None:
        return _looked([load], permission, runner)
    return within(LOOK_S, "look at the targets", lambda: _looked([load], permission, None))


def _looked(
    loads: Iterable[Sequence[str]], permission: Permission, runner: str | None
) -> FirstLook:
    with explaining(permission, runner) as explain:
        return look_at(loads, explain)


def _judge(
    look: FirstLook,
    *,
    some_can_run: bool = False,
    is_asked: bool = False,
    forecast: Callable[[], None] | None = None,
) -> None:
    """Raise, or say and end, if the guard refuses a target, or if something is wrong."""
    look.raise_wrong(some_can_run=some_can_run)
    _tell_made(look)
    if forecast is not None:
        forecast()
    if not is_asked and forecast is None:
        look.raise_refused()
    for path, why in look.refused:
        typer.echo(f"{path}: {why}", err=True)
    if look.refused:
        raise typer.Exit(EXIT_REFUSED)


def _tell_made(look: FirstLook) -> None:
    """Say which files are made first, as no time that is foretold has that in it."""
    files = [file for one in look.told for file in one["files"]]
    sizes = {file["path"]: file["write_bytes"] for file in files}
    for path, write_bytes in sizes.items():
        if write_bytes < _MUCH_BYTES:
            continue
        slow, fast = (clock_words(write_bytes / (rate * MIB)) for rate in _RATES_MIB_PER_S)
        typer.echo(
            f"note: {path} is filled first, {size_words(write_bytes)}, which comes on top of the "
            f"time that is foretold: {fast} at {_RATES_MIB_PER_S[1]} MiB/s, {slow} at "
            f"{_RATES_MIB_PER_S[0]} MiB/s",
            err=True,
        )
