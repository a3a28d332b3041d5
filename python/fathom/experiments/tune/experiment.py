"""Tuning: the threads and the queue depth that serve best, why, and runs that confirm it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fathom.errors import FathomError, InvalidRequestError
from fathom.experiments._target_trouble import refuse_a_bad_target
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.experiments.progress import Progress
from fathom.experiments.tune._confirm import LEAST_ROUNDS, MOST_ATTEMPTS, Confirmation, Confirming
from fathom.experiments.tune._left import (
    ExpectedRuns,
    runs_of_confirmation,
    runs_of_search,
    seconds_left,
)
from fathom.experiments.tune._reasons import reasons
from fathom.experiments.tune._time_kept import TimeKept
from fathom.experiments.tune.claims import told_tuning
from fathom.experiments.tune.plan import TunePlan, plan_tune
from fathom.experiments.tune.result import KneeRange, TunedLoad, TunedPoint, Tuning
from fathom.runners import stored_figures
from fathom.stats import fit_scalability
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.experiments.tune.knee_search import KneeSearch, Load
    from fathom.runners import Figures, Runner
    from fathom.stats import ScalabilityLaw
    from fathom.store import Experiment, Store

__all__ = ["TunePlan", "TunedPoint", "Tuning", "plan_tune", "resume_tune", "tune"]

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
    return _Session(store, runner, plan, experiment_id, label, on_progress).run()


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
    experiment = store.experiments.get(experiment_id)
    if experiment.verb != "tune":
        raise InvalidRequestError(f"experiment e{experiment_id} is a {experiment.verb}, no tune")
    failed = any(step.state == "failed" for step in experiment.steps)
    if experiment.state == "complete" and not failed:
        raise InvalidRequestError(f"experiment e{experiment_id} is complete, and no run failed")
    with damage_told(experiment_id):
        plan = TunePlan.from_dict(experiment.plan)
        store.experiments.finish(experiment_id, "running")
        label = "" if experiment.name == "tune" else experiment.name
        session = _Session(store, runner, plan, experiment_id, label, on_progress)
        session.take_up(experiment)
        return session.run()


@dataclass
class _Session:
    """The search is asked the same again after a kill, and gets the answers that were saved."""

    store: Store
    runner: Runner
    plan: TunePlan
    experiment_id: int
    label: str
    on_progress: Callable[[Progress], None]
    points: list[TunedPoint] = field(default_factory=list)
    saved: dict[Key, list[tuple[Figures, int]]] = field(default_factory=lambda: defaultdict(list))
    open_steps: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    expected: float = 0.0
    expected_runs: ExpectedRuns = field(default_factory=ExpectedRuns)
    durations_s: list[float] = field(default_factory=list)
    growths: int = 0
    is_last: bool = False
    """No confirmation follows what is searched now."""

    def __post_init__(self) -> None:
        self.time = TimeKept(self.plan)
        self.began_s = self.runner.clock()

    def take_up(self, experiment: Experiment) -> None:
        """Read what earlier sessions measured, and which steps have no run that can be used."""
        listed = self.store.runs.list(experiment_id=self.experiment_id)
        runs = {run.step_id: run.id for run in listed if run.outcome == "complete"}
        for step in experiment.steps:
            asked = step.parameters
            key = (asked["role"], asked["threads"], asked["depth"], asked["attempt"])
            run_id = runs.get(step.id)
            figures = None
            if run_id is not None:
                figures = stored_figures(self.store.runs.get(run_id).result)
            if run_id is None or figures is None or step.state == "failed":
                self.open_steps[key].append(step.id)
            else:
                self.saved[key].append((figures, run_id))

    def run(self) -> Tuning:
        with end_noted(self.store, self.experiment_id):
            found = told_tuning(self.store, self._run())
        self._finish(found)
        return found

    def _finish(self, found: Tuning) -> None:
        failed = sum(point.figures is None for point in found.points)
        failure = None
        if failed == len(found.points):
            failure = "no run could be made"
        elif failed:
            failure = "1 run failed" if failed == 1 else f"{failed} runs failed"
        self.store.experiments.finish(
            self.experiment_id,
            "failed" if failed == len(found.points) else "complete",
            failure=failure,
            outcome=found.as_dict(),
        )

    def _run(self) -> Tuning:
        search = self.plan.search()
        confirmation: Confirmation | None = None
        for attempt in range(MOST_ATTEMPTS):
            if attempt and not self.time.may_begin(_LEAST_CONFIRMING):
                break
            best = self._searched(search)
            if best is None:
                break
            confirmation = self._confirm(search, best, attempt)
            if not confirmation.is_contradicted:
                return self._found(search, best, confirmation)
        self.is_last = True
        return self._found(search, self._searched(search), confirmation)

    def _searched(self, search: KneeSearch) -> Load | None:
        """Measure until the best is known, and return it."""
        while loads := search.next_loads() or self._grown(search):
            for at, load in enumerate(loads):
                self._expect_searching(search, len(loads) - at)
                search.add(load, self._measured(load, "search", 0))
        return search.best()

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

    def _confirm(self, search: KneeSearch, best: Load, attempt: int) -> Confirmation:
        confirming = Confirming.of(search, best)
        before = len(self.points)
        while loads := confirming.next_round() or self._further_round(confirming):
            is_last = confirming.is_nearly_enough and not self.time.may_begin(2 * len(loads))
            end = len(self.points) + len(loads)
            for load in loads:
                self.expected = end if is_last else before + confirming.rounds * len(loads)
                self.expected_runs = runs_of_confirmation(confirming, before)
                if is_last:
                    self.expected_runs = ExpectedRuns(end, end)
                role = "confirm" if load == best else "compare"
                figures = self._measured(load, role, attempt)
                confirming.add(load, figures)
                search.add(load, figures)
            if is_last:
                confirming.end()
        return confirming.concluded()

    def _further_round(self, confirming: Confirming) -> list[Load]:
        """Return another round if the time that was foreseen has room for it."""
        if not self.time.has_room(len(confirming.loads)) or not confirming.add_round():
            return []
        return confirming.next_round()

    def _measured(self, load: Load, role: str, attempt: int) -> Figures | None:
        """Return what a run finds, or found before a kill."""
        key = (role, *load, attempt)
        if self.saved[key]:
            figures, run_id = self.saved[key].pop(0)
            self.time.add(figures, None)
            self.points.append(TunedPoint(*load, role, figures, run_id, None))
            return figures
        began_s = self.runner.clock()
        point = self._new_point(load, role, key)
        taken_s = self.runner.clock() - began_s
        self.durations_s.append(taken_s)
        self.time.add(point.figures, taken_s)
        self.points.append(point)
        self._tell(point)
        return point.figures

    def _tell(self, point: TunedPoint) -> None:
        elapsed_s = self.runner.clock() - self.began_s
        left = max(self.expected - len(self.points), 0.0)
        low_s, high_s = self.time.bounds(
            *seconds_left(self.durations_s, len(self.points), self.expected_runs)
        )
        progress = Progress(
            done=len(self.points),
            expected=max(self.expected, len(self.points)),
            failed=sum(one.figures is None for one in self.points),
            elapsed_s=elapsed_s,
            remaining_s=max(left * self.time.run_s, low_s),
            label=f"{point.role} threads={point.threads} depth={point.depth}",
            failure=point.failure,
            remaining_low_s=low_s,
            remaining_high_s=high_s,
        )
        self.on_progress(progress)

    def _new_point(self, load: Load, role: str, key: Key) -> TunedPoint:
        words = f"{role} threads={load[0]} depth={load[1]}"
        step_id = self._step_id(key, words)
        figures, run_id, failure = None, None, None
        longest_s = self.time.longest_s(self.expected - len(self.points))
        try:
            outcome = self.runner.run(
                self.plan.run_arguments(load, longest_s),
                label=f"{self.label} {words}".strip(),
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
        except FathomError as error:
            # What was refused for the first load would be for all of them.
            is_first = all(point.figures is None for point in self.points)
            if is_first or is_of_the_store(error):
                raise
            failure = str(error)
        else:
            figures, run_id, failure = outcome.figures, outcome.run_id, outcome.failure
            if figures is not None and not figures.iops:
                figures, failure = None, "there was no I/O in the measured time"
        if run_id is None or failure:
            self.store.experiments.set_step(step_id, "failed" if failure else "done", failure)
        if failure and all(point.figures is None for point in self.points):
            refuse_a_bad_target(self.plan.run_arguments(load), failure)
        return TunedPoint(*load, role, figures, run_id, failure)

    def _step_id(self, key: Key, words: str) -> int:
        """Return the step of a run; one that was begun before a kill is taken again."""
        if self.open_steps[key]:
            return self.open_steps[key].pop(0)
        role, threads, depth, attempt = key
        parameters = {"threads": threads, "depth": depth, "role": role, "attempt": attempt}
        (step_id,) = self.store.experiments.add_steps(self.experiment_id, [(words, parameters)])
        return step_id

    def _found(
        self, search: KneeSearch, best: Load | None, confirmation: Confirmation | None
    ) -> Tuning:
        law = _law(self.points)
        iops, latency_ns = None, None
        if best is not None:
            runs = search.measured[best]
            latencies = [self.plan.goal.latency_ns(one) or 0.0 for one in runs]
            iops, latency_ns = sum(one.iops for one in runs) / len(runs), sum(latencies) / len(runs)
            if confirmation is not None and (confirmation.threads, confirmation.depth) == best:
                iops = confirmation.iops or iops
                latency_ns = confirmation.latency_ns or latency_ns
        return Tuning(
            experiment_id=self.experiment_id,
            goal=self.plan.goal,
            threads=None if best is None else best[0],
            depth=None if best is None else best[1],
            iops=iops,
            latency_ns=latency_ns,
            confirmation=confirmation,
            knee_range=_knee_range(search, confirmation),
            reasons=reasons(search, best, law),
            law=law,
            points=self.points,
            loads=_loads(search),
            elapsed_s=self.runner.clock() - self.began_s,
        )


def _knee_range(search: KneeSearch, confirmation: Confirmation | None) -> KneeRange | None:
    """Return the knees of the shares that the noise cannot tell from the goal's own."""
    share = search.goal.share
    if confirmation is None or confirmation.noise is None or confirmation.noise <= share:
        return None
    points = search.expected()
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
