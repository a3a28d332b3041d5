"""Sweeping the combinations of parameters: measured, or known from their neighbours."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fathom._errors import FathomError, InvalidRequestError
from fathom.experiments._axes import Grid
from fathom.experiments._sweep_plan import SweepPlan
from fathom.runners import Figures, stored_figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments._refine import Value
    from fathom.runners import Runner, RunOutcome
    from fathom.store import ExperimentState, Store

__all__ = ["Sweep", "SweepProgress", "SweptCell", "resume_sweep", "sweep"]

_BYTES_PER_MIB = 1 << 20
_DEVIATIONS = 1.96
Source = Literal["measured", "interpolated", "failed", "pending"]


@dataclass(frozen=True)
class SweptCell:
    """One combination of parameters.

    Attributes
    ----------
    parameters
        The value of each by its name.
    source
        Where its figures come from; they are None of a cell that failed or is pending.
    iops, mib_per_s
        Of reads and writes.
    iops_low, iops_high
        The interval of ``iops``; None if no stop rule told.
    is_precise
        Whether the interval is as narrow as was asked for; None where nothing was asked.
    figures
        All figures of a cell that was measured.
    run_id, failure
        Its run in the store; why it failed.

    """

    parameters: dict[str, str]
    source: Source
    iops: float | None = None
    mib_per_s: float | None = None
    iops_low: float | None = None
    iops_high: float | None = None
    is_precise: bool | None = None
    figures: Figures | None = None
    run_id: int | None = None
    failure: str | None = None


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is; counts are of measured cells, times in seconds."""

    done: int
    expected: float
    failed: int
    elapsed_s: float
    remaining_s: float
    label: str
    failure: str | None


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    Attributes
    ----------
    experiment_id
        In the store.
    cells
        All of them, in the order of their parameters.
    checked, within
        How many cells that could have been interpolated were measured all the same, and how many of
        them lay within the tolerance.
    elapsed_s
        How long this session took, in seconds.

    """

    experiment_id: int
    cells: list[SweptCell]
    checked: int
    within: int
    elapsed_s: float

    def count(self, source: Source) -> int:
        """Return how many cells have this source."""
        return sum(cell.source == source for cell in self.cells)


def sweep(
    store: Store,
    runner: Runner,
    plan: SweepPlan,
    *,
    label: str = "",
    on_progress: Callable[[SweepProgress], None] = lambda _progress: None,
) -> Sweep:
    """Sweep as planned; each run is saved as it ends, and a cell that fails is noted.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first cell cannot be run.
    RunInterrupted
        If Ctrl-C ended it; ``resume_sweep`` goes on.

    """
    grid = Grid(plan.axes)
    steps = [
        (grid.label(cell), {**grid.parameters(cell), "cell": cell})
        for cell in plan.order(len(grid))
    ]
    name = label or "sweep"
    experiment_id = store.experiments.begin("sweep", name, plan.as_dict(), steps)
    return _Session(store, runner, plan, experiment_id, on_progress).run()


def resume_sweep(
    store: Store,
    experiment_id: int,
    runner: Runner,
    *,
    on_progress: Callable[[SweepProgress], None] = lambda _progress: None,
) -> Sweep:
    """Go on with a sweep that was killed or interrupted; cells that failed are tried again.

    Raises
    ------
    InvalidRequestError
        If the experiment is no sweep, or is complete.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = store.experiments.get(experiment_id)
    if experiment.verb != "sweep" or experiment.state == "complete":
        what = "complete" if experiment.verb == "sweep" else f"a {experiment.verb}, no sweep"
        raise InvalidRequestError(f"experiment e{experiment_id} is {what}")
    plan = SweepPlan.from_dict(experiment.plan)
    store.experiments.finish(experiment_id, "running")
    session = _Session(store, runner, plan, experiment_id, on_progress)
    session.take_up()
    return session.run()


