"""``fathom run``: DiskSpd's arguments, or a workload by name, measured and saved."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import fathom
from fathom._own_stores import note_store
from fathom._permission import typed
from fathom.cli.commands._workload_argument import named_workload, single_step, split_rest
from fathom.cli.common import (
    JsonOption,
    RunnerOption,
    StoreOption,
    chosen_runner,
    exit_code,
    fail,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_FAILED
from fathom.cli.views.progress import live_progress
from fathom.cli.views.runs import console, runs_table, show_result
from fathom.store.references import requested_run_number

if TYPE_CHECKING:
    from fathom import EventCallback, Result
    from fathom._permission import Permission
    from fathom.request import Request
    from fathom.store import Store
    from fathom.workloads import Workload

__all__ = ["run"]


def run(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    label: Annotated[
        str | None, typer.Option(help="A word to find the run by; of a workload, its name.")
    ] = None,
    runner: RunnerOption = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Do not save the run.")] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure, and save what was measured.

    The arguments are those of diskspd, which diskspd --help lists: fathom run -c1G -b8K -r -L x.dat

    Or a workload's name, what is to differ, and the target: fathom run sql-oltp-70 -d30 x.dat.
    fathom workloads lists them.

    Or @12: what run 12 of the store asked for, whole. Only --overwrite and --allow-write may stand
    behind it, since what was allowed then is not allowed again.
    """
    arguments, permission = typed(context.args)
    try:
        if number := _stored_run(arguments, runner):
            wish = _Wish(arguments, permission, label, None, as_json)
            with opened_store(store, make=False) as opened:
                _again(opened, number, wish, no_save=no_save)
            return
        other = chosen_runner(runner)
        if other:
            # Of several runs, another tool makes none: they are an experiment of our engine.
            arguments, name = single_step(arguments)
            label = label or name
        workload = None if other else named_workload(arguments)
        wish = _Wish(arguments, permission, label or "", other.get("runner"), as_json)
        if no_save:
            # It is not opened, and yet holds what was measured before.
            note_store(store)
            _measure(workload, None, wish)
            return
        # Opened first: a store that cannot be used is told before anything is measured.
        with opened_store(store) as opened:
            opened.check_writable()
            _measure(workload, opened, wish)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


class _Wish(NamedTuple):
    """What the command was told."""

    arguments: list[str]
    permission: Permission
    label: str | None
    runner: str | None
    as_json: bool


def _stored_run(arguments: list[str], runner: str | None) -> int | None:
    """Return the number of the run that is to be made again, if ``@12`` names one.

    Raises
    ------
    InvalidRequestError
        If something stands beside it, which would make it another run.

    """
    named = [one for one in arguments if requested_run_number(one) is not None]
    if not named:
        return None
    others = [one for one in arguments if one != named[0]]
    if runner is not None:
        others.append(f"--runner {runner}")
    if others:
        raise fathom.InvalidRequestError(
            f"{named[0]} is run again as it was, so that nothing else may be said of it: leave out "
            f"{shlex.join(others)}, or give the arguments that fathom show {named[0][1:]} lists "
            f"(a file of this name is ./{named[0]})"
        )
    return requested_run_number(named[0])


def _again(store: Store, number: int, wish: _Wish, *, no_save: bool) -> None:
    """Make a stored run again.

    Raises
    ------
    InvalidRequestError
        If the store does not know all that it asked for.

    """
    kept = store.runs.get(number)
    shown = f"; fathom show {number} lists what is known, for fathom run"
    if kept.imported is not None:
        raise fathom.InvalidRequestError(
            f"run {number} was imported, so that not all that it asked for is known{shown}"
        )
    request = kept.result.request
    if not request.knows_options:
        raise fathom.InvalidRequestError(
            f"run {number} was saved by a version that did not keep all options, such as --rate "
            f"and --skew: what is run would be a guess{shown}"
        )
    if not no_save:
        store.check_writable()
    wish = wish._replace(
        arguments=[*kept.arguments], label=kept.summary.label if wish.label is None else wish.label
    )
    with live_progress(quiet=wish.as_json) as on_event:
        _single(None if no_save else store, wish, on_event, request)


def _measure(workload: Workload | None, store: Store | None, wish: _Wish) -> None:
    if wish.runner is not None:
        _single(store, wish, None)
        return
    with live_progress(quiet=wish.as_json) as on_event:
        if workload is None:
            _single(store, wish, on_event)
        else:
            _steps(workload, store, wish, on_event)


def _single(
    store: Store | None,
    wish: _Wish,
    on_event: EventCallback | None,
    request: Request | None = None,
) -> None:
    from fathom.runners.measure import measure  # noqa: PLC0415 - Only needed to measure.
    from fathom.tools.choose import foreign_runner  # noqa: PLC0415 - The same.

    def show(result: Result) -> None:
        if wish.as_json:
            typer.echo(json.dumps(dict(result.raw), indent=2))
        else:
            show_result(result)

    other = foreign_runner(wish.runner, store, wish.permission)
    if other is None:
        done = measure(
            store,
            wish.arguments,
            request=request,
            label=wish.label or "",
            on_event=on_event,
            permission=wish.permission,
            show=show,
        )
    else:
        done = other.measure(wish.arguments, label=wish.label or "", show=show)
    if store is not None:
        # The result alone goes to the standard output, as its schema has it.
        typer.echo(f"Saved as run {done.run_id} in {store.name}", err=wish.as_json)
    if done.error is not None:
        fail(done.error, exit_code(done.error))


def _steps(
    workload: Workload, store: Store | None, wish: _Wish, on_event: EventCallback | None
) -> None:
    """Run each step of a workload; several are an experiment."""
    from fathom.experiments import run_workload  # noqa: PLC0415 - Only needed to measure.

    wishes, targets = split_rest(wish.arguments)
    results: list[Result] = []

    def show(step: str, result: Result) -> None:
        results.append(result)
        if not wish.as_json:
            typer.echo(f"{workload.title}{': ' if step else ''}{step}")
            show_result(result)

    done = run_workload(
        store,
        workload,
        wishes,
        targets,
        label=wish.label or workload.name,
        on_event=on_event,
        permission=wish.permission,
        show=show,
    )
    if wish.as_json:
        raw = [dict(result.raw) for result in results]
        typer.echo(json.dumps(raw if len(workload.steps) > 1 else raw[0], indent=2))
    elif store is not None and done.experiment_id is not None:
        found = store.runs.list(experiment_id=done.experiment_id)
        console().print(runs_table(reversed(found)))
    if store is not None and done.experiment_id is not None:
        typer.echo(f"Saved as experiment e{done.experiment_id} in {store.name}", err=wish.as_json)
    elif store is not None:
        typer.echo(f"Saved as run {done.run_ids[0]} in {store.name}", err=wish.as_json)
    if done.failures:
        words = "; ".join(f"{step}: {why}" if step else why for step, why in done.failures.items())
        fail(words, EXIT_FAILED)
