"""Sweeping the combinations of parameters: measured, or known from their neighbours."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.errors import FathomError, InvalidRequestError
from fathom.experiments._run_times import START_S, expected_run_s
from fathom.experiments._target_trouble import refuse_a_bad_target
from fathom.experiments.axes import Grid
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.experiments.progress import Progress
from fathom.experiments.sweep._latency import estimate_latencies
from fathom.experiments.sweep._probe import PROBE_S, Probes, probe_arguments
from fathom.experiments.sweep._refine import Check
from fathom.experiments.sweep._result import Sweep, SweptCell
from fathom.experiments.sweep.claims import told_sweep
from fathom.experiments.sweep.plan import SweepPlan
from fathom.runners import Figures, stored_figures
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments.sweep._latency import Latencies
    from fathom.experiments.sweep._refine import Value
    from fathom.runners import Runner, RunOutcome
    from fathom.store import Experiment, ExperimentState, Store

__all__ = ["Progress", "Sweep", "SweptCell", "resume_sweep", "sweep"]

_BYTES_PER_MIB = 1 << 20
_DEVIATIONS = 1.96


def sweep(
    store: Store,
    runner: Runner,
    plan: SweepPlan,
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Sweep:
    """Sweep as planned; each run is saved as it ends, and a cell that fails is noted.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first cell cannot be run.
    TargetError
        If the first cell fails because of the target, which no other cell would change.
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
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Sweep:
    """Go on with a sweep that was killed or interrupted; cells that failed are tried again first.

    Of a sweep that ended, only these are run.

    Raises
    ------
    InvalidRequestError
        If the experiment is no sweep, or is complete and no cell failed.
    NotFoundError
        If the store has no such experiment.

    """
    experiment = store.experiments.get(experiment_id)
    failed = any(step.state == "failed" and "cell" in step.parameters for step in experiment.steps)
    if experiment.verb != "sweep":
        raise InvalidRequestError(f"experiment e{experiment_id} is a {experiment.verb}, no sweep")
    if experiment.state == "complete" and not failed:
        raise InvalidRequestError(f"experiment e{experiment_id} is complete, and no cell failed")
    with damage_told(experiment_id):
        plan = SweepPlan.from_dict(experiment.plan)
        store.experiments.finish(experiment_id, "running")
        session = _Session(store, runner, plan, experiment_id, on_progress)
        session.take_up(experiment)
        return session.run()


