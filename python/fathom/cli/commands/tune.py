"""``fathom tune``: the threads and the queue depth that serve best."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import tools
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
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.fleet_choice import resumed_by, tell_fleet, then_resumed_by
from fathom.cli.views.experiment_line import experiment_line
from fathom.cli.views.tune import show_tune, show_tune_forecast
from fathom.experiments import tune as tuning
from fathom.units import LATENCY_UNITS

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.experiments.tune.plan import TunePlan
    from fathom.experiments.tune.result import Tuning
    from fathom.store import Store

__all__ = ["tune"]

_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)")
_MOST_THREADS = 64


def tune(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    threads: Annotated[
        str | None,
        typer.Option(help="Threads to choose from; default: 1 to twice the CPUs, at most 64."),
    ] = None,
    depth: Annotated[str, typer.Option(help="Outstanding I/Os of each thread.")] = "1..128",
    p99: Annotated[
        str | None,
        typer.Option(help="The greatest throughput with at most this 99th percentile: 2ms."),
    ] = None,
    mean: Annotated[
        str | None, typer.Option(help="The greatest throughput with at most this mean: 500us.")
    ] = None,
    longest: Annotated[int, typer.Option(help="The longest time of a run.")] = 10,
    precision: Annotated[
        float, typer.Option(help="A run ends once its mean is known to so many percent.")
    ] = 2.0,
    grow: Annotated[
        bool,
        typer.Option(
            help="Widen a range (twice as far, twice at most) where the best lies at its end."
        ),
    ] = True,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None,
        typer.Option(help="Go on with a tuning that was ended: e7, its experiment, or last."),
    ] = None,
    runner: RunnerOption = None,
    label: Annotated[str | None, typer.Option(help="A word to find the runs by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Find the threads and the queue depth of the knee, or under a limit of latency, and say why.

    The knee is the least latency within 3 % of the greatest throughput, or of the greatest that
    keeps the limit. The rest are DiskSpd's arguments, of which -t or -o fix one of both, or a
    target alone, which is read at random.
    """
    arguments, permission = typed(context.args)
    try:
        if resume is not None:
            named = {"threads": threads, "p99": p99, "mean": mean, "label": label}
            refuse_what_a_plan_has("tune", arguments, {**named, "dry-run": dry_run})
            _resume(resume, store, runner, permission, as_json=as_json)
            return
        plan = tuning.plan_tune(
            arguments,
            threads or f"1..{min(2 * (os.cpu_count() or 1), _MOST_THREADS)}",
            depth,
            goal=_goal(p99, mean),
            longest_s=longest,
            precision=precision / 100,
            grow=grow,
            **chosen_runner(runner),
        )
        if dry_run:
            _foresee(plan, permission, as_json=as_json)
            return
        some_cannot_run(plan.typical_loads(), permission, plan.runner)
        with opened_store(store) as opened:
            _begin(opened, plan, label or "", permission, as_json=as_json)
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(f"The runs that are done are saved: {resumed_by('tune')}", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _foresee(plan: TunePlan, permission: Permission, *, as_json: bool) -> None:
    def forecast() -> None:
        show_tune_forecast(plan, plan.forecast(), as_json=as_json)

    some_cannot_run(plan.typical_loads(), permission, plan.runner, forecast=forecast)


def _begin(
    store: Store, plan: TunePlan, label: str, permission: Permission, *, as_json: bool
) -> None:
    if not as_json:
        show_tune_forecast(plan, plan.forecast(), short=True)
    with experiment_line("runs", quiet=as_json) as tell:
        found = tuning.tune(
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
        experiment_id, runner = going_on(store, "tune", reference, given, permission)
        with experiment_line("runs", quiet=as_json) as tell:
            found = tuning.resume_tune(store, experiment_id, runner, on_progress=tell)
        _end(store, found, as_json=as_json)


def _end(store: Store, found: Tuning, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words(found.as_dict()))
    else:
        tell_fleet()
        show_tune(found)
        typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")
    if found.ended_by is not None:
        fail(found.ended_by + then_resumed_by("tune", found.experiment_id), EXIT_FAILED)
    if found.threads is None:
        made = any(point.figures is not None for point in found.points)
        why = next((point.failure for point in found.points if point.failure), None)
        fail("no load will do" if made else f"no run could be made: {why}", EXIT_FAILED)


def _goal(p99: str | None, mean: str | None) -> tuning.Goal:
    if p99 is not None and mean is not None:
        fail("give one limit: --p99 or --mean", EXIT_INVALID)
    if p99 is not None:
        return tuning.Goal("p99", _time_ns(p99))
    return tuning.Goal("mean", None if mean is None else _time_ns(mean))


def _time_ns(text: str) -> float:
    found = _TIME.fullmatch(text)
    if found is None or float(found[1]) == 0:
        fail(f"{text} is no time such as 2ms or 500us", EXIT_INVALID)
    return float(found[1]) * LATENCY_UNITS[found[2]]
