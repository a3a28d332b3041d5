"""Running an assessment: cell by cell, each saved as a step as soon as it ends."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from fathom._errors import FathomError, RefusedError
from fathom.assess._plan import plan_cells
from fathom.assess._target import AssessedTarget, opened_target
from fathom.assess._verdict import Verdict, verdict_of
from fathom.experiments._measure import measure
from fathom.findings import Finding, find
from fathom.stats import LoadPoint, find_knee

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom._result import Result
    from fathom._run import EventCallback
    from fathom.assess._plan import Cell, Effort
    from fathom.store import ExperimentState, Store

__all__ = ["Assessment", "CellDone", "assess"]

_GROWN = 1.03
_WARM_UP_FROM_S = 4.0
_LEAST_INTERVAL_MS = 10
_MOST_INTERVAL_MS = 100
_INTERVALS = 200
# What a run takes besides its measured time, until the first has told.
_OVERHEAD_S = 0.3


@dataclass(frozen=True)
class CellDone:
    """A cell that was run; ``failure`` is None unless it failed, ``run_id`` if it was not saved."""

    cell: Cell
    result: Result
    run_id: int | None
    failure: str | None


@dataclass
class Assessment:
    """What an assessment found; lists run over the targets. ``failures`` are by cell."""

    experiment_id: int
    targets: list[AssessedTarget] = field(default_factory=list)
    cells: list[list[CellDone]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


def assess(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    names: Sequence[str],
    effort: Effort,
    *,
    writes: bool = False,
    overwrite: bool = False,
    steady_seconds: int = 0,
    on_event: EventCallback | None = None,
    on_cell: Callable[[str, int, int, float], None] = lambda *_told: None,
) -> Assessment:
    """Assess files, folders or devices, one after the other.

    ``on_cell`` gets, before each cell: what it is, its number, how many there are, and the seconds
    that are left. What exists is only read unless ``writes`` is true; the engine's guard still
    refuses to write recognisable data unless ``overwrite`` is true, and devices in use always.

    Raises
    ------
    TargetError
        If a target cannot be assessed; nothing was measured.
    RefusedError
        If writing would destroy data.
    RunInterrupted
        If Ctrl-C ended it; what is done is saved.

    """
    with ExitStack() as stack:
        targets = [
            stack.enter_context(opened_target(name, effort.size_bytes, writes=writes))
            for name in names
        ]
        plans = [plan_cells(one, effort, steady_seconds=steady_seconds) for one in targets]
        experiment_id = _begin(store, names, effort, [cells for cells, _ in plans])
        found = Assessment(experiment_id, targets)
        run = _Run(store, found, effort, on_event, on_cell, overwrite=overwrite)
        run.left = sum(len(cells) for cells, _ in plans)
        run.count = run.left
        try:
            for target, (cells, left_out) in zip(targets, plans, strict=True):
                done = run.target(target, cells)
                findings = find(one.result for one in done if _counts(one, target))
                found.findings += findings
                by_key = {one.cell.key: one.result for one in done if one.failure is None}
                found.verdicts.append(verdict_of(target, by_key, left_out, findings))
        except KeyboardInterrupt:
            store.experiments.finish(experiment_id, "interrupted")
            raise
        except FathomError as error:
            store.experiments.finish(experiment_id, "failed", failure=str(error))
            raise
    _finish(store, found)
    return found


def _counts(done: CellDone, target: AssessedTarget) -> bool:
    return done.failure is None and (done.cell.for_findings or not target.is_direct)


def _begin(store: Store, names: Sequence[str], effort: Effort, plans: list[list[Cell]]) -> int:
    plan = {"targets": [*names], "effort": asdict(effort)}
    steps = [
        (f"{name}: {cell.label}", {"part": cell.part, "arguments": [*cell.arguments]})
        for name, cells in zip(names, plans, strict=True)
        for cell in cells
    ]
    return store.experiments.begin("assess", " ".join(names), plan, steps)


def _finish(store: Store, found: Assessment) -> None:
    outcome = {
        "verdicts": [asdict(one) for one in found.verdicts],
        "findings": [asdict(one) for one in found.findings],
    }
    failure = "; ".join(f"{cell}: {why}" for cell, why in found.failures.items()) or None
    state: ExperimentState = "failed" if failure else "complete"
    store.experiments.finish(found.experiment_id, state, failure=failure, outcome=outcome)


class _Run:
    """Runs the cells of one target after the other."""

    def __init__(  # noqa: PLR0913 - What it works with.
        self,
        store: Store,
        found: Assessment,
        effort: Effort,
        on_event: EventCallback | None,
        on_cell: Callable[[str, int, int, float], None],
        *,
        overwrite: bool,
    ) -> None:
        self._store = store
        self._found = found
        self._effort = effort
        self._on_event = on_event
        self._on_cell = on_cell
        self._overwrite = overwrite
        self._steps = iter([one.id for one in store.experiments.get(found.experiment_id).steps])
        self._took_s: list[float] = []
        self.left = 0
        self.count = 0

    def target(self, target: AssessedTarget, cells: list[Cell]) -> list[CellDone]:
        """Run the cells; each gets an equal share of the time that those before it have left."""
        done: list[CellDone] = []
        self._found.cells.append(done)
        ends = time.monotonic() + self._effort.seconds
        for number, cell in enumerate(cells):
            step_id = next(self._steps)
            if cell.saturates and _is_saturated(done, cell.saturates):
                self._store.experiments.set_step(step_id, "skipped")
                self.left -= 1
                continue
            share_s = (ends - time.monotonic()) / (len(cells) - number) - _OVERHEAD_S
            self._tell(target, cell, share_s)
            began = time.monotonic()
            self._cell(target, cell, step_id, share_s, done)
            self._took_s.append(time.monotonic() - began)
            self.left -= 1
        return done

    def _tell(self, target: AssessedTarget, cell: Cell, share_s: float) -> None:
        # No run measures for less than a second.
        planned_s = max(share_s, 1.0) + _OVERHEAD_S
        mean_s = sum(self._took_s) / len(self._took_s) if self._took_s else planned_s
        name = f"{target.name}: " if len(self._found.targets) > 1 else ""
        words = f"{name}{cell.part}: {cell.label}"
        self._on_cell(words, self.count - self.left + 1, self.count, mean_s * self.left)

    def _cell(
        self,
        target: AssessedTarget,
        cell: Cell,
        step_id: int,
        share_s: float,
        done: list[CellDone],
    ) -> None:
        knees = {kind: _knee(done, kind) for kind in ("random", "sequential")}
        own = [
            one.format(knee=knees["random"], sequential_knee=knees["sequential"])
            for one in cell.arguments
        ]
        first = [f"-c{target.size_bytes}"] if target.is_scratch and not done else []
        guard = ["--overwrite"] if cell.writes and self._overwrite else []
        timing = _timing(share_s, self._effort.precision_percent, own)
        arguments = [*first, *own, *timing, *guard, str(target.path)]
        try:
            measured = measure(
                self._store,
                arguments,
                label=f"assess {cell.key}",
                experiment_id=self._found.experiment_id,
                step_id=step_id,
                on_event=self._on_event,
            )
        except RefusedError:
            raise
        except FathomError as error:
            if not done:
                raise
            self._found.failures[f"{target.name}: {cell.label}"] = str(error)
            self._store.experiments.set_step(step_id, "failed", str(error))
            return
        if measured.failure is not None:
            self._found.failures[f"{target.name}: {cell.label}"] = measured.failure
        done.append(CellDone(cell, measured.result, measured.run_id, measured.failure))


def _timing(share_s: float, precision_percent: int, own: Sequence[str]) -> list[str]:
    """Return how long to measure: at most a share of the time, less once the mean is known."""
    if any(one.startswith("--stop") for one in own):
        return ["-W0", "-L", "-D100"]
    warm_up_s = 1 if share_s >= _WARM_UP_FROM_S else 0
    measured_s = max(int(share_s) - warm_up_s, 1)
    interval_ms = measured_s * 1000 // _INTERVALS
    interval_ms = min(max(interval_ms, _LEAST_INTERVAL_MS), _MOST_INTERVAL_MS)
    return [
        f"-d{measured_s}",
        f"-W{warm_up_s}",
        "-L",
        f"-D{interval_ms}",
        f"--stop-confidence=95:{precision_percent}",
        f"--stop-interval={interval_ms}",
    ]


def _family(done: Sequence[CellDone], kind: str) -> list[CellDone]:
    """Return the cells of a saturation; that of random reads begins with the baseline."""
    mine = [one for one in done if one.failure is None and one.cell.saturates == kind]
    first = [one for one in done if one.cell.key == "read-1" and kind == "random"]
    return [*first, *mine]


def _is_saturated(done: Sequence[CellDone], kind: str) -> bool:
    """Whether the last two steps both brought next to nothing."""
    rates = [one.result.total.iops for one in _family(done, kind)]
    return len(rates) > 2 and max(rates[-2:]) < _GROWN * max(rates[:-2])  # noqa: PLR2004 - Two.


def _knee(done: Sequence[CellDone], kind: str) -> int:
    points = [
        LoadPoint(_depth(one.cell), one.result.total.iops, one.result.total.latency.mean_ns)
        for one in _family(done, kind)
        if one.result.total.latency is not None
    ]
    return int(find_knee(points).load) if points else 1


def _depth(cell: Cell) -> int:
    return next(int(one[2:]) for one in cell.arguments if one.startswith("-o"))