@dataclass
class _Session:
    store: Store
    runner: Runner
    plan: SweepPlan
    experiment_id: int
    on_progress: Callable[[SweepProgress], None]
    measured: dict[int, tuple[Figures, int | None]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grid = Grid(self.plan.axes)
        self.refinements = self.plan.refinements(self.grid)
        self.random = np.random.default_rng(self.plan.seed + 1)
        found = self.store.experiments.get(self.experiment_id).steps
        self.step_ids = {int(step.parameters["cell"]): step.id for step in found}
        self.began_s = self.runner.clock()
        self.runs = 0

    def take_up(self) -> None:
        """Read what earlier sessions measured; the last run of a cell counts."""
        cells = {step_id: cell for cell, step_id in self.step_ids.items()}
        for run in reversed(self.store.runs.list(experiment_id=self.experiment_id)):
            if run.outcome == "complete" and run.step_id in cells:
                figures = stored_figures(self.store.runs.get(run.id).result)
                self.measured[cells[run.step_id]] = (figures, run.id)

    def run(self) -> Sweep:
        try:
            while batch := self._batch():
                for cell in batch:
                    self._measure(cell)
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt)
            state: ExperimentState = "interrupted" if interrupted else "failed"
            self.store.experiments.finish(
                self.experiment_id, state, failure=None if interrupted else str(error)
            )
            raise
        return self._concluded()

    def _known(self) -> dict[int, float]:
        return {
            cell: math.log(found.iops) for cell, (found, _) in self.measured.items() if found.iops
        }

    def _batch(self) -> list[int]:
        """Return the next cells of all slices, mixed so that drift falls on none in particular."""
        known, tried = self._known(), {*self.failures, *self.measured}
        cells: list[int] = []
        for refinement in self.refinements:
            mine = {cell: known[cell] for cell in refinement.cells if cell in known}
            cells += refinement.next_cells(mine, tried - set(mine))
        self.random.shuffle(cells)
        return cells

    def _measure(self, cell: int) -> None:
        step_id, label = self.step_ids[cell], self.grid.label(cell)
        try:
            outcome = self.runner.run(
                self.plan.cell_arguments(self.grid, cell),
                label=label,
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
        except FathomError as error:
            # What was refused for the first cell would be for all of them.
            if not self.measured and not self.failures:
                raise
            self._note(cell, str(error))
        else:
            self._take(cell, outcome)
        self.runs += 1
        self._tell(label, self.failures.get(cell))

    def _take(self, cell: int, outcome: RunOutcome) -> None:
        if outcome.figures is None or not outcome.figures.iops:
            self._note(cell, outcome.failure or "there was no I/O in the measured time")
            return
        self.measured[cell] = (outcome.figures, outcome.run_id)
        if outcome.run_id is None:
            self.store.experiments.set_step(self.step_ids[cell], "done")

    def _note(self, cell: int, failure: str) -> None:
        self.failures[cell] = failure
        self.store.experiments.set_step(self.step_ids[cell], "failed", failure)

    def _tell(self, label: str, failure: str | None) -> None:
        tried = {*self.measured, *self.failures}
        counts = [
            one.expected_count(sum(cell in tried for cell in one.cells)) for one in self.refinements
        ]
        elapsed_s = self.runner.clock() - self.began_s
        left = max(sum(counts) - len(tried), 0)
        self.on_progress(
            SweepProgress(
                done=len(tried),
                expected=sum(counts),
                failed=len(self.failures),
                elapsed_s=elapsed_s,
                remaining_s=left * elapsed_s / self.runs,
                label=label,
                failure=failure,
            )
        )

    def _concluded(self) -> Sweep:
        values = self._interpolated()
        cells = [self._cell(cell, values.get(cell)) for cell in range(len(self.grid))]
        skipped = [self.step_ids[cell] for cell in values]
        self.store.experiments.skip_steps(skipped)
        found = Sweep(
            experiment_id=self.experiment_id,
            cells=cells,
            checked=sum(one.check.measured for one in self.refinements),
            within=sum(one.check.within for one in self.refinements),
            elapsed_s=self.runner.clock() - self.began_s,
        )
        outcome: dict[str, Any] = asdict(found)
        failure = f"{len(self.failures)} cells failed" if self.failures else None
        state: ExperimentState = "complete" if self.measured else "failed"
        self.store.experiments.finish(self.experiment_id, state, failure=failure, outcome=outcome)
        return found

    def _interpolated(self) -> dict[int, Value]:
        values: dict[int, Value] = {}
        for refinement in self.refinements:
            rest = [
                cell
                for cell in refinement.cells
                if cell not in self.measured and cell not in self.failures
            ]
            values |= refinement.values(rest)
        return values

    def _cell(self, cell: int, value: Value | None) -> SweptCell:
        parameters = self.grid.parameters(cell)
        if cell in self.failures:
            return SweptCell(parameters, "failed", failure=self.failures[cell])
        if cell in self.measured:
            figures, run_id = self.measured[cell]
            return self._measured_cell(parameters, figures, run_id)
        if value is None:
            return SweptCell(parameters, "pending")
        iops, spread = math.exp(value.height), math.exp(_DEVIATIONS * value.deviation)
        return SweptCell(
            parameters,
            "interpolated",
            iops=iops,
            mib_per_s=iops * self._bytes_per_io(cell) / _BYTES_PER_MIB,
            iops_low=iops / spread,
            iops_high=iops * spread,
        )

    def _measured_cell(
        self, parameters: dict[str, str], figures: Figures, run_id: int | None
    ) -> SweptCell:
        half = figures.relative_half_width
        is_adaptive = self.plan.mode == "adaptive"
        return SweptCell(
            parameters,
            "measured",
            iops=figures.iops,
            mib_per_s=figures.mib_per_s,
            iops_low=None if half is None else figures.iops * (1 - half),
            iops_high=None if half is None else figures.iops * (1 + half),
            is_precise=(half is not None and half <= self.plan.precision) if is_adaptive else None,
            figures=figures,
            run_id=run_id,
        )

    def _bytes_per_io(self, cell: int) -> float:
        size = self.grid.block_bytes(cell)
        if size is not None:
            return size
        figures, _ = next(iter(self.measured.values()))
        return figures.mib_per_s * _BYTES_PER_MIB / figures.iops
