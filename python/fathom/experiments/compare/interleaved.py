"""Interleaving runs of A and B until their difference is known well enough.

Neighbouring runs resemble each other, and machines drift. Here a run of A stands beside each run of
B, and chance draws which comes first, for each pair: whatever the machine does meanwhile hits
A as often as B, and the spread of the pairs' differences tells all that it does to them.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import chdtri

from fathom.errors import InvalidRequestError
from fathom.experiments._latency_asked import refuse_unmeasured
from fathom.experiments._percentiles import Percentiles
from fathom.experiments._run_times import asked_run_s, ends_by_amount, further_run_s
from fathom.experiments.compare.saved import DEFAULT_METRICS, compare_drawn_pairs, parse_condition
from fathom.experiments.session import (
    Forecast,
    Session,
    Skip,
    Step,
    Strategy,
    complete_runs,
)
from fathom.metrics import check_share, metric_column
from fathom.stats import PooledSpread
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.progress import Progress
    from fathom.runners import Runner
    from fathom.stats import Comparison
    from fathom.stats.floats import Values
    from fathom.store import Experiment, RunSummary, Store
    from fathom.store import Step as StoredStep

__all__ = [
    "Interleaver",
    "TurnsComparison",
    "TurnsPlan",
    "compare_interleaved",
    "compared_interleaved",
    "resume_interleaved",
]

# What an interleaved comparison is to do is kept with the experiment, so that it can be resumed.

LEAST_PAIRS = 2
Side = Literal["a", "b"]


@dataclass(frozen=True)
class TurnsForecast:
    """How many runs there are at least (the pilot) and at most, and how long they take."""

    least_runs: int
    most_runs: int
    least_s: float
    most_s: float


@dataclass(frozen=True)
class TurnsPlan:
    """What is compared, and when to stop.

    Attributes
    ----------
    a, b
        The arguments of either side's runs.
    metrics
        The figures to compare.
    conditions
        As ``parse_condition`` reads them; their figures decide how many runs there are, or IOPS
        if there are none.
    relative_half_width
        Half of the width of the change's interval, as a share.
    confidence
        Of the intervals.
    pilot
        After so many pairs their spread decides how many there will be (``planned_pairs``).
    most
        Never more pairs than this.
    seed
        Of the order within the pairs.
    runner, tool_version
        What measures, as ``--runner`` names it, and its version; ours if it is empty.

    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    metrics: tuple[str, ...] = DEFAULT_METRICS
    conditions: tuple[str, ...] = ()
    relative_half_width: float = 0.012
    confidence: float = 0.95
    pilot: int = 10
    most: int = 60
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    runner: str = "fathom"
    tool_version: str = ""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        ValueError
            If a value is out of its range; the message names it.

        """
        for metric in (*self.metrics, *self.deciding):
            metric_column(metric)
        if self.most < LEAST_PAIRS:
            raise ValueError(f"there are at least {LEAST_PAIRS} pairs, not at most {self.most}")
        if not LEAST_PAIRS <= self.pilot <= self.most:
            raise ValueError(f"the pilot has {LEAST_PAIRS} to {self.most} pairs, not {self.pilot}")
        check_share("precision", self.relative_half_width)
        check_share("confidence", self.confidence)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the plan of an experiment."""
        lists = {name: tuple(data[name]) for name in ("a", "b", "metrics", "conditions")}
        return cls(**{**data, **lists})

    @property
    def deciding(self) -> tuple[str, ...]:
        """The figures whose spread decides how many runs there are."""
        asked = dict.fromkeys(parse_condition(one).metric for one in self.conditions)
        return tuple(asked) or ("iops",)

    @property
    def typical_run_s(self) -> float:
        """How long a run takes by experience, in seconds: the mean of both sides."""
        return sum(asked_run_s(side, self.runner) for side in (self.a, self.b)) / 2

    @property
    def ends_by_amount(self) -> bool:
        """Whether runs end after so many I/Os or bytes, however long that takes."""
        return any(ends_by_amount(side) for side in (self.a, self.b))

    def refuse_unmeasured(self) -> None:
        """Refuse figures of latency that a side would not measure.

        Raises
        ------
        InvalidRequestError
            If there is one.

        """
        # The usual figures have latencies, of which a report says where they are missing.
        if self.metrics != DEFAULT_METRICS and self.runner == "fathom":
            for side in (self.a, self.b):
                refuse_unmeasured(self.metrics, side)

    def forecast(self) -> TurnsForecast:
        """Say what it will take; how many pairs follow the pilot, the pilot alone can tell."""
        pilot, most = 2 * self.pilot, 2 * self.most
        each_s = self.typical_run_s
        return TurnsForecast(pilot, most, pilot * each_s, most * each_s)

    def order(self, pair: int) -> tuple[Side, Side]:
        """Return which side of a pair comes first, and which then."""
        is_b_first = np.random.default_rng([self.seed, pair]).integers(2)
        return ("b", "a") if is_b_first else ("a", "b")

    def foreseen_pairs(self, a: Values, b: Values) -> tuple[int, int]:
        """Return how many pairs there may be in the end, by those so far: 10 and 90 %."""
        differences = np.log(np.asarray(b, float)) - np.log(np.asarray(a, float))
        freedom = differences.size - 1
        deviation = float(differences.std(ddof=1))
        half = math.log1p(self.relative_half_width)

        def count(share: float) -> int:
            """Return the number for a spread that these differences exceed in such a share."""
            wide = deviation * math.sqrt(freedom / chdtri(freedom, share))
            spread = PooledSpread(wide, max(self.pilot - 1, freedom))
            return spread.count_for(half, 1, confidence=self.confidence)

        low, high = (min(max(count(one), self.pilot), self.most) for one in (0.1, 0.9))
        return low, high

    def planned_pairs(self, a: Values, b: Values) -> int:
        """Return how many pairs make the change known, by one figure of all runs so far.

        The pilot tells it (Stein's two stages), and is asked again once these have been made: of
        the spread of the pilot and that of all pairs the greater counts.
        """
        differences = np.log(np.asarray(b, float)) - np.log(np.asarray(a, float))
        planned = self.pilot
        while planned <= len(differences):
            made = differences[:planned]
            deviation = max(made.std(ddof=1), made[: self.pilot].std(ddof=1))
            spread = PooledSpread(float(deviation), self.pilot - 1)
            half = math.log1p(self.relative_half_width)
            wanted = min(spread.count_for(half, 1, confidence=self.confidence), self.most)
            if wanted <= planned:
                break
            planned = wanted
        return planned


