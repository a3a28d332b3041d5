"""Tuning: the threads and the queue depth that serve best, why, and runs that confirm it."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.experiments._run_times import START_S, expected_run_s
from fathom.experiments.session import (
    Forecast,
    Observation,
    Session,
    Step,
    Strategy,
    failed_words,
)
from fathom.experiments.tune._confirm import (
    LEAST_ROUNDS,
    MOST_ATTEMPTS,
    MOST_ROUNDS,
    Confirmation,
    Confirming,
)
from fathom.experiments.tune._reasons import reasons
from fathom.experiments.tune.claims import told_tuning
from fathom.experiments.tune.knee_search import geometric_mean
from fathom.experiments.tune.plan import TunePlan, plan_tune
from fathom.experiments.tune.result import KneeRange, TunedLoad, TunedPoint, Tuning
from fathom.stats import fit_scalability
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.experiments.progress import Progress
    from fathom.experiments.tune.knee_search import KneeSearch, Load
    from fathom.runners import Figures, Runner
    from fathom.stats import ScalabilityLaw
    from fathom.store import Step as StoredStep
    from fathom.store import Store

__all__ = ["TunePlan", "TunedPoint", "Tuning", "plan_tune", "resume_tune", "tune"]

# How long tuning still takes: a range, since what it finds decides what it must run.
#
# How much runs differ is not known before loads are run again, at the end, and decides whether a
# confirmation takes 6 runs or 18. One number would be wrong by half as often as not.

# So many loads beyond those of the design are measured at most times, of 3,200 simulated tunings
# (docs/lab.md), and at least so many more once these are done.
_MORE = 10
_STILL_MORE = 3
_LEAST_CONFIRMED = 2
_MOST_LOADS = 3
_DEVIATIONS = 2.0


@dataclass(frozen=True)
class ExpectedRuns:
    """How many runs there will be in the end, in nine of ten cases."""

    low: float = 0.0
    high: float = 0.0


def runs_of_search(search: KneeSearch, tried: int, confirming: int) -> ExpectedRuns:
    """Return how many there will be while the search goes on; ``confirming`` have been."""
    design, loads = len(search.design()), len(search.loads)
    low = min(max(design, tried), loads)
    high = min(max(design + _MORE, tried + _STILL_MORE), loads)
    return ExpectedRuns(
        low + confirming + _LEAST_CONFIRMED * LEAST_ROUNDS,
        high + confirming + _MOST_LOADS * MOST_ROUNDS,
    )


def runs_of_confirmation(confirming: Confirming, before: int) -> ExpectedRuns:
    """Return how many there will be if no other search follows."""
    loads, before = len(confirming.loads), before + confirming.failures.total()
    return ExpectedRuns(before + loads * confirming.rounds, before + loads * MOST_ROUNDS)


def seconds_left(
    durations_s: Sequence[float], done: int, expected: ExpectedRuns
) -> tuple[float, float]:
    """Return between what the remaining time is, given how long each run took so far."""
    taken = np.asarray(durations_s, float)
    mean = float(taken.mean())
    deviation = float(taken.std(ddof=1)) if taken.size > 1 else mean / 2

    def off(runs: float) -> float:
        """Return by how much the sum of so many runs may differ from what those so far tell."""
        return _DEVIATIONS * deviation * math.sqrt(runs + runs**2 / taken.size)

    low, high = (max(runs - done, 0.0) for runs in (expected.low, expected.high))
    return max(low * mean - off(low), low * mean / 2), high * mean + off(high)


# Keeping to the time that was foreseen, whatever the storage does.
#
# How much runs differ, and so how long each takes and how many there must be, is not known before
# they are made. So what is foreseen is a budget: runs that take long are given less time the less
# of it is left, rounds of confirmation that nobody must have are made as long as there is time, and
# left out if there is none.

# A run may take so many times its share of what is left, as most take less.
_GENEROUS = 1.6
# No run is cut shorter: the stop rule asks for two seconds behind the warm-up.
_SHORTEST_S = 3
# What must be is begun within this share of the budget.
_MOST = 1.15
# A first set-up that is longer makes or fills a file, which nobody can foresee.
_SET_UP_S = 1.0


@dataclass
class TimeKept:
    """What of the budget has been used; the same after a kill, but for the set-up of runs."""

    plan: TunePlan
    spent_s: float = 0.0
    runs: int = 0

    def add(self, figures: Figures | None, taken_s: float | None) -> None:
        """Count a run; ``taken_s`` is None if it was made before a kill."""
        measured_s = 0.0 if figures is None else figures.measured_s
        counted_s = START_S + measured_s if taken_s is None else taken_s
        if not self.runs:
            counted_s = min(counted_s, measured_s + _SET_UP_S)
        self.spent_s += counted_s
        self.runs += 1

    @property
    def run_s(self) -> float:
        """How long a further run takes, as far as one can tell."""
        return expected_run_s(self.plan.typical_run_s, self.spent_s, self.runs)

    def longest_s(self, runs_left: float) -> int:
        """Return the longest time of the next run, where there will be so many."""
        if self.plan.runner != "fathom":
            return self.plan.longest_s
        left_s = max(self.plan.budget_s - self.spent_s, 0.0)
        share_s = _GENEROUS * left_s / max(runs_left, 1.0)
        return min(max(round(share_s), _SHORTEST_S), self.plan.longest_s)

    def has_room(self, runs: int) -> bool:
        """Whether there is time for so many runs that nobody must have."""
        return self.spent_s + runs * self.run_s <= self.plan.budget_s

    def may_begin(self, runs: int) -> bool:
        """Whether so many runs that ought to be end near enough to what was foreseen."""
        return self.spent_s + runs * self.run_s <= _MOST * self.plan.budget_s

    def bounds(self, low_s: float, high_s: float) -> tuple[float, float]:
        """Return between what the remaining time is, given that without a budget; never nothing."""
        left_s = max(_MOST * self.plan.budget_s - self.spent_s, self.run_s)
        return min(low_s, left_s), max(min(high_s, left_s), self.run_s)


_LEAST_LOADS = 4
_MOST_GROWTHS = 2
# So many loads more than foreseen may have been searched before a range grows no more.
_GROWTH_LOADS = 5
# A confirmation of three loads with the fewest rounds.
_LEAST_CONFIRMING = 3 * LEAST_ROUNDS
Key = tuple[str, int, int, int]
"""Role, threads, depth, and which attempt to confirm it is."""


def tune(
    store: Store,
    runner: Runner,
    plan: TunePlan,
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Tuning:
    """Tune as planned; each run is saved as it ends, and one that fails is noted.

    Where a target takes no load at all any more (it is full or gone), the tuning ends with what was
    measured, and says so (``Tuning.ended_by``).

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first run cannot be made.
    TargetError
        If the first run fails because of the target, which no other load would change.
    RunInterrupted
        If Ctrl-C ended it; ``resume_tune`` goes on.

    """
    experiment_id = store.experiments.begin("tune", label or "tune", plan.as_dict())
    session = Session(store, experiment_id, runner, on_progress=on_progress, refuses_targets=True)
    return _tuned(session, Tuner(plan, label))


def resume_tune(
    store: Store,
    experiment_id: int,
    runner: Runner,
    *,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Tuning:
    """Go on with a tuning that was killed or interrupted; what was measured is not run again.

    Raises
    ------
    InvalidRequestError
        If the experiment is no tuning, or is complete and no run failed.
    NotFoundError
        If the store has no such experiment.

    """
    session = Session(store, experiment_id, runner, on_progress=on_progress, refuses_targets=True)
    experiment = session.resume(
        "tune",
        "is a {}, no tune",
        "is complete, and no run failed",
        redo=lambda step: step.state == "failed",
    )
    with damage_told(experiment_id):
        label = "" if experiment.name == "tune" else experiment.name
        tuner = Tuner(TunePlan.from_dict(experiment.plan), label)
        session.measured = tuner.take_up(experiment.steps, session.saved())
        return _tuned(session, tuner)


def _tuned(session: Session, tuner: Tuner) -> Tuning:
    found = session.run(tuner.strategy(), tuner.forecast)
    found = replace(found, experiment_id=session.experiment_id, elapsed_s=session.elapsed_s)
    found = told_tuning(session.store, found)
    if found.ended_by is None:
        # Runs that failed once and were made again are not missing.
        session.store.experiments.skip_steps(tuner.steps_left())
    failed = sum(point.figures is None for point in found.points)
    is_failed = found.ended_by is not None or failed == len(found.points)
    none = "no run could be made" if failed == len(found.points) else None
    failure = found.ended_by or none or failed_words(failed, "run")
    session.finish(found.as_dict(), failure, is_failed=is_failed)
    return found


@dataclass
class Tuner:
    """The search is asked the same again after a kill, and gets the answers that were saved."""

    plan: TunePlan
    label: str = ""
    points: list[TunedPoint] = field(default_factory=list)
    saved: dict[Key, list[Observation]] = field(default_factory=lambda: defaultdict(list))
    open_steps: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    expected: float = 0.0
    expected_runs: ExpectedRuns = field(default_factory=ExpectedRuns)
    durations_s: list[float] = field(default_factory=list)
    growths: int = 0
    is_last: bool = False
    """No confirmation follows what is searched now."""

    def __post_init__(self) -> None:
        self.time = TimeKept(self.plan)
        self.ended_by: str | None = None

    def take_up(self, steps: Sequence[StoredStep], measured: Mapping[int, Observation]) -> int:
        """Take what earlier sessions measured, and return how many runs; others are run again."""
        for step in steps:
            asked = step.parameters
            key = (asked["role"], asked["threads"], asked["depth"], asked["attempt"])
            if step.id in measured and step.state != "failed":
                self.saved[key].append(measured[step.id])
            else:
                self.open_steps[key].append(step.id)
        return sum(len(one) for one in self.saved.values())

    def steps_left(self) -> list[int]:
        """Return the steps of earlier sessions that did not have to be run again."""
        return [one for steps in self.open_steps.values() for one in steps]

    def strategy(self) -> Strategy[Tuning]:
        """Search the best load and confirm it, as often as there is time to."""
        search = self.plan.search()
        confirmation: Confirmation | None = None
        for attempt in range(MOST_ATTEMPTS):
            if attempt and not self.time.may_begin(_LEAST_CONFIRMING):
                break
            best = yield from self._searched(search)
            if best is None:
                break
            failed = search.failed
            confirmation = yield from self._confirm(search, best, attempt)
            if self.ended_by is not None:
                break
            # What cannot be run at all is left out from then on, and the rest can be confirmed.
            if not confirmation.is_contradicted and search.failed == failed:
                return self._found(search, best, confirmation)
        self.is_last = True
        best = yield from self._searched(search)
        return self._found(search, best, None if self.ended_by else confirmation)

    def _searched(self, search: KneeSearch) -> Strategy[Load | None]:
        """Measure until the best is known, and return it; None once no load can be run."""
        while self.ended_by is None and (loads := search.next_loads() or self._grown(search)):
            for at, load in enumerate(loads):
                self._expect_searching(search, len(loads) - at)
                search.add(load, (yield from self._measured(load, "search", 0)))
                if self.ended_by is not None:
                    return None
        return None if self.ended_by else search.best()

    def _expect_searching(self, search: KneeSearch, of_batch: int) -> None:
        """Note how many runs there will be, so many of this batch among them."""
        if self.is_last:
            self.expected = len(self.points) + of_batch
            self.expected_runs = ExpectedRuns(self.expected, self.expected)
            return
        tried = len({(point.threads, point.depth) for point in self.points})
        self.expected = self._expected_runs(max(self.plan.expected_loads(), tried + 1))
        self.expected_runs = runs_of_search(search, tried + 1, self._confirming_runs())

    def _grown(self, search: KneeSearch) -> list[Load]:
        """Widen the range where the best lies at its end, if time allows; what to measure there."""
        searched = sum(point.role == "search" for point in self.points)
        if not self.plan.grow or self.growths >= _MOST_GROWTHS:
            return []
        # Only what was measured decides, so that it is the same again after a kill.
        if searched > self.plan.expected_loads() + _GROWTH_LOADS:
            return []
        if not self.time.may_begin(_GROWTH_LOADS + _LEAST_CONFIRMING) or not search.grow():
            return []
        self.growths += 1
        return search.next_loads()

    def _expected_runs(self, loads: int) -> float:
        return self.plan.expected_runs(loads) + self._confirming_runs()

    def _confirming_runs(self) -> int:
        return sum(point.role != "search" for point in self.points)

    def _confirm(self, search: KneeSearch, best: Load, attempt: int) -> Strategy[Confirmation]:
        confirming = Confirming.of(search, best)
        before = len(self.points)
        while loads := confirming.next_round() or self._further_round(confirming):
            more = len(loads) + len(confirming.loads)
            is_last = confirming.is_nearly_enough and not self.time.may_begin(more)
            end = len(self.points) + len(loads)
            for load in loads:
                self.expected_runs = runs_of_confirmation(confirming, before)
                if is_last:
                    self.expected_runs = ExpectedRuns(end, end)
                self.expected = self.expected_runs.low
                role = "confirm" if load == best else "compare"
                figures = yield from self._measured(load, role, attempt)
                confirming.add(load, figures)
                search.add(load, figures)
                if self.ended_by is not None:
                    return confirming.concluded()
            if is_last and confirming.is_whole:
                confirming.end()
        return confirming.concluded()

    def _further_round(self, confirming: Confirming) -> list[Load]:
        """Return another round if the time that was foreseen has room for it."""
        if not self.time.has_room(len(confirming.loads)) or not confirming.add_round():
            return []
        return confirming.next_round()

    def _measured(self, load: Load, role: str, attempt: int) -> Strategy[Figures | None]:
        """Return what a run finds, or found before a kill."""
        key = (role, *load, attempt)
        if self.saved[key]:
            seen = self.saved[key].pop(0)
            self.time.add(seen.figures, None)
        else:
            seen = yield self._step(load, key)
            self.durations_s.append(seen.took_s)
            self.ended_by = seen.ends
            self.time.add(seen.figures, seen.took_s)
        self.points.append(TunedPoint(*load, role, seen.figures, seen.run_id, seen.failure))
        return seen.figures

    def forecast(self, _elapsed_s: float) -> Forecast:
        """Return how far tuning is."""
        left = max(self.expected - len(self.points), 0.0)
        low_s, high_s = self.time.bounds(
            *seconds_left(self.durations_s, len(self.points), self.expected_runs)
        )
        remaining_s = max(left * self.time.run_s, low_s)
        return Forecast(
            done=len(self.points),
            expected=max(self.expected, len(self.points)),
            failed=sum(one.figures is None for one in self.points),
            remaining_s=remaining_s,
            remaining_low_s=low_s,
            # Runs that must be made are, whatever was foreseen for them.
            remaining_high_s=max(high_s, remaining_s),
        )

    def _step(self, load: Load, key: Key) -> Step:
        """Return the step of a run; one that was begun before a kill is taken again."""
        role, threads, depth, attempt = key
        words = f"{role} threads={threads} depth={depth}"
        longest_s = self.time.longest_s(self.expected - len(self.points))
        return Step(
            words,
            self.plan.run_arguments(load, longest_s),
            {"threads": threads, "depth": depth, "role": role, "attempt": attempt},
            step_id=self.open_steps[key].pop(0) if self.open_steps[key] else None,
            run_label=f"{self.label} {words}".strip(),
        )

    def _found(
        self, search: KneeSearch, best: Load | None, confirmation: Confirmation | None
    ) -> Tuning:
        law = _law(self.points)
        why = [] if self.ended_by else reasons(search, best, law)
        iops, latency_ns = None, None
        if best is not None:
            runs = search.measured[best]
            iops = geometric_mean([one.iops for one in runs])
            latency_ns = geometric_mean([self.plan.goal.latency_ns(one) or 0.0 for one in runs])
            if confirmation is not None and (confirmation.threads, confirmation.depth) == best:
                iops = confirmation.iops or iops
                latency_ns = confirmation.latency_ns or latency_ns
        return Tuning(
            experiment_id=0,
            goal=self.plan.goal,
            threads=None if best is None else best[0],
            depth=None if best is None else best[1],
            iops=iops,
            latency_ns=latency_ns,
            confirmation=confirmation,
            knee_range=_knee_range(search, confirmation),
            reasons=[one.text for one in why],
            law=law,
            points=self.points,
            loads=_loads(search),
            elapsed_s=0.0,
            ended_by=self.ended_by,
            reason_loads=[one.loads for one in why],
        )


def _knee_range(search: KneeSearch, confirmation: Confirmation | None) -> KneeRange | None:
    """Return the knees of the shares that the noise cannot tell from the goal's own."""
    share = search.goal.share
    if confirmation is None or confirmation.noise is None or confirmation.noise <= share:
        return None
    points = search.candidates()
    low = search.goal.best(points, share=min(share + confirmation.noise, 1.0))
    high = search.goal.best(points, share=max(share - confirmation.noise, 0.0))
    return None if low is None or high is None else KneeRange(*low, *high)


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


def _loads(search: KneeSearch) -> list[TunedLoad]:
    estimates: dict[Load, Any] = search.estimates()
    found = []
    for load in search.loads:
        source = "failed" if load in search.failed else "estimated"
        if load in search.measured:
            source = "measured"
        elif source == "estimated" and load not in estimates:
            source = "unknown"
        found.append(TunedLoad(*load, source, estimates.get(load)))  # type: ignore[arg-type]
    return found
