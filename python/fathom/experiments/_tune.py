"""Tuning: the threads and the queue depth that serve best, why, and a run that confirms it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fathom._errors import FathomError, InvalidRequestError
from fathom._run import parse
from fathom.experiments._axes import load_arguments, parse_axes
from fathom.experiments._knee_search import Goal, KneeSearch
from fathom.stats import fit_scalability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.experiments._knee_search import Load
    from fathom.runners import Figures, Runner
    from fathom.stats import ScalabilityLaw
    from fathom.store import ExperimentState, Store

__all__ = ["TunePlan", "TunedPoint", "Tuning", "plan_tune", "tune"]

_INTERVAL_MS = 10
# A confirmation that fails is a new point of the search, which then goes on; so many times at most.
_CONFIRMATIONS = 3
_BUSY_PERCENT = 95.0
_LEAST_LOADS = 4
# Two runs differ by their own intervals, and by what differs from run to run.
_BETWEEN_RUNS = 0.02
_NANOS_PER_MILLI = 1_000_000


@dataclass(frozen=True)
class TunePlan:
    """How to tune.

    Attributes
    ----------
    arguments
        Those that all runs share.
    threads, depths
        What to choose from, rising.
    goal
        What is best.
    longest_s
        The longest time of a run, in seconds.
    confidence, precision
        Each run ends once its mean is known at this level to within this share.

    """

    arguments: tuple[str, ...]
    threads: tuple[int, ...]
    depths: tuple[int, ...]
    goal: Goal = field(default_factory=Goal)
    longest_s: int = 10
    confidence: float = 0.95
    precision: float = 0.02

    def run_arguments(self, load: Load) -> list[str]:
        """Return all arguments of the run at a load."""
        threads, depth = load
        level = f"{100 * self.confidence:g}:{100 * self.precision:g}"
        return [
            f"-t{threads}",
            f"-o{depth}",
            f"-d{self.longest_s}",
            "-W0",
            f"--stop-confidence={level}",
            f"--stop-interval={_INTERVAL_MS}",
            *self.arguments,
        ]


def plan_tune(
    arguments: Sequence[str],
    threads: str,
    depths: str,
    **more: Any,  # noqa: ANN401 - Of TunePlan.
) -> TunePlan:
    """Make a plan; no target is touched.

    ``threads`` and ``depths`` are ranges such as ``1..64``; ``-t`` or ``-o`` among the arguments
    take the place of one.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong.

    """
    rest, given = [], {}
    for one in arguments:
        name = {"-t": "threads", "-o": "depth"}.get(one[:2])
        if name is None:
            rest.append(one)
        else:
            given[name] = one[2:]
    ranges = {"threads": threads, "depth": depths} | given
    values = {
        axis.name: tuple(sorted(int(value) for value in axis.values)) for axis in parse_axes(ranges)
    }
    shared = tuple(load_arguments(rest, ("-F",)))
    plan = TunePlan(shared, values["threads"], values["depth"], **more)
    if len(plan.threads) * len(plan.depths) == 1:
        raise InvalidRequestError("there is nothing to choose from: give --threads or --depth")
    if not (0 < plan.confidence < 1 and 0 < plan.precision < 1):
        raise InvalidRequestError("confidence and precision are between 0 and 100 %")
    parse(plan.run_arguments((plan.threads[0], plan.depths[0])))
    parse(plan.run_arguments((plan.threads[-1], plan.depths[-1])))
    return plan


@dataclass(frozen=True)
class TunedPoint:
    """One run; ``role`` is ``search`` or ``confirm``, ``figures`` None if it failed."""

    threads: int
    depth: int
    role: str
    figures: Figures | None
    run_id: int | None
    failure: str | None


@dataclass(frozen=True)
class Tuning:
    """What tuning found.

    Attributes
    ----------
    experiment_id
        In the store.
    threads, depth
        The best; None if no load will do.
    iops, latency_ns
        What the last confirming run found at it; the latency is the one that the goal names.
    is_confirmed
        Whether that run found what the search expected.
    reasons
        Why it is the best, in sentences.
    law
        The Universal Scalability Law in what is outstanding; None with fewer than 4 loads.
    points
        All runs in their order.

    """

    experiment_id: int
    threads: int | None
    depth: int | None
    iops: float | None
    latency_ns: float | None
    is_confirmed: bool
    reasons: list[str]
    law: ScalabilityLaw | None
    points: list[TunedPoint]


def tune(
    store: Store,
    runner: Runner,
    plan: TunePlan,
    *,
    label: str = "",
    on_point: Callable[[TunedPoint], None] = lambda _point: None,
) -> Tuning:
    """Tune as planned; each run is saved as it ends, and one that fails is noted.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first run cannot be made.
    RunInterrupted
        If Ctrl-C ended it; the runs that are done are saved.

    """
    experiment_id = store.experiments.begin("tune", label or "tune", asdict(plan))
    session = _Session(store, runner, plan, experiment_id, label, on_point)
    try:
        found = session.run()
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        state: ExperimentState = "interrupted" if interrupted else "failed"
        failure = None if interrupted else str(error)
        store.experiments.finish(experiment_id, state, failure=failure)
        raise
    measured = any(point.figures is not None for point in found.points)
    store.experiments.finish(
        experiment_id,
        "complete" if measured else "failed",
        failure=None if measured else "no run could be made",
        outcome=asdict(found),
    )
    return found


@dataclass
class _Session:
    store: Store
    runner: Runner
    plan: TunePlan
    experiment_id: int
    label: str
    on_point: Callable[[TunedPoint], None]
    points: list[TunedPoint] = field(default_factory=list)

    def run(self) -> Tuning:
        search = KneeSearch(self.plan.threads, self.plan.depths, self.plan.goal)
        confirmed = False
        last: Figures | None = None
        for _ in range(_CONFIRMATIONS):
            self._search(search)
            best = search.best()
            if best is None:
                break
            expected = search.expected()[best]
            last = self._run(best, "confirm")
            search.add(best, last)
            confirmed = last is not None and self._agrees(last, expected[0])
            if confirmed:
                break
        best = best if confirmed else search.best()
        return self._found(search, best, last, is_confirmed=confirmed)

    def _search(self, search: KneeSearch) -> None:
        while loads := search.next_loads():
            for load in loads:
                search.add(load, self._run(load, "search"))

    def _run(self, load: Load, role: str) -> Figures | None:
        threads, depth = load
        parameters = {"threads": threads, "depth": depth, "role": role}
        words = f"{role} threads={threads} depth={depth}"
        (step_id,) = self.store.experiments.add_steps(self.experiment_id, [(words, parameters)])
        figures, run_id, failure = None, None, None
        try:
            outcome = self.runner.run(
                self.plan.run_arguments(load),
                label=f"{self.label} {words}".strip(),
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
        except FathomError as error:
            if not self.points:
                raise
            failure = str(error)
        else:
            figures, run_id, failure = outcome.figures, outcome.run_id, outcome.failure
        if run_id is None:
            self.store.experiments.set_step(step_id, "failed" if failure else "done", failure)
        point = TunedPoint(threads, depth, role, figures, run_id, failure)
        self.points.append(point)
        self.on_point(point)
        return figures

    def _agrees(self, figures: Figures, expected_iops: float) -> bool:
        """Whether a confirming run found what was expected, and keeps the goal."""
        limit_ns, latency_ns = self.plan.goal.limit_ns, self.plan.goal.latency_ns(figures)
        if limit_ns is not None and (latency_ns is None or latency_ns > limit_ns):
            return False
        allowed = (figures.relative_half_width or self.plan.precision) + _BETWEEN_RUNS
        return abs(figures.iops / expected_iops - 1) <= allowed + self.plan.precision

    def _found(
        self, search: KneeSearch, best: Load | None, last: Figures | None, *, is_confirmed: bool
    ) -> Tuning:
        law = _law(self.points)
        goal = self.plan.goal
        return Tuning(
            experiment_id=self.experiment_id,
            threads=None if best is None else best[0],
            depth=None if best is None else best[1],
            iops=None if last is None or best is None else last.iops,
            latency_ns=None if last is None or best is None else goal.latency_ns(last),
            is_confirmed=is_confirmed,
            reasons=_reasons(self.plan, search, best, law),
            law=law,
            points=self.points,
        )


def _law(points: Sequence[TunedPoint]) -> ScalabilityLaw | None:
    """Fit the law to the greatest throughput with so many I/Os outstanding."""
    greatest: dict[int, float] = {}
    for point in points:
        if point.figures is not None and point.figures.iops:
            load = point.threads * point.depth
            greatest[load] = max(greatest.get(load, 0.0), point.figures.iops)
    if len(greatest) < _LEAST_LOADS:
        return None
    return fit_scalability(list(greatest), list(greatest.values()))


def _reasons(
    plan: TunePlan, search: KneeSearch, best: Load | None, law: ScalabilityLaw | None
) -> list[str]:
    goal = plan.goal
    if best is None:
        return ["No load that was measured keeps the latency; even the least one is slower."]
    points = search.expected()
    return [
        one
        for one in (
            _next_step(plan, points, best),
            _core_words(search, best),
            _edge_words(plan, best) if goal.limit_ns is None else None,
            _law_words(law, math.prod(best)),
        )
        if one is not None
    ]


def _next_step(plan: TunePlan, points: dict[Load, tuple[float, float]], best: Load) -> str | None:
    """Say what twice the load would bring: a plateau, a loss, or too high a latency."""
    deeper = (best[0], _after(plan.depths, best[1]))
    wider = (_after(plan.threads, best[0]), best[1])
    more = [
        load for load in (deeper, wider) if load in points and math.prod(load) > math.prod(best)
    ]
    if not more:
        return None
    threads, depth = max(more, key=lambda load: points[load][0])
    iops, ns = points[threads, depth]
    gain, rise = 100 * (iops / points[best][0] - 1), 100 * (ns / points[best][1] - 1)
    words = (
        f"with {threads} threads and depth {depth}, throughput changes by {gain:+.1f} %, and "
        f"latency by {rise:+.0f} %"
    )
    limit_ns = plan.goal.limit_ns
    if limit_ns is not None and ns > limit_ns:
        limit = f"{limit_ns / _NANOS_PER_MILLI:g} ms"
        return f"Latency rising: {words}, beyond the {plan.goal.metric} of {limit}."
    kind = "Past the peak" if gain < -100 * plan.goal.share else "Plateau"
    return f"{kind}: {words}." if gain <= 100 * plan.goal.share else f"Latency rising: {words}."


def _after(values: Sequence[int], value: int) -> int:
    place = values.index(value)
    return values[min(place + 1, len(values) - 1)]


def _core_words(search: KneeSearch, best: Load) -> str | None:
    runs = search.measured.get(best, [])
    busiest = [one.busiest_cpu_percent for one in runs if one.busiest_cpu_percent is not None]
    means = [one.cpu_percent for one in runs if one.cpu_percent is not None]
    if not busiest or not means or min(busiest) < _BUSY_PERCENT:
        return None
    if min(means) >= _BUSY_PERCENT:
        return f"Core-bound: all CPUs are busy ({min(means):.0f} %): the machine is the limit."
    return (
        f"Core-bound: one CPU is at {min(busiest):.0f} % while the mean is {min(means):.0f} %; "
        "more threads would spread the load."
    )


def _edge_words(plan: TunePlan, best: Load) -> str | None:
    # Where less of one may be made up for by more of the other, the end of one says nothing.
    free = [
        (name, values, value)
        for name, values, value in (
            ("threads", plan.threads, best[0]),
            ("depth", plan.depths, best[1]),
        )
        if len(values) > 1
    ]
    if any(value != values[-1] for _, values, value in free):
        return None
    names = " and ".join(name for name, _, _ in free)
    return f"This is the end of the range of {names}: a wider range may have better."


def _law_words(law: ScalabilityLaw | None, outstanding: int) -> str | None:
    if law is None:
        return None
    peak = (
        "it has no peak"
        if math.isinf(law.best_load)
        else f"its peak is at {law.best_load:.0f} outstanding"
    )
    return (
        f"Universal Scalability Law: contention {law.contention:.3g}, coherence "
        f"{law.coherence:.2g}, {100 * law.relative_error:.0f} % off on average; {peak}, and "
        f"at {outstanding} it gives {float(law.throughput(outstanding)[0]):,.0f} IOPS."
    )
