"""Measuring the cells of all targets, interleaved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from fathom.errors import RefusedError
from fathom.experiments._run_times import LEAST_RUN_S, TYPICAL_RUN_S, expected_run_s
from fathom.experiments.assess._steady import (
    LEAST_ROUNDS,
    round_of,
    rounds_counted,
    rounds_of,
    steady_state,
)
from fathom.experiments.assess.cell import KNEE, SEQUENTIAL_KNEE
from fathom.experiments.progress import Progress
from fathom.experiments.session import Observation, Skip, Step, Strategy
from fathom.findings.causes import AT_ITS_LIMIT, CORE_AT_ITS_LIMIT, causes_of
from fathom.stats import LoadPoint, find_knee
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fathom.experiments.assess.cell import Cell, Effort
    from fathom.experiments.assess.target import AssessedTarget
    from fathom.result import Result
    from fathom.runners import Figures

__all__ = ["AssessedCell", "Assessor", "CellState", "TargetCells", "interleaved", "whole_figures"]

CellState = Literal["pending", "done", "failed", "skipped", "left_out"]
_GROWN = 1.03
# What a rising depth itself brings: a core is full, or a limit is reached.
_ITS_OWN = CORE_AT_ITS_LIMIT | AT_ITS_LIMIT
_WARM_UP_FROM_S = 4.0
_LEAST_INTERVAL_MS = 10
_MOST_INTERVAL_MS = 100
_INTERVALS = 200
# What a run takes besides its measured time, until the first has told.
_OVERHEAD_S = 0.3
# Of a scratch file that is made and flushed, until it is: flash behind SATA or a network.
_FILL_BYTES_PER_S = 400 * MIB
# To which the usual time of a run belongs.
_USUAL_PERCENT = 2


@dataclass
class AssessedCell:
    """A cell and what became of it.

    Attributes
    ----------
    state
        ``pending`` if the end came before it, ``skipped`` if it could tell nothing new or its
        target was gone, ``left_out`` because nothing may be written.
    arguments
        With which it was run.
    figures, result, run_id
        What was measured; None unless it is done (``result`` and ``run_id`` also if it failed).
        The figures are of the whole measured time.
    reason
        Why it failed or was skipped.
    touched_by
        The rules of the findings of several runs of which this is one; known once all are judged.
    judged
        A result, and the rules of the findings that it gives alone, once somebody asked for them.

    """

    cell: Cell
    state: CellState = "pending"
    arguments: tuple[str, ...] = ()
    figures: Figures | None = None
    result: Result | None = None
    run_id: int | None = None
    reason: str | None = None
    touched_by: tuple[str, ...] = ()
    judged: tuple[Result, tuple[str, ...]] | None = field(default=None, repr=False, compare=False)


@dataclass
class TargetCells:
    """The cells of one target in their order; ``lost`` is why it could not be measured on.

    ``unwritable`` is why none of it could be written any more, such as a file system that ran full;
    what only reads goes on then.
    ``is_filled`` tells that a run of this session has filled the scratch file. ``besides_s`` is
    what each run took besides its measured time: the target is opened and looked at before.
    """

    target: AssessedTarget
    cells: list[AssessedCell]
    lost: str | None = None
    unwritable: str | None = None
    is_filled: bool = False
    besides_s: list[float] = field(default_factory=list)

    @property
    def overhead_s(self) -> float:
        """What a run takes besides its measured time, by those so far."""
        return (_OVERHEAD_S + sum(self.besides_s)) / (1 + len(self.besides_s))

    def done(self) -> list[AssessedCell]:
        """Return the cells that were measured."""
        return [one for one in self.cells if one.state == "done"]

    def missing(self) -> list[AssessedCell]:
        """Return the cells that were planned and not measured; the needless are none of them."""
        ends = [one for one in (self.lost, self.unwritable) if one is not None]
        return [
            one
            for one in self.cells
            if one.state in ("pending", "failed") or (one.state == "skipped" and one.reason in ends)
        ]

    def figures(self) -> dict[str, Figures]:
        """Return what was measured by the keys of the cells."""
        return {one.cell.key: one.figures for one in self.cells if one.figures is not None}

    def knee(self, family: str) -> int:
        """Return the depth of least latency within 3 % of the greatest rate of a saturation."""
        points = [
            LoadPoint(_depth(one.cell), one.figures.iops, one.figures.latency_mean_ns)
            for one in self._undisturbed(family)
            if one.figures is not None and one.figures.latency_mean_ns is not None
        ]
        return int(find_knee(points).load) if points else 1

    def out_of_reach(self, cell: Cell) -> str | None:
        """Return why a cell cannot be measured any more, if it cannot."""
        return self.lost or (self.unwritable if cell.writes else None)

    def needless(self, cell: Cell) -> str | None:
        """Return why a cell can tell nothing new, if it cannot."""
        if cell.saturates and self._is_saturated(cell.saturates):
            return "two steps before it brought next to nothing"
        if cell.role == "steady_round":
            found = steady_state(rounds_of({k: one.iops for k, one in self.figures().items()}))
            if found is not None and found.is_steady:
                return f"the SNIA's rule was kept after {found.rounds} rounds"
        return None

    def is_sure(self, cell: Cell) -> bool:
        """Whether a cell will be run unless something fails: of rounds, only the least number."""
        if cell.role != "steady_round":
            return True
        counted = rounds_counted(self.figures())
        return round_of(cell) <= max(counted.start + LEAST_ROUNDS - 1, counted.stop)

    def forget_rounds(self) -> None:
        """Let the steady state begin again, unless it was found: a pause is no part of it.

        What was preconditioned is a scratch file that is no more, or has had its pause.
        """
        rounds = [one for one in self.cells if one.cell.role == "steady_round"]
        if all(one.state == "done" or self.needless(one.cell) for one in rounds):
            return
        for one in self.cells:
            if one.cell.role in ("steady_round", "preconditioning") and one.state == "done":
                one.state, one.figures, one.result, one.run_id = "pending", None, None, None

    def _family(self, family: str) -> list[AssessedCell]:
        """Return the cells of a saturation; that of random reads begins with the baseline."""
        mine = [one for one in self.done() if one.cell.saturates == family]
        first = [one for one in self.done() if one.cell.key == "read-1" and family == "random"]
        return [*first, *mine]

    def _undisturbed(self, family: str) -> list[AssessedCell]:
        """Return the cells of a saturation that nothing explains but what explains them all.

        Those are all of them if there are not two.
        """
        mine = self._family(family)
        causes = [frozenset() if one.result is None else causes_of(one.result) for one in mine]
        common = frozenset.intersection(*causes) if causes else frozenset()
        kept = [one for one, own in zip(mine, causes, strict=True) if not own - common - _ITS_OWN]
        return kept if len(kept) > 1 else mine

    def _is_saturated(self, family: str) -> bool:
        """Whether the last two steps both brought next to nothing."""
        runs = self._family(family)
        # One that was disturbed brought less for another reason.
        kept = {id(one) for one in self._undisturbed(family)}
        if any(id(one) not in kept for one in runs[-2:]):
            return False
        rates = [one.figures.iops for one in runs if one.figures is not None]
        return len(rates) > 2 and max(rates[-2:]) < _GROWN * max(rates[:-2])  # noqa: PLR2004 - Two.


def _depth(cell: Cell) -> int:
    return next(int(one[2:]) for one in cell.arguments if one.startswith("-o"))


def interleaved(plans: Sequence[TargetCells]) -> Iterator[tuple[TargetCells, AssessedCell]]:
    """Return the cells of all targets, those of one place behind each other.

    The order of the targets is reversed from place to place (A B, B A, ...), so that whatever
    changes steadily with time, such as a host that warms up, favours none of them.
    """
    planned = [(one, cell) for one in plans for cell in one.cells if cell.state != "left_out"]
    for number, place in enumerate(sorted({cell.cell.place for _, cell in planned})):
        turn = [pair for pair in planned if pair[1].cell.place == place]
        yield from reversed(turn) if number % 2 else turn


@dataclass
class Assessor:
    """Runs all cells interleaved; a cell that fails is noted, and the others go on.

    ``step_ids`` are those of the cells in their order; ``budget_s`` is what the cells without a
    time of their own have left. ``on_cell``, ``on_progress``: see ``assess``. What is done already
    is not run again; ``took_s`` is how long that took.
    """

    plans: Sequence[TargetCells]
    step_ids: Sequence[int]
    effort: Effort
    on_cell: Callable[[str, int, int, float], None] = lambda *_told: None
    on_progress: Callable[[Progress], None] = lambda _progress: None
    took_s: list[float] = field(default_factory=list)
    elapsed_s: float = 0.0

    def __post_init__(self) -> None:
        """Take what earlier sessions took from the time."""
        self.budget_s = self.effort.seconds * len(self.plans) - sum(self.took_s)

    def strategy(self) -> Strategy[None]:
        """Measure what can tell something new.

        Raises
        ------
        FathomError
            If the first cell of a target cannot be run, or writing would destroy data.

        """
        order = list(interleaved(self.plans))
        for number, ((plan, one), step_id) in enumerate(zip(order, self.step_ids, strict=True)):
            if one.state == "done":
                continue
            reason = plan.out_of_reach(one.cell) or plan.needless(one.cell)
            if reason is not None:
                one.state, one.reason = "skipped", reason
                yield Skip([step_id])
                continue
            self._tell(order, number)
            one.arguments = self._arguments(plan, one.cell, self._share_s(order[number:]))
            words = f"assess {one.cell.key}"
            seen = yield Step(words, one.arguments, step_id=step_id, writes=one.cell.writes)
            _note_overhead(plan, one, seen)
            _take(plan, one, seen)
            self.elapsed_s += seen.took_s
            if one.cell.seconds is None:
                self.took_s.append(seen.took_s)
                self.budget_s -= seen.took_s

    def measured_s(self, left: Sequence[tuple[TargetCells, AssessedCell]]) -> int:
        """Return how long each of these cells is measured at the most, by its share of the time."""
        return _measured_s(self._share_s(left))[1]

    def _share_s(
        self, left: Sequence[tuple[TargetCells, AssessedCell]], fill_s: float = 0.0
    ) -> float:
        """Return an equal share of the time that the cells before have left, without overheads.

        ``fill_s`` is what is still to be spent on scratch files.
        """
        sharing = [
            plan.overhead_s
            for plan, one in left
            if one.cell.seconds is None and one.state != "done"
        ]
        return (self.budget_s - fill_s - sum(sharing)) / max(len(sharing), 1)

    def _tell(self, order: Sequence[tuple[TargetCells, AssessedCell]], number: int) -> None:
        plan, one = order[number]
        least_s, left_s, most_s = self.left_s(order[number:])
        several = len({id(one) for one, _ in order}) > 1
        name = f"{plan.target.name}: " if several else ""
        words = f"{name}{one.cell.part}: {one.cell.label}"
        self.on_cell(words, number + 1, len(order), left_s)
        failed = sum(cell.state == "failed" for _, cell in order)
        told = Progress(
            number, len(order), failed, self.elapsed_s, left_s, words, None, least_s, most_s
        )
        self.on_progress(told)

    def left_s(
        self, left: Sequence[tuple[TargetCells, AssessedCell]]
    ) -> tuple[float, float, float]:
        """Return how long cells will take: at the least, by expectation, and at most.

        Filling scratch files is on top of the least, as nobody knows yet how quick it is.
        """
        fill_s = self._fill_s(left)
        # No run measures for less than a second.
        share_s = max(self._share_s(left, fill_s), 1.0)
        # Four times as long for half of the width; and none takes longer than its share.
        typical_s = TYPICAL_RUN_S * (_USUAL_PERCENT / self.effort.precision_percent) ** 2
        typical_s += share_s >= _WARM_UP_FROM_S
        # The first cell fills the scratch file, which says nothing of those behind it.
        besides_s = sum(sum(one.besides_s) for one in self.plans)
        measured_s = max(sum(self.took_s) - besides_s, 0.0)
        mean_s = min(expected_run_s(typical_s, measured_s, len(self.took_s)), share_s)
        least_s = left_s = most_s = 0.0
        for plan, other in _needed(left):
            overhead_s = plan.overhead_s
            own_s = (other.cell.seconds or 0) + overhead_s
            # Once it is known to be steady, no further round is run.
            is_sure = plan.is_sure(other.cell)
            sure_s = own_s if is_sure else 0.0
            # The preconditioning ends once twice the size is written, if that is sooner.
            ends_early = other.cell.role == "preconditioning"
            own = (overhead_s if ends_early else sure_s, sure_s, own_s)
            shared = (min(LEAST_RUN_S, mean_s), mean_s, share_s)
            each = own if other.cell.seconds is not None else [one + overhead_s for one in shared]
            least_s, left_s, most_s = least_s + each[0], left_s + each[1], most_s + each[2]
        return least_s, left_s + fill_s, most_s + fill_s

    def _fill_s(self, left: Sequence[tuple[TargetCells, AssessedCell]]) -> float:
        """Return how long filling the scratch files will take that are not yet made."""
        plans = {id(plan): plan for plan, one in left if one.state != "done" and not plan.lost}
        unfilled = [one.target for one in plans.values() if not one.is_filled]
        return sum(one.size_bytes for one in unfilled if one.is_scratch) / _FILL_BYTES_PER_S

    def _arguments(self, plan: TargetCells, cell: Cell, share_s: float) -> tuple[str, ...]:
        knees = {KNEE: plan.knee("random"), SEQUENTIAL_KNEE: plan.knee("sequential")}
        own = [_filled(one, knees) for one in cell.arguments]
        target = plan.target
        first = [f"-c{target.size_bytes}"] if target.is_scratch and not plan.is_filled else []
        timing = _timing(cell, share_s, self.effort.precision_percent)
        return (*first, *own, *timing, str(target.path))


def _needed(
    left: Sequence[tuple[TargetCells, AssessedCell]],
) -> Iterator[tuple[TargetCells, AssessedCell]]:
    """Return the cells that will be run, by what is known now."""
    needless: dict[tuple[int, str | None, str], bool] = {}
    for plan, one in left:
        if one.state == "done" or plan.out_of_reach(one.cell) is not None:
            continue
        # Those of one kind are needless together.
        kind = (id(plan), one.cell.saturates, one.cell.role)
        if kind not in needless:
            needless[kind] = plan.needless(one.cell) is not None
        if not needless[kind]:
            yield plan, one


def _note_overhead(plan: TargetCells, one: AssessedCell, seen: Observation) -> None:
    """Learn what a run takes besides its measured time; the first fills the scratch file."""
    if seen.figures is None or (plan.target.is_scratch and not plan.is_filled):
        return
    warm_up_s = sum(float(word[2:]) for word in one.arguments if word.startswith("-W"))
    plan.besides_s.append(max(seen.took_s - seen.figures.measured_s - warm_up_s, 0.0))


def _take(plan: TargetCells, one: AssessedCell, seen: Observation) -> None:
    is_first = not any(other.run_id or other.state == "done" for other in plan.cells)
    if is_first or isinstance(seen.error, RefusedError):
        seen.raise_refusal()
    one.run_id, one.result = seen.run_id, seen.result
    plan.is_filled = plan.is_filled or seen.run_id is not None or seen.figures is not None
    if seen.figures is not None:
        one.state, one.figures = "done", whole_figures(seen.figures, seen.result)
        return
    one.state, one.reason = "failed", seen.failure
    plan.lost = plan.target.lost()
    if plan.lost is None and seen.ends is not None:
        _take_end(plan, one.cell, seen.ends)


def _take_end(plan: TargetCells, cell: Cell, why: str) -> None:
    """Note what cannot be measured any more: what was filled can be read, where no room is left."""
    if cell.writes and plan.done():
        plan.unwritable = why
    else:
        plan.lost = f"{plan.target.name} took no load any more: {why}"


def whole_figures(figures: Figures, result: Result | None) -> Figures:
    """Return the rates of the whole measured time, to which the latencies belong.

    What ``fathom show`` tells of a run is the same; the mean behind the transient, by which a run
    ends, can differ from it where somebody disturbed the run.
    """
    if result is None:
        return figures
    total = result.total
    return replace(figures, iops=total.iops, mib_per_s=total.mib_per_s)


def _filled(argument: str, knees: Mapping[str, int]) -> str:
    for name, depth in knees.items():
        argument = argument.replace(name, str(depth))
    return argument


def _measured_s(share_s: float) -> tuple[int, int]:
    """Return for how long a run warms up, and for how long it measures at the most."""
    warm_up_s = 1 if share_s >= _WARM_UP_FROM_S else 0
    return warm_up_s, max(int(share_s) - warm_up_s, 1)


def _timing(cell: Cell, share_s: float, precision_percent: int) -> list[str]:
    """Return how long to measure: at most a share of the time, less once the mean is known."""
    if cell.seconds is not None:
        return ["-W0", "-L", "-D100", f"-d{cell.seconds}"]
    warm_up_s, measured_s = _measured_s(share_s)
    interval_ms = measured_s * 1000 // _INTERVALS
    interval_ms = min(max(interval_ms, _LEAST_INTERVAL_MS), _MOST_INTERVAL_MS)
    # For the heat map over time. It costs 30 ns for each I/O, which is 1.5 % of the rate where
    # memory answers: too much for cells whose figures are compared with each other.
    mapped = ["--interval-latency"] if cell.role == "workload" else []
    return [
        f"-d{measured_s}",
        f"-W{warm_up_s}",
        "-L",
        f"-D{interval_ms}",
        *mapped,
        f"--stop-confidence=95:{precision_percent}",
        f"--stop-interval={interval_ms}",
    ]
