"""``fathom run``: DiskSpd's arguments, or a workload by name, measured and saved."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

import fathom
from fathom._own_stores import note_store
from fathom._permission import typed
from fathom.cli import commands
from fathom.cli.commands._workload_argument import named_workload, single_step
from fathom.cli.common import (
    DryRunOption,
    JsonOption,
    RunnerOption,
    StoreOption,
    chosen_runner,
    exit_code,
    fail,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.fleet_choice import chosen_fleet
from fathom.metrics_text import check_kept, kept_in
from fathom.store.references import requested_run_number, requested_runs

__all__ = ["run"]


def run(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    label: Annotated[
        str | None, typer.Option(help="A word to find the run by; of a workload, its name.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="End with exit code 5 if the run breaks this limit, and with 7 if it cannot tell: "
            "'p99<5ms', 'iops>=10000'. May stand several times."
        ),
    ] = None,
    dry_run: DryRunOption = False,
    runner: RunnerOption = None,
    metrics_file: Annotated[
        Path | None,
        typer.Option(
            "--metrics-file",
            help="Keep the live figures in this .prom file, for the node exporter's textfile "
            "collector.",
            show_default=False,
        ),
    ] = None,
    no_save: Annotated[bool, typer.Option("--no-save", help="Do not save the run.")] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure, and save what was measured.

    The arguments are those of diskspd, which diskspd --help lists: fathom run -c1G -b8K -r -L x.dat

    Or a workload's name, what is to differ, and the target: fathom run sql-oltp-70 -d30 x.dat.
    fathom workloads lists them.

    Or @12: what run 12 of the store requested, whole. Only --overwrite and --allow-write may stand
    behind it, since what was allowed then is not allowed again.
    """
    arguments, permission = typed(context.args)
    kept = ExitStack()
    try:
        limits = tuple(commands.parse_limit(one) for one in require or ())
        if not dry_run:
            kept.enter_context(kept_in(metrics_file, label or ""))
        elif metrics_file is not None:
            check_kept(metrics_file)
        if number := _stored_run(arguments, runner):
            fleet = chosen_fleet()
            name = None if fleet is None else fleet.runner_name()
            wish = commands.Wish(arguments, permission, label, name, as_json, limits)
            if dry_run:
                fail("--dry-run: fathom show lists what a stored run requested", EXIT_INVALID)
            with opened_store(store, make=False) as opened:
                commands.run_again(opened, number, wish, no_save=no_save)
            return
        other = chosen_runner(runner)
        if other:
            # Of several runs, another tool or a fleet makes none: they are an experiment of ours.
            arguments, name = single_step(arguments)
            label = label or name
        workload = None if other else named_workload(arguments)
        wish = commands.Wish(
            arguments, permission, label or "", other.get("runner"), as_json, limits
        )
        if dry_run:
            commands.foresee_run(workload, wish)
            return
        if no_save:
            # It is not opened, and yet holds what was measured before.
            note_store(store)
            commands.run_new(workload, None, wish)
            return
        commands.refuse_before_a_store(store, workload, wish)
        # Opened first: a store that cannot be used is reported before anything is measured.
        with opened_store(store) as opened:
            opened.check_writable()
            commands.run_new(workload, opened, wish)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    finally:
        kept.close()


def _stored_run(arguments: list[str], runner: str | None) -> int | None:
    """Return the number of the run that is to be made again, if ``@12`` names one.

    Raises
    ------
    InvalidRequestError
        If something stands beside it, which would make it another run.

    """
    named = requested_runs(arguments)
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
