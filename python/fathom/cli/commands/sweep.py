"""``fathom sweep``: every combination of parameters, measured or known from its neighbours."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import experiments, tools
from fathom._finite import json_words
from fathom._permission import typed
from fathom.cli.commands._foresight import some_cannot_run
from fathom.cli.commands._resumed import (
    going_on,
    refuse_what_a_plan_has,
)
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
from fathom.cli.exit_codes import EXIT_FAILED
from fathom.cli.fleet_choice import resumed_by, tell_fleet, then_resumed_by
from fathom.cli.views.experiment_line import experiment_line
from fathom.cli.views.sweep import show_forecast, show_sweep
from fathom.experiments import sweep as sweeps
from fathom.experiments.session import one_reason

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.experiments.sweep.experiment import Sweep
    from fathom.experiments.sweep.plan import Forecast, SweepPlan
    from fathom.store import Store

__all__ = ["sweep"]

_WARM_UP_S = 5


def sweep(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    block: Annotated[str | None, typer.Option(help="Block sizes (-b): 4K..2M or 4K,64K.")] = None,
    threads: Annotated[str | None, typer.Option(help="Threads per target (-t): 1..64.")] = None,
    depth: Annotated[str | None, typer.Option(help="Outstanding I/Os (-o): 1..64.")] = None,
    write: Annotated[str | None, typer.Option(help="Percent of writes (-w): 0,30,100.")] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Any other option and its values: --rate=1000..8000 or -rs=10,50,100."),
    ] = None,
    duration: Annotated[
        int | None,
        typer.Option(help="Measure every cell for so long, rather than adaptively."),
    ] = None,
    warm_up: Annotated[
        int | None, typer.Option(help="Not measured, before each cell: 5s with --duration, else 0.")
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="A cell ends once its mean is known at this level, in percent ...")
    ] = 95.0,
    precision: Annotated[float, typer.Option(help="... to within so many percent.")] = 2.0,
    longest: Annotated[int, typer.Option(help="... or after so long.")] = 10,
    tolerance: Annotated[
        float,
        typer.Option(
            help="Leave out cells that the others tell to within so many percent; 0: none."
        ),
    ] = -1.0,
    seed: Annotated[int, typer.Option(help="Of the order of the cells.")] = 0,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Go on with a sweep, and try again what failed: e7, its experiment, or last."
        ),
    ] = None,
    runner: RunnerOption = None,
    label: Annotated[str | None, typer.Option(help="A word to find the sweep by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure all combinations of parameters, such as --block 4K..2M --threads 1..64 --depth 1..64.

    A range doubles; a list has commas. The rest are DiskSpd's arguments, or a target alone, which
    is read at random past the cache. Cells are measured in an order by chance until their mean is
    known; those that the others tell are interpolated, and marked so.
    """
    arguments, permission = typed(context.args)
    try:
        named = {"block": block, "threads": threads, "depth": depth, "write": write}
        if resume is not None:
            more = {
                "vary": vary,
                "duration": duration,
                "dry-run": dry_run,
                "label": label,
            }
            refuse_what_a_plan_has("sweep", arguments, {**named, **more})
            _resume(resume, store, runner, permission, as_json=as_json)
            return
        axes = experiments.parse_axes(
            {name: one for name, one in named.items() if one is not None}, vary or []
        )
        other = chosen_runner(runner)
        # Another tool does not end by itself once a mean is known.
        fixed = duration is not None or bool(other)
        plan, forecast = sweeps.plan_sweep(
            arguments,
            axes,
            mode="fixed" if fixed else "adaptive",
            duration_s=longest if duration is None else duration,
            warm_up_s=(_WARM_UP_S if fixed else 0) if warm_up is None else warm_up,
            confidence=confidence / 100,
            precision=precision / 100,
            tolerance=((0.0 if fixed else 5.0) if tolerance == -1 else tolerance) / 100,
            seed=seed,
            **other,
        )
        if dry_run:
            _foresee((plan, forecast), permission, as_json=as_json)
            return
        some_cannot_run(plan.typical_loads(), permission, plan.runner)
        with opened_store(store) as opened:
            _begin(opened, (plan, forecast), label or "", permission, as_json=as_json)
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(f"The cells that are done are saved: {resumed_by('sweep')}", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _foresee(planned: tuple[SweepPlan, Forecast], permission: Permission, *, as_json: bool) -> None:
    """Say what would be measured and what cannot be, and end as the sweep will."""
    plan, found = planned

    def forecast() -> None:
        show_forecast(plan, found, as_json=as_json)

    if some_cannot_run(plan.typical_loads(), permission, plan.runner, forecast=forecast):
        raise typer.Exit(EXIT_FAILED)


def _begin(
    store: Store,
    planned: tuple[SweepPlan, Forecast],
    label: str,
    permission: Permission,
    *,
    as_json: bool,
) -> None:
    plan, forecast = planned
    if not as_json:
        show_forecast(plan, forecast, short=True)
    with experiment_line("cells", quiet=as_json) as tell:
        found = sweeps.sweep(
            store,
            tools.runner_named(plan.runner, store, permission),
            plan,
            label=label,
            on_progress=tell,
        )
    _end(store, found, as_json=as_json)


def _resume(
    reference: str,
    where: str | None,
    given: str | None,
    permission: Permission,
    *,
    as_json: bool,
) -> None:
    with opened_store(where, make=False) as store:
        experiment_id, runner = going_on(store, "sweep", reference, given, permission)
        with experiment_line("cells", quiet=as_json) as tell:
            found = sweeps.resume_sweep(store, experiment_id, runner, on_progress=tell)
        _end(store, found, as_json=as_json)


def _end(store: Store, found: Sweep, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words(asdict(found)))
    else:
        tell_fleet()
        show_sweep(found)
        typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")
    if found.ended_by is not None:
        fail(found.ended_by + then_resumed_by("sweep", found.experiment_id), EXIT_FAILED)
    if found.count("failed"):
        failed = found.count("failed")
        why = next(one.failure for one in found.cells if one.source == "failed")
        again = (
            f"once that is mended, try again with: {resumed_by('sweep', f'e{found.experiment_id}')}"
        )
        fail(
            f"{failed} of {len(found.cells)} cells failed (the first: {one_reason(why)}); {again}",
            EXIT_FAILED,
        )
