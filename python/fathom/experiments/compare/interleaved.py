"""Measuring A and B in turns until their difference is known well enough.

Neighbouring runs resemble each other, and machines drift. Here a run of A stands beside each run of
B, and chance draws which comes first, for each pair anew: whatever the machine does meanwhile hits
A as often as B, and the spread of the pairs' differences tells all that it does to them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fathom.errors import FathomError, InvalidRequestError
from fathom.experiments._run_times import further_run_s
from fathom.experiments.compare._interleaved_plan import LEAST_PAIRS, TurnsPlan
from fathom.experiments.compare.saved import compare_drawn_pairs, parse_condition
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.experiments.progress import Progress
from fathom.metrics import run_value
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.experiments.compare._interleaved_plan import Side
    from fathom.experiments.compare.comparison import RunComparison
    from fathom.runners import Runner
    from fathom.store import Experiment, ExperimentState, Store

__all__ = [
    "TurnsComparison",
    "TurnsPlan",
    "compare_in_turns",
    "compared_in_turns",
    "resume_in_turns",
]

_ROUNDING = 1e-9


@dataclass(frozen=True)
class TurnsComparison:
    """What comparing in turns found.

    Attributes
    ----------
    experiment_id
        In the store.
    a_run_ids, b_run_ids
        The runs that were compared, pair by pair.
    comparison
        None if there are fewer than 2 pairs.
    is_precise
        The change of each deciding figure is known as well as was asked for.
    failure
        Why it ended before its time, if it did.

    """

    experiment_id: int
    a_run_ids: list[int]
    b_run_ids: list[int]
    comparison: RunComparison | None
    is_precise: bool
    failure: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return it with the parts of the comparison beside its own."""
        own = asdict(self)
        return {**(own.pop("comparison") or {}), **own}


