"""Sweeping the combinations of parameters: measured, or known from their neighbours."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from fathom.experiments._run_times import START_S, expected_run_s
from fathom.experiments.axes import Grid
from fathom.experiments.progress import Progress
from fathom.experiments.session import (
    Forecast,
    Observation,
    Session,
    Skip,
    Step,
    Strategy,
    failed_words,
)
from fathom.experiments.sweep._io_bytes import asked_io_bytes, estimate_io_bytes
from fathom.experiments.sweep._latency import estimate_latencies
from fathom.experiments.sweep._probe import LEAST_LOOKS, PROBE_S, Probes, probe_arguments
from fathom.experiments.sweep._refine import Check, Learnt, Value
from fathom.experiments.sweep.claims import told_sweep
from fathom.experiments.sweep.plan import SweepPlan
from fathom.experiments.sweep.result import Sweep, SweptCell
from fathom.store.damage import damage_told
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fathom.experiments.sweep._latency import Latencies
    from fathom.experiments.sweep._refine import Refinement
    from fathom.experiments.sweep.result import SweepOutcome
    from fathom.runners import Figures, Runner
    from fathom.stats.floats import FloatArray
    from fathom.store import Experiment, Store
    from fathom.store import Step as StoredStep

__all__ = ["Progress", "Sweep", "SweptCell", "resume_sweep", "sweep"]

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

    Where a target takes no load at all any more (it is full or gone), the sweep ends with what was
    measured, and says so (``Sweep.ended_by``).

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
    session = Session(store, experiment_id, runner, on_progress=on_progress, refuses_targets=True)
    return _swept(session, _Sweeping(plan, _step_ids(session.steps())))


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
    session = Session(store, experiment_id, runner, on_progress=on_progress, refuses_targets=True)
    experiment = session.resume(
        "sweep",
        "is a {}, no sweep",
        "is complete, and no cell failed",
        redo=lambda step: step.state == "failed" and "cell" in step.parameters,
    )
    with damage_told(experiment_id):
        sweeping = _Sweeping(SweepPlan.from_dict(experiment.plan), _step_ids(experiment.steps))
        sweeping.take_up(session.saved(), experiment)
        session.measured = len(sweeping.measured)
        return _swept(session, sweeping)


def _step_ids(steps: Sequence[StoredStep]) -> dict[int, int]:
    return {int(one.parameters["cell"]): one.id for one in steps if "cell" in one.parameters}


def _swept(session: Session, sweeping: _Sweeping) -> Sweep:
    found = session.run(sweeping.strategy(), sweeping.forecast)
    found = replace(found, experiment_id=session.experiment_id, elapsed_s=session.elapsed_s)
    found = told_sweep(session.store, found)
    failure = found.ended_by or failed_words(len(sweeping.failures), "cell")
    is_failed = found.ended_by is not None or not sweeping.measured
    session.finish(asdict(found), failure, is_failed=is_failed)
    return found


@dataclass(frozen=True)
class _Estimated:
    """What is said of a cell that was not measured."""

    rate: Value
    io_bytes: float
    latencies: Latencies


@dataclass
class _Sweeping:
    """Which cell is next, and what all of them say; the time is that which its steps took."""

    plan: SweepPlan
    step_ids: dict[int, int]
    measured: dict[int, tuple[Figures, int | None]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grid = Grid(self.plan.axes)
        self.refinements = self.plan.refinements(self.grid)
        self.random = np.random.default_rng(self.plan.seed + 1)
        self.took_s = 0.0
        self.runs = 0
        self.again: list[int] = []
        self.waiting = 0
        self.is_ended = False
        self.check = Check()
        self.probes = Probes()
        self.earlier = (0, 0)
        self.earlier_unprobed = 0
        self.earlier_rates: dict[int, Value] = {}
        self.earlier_measured: set[int] = set()
        self.asked_bytes: dict[tuple[str, ...], int | None] = {}
        self.ended_by: str | None = None

    def take_up(self, saved: Mapping[int, Observation], experiment: Experiment) -> None:
        """Take what earlier sessions measured."""
        cells = {step_id: cell for cell, step_id in self.step_ids.items()}
        for step_id, seen in saved.items():
            if step_id in cells and seen.figures is not None and seen.figures.iops:
                self.measured[cells[step_id]] = (seen.figures, seen.run_id)
        failed = {
            cells[step.id]
            for step in experiment.steps
            if step.state == "failed" and step.id in cells
        }
        self.again = sorted(failed - set(self.measured))
        # Cells are only skipped at the end of a sweep, with the checks behind it.
        self.is_ended = any(step.state == "skipped" for step in experiment.steps)
        if self.is_ended and experiment.outcome is not None:
            self._take_up_outcome(cast("SweepOutcome", experiment.outcome))

    def _take_up_outcome(self, outcome: SweepOutcome) -> None:
        """Take what a sweep that ended had found; older ones do not tell all of it."""
        self.check = Check(outcome["checked"], outcome["within"])
        self.earlier = outcome.get("probed", 0), outcome.get("stood_apart", 0)
        self.earlier_unprobed = outcome.get("unprobed", 0)
        for cell, one in enumerate(outcome["cells"]):
            if one["source"] == "measured":
                self.earlier_measured.add(cell)
                continue
            iops, high = one.get("iops"), one.get("iops_high")
            if iops and high:
                self.earlier_rates[cell] = Value(
                    math.log(iops), math.log(high / iops) / _DEVIATIONS
                )
        for refinement, known in zip(self.refinements, outcome.get("learnt", ()), strict=False):
            refinement.recall(Learnt(tuple(known["check_scores"]), tuple(known["uneven_axes"])))

    def strategy(self) -> Strategy[Sweep]:
        """Measure what failed before, then what tells most, then what stands apart."""
        yield from self._all_measured()
        found, omitted = self._found()
        yield Skip([self.step_ids[cell] for cell in omitted])
        return found

    def _all_measured(self) -> Strategy[None]:
        yield from self._each_measured(self.again)
        while self.ended_by is None:
            batch = self._batch() or (yield from self._apart())
            if not batch:
                return
            yield from self._each_measured(batch)

    def _each_measured(self, cells: Sequence[int]) -> Strategy[None]:
        """Measure cells, until a target takes no load at all any more."""
        for at, cell in enumerate(cells):
            self.waiting = len(cells) - at
            if self.ended_by is None:
                yield from self._measure(cell)
        self.waiting = 0

    def _apart(self) -> Strategy[list[int]]:
        """Look at the cells that nothing was measured of, and return those that stand apart."""
        if self.is_ended or not self.plan.probes:
            return []
        chosen: list[int] = []
        for refinement in self.refinements:
            chosen += yield from self._apart_in(refinement)
        self.random.shuffle(chosen)
        return chosen

    def _apart_in(self, refinement: Refinement) -> Strategy[list[int]]:
        """Look at the cells of a slice; return those that stand apart or of which no look tells."""
        tried = {*self.measured, *self.failures}
        rest = [cell for cell in refinement.cells if cell not in tried]
        # What was looked at and measured since tells what looks have in common, too.
        looked = [cell for cell in refinement.cells if cell in self.probes.found]
        if len({*rest, *looked}) < LEAST_LOOKS:
            return rest
        for cell, value in refinement.values(rest).items():
            if cell not in self.probes.found and not (yield from self._probe(cell, value)):
                break
        values = refinement.values(list(dict.fromkeys([*rest, *looked])))
        expected = {cell: value.height for cell, value in values.items()}
        apart = self.probes.apart(expected, math.log1p(self.plan.tolerance)) & {*rest}
        self.probes.suspicious |= apart
        return sorted(apart | (self.probes.unclear(expected) & {*rest}))

    def _probe(self, cell: int, value: Value) -> Strategy[bool]:
        """Look at a cell; return whether there was time for it."""
        if not self.probes.may_go_on(self.took_s):
            return False
        seen = yield Step(
            f"look at {self.grid.label(cell)}",
            probe_arguments(self.plan.cell_arguments(self.grid, cell), math.exp(value.height)),
            {**self.grid.parameters(cell), "look": cell},
            is_look=True,
        )
        # A look that failed is no failure of the sweep.
        iops = 0.0 if seen.figures is None else seen.figures.iops
        self.probes.found[cell] = math.log(iops) if iops else None
        self.probes.spent_s += seen.took_s
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

    def _measure(self, cell: int) -> Strategy[None]:
        seen = yield Step(
            self.grid.label(cell),
            self.plan.cell_arguments(self.grid, cell),
            step_id=self.step_ids[cell],
        )
        self._take(cell, seen)

    def _take(self, cell: int, seen: Observation) -> None:
        self.runs += 1
        self.took_s += seen.took_s
        self.ended_by = seen.ends
        if seen.figures is None:
            self.failures[cell] = seen.failure or ""
        else:
            self.measured[cell] = (seen.figures, seen.run_id)

    def forecast(self, elapsed_s: float) -> Forecast:
        """Return how far the sweep is."""
        tried = {*self.measured, *self.failures}
        expected = self._expected_count(tried)
        left = max(expected - len(tried), 0)
        return Forecast(
            done=len(tried),
            expected=expected,
            failed=len(self.failures),
            remaining_s=left * self._cell_s(elapsed_s) + self._looks_left_s(expected),
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
        expected = sum(
            one.expected_count(sum(cell in tried for cell in one.cells)) for one in self.refinements
        )
        # What was chosen already is measured in any case.
        return max(expected, len(tried) + self.waiting)

    def _found(self) -> tuple[Sweep, Collection[int]]:
        """Return what all cells say, and which were omitted."""
        estimated = self._interpolated()
        cells = [self._cell(cell, estimated.get(cell)) for cell in range(len(self.grid))]
        if not self.is_ended:
            checks = [one.check for one in self.refinements]
            self.check = Check(
                sum(one.measured for one in checks), sum(one.within for one in checks)
            )
        told = {cell for one in self.refinements for cell in self.probes.telling(one.cells)}
        untold = len(estimated.keys() - told)
        found = Sweep(
            experiment_id=0,
            cells=cells,
            checked=self.check.measured,
            within=self.check.within,
            most_beyond=self.check.most_beyond,
            probed=self.earlier[0] + len(told),
            unprobed=self.earlier_unprobed if self.is_ended else untold,
            stood_apart=self.earlier[1] + len(self.probes.suspicious),
            learnt=[one.learnt for one in self.refinements],
            elapsed_s=0.0,
            ended_by=self.ended_by,
        )
        return found, estimated.keys()

    def _interpolated(self) -> dict[int, _Estimated]:
        """Return what is said of the cells that were left out.

        Nothing where the sweep was cut short: whoever goes on with it measures them.
        """
        found: dict[int, _Estimated] = {}
        if self.ended_by is not None:
            return found
        known, features = self._known(), self.grid.features(range(len(self.grid)))
        for refinement in self.refinements:
            tried = {*self.measured, *self.failures}
            rest = [cell for cell in refinement.cells if cell not in tried]
            rates = self._rates(refinement, rest, known)
            mine = {
                cell: self.measured[cell][0] for cell in refinement.cells if cell in self.measured
            }
            latencies = estimate_latencies(features, mine, list(rates))
            io_bytes = self._io_bytes(features, mine, list(rates))
            for cell, rate in rates.items():
                found[cell] = _Estimated(rate, io_bytes[cell], latencies[cell])
        return found

    def _rates(
        self, refinement: Refinement, rest: list[int], known: Mapping[int, float]
    ) -> dict[int, Value]:
        """Return what a slice says of its cells that were left out.

        Of a sweep that ended, a slice in which nothing was measured since says what it said.
        """
        if not self.is_ended or not rest:
            return refinement.values(rest)
        mine = {cell: known[cell] for cell in refinement.cells if cell in known}
        if mine.keys() <= self.earlier_measured and self.earlier_rates.keys() >= {*rest}:
            return {cell: self.earlier_rates[cell] for cell in rest}
        refinement.fit(mine)
        return refinement.values(rest)

    def _io_bytes(
        self, features: FloatArray, measured: Mapping[int, Figures], cells: Sequence[int]
    ) -> dict[int, float]:
        """Return the bytes of an I/O of cells of one slice, in which these were measured."""
        asked = {cell: self._asked_bytes(cell) for cell in cells}
        told = {cell: float(size) for cell, size in asked.items() if size is not None}
        known = {cell: one.mib_per_s * MIB / one.iops for cell, one in measured.items() if one.iops}
        return told | estimate_io_bytes(features, known, [one for one in cells if one not in told])

    def _asked_bytes(self, cell: int) -> int | None:
        """Return the bytes of every I/O of a cell, if they have one size."""
        others = ("threads", "depth")
        parameters = self.grid.parameters(cell)
        key = tuple(value for name, value in parameters.items() if name not in others)
        if key not in self.asked_bytes:
            self.asked_bytes[key] = asked_io_bytes(self.plan.cell_arguments(self.grid, cell))
        return self.asked_bytes[key]

    def _cell(self, cell: int, estimated: _Estimated | None) -> SweptCell:
        parameters = self.grid.parameters(cell)
        if cell in self.failures:
            return SweptCell(parameters, "failed", failure=self.failures[cell])
        if cell in self.measured:
            figures, run_id = self.measured[cell]
            return self._measured_cell(parameters, figures, run_id)
        if estimated is None:
            return SweptCell(parameters, "pending")
        rate = estimated.rate
        iops, spread = math.exp(rate.height), math.exp(_DEVIATIONS * rate.deviation)
        return SweptCell(
            parameters,
            "interpolated",
            iops=iops,
            mib_per_s=iops * estimated.io_bytes / MIB,
            iops_low=iops / spread,
            iops_high=iops * spread,
            estimated_latency=estimated.latencies or None,
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
            iops_low=None if half is None else figures.iops * max(1 - half, 0.0),
            iops_high=None if half is None else figures.iops * (1 + half),
            is_precise=(half is not None and half <= self.plan.precision) if is_adaptive else None,
            figures=figures,
            run_id=run_id,
        )
