"""``fathom repeat``: the same run until its mean is known well enough."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import fathom
from fathom import experiments
from fathom._digits import known_words, last_place, measured_place, place_words
from fathom._finite import json_words
from fathom._permission import typed
from fathom.cli.commands._foresight import foretold_words, refuse_what_cannot_run
from fathom.cli.commands._repeat_prepared import (
    agree_to_prepare,
    estimate_of,
    loads_of,
    prepare_for,
    show_estimate,
)
from fathom.cli.commands._resumed import named_experiment, resumed_permission, resumed_runner
from fathom.cli.commands._workload_argument import single_step
from fathom.cli.common import (
    DryRunOption,
    JsonOption,
    RunnerOption,
    StoreOption,
    chosen_runner,
    exit_code,
    fail,
    is_there,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.fleet_choice import resumed_by, tell_fleet, then_resumed_by
from fathom.cli.views.progress import live_progress
from fathom.cli.views.runs import console, text_table
from fathom.experiments.figure_words import figure_words
from fathom.experiments.steady_words import steady_words
from fathom.units import clock_words, counted, rate_words

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.experiments.prepare import Estimate
    from fathom.experiments.repeat import MetricSummary, RepeatPolicy, Repetition
    from fathom.stats import Drift, Outlier
    from fathom.store import Store

__all__ = ["repeat"]


def repeat(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    metric: Annotated[
        str, typer.Option(help="The figure to know: iops, mib_per_s, mean, p99, read.p99, ...")
    ] = "iops",
    precision: Annotated[
        float, typer.Option(help="Half of the interval's width, in percent of the mean.")
    ] = 0.8,
    confidence: Annotated[float, typer.Option(help="Of the interval, in percent.")] = 95.0,
    pilot: Annotated[
        int, typer.Option(help="Runs whose spread decides how many there will be.")
    ] = 10,
    most: Annotated[int, typer.Option(help="Never more runs than this.")] = 60,
    precondition: Annotated[
        str, typer.Option(help="What is done to the targets first: none, wipc or wdpc.")
    ] = "none",
    yes: Annotated[bool, typer.Option("--yes", help="Precondition without asking.")] = False,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None, typer.Option(help="Go on with one: its experiment, such as e7, or last.")
    ] = None,
    runner: RunnerOption = None,
    label: Annotated[str | None, typer.Option(help="A word to find the runs by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Repeat a run until the interval of its mean is narrow enough.

    The arguments are DiskSpd's, or a workload of one run and a target, as for fathom run.
    """
    arguments, permission = typed(context.args)
    if (resume is None) != bool(arguments):
        fail("name the run, or the repetition to --resume: one of both", EXIT_INVALID)
    if precondition not in ("none", "wipc", "wdpc"):
        fail(f"--precondition is none, wipc or wdpc, not {precondition}", EXIT_INVALID)
    try:
        policy = experiments.RepeatPolicy(metric, precision / 100, confidence / 100, pilot, most)
    except ValueError as error:
        fail(str(error), EXIT_INVALID)
    if dry_run and resume is not None:
        fail("--dry-run: a repetition is resumed as it was planned", EXIT_INVALID)
    try:
        tool = {} if resume is not None else chosen_runner(runner)
        wish = _Wish(policy, label, precondition, yes, tool)
        if dry_run:
            _foresee(arguments, wish, permission, store, as_json=as_json)
            return
        # What is wrong is reported before anything is made or saved.
        named = _agreed(arguments, wish, permission, store, as_json=as_json) if arguments else None
        with opened_store(store, make=named is not None) as opened:
            if named is not None:
                experiment_id = _begun(opened, *named, wish)
            else:
                experiment_id = _experiment_id(opened, resume or "")
                resumed_runner(opened, experiment_id, runner)
                resumed_permission(opened, experiment_id, permission)
            found = _repeated(opened, experiment_id, permission, as_json=as_json)
            _show(opened, found, as_json=as_json)
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(f"The runs that are done are saved: {resumed_by('repeat')}", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failure is not None:
        fail(found.failure + then_resumed_by("repeat", found.experiment_id), EXIT_FAILED)


def _estimate(where: str | None, kind: str, load: list[str]) -> Estimate | None:
    """Return what preconditioning takes; a rate is known where there is a store already."""
    if kind == "none":
        return None
    if not is_there(where):
        return estimate_of(None, kind, load)
    with opened_store(where, make=False) as store:
        return estimate_of(store, kind, load)


def _foresee(
    rest: list[str], wish: _Wish, permission: Permission, where: str | None, *, as_json: bool
) -> None:
    """Say how many runs there are, how long they take, and what would be refused."""
    load, _name = single_step(rest)
    kind, name = wish.precondition, wish.tool.get("runner")
    loads, one_s = loads_of(kind, load), experiments.asked_run_s(load, name or "fathom")

    def forecast() -> None:
        estimate = _estimate(where, kind, load)
        by_amount = experiments.ends_by_amount(load)
        _show_forecast(wish, one_s, estimate, ends_by_amount=by_amount, as_json=as_json)

    refuse_what_cannot_run(loads, permission, name, forecast=forecast)


def _show_forecast(
    wish: _Wish,
    one_s: float,
    estimate: Estimate | None,
    *,
    ends_by_amount: bool,
    as_json: bool,
) -> None:
    policy, kind = wish.policy, wish.precondition
    least_s, most_s = policy.pilot * one_s, policy.most * one_s
    if as_json:
        told: dict[str, object] = {"least_runs": policy.pilot, "most_runs": policy.most}
        told |= {"least_s": least_s, "most_s": most_s}
        if estimate is not None:
            told["precondition"] = {"kind": kind, **asdict(estimate)}
        typer.echo(json_words(told, indent=None))
        return
    if estimate is not None:
        show_estimate(kind, estimate, is_asked=True)
    least = foretold_words(least_s, ends_by_amount=ends_by_amount)
    typer.echo(
        f"{counted(policy.pilot, 'run')}, {least}; their spread tells how "
        "many more "
        f"there will be, at most {policy.most - policy.pilot} ({clock_words(most_s)} in all)"
    )


class _Wish(NamedTuple):
    policy: RepeatPolicy
    label: str | None
    precondition: str
    yes: bool
    tool: dict[str, str]


def _agreed(
    rest: list[str], wish: _Wish, permission: Permission, where: str | None, *, as_json: bool
) -> tuple[list[str], str]:
    """Return the arguments that can be run, and are to be, and the name of their workload."""
    arguments, name = single_step(rest)
    loads = loads_of(wish.precondition, arguments)
    refuse_what_cannot_run(loads, permission, wish.tool.get("runner"))
    estimate = _estimate(where, wish.precondition, arguments)
    if estimate is not None:
        agree_to_prepare(wish.precondition, estimate, yes=wish.yes, as_json=as_json)
    return arguments, name


def _begun(store: Store, arguments: list[str], name: str, wish: _Wish) -> int:
    return experiments.begin_repeat(
        store,
        arguments,
        wish.policy,
        label=wish.label or name,
        precondition=wish.precondition,
        tool=wish.tool,
    )


def _repeated(
    store: Store, experiment_id: int, permission: Permission, *, as_json: bool
) -> Repetition:
    experiment = store.experiments.get(experiment_id)
    unfinished = experiment.verb == "repeat" and experiment.state != "complete"
    if unfinished and experiment.plan.get("precondition", "none") != "none":
        prepare_for(store, experiment_id, permission, as_json=as_json)

    def on_run(done: int, planned: int | None) -> None:
        if not as_json:
            of = f"of {planned}" if planned else f"of {experiment.plan['pilot']} of the pilot"
            typer.echo(f"run {done} {of}", err=True)

    with live_progress(quiet=as_json) as on_event:
        return experiments.resume_repeat(
            store, experiment_id, on_event=on_event, on_run=on_run, permission=permission
        )


def _experiment_id(store: Store, reference: str) -> int:
    if reference == "last":
        found = [one for one in store.experiments.list(verb="repeat") if one.state != "complete"]
        if not found:
            fail(f"{store.name} has no repetition to go on with", EXIT_INVALID)
        return found[0].id
    return named_experiment(reference)


def _show(store: Store, found: Repetition, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words(asdict(found)))
        return
    columns = ("", "value>", "interval>", "+/- %>", "median>", "CoV %>", "drift %>")
    rows = [_row(name, one) for name, one in found.metrics.items()]
    if rows:
        tell_fleet()
        console().print(
            text_table(counted(len(found.run_ids), "run"), columns, rows, spare=("median", "CoV %"))
        )
    policy = experiments.RepeatPolicy.of(store.experiments.get(found.experiment_id))
    for sentence in _sentences(found, policy):
        typer.echo(sentence)
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")


def _row(name: str, one: MetricSummary) -> list[str]:
    unit, words = experiments.shown_unit(name)
    found = one.estimate
    place = measured_place(found.mean / unit, (found.high or 0) / unit - (found.low or 0) / unit)
    return [
        f"{name}{words}",
        *experiments.shown_figure(name, found),
        _two_digits(100 * found.relative_half_width) if found.can_tell else "-",
        place_words(one.median / unit, place)
        if found.can_tell
        else known_words(one.median / unit, None, None),
        _two_digits(100 * one.coefficient_of_variation),
        _drift_words(one.drift),
    ]


def _drift_words(found: Drift | None) -> str:
    """Return the drift in percent; fewer runs than 8 tell nothing of one."""
    if found is None:
        return "-"
    return _two_digits(100 * found.share, sign=True) if found.is_drifting else "none"


def _sentences(found: Repetition, policy: RepeatPolicy) -> list[str]:
    sentences = [claim.text for claim in found.claims]
    for name, one in found.metrics.items():
        for outlier in one.outliers:
            run_id = found.run_ids[outlier.index]
            words = _apart_words(name, one, outlier)
            sentences.append(f"Run {run_id} is an outlier of {name}: {words}.")
    # Fewer rounds than the rules look at tell nothing.
    if found.steady is not None and found.steady.checks:
        sentences.append(steady_words(found.steady, len(found.run_ids)))
    judged = found.metrics.get("iops")
    if judged is not None and judged.steadiness is not None:
        sentences.append(f"All {len(found.run_ids)} runs, iops: {judged.steadiness.words}.")
    sentences += [
        f"{name} is the mean of the runs' percentiles, as these runs have no histograms."
        for name, one in found.metrics.items()
        if one.is_averaged
    ]
    sentences += found.sentences
    if not found.is_precise and found.failure is None:
        sentences.append(_not_precise(found, policy))
    return sentences


def _apart_words(name: str, one: MetricSummary, outlier: Outlier) -> str:
    """Return how far an outlier is off; by its value, where the other runs are all equal."""
    side = "above" if outlier.value > one.median else "below"
    if outlier.deviations is not None:
        return f"{rate_words(abs(outlier.deviations))} deviations {side} the others"
    # Outliers are few, so that the median is what the others have in common.
    value, usual = (figure_words(name, each) for each in (outlier.value, one.median))
    others = "all the others" if len(one.outliers) == 1 else "all that are not outliers"
    return f"{value}, {side} {others}, which are {usual}"


def _not_precise(found: Repetition, policy: RepeatPolicy) -> str:
    """Return why the figure that was to be known is known less well, and what helps."""
    judged = found.metrics.get(policy.metric)
    if judged is None:
        # One that only some runs have is left out, too.
        return f"Not every run has the figure that was to be known, {policy.metric}."
    if not judged.estimate.can_tell:
        return "The interval is wider than requested, or there is none: see above."
    if len(found.run_ids) >= policy.most:
        return "The interval is wider than requested: allow more runs (--most)."
    return "The interval is wider than requested: make longer runs (-d), or a larger --pilot."


def _two_digits(value: float, *, sign: bool = False) -> str:
    return place_words(value, last_place(value, abs(value)), sign=sign)