def compare_in_turns(
    store: Store,
    runner: Runner,
    plan: TurnsPlan,
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> TurnsComparison:
    """Run A and B in turns until the plan is content; each run is saved as it ends.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first run cannot be made.
    RunInterrupted
        If Ctrl-C ended it; ``resume_in_turns`` goes on.

    """
    experiment_id = store.experiments.begin("compare", label or "compare", asdict(plan))
    return _Session(store, runner, plan, experiment_id, label, on_progress).run()


def resume_in_turns(
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
        If the experiment compares nothing in turns, or is complete; or as ``compare_in_turns``.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = _experiment(store, experiment_id)
    if experiment.state == "complete":
        raise InvalidRequestError(
            f"experiment e{experiment_id} is complete: fathom compare e{experiment_id} shows it"
        )
    with damage_told(experiment_id):
        store.experiments.finish(experiment_id, "running")
        label = "" if experiment.name == "compare" else experiment.name
        plan = TurnsPlan.from_dict(experiment.plan)
        session = _Session(store, runner, plan, experiment_id, label, on_progress)
        session.take_up(experiment)
        return session.run()


def compared_in_turns(
    store: Store, experiment_id: int, metrics: Sequence[str] = (), conditions: Sequence[str] = ()
) -> TurnsComparison:
    """Compare the runs of an experiment again; figures and conditions may be others than planned.

    Raises
    ------
    InvalidRequestError
        If the experiment compares nothing in turns.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = _experiment(store, experiment_id)
    plan = TurnsPlan.from_dict(experiment.plan)
    pairs, _begun = _saved_pairs(store, experiment)
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
        raise InvalidRequestError(
            f"experiment e{experiment_id} is a {found.verb}, which has no A and B: name both"
        )
    return found


# So many pairs tell of the spread at all.
_LEAST_TOLD = 3


@dataclass
class _Session:
    store: Store
    runner: Runner
    plan: TurnsPlan
    experiment_id: int
    label: str
    on_progress: Callable[[Progress], None]
    pairs: list[tuple[int, int]] = field(default_factory=list)
    begun: int = 0
    durations_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began_s = self.runner.clock()
        self.planned = self.plan.pilot

    def take_up(self, experiment: Experiment) -> None:
        """Read which pairs are whole; half of one has lost its neighbour, and is not used."""
        self.pairs, self.begun = _saved_pairs(self.store, experiment)
        used = {run_id for pair in self.pairs for run_id in pair}
        runs = self.store.runs.list(experiment_id=self.experiment_id)
        whole = {run.step_id for run in runs if run.id in used}
        self.store.experiments.skip_steps(
            [step.id for step in experiment.steps if step.id not in whole]
        )

    def run(self) -> TurnsComparison:
        failure = None
        with end_noted(self.store, self.experiment_id):
            self._plan()
            while failure is None and len(self.pairs) < self.planned:
                failure = self._pair()
        found = _conclusion(self.store, self.experiment_id, self.plan, self.pairs, failure)
        state: ExperimentState = "complete" if failure is None else "failed"
        self.store.experiments.finish(
            self.experiment_id, state, failure=failure, outcome=found.as_dict()
        )
        return found

    def _plan(self) -> None:
        """Decide by the spread of the pairs how many there will be, where as many are done."""
        if len(self.pairs) < self.planned:
            return
        columns = _columns(self.store, self.experiment_id, self.pairs)
        for metric in self.plan.deciding:
            sides = columns(metric)
            # Without such a figure, as p99 without -L, more runs would not bring it.
            if sides is not None:
                self.planned = max(self.planned, self.plan.planned_pairs(*sides))

    def _pairs_between(self) -> tuple[int, int]:
        """Return between which numbers of pairs there will be, in nine of ten cases.

        The pilot decides it, or what it has planned so far; its spread is known before its end.
        """
        low, high = self.planned, self.plan.most
        if len(self.pairs) >= low:
            return low, low
        if len(self.pairs) < _LEAST_TOLD:
            return low, high
        columns = _columns(self.store, self.experiment_id, self.pairs)
        told = [
            self.plan.foreseen_pairs(*sides)
            for metric in self.plan.deciding
            if (sides := columns(metric)) is not None
        ]
        if not told:
            return low, low
        return max(low, *(one[0] for one in told)), max(low, *(one[1] for one in told))

    def _pair(self) -> str | None:
        """Run both sides of the next pair; return why one failed."""
        order = self.plan.order(self.begun)
        steps = [
            (f"{side.upper()} {len(self.pairs) + 1}", {"side": side, "pair": self.begun})
            for side in order
        ]
        step_ids = self.store.experiments.add_steps(self.experiment_id, steps)
        self.begun += 1
        made: dict[str, int] = {}
        for side, step_id, (words, _) in zip(order, step_ids, steps, strict=True):
            run_id, failure = self._run(side, words, step_id)
            if failure is not None:
                self.store.experiments.set_step(step_id, "failed", failure)
                self._tell(words, failure)
                return f"{words}: {failure}"
            made[side] = run_id
            if len(made) == len(order):
                self.pairs.append((made["a"], made["b"]))
                self._plan()
            self._tell(words, None)
        return None

    def _run(self, side: Side, words: str, step_id: int) -> tuple[int, str | None]:
        run_id, failure = None, None
        began_s = self.runner.clock()
        try:
            found = self.runner.run(
                self.plan.a if side == "a" else self.plan.b,
                label=f"{self.label} {words}".strip(),
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
            run_id, failure = found.run_id, found.failure
        except FathomError as error:
            if not self.durations_s or is_of_the_store(error):
                raise
            failure = str(error)
        self.durations_s.append(self.runner.clock() - began_s)
        return run_id or 0, failure

    def _tell(self, words: str, failure: str | None) -> None:
        """Say how far it is; the plan looks at all pairs that are whole by now."""
        done = 2 * len(self.pairs) + len(self.durations_s) % 2
        elapsed_s = self.runner.clock() - self.began_s
        each_s = further_run_s(self.plan.typical_run_s, self.durations_s)
        low, high = self._pairs_between()
        low_s, high_s = (max(2 * pairs - done, 0) * each_s for pairs in (low, high))
        self.on_progress(
            Progress(
                done=done,
                expected=2 * low,
                failed=int(failure is not None),
                elapsed_s=elapsed_s,
                remaining_s=low_s,
                label=words,
                failure=failure,
                remaining_low_s=low_s,
                remaining_high_s=high_s,
            )
        )


def _saved_pairs(store: Store, experiment: Experiment) -> tuple[list[tuple[int, int]], int]:
    """Return the runs of A and B of each whole pair, and how many pairs were begun."""
    listed = store.runs.list(experiment_id=experiment.id)
    runs = {run.step_id: run.id for run in listed if run.outcome == "complete"}
    begun: dict[int, dict[str, int | None]] = {}
    for step in experiment.steps:
        sides = begun.setdefault(step.parameters["pair"], {})
        sides[step.parameters["side"]] = runs.get(step.id)
    whole = [
        (a, b)
        for sides in begun.values()
        if (a := sides.get("a")) is not None and (b := sides.get("b")) is not None
    ]
    return whole, max(begun, default=-1) + 1


def _columns(
    store: Store, experiment_id: int, pairs: Sequence[tuple[int, int]]
) -> Callable[[str], tuple[list[float], list[float]] | None]:
    """Return what gives a figure of both sides, or None if a run does not have it."""
    runs = {run.id: run for run in store.runs.list(experiment_id=experiment_id)}

    def of(metric: str) -> tuple[list[float], list[float]] | None:
        rows = [[run_value(runs[run_id], metric) for run_id in pair] for pair in pairs]
        known = [(a, b) for a, b in rows if a is not None and b is not None]
        if len(known) < len(pairs):
            return None
        return [a for a, _ in known], [b for _, b in known]

    return of


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
        widths = [math.log1p(one.high) - math.log1p(one.low) for one in known if one is not None]
        precise = len(widths) == len(known) and max(widths) / 2 <= half
    a_ids, b_ids = ([pair[at] for pair in pairs] for at in (0, 1))
    return TurnsComparison(experiment_id, a_ids, b_ids, comparison, precise, failure)
