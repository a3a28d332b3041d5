"""``fathom compare --run``: A and B interleaved, and compared pair by pair."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

import fathom
from fathom import tools
from fathom._finite import json_words
from fathom._permission import refuse_permissions
from fathom.cli.commands._foresight import foretold_words, refuse_what_cannot_run
from fathom.cli.commands._resumed import (
    going_on,
    refuse_what_a_plan_has,
)
from fathom.cli.commands._workload_argument import single_step
from fathom.cli.common import chosen_runner, exit_code, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.fleet_choice import resumed_by, tell_fleet, then_resumed_by
from fathom.cli.views.comparison import judge, show_comparison
from fathom.cli.views.experiment_line import experiment_line
from fathom.engine import load_of
from fathom.experiments import compare as comparing
from fathom.units import clock_words, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._permission import Permission
    from fathom.experiments.compare.interleaved import TurnsComparison
    from fathom.store import Store

__all__ = ["Turns", "interleaved"]


@dataclass(frozen=True)
class Turns:
    """What the command was told; ``sizes`` are precision, confidence, pilot and most pairs."""

    run: tuple[str, str] | None
    resume: str | None
    rest: Sequence[str]
    sizes: tuple[float, float, int, int]
    metrics: Sequence[str]
    conditions: Sequence[str]
    runner: str | None
    label: str | None
    permission: Permission
    as_json: bool
    verdict: str | None = None
    dry_run: bool = False


def interleaved(wish: Turns, where: str | None) -> None:
    """Measure and compare, go on with what was ended, or compare again what was measured."""
    try:
        plan = None if wish.run is None else _plan(wish.run, wish)
        if wish.dry_run and plan is not None:
            _foresee(plan, wish)
            return
        if plan is not None:
            refuse_what_cannot_run([plan.a, plan.b], wish.permission, plan.runner)
        with opened_store(where, make=plan is not None) as store:
            found = _found(store, wish, plan)
            _show(store, found, as_json=wish.as_json)
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(f"The runs that are done are saved: {resumed_by('compare')}", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failure is not None:
        fail(found.failure + then_resumed_by("compare", found.experiment_id), EXIT_FAILED)
    if found.comparison is not None:
        judge(found.comparison, wish.verdict)


def _foresee(plan: comparing.TurnsPlan, wish: Turns) -> None:
    def forecast() -> None:
        _show_forecast(plan, as_json=wish.as_json, is_asked=True)

    refuse_what_cannot_run([plan.a, plan.b], wish.permission, plan.runner, forecast=forecast)


def _plan(run: tuple[str, str], wish: Turns) -> comparing.TurnsPlan:
    if wish.resume is not None:
        fail("--run begins a comparison, and --resume goes on with one: give one", EXIT_INVALID)
    a, b = (_side_arguments(text, wish.rest) for text in run)
    if a == b:
        typer.echo("A and B are the same: what differs is chance.", err=True)
    try:
        plan = comparing.TurnsPlan(
            tuple(a),
            tuple(b),
            tuple(wish.metrics) or comparing.DEFAULT_METRICS,
            tuple(wish.conditions),
            *wish.sizes,
        )
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    return comparing.TurnsPlan.from_dict({**asdict(plan), **chosen_runner(wish.runner)})


def _side_arguments(text: str, common: Sequence[str]) -> list[str]:
    """Return the arguments of a side: its own and those of both, targets behind options."""
    words = shlex.split(text)
    # One side's permission would let the other one write, too.
    refuse_permissions(words, f"--run {text!r} (it holds for both sides, so it stands beside them)")
    first = [*words, *common] if words and not words[0].startswith("-") else [*common, *words]
    arguments, workload = single_step(first)
    if not workload:
        options = [one for one in first if one.startswith("-")]
        arguments = [*options, *(one for one in first if not one.startswith("-"))]
    load_of(arguments)  # What is wrong with them is reported before anything is saved.
    return arguments


def _found(store: Store, wish: Turns, plan: comparing.TurnsPlan | None) -> TurnsComparison:
    if plan is not None:
        if not wish.as_json:
            _show_forecast(plan)
        with experiment_line("runs", quiet=wish.as_json) as tell:
            runner = tools.runner_named(plan.runner, store, wish.permission)
            return comparing.compare_interleaved(
                store, runner, plan, label=wish.label or "", on_progress=tell
            )
    if wish.resume is None:
        return _again(store, wish)
    asked = {"metric": wish.metrics, "fail-if": wish.conditions, "label": wish.label}
    refuse_what_a_plan_has("comparison", wish.rest, asked)
    experiment_id, runner = going_on(store, "compare", wish.resume, wish.runner, wish.permission)
    with experiment_line("runs", quiet=wish.as_json) as tell:
        return comparing.resume_interleaved(store, experiment_id, runner, on_progress=tell)


def _show_forecast(
    plan: comparing.TurnsPlan, *, as_json: bool = False, is_asked: bool = False
) -> None:
    found = plan.forecast()
    if as_json:
        typer.echo(json_words({**asdict(found), "plan": asdict(plan)}, indent=None))
        return
    more = found.most_runs - found.least_runs
    least = foretold_words(found.least_s, ends_by_amount=plan.ends_by_amount)
    words = f"{found.least_runs} interleaved runs, {least}"
    if more:
        words += (
            f"; the spread of these pairs tells how many more there will be, at most {more} "
            f"({clock_words(found.most_s)} in all)"
        )
    typer.echo(words, err=not is_asked)


def _again(store: Store, wish: Turns) -> TurnsComparison:
    (name,) = wish.rest
    if not (name[:1] == "e" and name[1:].isdecimal()):
        fail(f"name A and B: {name} alone has nothing to be compared with", EXIT_INVALID)
    try:
        found = comparing.compared_interleaved(store, int(name[1:]), wish.metrics, wish.conditions)
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    return found


def _show(store: Store, found: TurnsComparison, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words(found.as_dict()))
        return
    pairs = len(found.a_run_ids)
    if found.comparison is None:
        typer.echo("There are fewer than 2 pairs of runs: nothing can be compared.")
    else:
        typer.echo(f"{counted(pairs, 'pair')} of runs")
        tell_fleet()
        show_comparison(found.comparison)
        if not found.is_precise and found.failure is None:
            plan = comparing.TurnsPlan.from_dict(store.experiments.get(found.experiment_id).plan)
            typer.echo(f"The change is known less well than requested: {_remedy(found, plan)}.")
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")


def _remedy(found: TurnsComparison, plan: comparing.TurnsPlan) -> str:
    """Return what makes the change known better: more pairs only where their number ended it."""
    missing = [] if found.comparison is None else [*found.comparison.missing]
    untold = [one for one in plan.deciding if one in missing]
    if untold:
        return f"{', '.join(untold)} cannot be compared, see above"
    if len(found.a_run_ids) >= plan.most:
        return "allow more pairs (--most)"
    return "make longer runs (-d), or a larger --pilot"