_ROUNDING = 1e-9
_NOT_COMPARED = "is a {}, which has no A and B: name both"


@dataclass(frozen=True)
class TurnsComparison:
    """What an interleaved comparison found.

    Attributes
    ----------
    experiment_id
        In the store.
    a_run_ids, b_run_ids
        The runs that were compared, pair by pair.
    comparison
        None if there are fewer than 2 pairs.
    is_precise
        The change of each deciding figure is known as well as was requested.
    failure
        Why it ended before its time, if it did.

    """

    experiment_id: int
    a_run_ids: list[int]
    b_run_ids: list[int]
    comparison: RunComparison | None
    is_precise: bool
    failure: str | None

    def as_dict(self) -> dict[str, object]:
        """Return it with the parts of the comparison beside its own."""
        own = asdict(self)
        return {**(own.pop("comparison") or {}), **own}


def compare_interleaved(
    store: Store,
    runner: Runner,
    plan: TurnsPlan,
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> TurnsComparison:
    """Run A and B interleaved until the plan is content; each run is saved as it ends.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first run cannot be made, or would not measure a latency that is a metric.
    RunInterrupted
        If Ctrl-C ended it; ``resume_interleaved`` goes on.

    """
    plan.refuse_unmeasured()
    experiment_id = store.experiments.begin("compare", label or "compare", asdict(plan))
    session = Session(store, experiment_id, runner, on_progress=on_progress)
    return _compared(session, Interleaver(plan, session.value, label, _percentiles(store)))


def resume_interleaved(
    store: Store,
    experiment_id: int,
    runner: Runner,
    *,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> TurnsComparison:
    """Go on with a comparison that was killed or interrupted; whole pairs are not run again.

    Raises
    ------
    InvalidRequestError
        If the experiment interleaves nothing, or is complete; or as ``compare_interleaved``.
    NotFoundError
        If the store has no such experiment.

    """
    session = Session(store, experiment_id, runner, on_progress=on_progress)
    experiment = session.resume(
        "compare", _NOT_COMPARED, f"is complete: fathom compare e{experiment_id} shows it"
    )
    with damage_told(experiment_id):
        label = "" if experiment.name == "compare" else experiment.name
        plan = TurnsPlan.from_dict(experiment.plan)
        interleaver = Interleaver(plan, session.value, label, _percentiles(store))
        interleaver.take_up(experiment.steps, session.runs())
        return _compared(session, interleaver)


def _percentiles(store: Store) -> Callable[[Sequence[int], str], list[float] | None]:
    return Percentiles(lambda run_id: store.runs.get(run_id).result).of_each_run


def _compared(session: Session, interleaver: Interleaver) -> TurnsComparison:
    failure = session.run(interleaver.strategy(), interleaver.forecast)
    found = _conclusion(
        session.store, session.experiment_id, interleaver.plan, interleaver.pairs, failure
    )
    session.finish(found.as_dict(), failure, is_failed=failure is not None)
    return found


def compared_interleaved(
    store: Store, experiment_id: int, metrics: Sequence[str] = (), conditions: Sequence[str] = ()
) -> TurnsComparison:
    """Compare the runs of an experiment again; figures and conditions may be others than planned.

    Raises
    ------
    InvalidRequestError
        If the experiment interleaves nothing.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = _experiment(store, experiment_id)
    plan = TurnsPlan.from_dict(experiment.plan)
    pairs, _begun = _saved_pairs(experiment.steps, complete_runs(store, experiment_id))
    found = _conclusion(store, experiment_id, plan, pairs, experiment.failure)
    if not metrics and not conditions:
        return found
    comparison = compare_drawn_pairs(
        store,
        pairs,
        _pilot(plan, pairs),
        metrics=metrics or plan.metrics,
        confidence=plan.confidence,
        conditions=[parse_condition(one) for one in conditions or plan.conditions],
    )
    return TurnsComparison(**{**vars(found), "comparison": comparison})


def _experiment(store: Store, experiment_id: int) -> Experiment:
    found = store.experiments.get(experiment_id)
    if found.verb != "compare":
        raise InvalidRequestError(f"experiment e{experiment_id} {_NOT_COMPARED.format(found.verb)}")
    return found


# So many pairs tell of the spread at all.
_LEAST_TOLD = 3


@dataclass
class Interleaver:
    """Pairs of A and B until the plan is content; the outcome is why it ended early.

    ``value_of`` gives a figure of a run, ``pairs`` are the runs of A and B of each whole pair.
    ``percentiles_of`` gives what each run of a side says of a percentile of all their I/Os, which
    is what is compared in the end; None of another figure, and where the I/Os do not carry it.
    """

    plan: TurnsPlan
    value_of: Callable[[int, str], float | None]
    label: str = ""
    percentiles_of: Callable[[Sequence[int], str], list[float] | None] = lambda _ids, _metric: None
    pairs: list[tuple[int, int]] = field(default_factory=list)
    begun: int = 0
    lost: list[int] = field(default_factory=list)
    durations_s: list[float] = field(default_factory=list)
    failed: int = 0

    def __post_init__(self) -> None:
        """Plan the pilot."""
        self.planned = self.plan.pilot

    def take_up(self, steps: Sequence[StoredStep], runs: Sequence[RunSummary]) -> None:
        """Read which pairs are whole; half of one has lost its neighbour, and is not used."""
        self.pairs, self.begun = _saved_pairs(steps, runs)
        used = {run_id for pair in self.pairs for run_id in pair}
        whole = {run.step_id for run in runs if run.id in used}
        self.lost = [step.id for step in steps if step.id not in whole]

    def strategy(self) -> Strategy[str | None]:
        """Run the pairs that are planned; each plans again."""
        yield Skip(self.lost)
        self._plan()
        while len(self.pairs) < self.planned:
            failure = yield from self._pair()
            if failure is not None:
                return failure
        return None

    def forecast(self, _elapsed_s: float) -> Forecast:
        """Return how far it is; the plan looks at all pairs that are whole by now."""
        done = 2 * len(self.pairs) + len(self.durations_s) % 2
        each_s = further_run_s(
            self.plan.typical_run_s, self.durations_s, is_limit=self.plan.ends_by_amount
        )
        low, high = self._pairs_between()
        low_s, high_s = (max(2 * pairs - done, 0) * each_s for pairs in (low, high))
        return Forecast(done, 2 * low, self.failed, low_s, low_s, high_s)

    def _plan(self) -> None:
        """Decide by the spread of the pairs how many there will be, where as many are done.

        The first pairs tell it, so that it is the same after a kill, however many are done by then.
        """
        before = 0
        while before < self.planned <= len(self.pairs):
            before = self.planned
            for sides in self._deciding(before):
                self.planned = max(self.planned, self.plan.planned_pairs(*sides))

    def _deciding(self, count: int) -> list[tuple[list[float], list[float]]]:
        """Return the figures of both sides of the first so many pairs that decide.

        A percentile is what each run says of that of all I/Os, as it is compared in the end.
        Without such a figure, as p99 without -L, more runs would not bring it.
        """
        found, pairs = [], self.pairs[:count]
        for metric in self.plan.deciding:
            a, b = (self.percentiles_of([pair[at] for pair in pairs], metric) for at in (0, 1))
            if a is not None and b is not None:
                found.append((a, b))
                continue
            rows = [[self.value_of(run_id, metric) for run_id in pair] for pair in pairs]
            known = [(a, b) for a, b in rows if a is not None and b is not None]
            if len(known) == len(rows):
                found.append(([a for a, _ in known], [b for _, b in known]))
        return found

    def _pairs_between(self) -> tuple[int, int]:
        """Return between which numbers of pairs there will be, in nine of ten cases.

        The pilot decides it, or what it has planned so far; its spread is known before its end.
        """
        low, high = self.planned, self.plan.most
        if len(self.pairs) >= low:
            return low, low
        if len(self.pairs) < _LEAST_TOLD:
            return low, high
        told = [self.plan.foreseen_pairs(*sides) for sides in self._deciding(len(self.pairs))]
        if not told:
            return low, low
        return max(low, *(one[0] for one in told)), max(low, *(one[1] for one in told))

    def _pair(self) -> Strategy[str | None]:
        """Run both sides of the next pair; return why one failed."""
        order, number = self.plan.order(self.begun), len(self.pairs) + 1
        made: dict[str, int] = {}
        for side in order:
            words = f"{side.upper()} {number}"
            seen = yield Step(
                words,
                self.plan.a if side == "a" else self.plan.b,
                {"side": side, "pair": self.begun},
                run_label=f"{self.label} {words}".strip(),
            )
            self.durations_s.append(seen.took_s)
            if seen.failure is not None:
                self.failed = 1
                return f"{words}: {seen.failure}"
            made[side] = seen.run_id or 0
        self.begun += 1
        self.pairs.append((made["a"], made["b"]))
        self._plan()
        return None


def _saved_pairs(
    steps: Sequence[StoredStep], runs: Sequence[RunSummary]
) -> tuple[list[tuple[int, int]], int]:
    """Return the runs of A and B of each whole pair, and how many pairs were begun."""
    of_steps = {run.step_id: run.id for run in runs}
    begun: dict[int, dict[str, int | None]] = {}
    for step in steps:
        sides = begun.setdefault(step.parameters["pair"], {})
        sides[step.parameters["side"]] = of_steps.get(step.id)
    whole = [
        (a, b)
        for sides in begun.values()
        if (a := sides.get("a")) is not None and (b := sides.get("b")) is not None
    ]
    return whole, max(begun, default=-1) + 1


def _pilot(plan: TurnsPlan, pairs: Sequence[tuple[int, int]]) -> int | None:
    return plan.pilot if len(pairs) >= plan.pilot else None


def _conclusion(
    store: Store,
    experiment_id: int,
    plan: TurnsPlan,
    pairs: Sequence[tuple[int, int]],
    failure: str | None,
) -> TurnsComparison:
    comparison, precise = None, False
    if len(pairs) >= LEAST_PAIRS:
        conditions = [parse_condition(one) for one in plan.conditions]
        wanted = dict.fromkeys((*plan.metrics, *plan.deciding))
        comparison = compare_drawn_pairs(
            store,
            pairs,
            _pilot(plan, pairs),
            metrics=[*wanted],
            confidence=plan.confidence,
            conditions=conditions,
        )
        known = [comparison.metrics.get(metric) for metric in plan.deciding]
        half = math.log1p(plan.relative_half_width) + _ROUNDING
        widths = [_log_width(one) for one in known if one is not None]
        precise = len(widths) == len(known) and max(widths) / 2 <= half
    a_ids, b_ids = ([pair[at] for pair in pairs] for at in (0, 1))
    return TurnsComparison(experiment_id, a_ids, b_ids, comparison, precise, failure)


def _log_width(change: Comparison) -> float:
    """Return how wide an interval is as a difference of logarithms, to which -100 % has no end."""
    return math.log1p(change.high) - math.log1p(change.low) if change.low > -1 else math.inf