@dataclass
class _Session:
    store: Store
    runner: Runner
    plan: SweepPlan
    experiment_id: int
    on_progress: Callable[[Progress], None]
    measured: dict[int, tuple[Figures, int | None]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grid = Grid(self.plan.axes)
        self.refinements = self.plan.refinements(self.grid)
        self.random = np.random.default_rng(self.plan.seed + 1)
        found = self.store.experiments.get(self.experiment_id).steps
        self.step_ids = {
            int(step.parameters["cell"]): step.id for step in found if "cell" in step.parameters
        }
        self.began_s = self.runner.clock()
        self.runs = 0
        self.again: list[int] = []
        self.is_ended = False
        self.check = Check()
        self.probes = Probes()
        self.earlier = (0, 0)

    def take_up(self, experiment: Experiment) -> None:
        """Read what earlier sessions measured; the last run of a cell counts."""
        cells = {step_id: cell for cell, step_id in self.step_ids.items()}
        for run in reversed(self.store.runs.list(experiment_id=self.experiment_id)):
            if run.outcome == "complete" and run.step_id in cells:
                figures = stored_figures(self.store.runs.get(run.id).result)
                if figures.iops:
                    self.measured[cells[run.step_id]] = (figures, run.id)
        failed = {
            cells[step.id]
            for step in experiment.steps
            if step.state == "failed" and step.id in cells
        }
        self.again = sorted(failed - set(self.measured))
        # Cells are only skipped at the end of a sweep, with the checks behind it.
        self.is_ended = any(step.state == "skipped" for step in experiment.steps)
        if self.is_ended and experiment.outcome is not None:
            outcome = experiment.outcome
            self.check = Check(outcome["checked"], outcome["within"])
            self.earlier = outcome.get("probed", 0), outcome.get("stood_apart", 0)

    def run(self) -> Sweep:
        with end_noted(self.store, self.experiment_id):
            for cell in self.again:
                self._measure(cell)
            while batch := self._batch() or self._apart():
                for cell in batch:
                    self._measure(cell)
        return self._concluded()

    def _apart(self) -> list[int]:
        """Look at the cells that nothing was measured of, and return those that stand apart."""
        if self.is_ended or not self.plan.probes:
            return []
        chosen: list[int] = []
        for refinement in self.refinements:
            tried = {*self.measured, *self.failures}
            rest = [cell for cell in refinement.cells if cell not in tried]
            values = refinement.values(rest)
            for cell, value in values.items():
                if cell not in self.probes.found and not self._probe(cell, value):
                    break
            expected = {cell: value.height for cell, value in values.items()}
            chosen += sorted(self.probes.apart(expected, math.log1p(self.plan.tolerance)))
        self.probes.suspicious |= set(chosen)
        self.random.shuffle(chosen)
        return chosen

    def _probe(self, cell: int, value: Value) -> bool:
        """Look at a cell; return whether there was time for it."""
        began_s = self.runner.clock()
        if not self.probes.may_go_on(began_s - self.began_s - self.probes.spent_s):
            return False
        label = f"look at {self.grid.label(cell)}"
        (step_id,) = self.store.experiments.add_steps(
            self.experiment_id, [(label, {**self.grid.parameters(cell), "look": cell})]
        )
        arguments = self.plan.cell_arguments(self.grid, cell)
        iops = None
        try:
            outcome = self.runner.run(
                probe_arguments(arguments, math.exp(value.height)),
                label=label,
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
        except FathomError as error:
            if is_of_the_store(error):
                raise
        else:
            iops = outcome.figures.iops if outcome.figures is not None else None
            if outcome.run_id is None:
                self.store.experiments.set_step(step_id, "done")
        # A look that failed is no failure of the sweep: the cell is measured.
        self.probes.found[cell] = math.log(iops) if iops else None
        self.probes.spent_s += self.runner.clock() - began_s
        self._tell(label, None)
        return True

    def _known(self) -> dict[int, float]:
        return {
            cell: math.log(found.iops) for cell, (found, _) in self.measured.items() if found.iops
        }

    def _batch(self) -> list[int]:
        """Return the next cells of all slices, mixed so that drift falls on none in particular."""
        if self.is_ended:
            return []
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
            if (not self.measured and not self.failures) or is_of_the_store(error):
                raise
            self._note(cell, str(error))
        else:
            self._take(cell, outcome)
        self.runs += 1
        failure = self.failures.get(cell)
        if failure is not None and not self.measured:
            refuse_a_bad_target(self.plan.cell_arguments(self.grid, cell), failure)
        self._tell(label, failure)

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
        expected = self._expected_count(tried)
        elapsed_s = self.runner.clock() - self.began_s
        left = max(expected - len(tried), 0)
        self.on_progress(
            Progress(
                done=len(tried),
                expected=expected,
                failed=len(self.failures),
                elapsed_s=elapsed_s,
                remaining_s=left * self._cell_s(elapsed_s) + self._looks_left_s(expected),
                label=label,
                failure=failure,
            )
        )

    def _cell_s(self, elapsed_s: float) -> float:
        """Return how long a cell takes to measure, as far as one can tell."""
        return expected_run_s(self.plan.typical_cell_s, elapsed_s - self.probes.spent_s, self.runs)

    def _looks_left_s(self, expected: float) -> float:
        """Return how long the looks at the cells that are not measured will take."""
        if self.is_ended or not self.plan.probes:
            return 0.0
        done = len(self.probes.found)
        look_s = expected_run_s(START_S + PROBE_S, self.probes.spent_s, done)
        return max(len(self.grid) - expected - done, 0.0) * look_s

    def _expected_count(self, tried: set[int]) -> float:
        """Return how many cells will have been tried in the end, as far as one can tell."""
        if self.is_ended:
            return len(tried.union(self.again))
        return sum(
            one.expected_count(sum(cell in tried for cell in one.cells)) for one in self.refinements
        )

    def _concluded(self) -> Sweep:
        values, latencies = self._interpolated()
        cells = [
            self._cell(cell, values.get(cell), latencies.get(cell))
            for cell in range(len(self.grid))
        ]
        if not self.is_ended:
            checks = [one.check for one in self.refinements]
            self.check = Check(
                sum(one.measured for one in checks), sum(one.within for one in checks)
            )
        skipped = [self.step_ids[cell] for cell in values]
        self.store.experiments.skip_steps(skipped)
        found = Sweep(
            experiment_id=self.experiment_id,
            cells=cells,
            checked=self.check.measured,
            within=self.check.within,
            most_beyond=self.check.most_beyond,
            probed=self.earlier[0] + len(self.probes.found),
            stood_apart=self.earlier[1] + len(self.probes.suspicious),
            elapsed_s=self.runner.clock() - self.began_s,
        )
        found = told_sweep(self.store, found)
        outcome: dict[str, Any] = asdict(found)
        failed = len(self.failures)
        words = "1 cell failed" if failed == 1 else f"{failed} cells failed"
        state: ExperimentState = "complete" if self.measured else "failed"
        self.store.experiments.finish(
            self.experiment_id, state, failure=words if failed else None, outcome=outcome
        )
        return found

    def _interpolated(self) -> tuple[dict[int, Value], dict[int, Latencies]]:
        """Return rates and latencies of the cells that were left out."""
        values: dict[int, Value] = {}
        latencies: dict[int, Latencies] = {}
        known, features = self._known(), self.grid.features(range(len(self.grid)))
        for refinement in self.refinements:
            tried = {*self.measured, *self.failures}
            rest = [cell for cell in refinement.cells if cell not in tried]
            if self.is_ended and rest:
                refinement.fit({cell: known[cell] for cell in refinement.cells if cell in known})
            found = refinement.values(rest)
            mine = {
                cell: self.measured[cell][0] for cell in refinement.cells if cell in self.measured
            }
            values |= found
            latencies |= estimate_latencies(features, mine, list(found))
        return values, latencies

    def _cell(self, cell: int, value: Value | None, latencies: Latencies | None) -> SweptCell:
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
            estimated_latency=latencies or None,
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
