"""Repeating a run until its mean is known well enough."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fathom._frames import Columns, Row, Tabular
from fathom._permission import NOTHING, Permission, typed
from fathom._tables import METRICS, metric_rows
from fathom.experiments._latency_asked import refuse_unmeasured
from fathom.experiments._percentiles import ROUNDING, Percentiles
from fathom.experiments._run_histograms import RunHistograms
from fathom.experiments._run_times import asked_run_s, ends_by_amount, further_run_s
from fathom.experiments.noise_words import estimate_sentences
from fathom.experiments.repeat_claims import KnownRate, repeat_claims
from fathom.experiments.session import Forecast, Observation, Session, Step, Strategy
from fathom.experiments.steady_words import STEADY_FIGURES
from fathom.experiments.told_runs import told_runs
from fathom.metrics import check_share, metric_column, quantile_of, run_value
from fathom.runners import NativeRunner
from fathom.stats import (
    Drift,
    Neighbours,
    Outlier,
    RunsEstimate,
    Steadiness,
    SteadyState,
    coefficient_of_variation,
    find_drift,
    find_outliers,
    find_steadiness,
    find_steady_state,
    neighbours,
    planned_count,
    runs_mean,
    runs_percentile,
)
from fathom.store.damage import damage_told
from fathom.tools.choose import other_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fathom._claims import Claim
    from fathom.engine import EventCallback
    from fathom.experiments.progress import Progress
    from fathom.result import Result
    from fathom.store import Experiment, RunSummary, Store

__all__ = [
    "MetricSummary",
    "RepeatPolicy",
    "Repeater",
    "Repetition",
    "asked_run_s",
    "begin_repeat",
    "ends_by_amount",
    "repeat",
    "resume_repeat",
    "summarise",
]

# What the specification of steady state tracks, and what an application feels.
TRACKED = ("iops", "mib_per_s", "mean", "p99", "p999")
_LEAST_FOR_DRIFT = 8
_LEAST_PILOT = 2


@dataclass(frozen=True)
class RepeatPolicy:
    """When to stop.

    Attributes
    ----------
    metric
        The figure whose mean is to be known.
    relative_half_width
        Half of the interval's width as a share of the mean.
    confidence
        Of the interval.
    pilot
        After so many runs their spread decides how many there will be (Stein's two stages).
    most
        Never more runs than this.

    """

    metric: str = "iops"
    relative_half_width: float = 0.008
    confidence: float = 0.95
    pilot: int = 10
    most: int = 60

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        ValueError
            If a value is out of its range; the message names it.

        """
        metric_column(self.metric)
        if self.most < _LEAST_PILOT:
            raise ValueError(f"there are at least {_LEAST_PILOT} runs, not at most {self.most}")
        if not _LEAST_PILOT <= self.pilot <= self.most:
            raise ValueError(f"the pilot has {_LEAST_PILOT} to {self.most} runs, not {self.pilot}")
        check_share("precision", self.relative_half_width)
        check_share("confidence", self.confidence)

    @classmethod
    def of(cls, experiment: Experiment) -> Self:
        """Read the policy of an experiment's plan."""
        return cls(**{one.name: experiment.plan[one.name] for one in fields(cls)})

    def refuse_unmeasured(self, arguments: Sequence[str]) -> None:
        """Refuse a metric of latency that runs of our engine would not measure.

        Raises
        ------
        InvalidRequestError
            If it is one.

        """
        refuse_unmeasured([self.metric], arguments)


@dataclass(frozen=True)
class MetricSummary:
    """One figure over all runs. ``outliers`` count runs from 0.

    ``estimate`` has an interval where the runs carry one; of a percentile it is that of all I/Os.
    All others are of the figures of single runs, in their order; ``drift`` and ``neighbours`` need
    8 of these. Percentiles of runs without histograms are ``is_averaged``.
    """

    estimate: RunsEstimate
    median: float
    coefficient_of_variation: float
    outliers: list[Outlier]
    drift: Drift | None
    neighbours: Neighbours | None = None
    steadiness: Steadiness | None = None
    is_averaged: bool = False


@dataclass(frozen=True)
class Repetition(Tabular):
    """What repeating found; ``rows``, ``to_pandas`` and the like have a row for each figure.

    Attributes
    ----------
    experiment_id
        In the store.
    run_ids
        Its runs, in their order.
    metrics
        For each figure that the runs have.
    steady
        Steady state by the SNIA rules, each run being a round; None if a figure is missing.
    is_precise
        The interval is as narrow as was requested.
    failure
        Why it ended before its time, if it did.
    sentences
        What is to be said of the intervals: why there is none, and what they take for granted.
    claims
        The rate of the runs, and which findings speak against it; none without a rate.

    """

    tables: ClassVar[tuple[str, ...]] = ("metrics",)

    experiment_id: int
    run_ids: list[int]
    metrics: dict[str, MetricSummary]
    steady: SteadyState | None
    is_precise: bool
    failure: str | None
    sentences: Sequence[str] = ()
    claims: Sequence[Claim] = ()

    def _kinds(self, _table: str) -> Columns:
        return METRICS

    def _rows(self, _table: str) -> Iterator[Row]:
        saved = {name: asdict(one) for name, one in self.metrics.items()}
        yield from metric_rows(self.experiment_id, saved)


def summarise(
    runs: Sequence[RunSummary],
    *,
    confidence: float = 0.95,
    pilot: int | None = None,
    tracked: Sequence[str] = TRACKED,
    result_of: Callable[[int], Result] | None = None,
) -> tuple[dict[str, MetricSummary], SteadyState | None]:
    """Return the figures of runs of one kind, and whether they kept the SNIA's rule.

    ``pilot`` is the number of runs whose spread decided how many there are, if it did.
    ``result_of`` returns the result of a run, whose histograms percentiles come from.
    """
    metrics, series = {}, {}
    histograms = RunHistograms(runs, result_of)
    for metric in tracked:
        values = [run_value(run, metric) for run in runs]
        known = [value for value in values if value is not None]
        if len(known) < max(len(values), 2):
            continue
        series[metric] = known
        quantile, merged = quantile_of(metric), histograms.of(metric)
        metrics[metric] = MetricSummary(
            estimate=runs_mean(known, confidence=confidence, pilot=pilot)
            if quantile is None or merged is None
            else runs_percentile(merged, quantile, confidence=confidence),
            median=float(np.median(known)),
            coefficient_of_variation=coefficient_of_variation(known),
            outliers=find_outliers(known),
            drift=find_drift(known) if len(known) >= _LEAST_FOR_DRIFT else None,
            neighbours=neighbours(known, confidence=confidence),
            steadiness=find_steadiness(known),
            is_averaged=quantile is not None and merged is None,
        )
    if any(metric not in series for metric in STEADY_FIGURES):
        return metrics, None
    return metrics, find_steady_state({metric: series[metric] for metric in STEADY_FIGURES})


def repeat(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    arguments: Sequence[str],
    policy: RepeatPolicy,
    *,
    label: str = "",
    on_event: EventCallback | None = None,
    on_run: Callable[[int, int | None], None] = lambda _done, _planned: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Repetition:
    """Run the same arguments until the policy is content; each run is saved as it ends.

    ``on_run`` gets how many runs are done, and how many there will be once the pilot has told;
    ``on_progress`` gets how far it is.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first run cannot be made.
    RunInterrupted
        If Ctrl-C ended it; the runs that are done are saved.

    """
    arguments, permission = typed(arguments)
    experiment_id = begin_repeat(store, arguments, policy, label=label)
    return resume_repeat(
        store,
        experiment_id,
        on_event=on_event,
        on_run=on_run,
        on_progress=on_progress,
        permission=permission,
    )


def begin_repeat(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    arguments: Sequence[str],
    policy: RepeatPolicy,
    *,
    label: str = "",
    precondition: str = "none",
    tool: Mapping[str, str] | None = None,
) -> int:
    """Save what is to be repeated, and return the experiment; nothing is run yet.

    ``precondition`` is what is to be done to the targets before the first run. ``tool`` has the
    ``runner``, as ``--runner`` names it, and its ``tool_version``, where it is not our engine.

    Raises
    ------
    InvalidRequestError
        If the metric is a latency that our engine would not measure.

    """
    if tool is None:
        policy.refuse_unmeasured(arguments)
    plan: dict[str, object] = {
        "arguments": [*arguments],
        "label": label,
        "precondition": precondition,
        **asdict(policy),
        **(tool or {}),
    }
    return store.experiments.begin("repeat", label or "repeat", plan)


def resume_repeat(  # noqa: PLR0913 - All but the first two have defaults and names.
    store: Store,
    experiment_id: int,
    *,
    on_event: EventCallback | None = None,
    on_run: Callable[[int, int | None], None] = lambda _done, _planned: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
    permission: Permission = NOTHING,
) -> Repetition:
    """Go on with a repetition that was killed or interrupted; what was saved counts.

    ``permission`` is what a person has typed for what is left; none is kept with what was planned.

    Raises
    ------
    InvalidRequestError
        If the experiment is no repetition, or is complete; or as ``repeat``.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = store.experiments.get(experiment_id)
    plan = experiment.plan
    other = other_runner(plan.get("runner"), store, permission)
    own = NativeRunner(store, on_event=on_event, permission=permission)

    def told(progress: Progress) -> None:
        on_run(progress.done, repeater.planned)
        on_progress(progress)

    session = Session(store, experiment_id, other or own, on_progress=told)
    session.resume("repeat", "is a {}, no repetition")
    with damage_told(experiment_id):
        policy = RepeatPolicy.of(experiment)
        values = [run_value(run, policy.metric) for run in session.runs()]
        percentiles = Percentiles(lambda run_id: store.runs.get(run_id).result)

        def wanted_runs(count: int) -> int | None:
            return percentiles.wanted_runs(
                [run.id for run in session.runs()][:count],
                policy.metric,
                relative_half_width=policy.relative_half_width,
                confidence=policy.confidence,
            )

        repeater = Repeater(
            policy,
            plan["arguments"],
            lambda seen: None if seen.run_id is None else session.value(seen.run_id, policy.metric),
            values,
            label=plan.get("label", ""),
            runner=plan.get("runner") or "fathom",
            wanted_runs=wanted_runs,
        )
        failure = session.run(repeater.strategy(), repeater.forecast)
        return _concluded(session, policy, repeater.planned, failure)


@dataclass
class Repeater:
    """The same run again, until its policy is content; the outcome is why it ended early.

    ``value_of`` gives the figure of a run that decides, ``values`` are those of earlier sessions.
    ``wanted_runs`` says how many runs a percentile of all I/Os needs, by so many of the first runs;
    None if that is another figure, or cannot be told.
    """

    policy: RepeatPolicy
    arguments: Sequence[str]
    value_of: Callable[[Observation], float | None]
    values: list[float | None] = field(default_factory=list)
    label: str = ""
    runner: str = "fathom"
    wanted_runs: Callable[[int], int | None] = lambda _count: None
    planned: int | None = None
    durations_s: list[float] = field(default_factory=list)
    failed: int = 0

    def strategy(self) -> Strategy[str | None]:
        """Run the pilot, then as many as its spread asks for, then more if their noise does."""
        self._plan()
        while len(self.values) < (self.planned or self.policy.pilot):
            words = f"run {len(self.values) + 1}"
            seen = yield Step(words, self.arguments, run_label=self.label)
            seen.raise_refusal()
            self.durations_s.append(seen.took_s)
            if seen.failure is not None:
                self.failed = 1
                return seen.failure
            self.values.append(self.value_of(seen))
            self._plan()
        return None

    def forecast(self, _elapsed_s: float) -> Forecast:
        """Return how far repeating is; before the end of the pilot, it is foreseen alone."""
        done = len(self.values) + self.failed
        expected = self.planned or self.policy.pilot
        each_s = further_run_s(
            asked_run_s(self.arguments, self.runner),
            self.durations_s,
            is_limit=ends_by_amount(self.arguments),
        )
        most = expected if self.planned else self.policy.most
        low_s, high_s = (max(count - done, 0) * each_s for count in (expected, most))
        return Forecast(done, expected, self.failed, low_s, low_s, high_s)

    def _plan(self) -> None:
        """Decide how many runs there will be, once as many are done as were planned.

        The first runs tell it, so that it is the same after a kill, however many are done by then.
        """
        done = len(self.values)
        if self.planned is None and done >= self.policy.pilot:
            self.planned = self._of_pilot()
        while self.planned is not None and done >= self.planned:
            extended = self._extended(self.planned)
            if extended <= self.planned:
                break
            self.planned = extended

    def _of_pilot(self) -> int:
        """Return how many runs there will be; the first ones tell it, however many there are."""
        policy = self.policy
        known = [value for value in self.values[: policy.pilot] if value is not None]
        if len(known) < policy.pilot:
            # No such figure, as p99 without -L: more runs would not bring it.
            return policy.pilot
        wanted = self.wanted_runs(policy.pilot)
        if wanted is None:
            wanted = planned_count(
                known, relative_half_width=policy.relative_half_width, confidence=policy.confidence
            )
        return min(wanted, policy.most)

    def _extended(self, count: int) -> int:
        """Return how many runs there will be, as the noise of the first so many asks for more.

        It is known by the order and the shape of the runs alone, of which the mean of independent
        normal runs is independent: their interval covers as if the number had been fixed. That of a
        percentile is asked for its width, which the pilot has planned.
        """
        policy = self.policy
        known = [value for value in self.values[:count] if value is not None]
        if len(known) < count:
            return count
        if quantile_of(policy.metric) is not None:
            wanted = float(self.wanted_runs(count) or count)
        else:
            wanted = self._wanted_for_noise(known)
        return min(max(int(np.ceil(wanted)), count), max(policy.most, count))

    def _wanted_for_noise(self, known: Sequence[float]) -> float:
        policy, count = self.policy, len(known)
        found = runs_mean(known, confidence=policy.confidence, pilot=policy.pilot)
        if found.noise or not found.is_tested:
            return found.needed or count
        if found.relative_half_width > policy.relative_half_width * ROUNDING:
            return count * (found.relative_half_width / policy.relative_half_width) ** 2
        return count


def _concluded(
    session: Session, policy: RepeatPolicy, planned: int | None, failure: str | None
) -> Repetition:
    runs, store = session.runs(), session.store
    pilot = policy.pilot if planned is not None else None
    metrics, steady = summarise(
        runs,
        confidence=policy.confidence,
        pilot=pilot,
        tracked=[*dict.fromkeys((*TRACKED, policy.metric))],
        result_of=lambda run_id: store.runs.get(run_id).result,
    )
    judged = metrics.get(policy.metric)
    precise = (
        planned is not None
        and judged is not None
        and judged.estimate.relative_half_width <= policy.relative_half_width * ROUNDING
    )
    sentences = estimate_sentences({name: one.estimate for name, one in metrics.items()})
    outcome: dict[str, object] = {
        "metrics": {name: asdict(one) for name, one in metrics.items()},
        # Fewer rounds than the rules look at tell nothing.
        "is_steady": steady.is_steady if steady is not None and steady.checks else None,
        "steady": asdict(steady) if steady is not None and steady.checks else None,
        "is_precise": precise,
        "sentences": sentences,
    }
    claims = _claims(store, runs, metrics)
    if claims:
        outcome["claims"] = [asdict(one) for one in claims]
    session.finish(outcome, failure, is_failed=failure is not None)
    ids = [run.id for run in runs]
    return Repetition(
        session.experiment_id, ids, metrics, steady, precise, failure, sentences, claims
    )


def _claims(
    store: Store, runs: Sequence[RunSummary], metrics: Mapping[str, MetricSummary]
) -> tuple[Claim, ...]:
    """Return what the runs together say, if they have a rate."""
    if "iops" not in metrics:
        return ()
    rates = [(one.id, float(one.columns["total_iops"] or 0)) for one in runs]
    told = told_runs(store, [one.id for one in runs])
    found = metrics["iops"].estimate
    known = KnownRate(found.mean, found.low, found.high, found.confidence)
    return repeat_claims(rates, known, told)
