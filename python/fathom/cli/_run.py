"""``fathom run``: DiskSpd's arguments, or a workload by name, measured and saved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import (
    JsonOption,
    RunnerOption,
    StoreOption,
    chosen_runner,
    exit_code,
    fail,
    opened_store,
)
from fathom.cli._exit_codes import EXIT_FAILED
from fathom.cli._progress import live_progress
from fathom.cli._shown import console, runs_table, show_result
from fathom.cli._workload_argument import named_workload, single_step, split_rest

if TYPE_CHECKING:
    from fathom import EventCallback, Result
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
    """
    arguments = context.args
    try:
        other = chosen_runner(runner)
        if other:
            # Of several runs, another tool makes none: they are an experiment of our engine.
            arguments, name = single_step(arguments)
            label = label or name
        workload = None if other else named_workload(arguments)
        if no_save:
            _measure(workload, arguments, None, label, other.get("runner"), as_json=as_json)
            return
        # Opened first: a store that cannot be used is told before anything is measured.
        with opened_store(store) as opened:
            opened.check_writable()
            _measure(workload, arguments, opened, label, other.get("runner"), as_json=as_json)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _measure(  # noqa: PLR0913 - One for each thing that the command was told.
    workload: Workload | None,
    arguments: list[str],
    store: Store | None,
    label: str | None,
    runner: str | None,
    *,
    as_json: bool,
) -> None:
    if runner is not None:
        _single(arguments, store, label or "", None, runner, as_json=as_json)
        return
    with live_progress(quiet=as_json) as on_event:
        if workload is None:
            _single(arguments, store, label or "", on_event, None, as_json=as_json)
        else:
            _steps(workload, arguments, store, label or workload.name, on_event, as_json)


def _single(  # noqa: PLR0913 - The same.
    arguments: list[str],
    store: Store | None,
    label: str,
    on_event: EventCallback | None,
    runner: str | None,
    *,
    as_json: bool,
) -> None:
    from fathom.experiments import measure  # noqa: PLC0415 - Only needed to measure.
    from fathom.runners import foreign_runner  # noqa: PLC0415 - The same.

    def show(result: Result) -> None:
        if as_json:
            typer.echo(json.dumps(dict(result.raw), indent=2))
        else:
            show_result(result)

    other = foreign_runner(runner, store)
    if other is None:
        done = measure(store, arguments, label=label, on_event=on_event, show=show)
    else:
        done = other.measure(arguments, label=label, show=show)
    if store is not None:
        # The result alone goes to the standard output, as its schema has it.
        typer.echo(f"Saved as run {done.run_id} in {store.name}", err=as_json)
    if done.error is not None:
        fail(done.error, exit_code(done.error))


def _steps(  # noqa: PLR0913, PLR0917 - One for each thing that the command was told.
    workload: Workload,
    arguments: list[str],
    store: Store | None,
    label: str,
    on_event: EventCallback | None,
    as_json: bool,  # noqa: FBT001 - Given by the one caller.
) -> None:
    """Run each step of a workload; several are an experiment."""
    from fathom.experiments import run_workload  # noqa: PLC0415 - Only needed to measure.

    wishes, targets = split_rest(arguments)
    results: list[Result] = []

    def show(step: str, result: Result) -> None:
        results.append(result)
        if not as_json:
            typer.echo(f"{workload.title}{': ' if step else ''}{step}")
            show_result(result)

    done = run_workload(store, workload, wishes, targets, label=label, on_event=on_event, show=show)
    if as_json:
        raw = [dict(result.raw) for result in results]
        typer.echo(json.dumps(raw if len(workload.steps) > 1 else raw[0], indent=2))
    elif store is not None and done.experiment_id is not None:
        found = store.runs.list(experiment_id=done.experiment_id)
        console().print(runs_table(reversed(found)))
    if store is not None and done.experiment_id is not None:
        typer.echo(f"Saved as experiment e{done.experiment_id} in {store.name}", err=as_json)
    elif store is not None:
        typer.echo(f"Saved as run {done.run_ids[0]} in {store.name}", err=as_json)
    if done.failures:
        words = "; ".join(f"{step}: {why}" if step else why for step, why in done.failures.items())
        fail(words, EXIT_FAILED)
