"""What a sweep is to do, as it is kept with the experiment so that it can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.experiments._run_times import LEAST_RUN_S, START_S, TYPICAL_RUN_S
from fathom.experiments.axes import Axis, Grid, load_arguments
from fathom.experiments.sweep._probe import PROBE_S
from fathom.experiments.sweep._refine import Refinement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Forecast", "SweepPlan", "plan_sweep"]

# Short, so that a stall is seen as one, and not as a slow interval.
INTERVAL_MS = 10


@dataclass(frozen=True)
class SweepPlan:
    """How a sweep measures.

    Attributes
    ----------
    arguments
        Those that all runs share.
    axes
        What is varied.
    mode
        ``fixed``: each cell for the same time. ``adaptive``: each cell until its mean is known.
    duration_s, warm_up_s
        Of each cell, in seconds; the duration of an adaptive one is its longest.
    confidence, precision
        Of the mean of an adaptive cell: the level, and half of the interval's width as a share.
    tolerance
        Cells whose IOPS the others tell to within this share are interpolated; 0 measures all.
    seed
        Of the order.
    runner, tool_version
        What measures, as ``--runner`` names it, and its version; ours if it is empty.

    """

    arguments: tuple[str, ...]
    axes: tuple[Axis, ...]
    mode: Literal["adaptive", "fixed"] = "adaptive"
    duration_s: int = 10
    warm_up_s: int = 0
    confidence: float = 0.95
    precision: float = 0.02
    tolerance: float = 0.05
    seed: int = 0
    runner: str = "fathom"
    tool_version: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the plan of an experiment."""
        axes = tuple(
            Axis(
                one["name"],
                one["option"],
                tuple(one["values"]),
                None if one["positions"] is None else tuple(one["positions"]),
            )
            for one in data["axes"]
        )
        rest = {key: value for key, value in data.items() if key not in ("axes", "arguments")}
        return cls(arguments=tuple(data["arguments"]), axes=axes, **rest)

    def as_dict(self) -> dict[str, object]:
        """Return what ``from_dict`` reads."""
        return asdict(self)

    def cell_arguments(self, grid: Grid, cell: int) -> list[str]:
        """Return all arguments of a cell's run."""
        times = [f"-d{self.duration_s}", f"-W{self.warm_up_s}"]
        if self.mode == "adaptive":
            level = f"{100 * self.confidence:g}:{100 * self.precision:g}"
            times += [f"--stop-confidence={level}", f"--stop-interval={INTERVAL_MS}"]
        return [*grid.arguments(cell), *times, *self.arguments]

    def typical_loads(self) -> list[list[str]]:
        """Return all arguments of cells that stand for all of them.

        These are the cells that read and that write the most, and those with an extreme value of
        one parameter, or a name, and the greatest values of all others.
        """
        grid, shares = Grid(self.axes), self.write_shares
        extreme = {shares.index(min(shares)), shares.index(max(shares)), *grid.corners()}
        return [self.cell_arguments(grid, cell) for cell in sorted(extreme)]

    @cached_property
    def write_shares(self) -> list[float]:
        """The greatest share of writes of each cell; its arguments are checked, which takes 1 ms.

        Raises
        ------
        InvalidRequestError
            If the arguments of a cell are wrong.

        """
        grid = Grid(self.axes)
        return [_write_share(self.cell_arguments(grid, cell)) for cell in range(len(grid))]

    def order(self, count: int) -> list[int]:
        """Return the cells in their order by chance, always the same."""
        return [int(one) for one in np.random.default_rng(self.seed).permutation(count)]

    def refinements(self, grid: Grid) -> list[Refinement]:
        """Return what chooses the cells of each slice."""
        order = self.order(len(grid))
        everywhere = grid.features(range(len(grid)))
        found = []
        for cells in grid.slices:
            mine = set(cells)
            chosen = [cell for cell in order if cell in mine]
            whole = self.tolerance == 0
            found.append(Refinement(everywhere, chosen, self.tolerance, whole=whole))
        return found

    @property
    def probes(self) -> bool:
        """Whether cells that are interpolated get a short look, which only our engine can do."""
        return self.tolerance > 0 and self.runner == "fathom"

    @property
    def typical_cell_s(self) -> float:
        """How long a cell takes by experience, in seconds, before any has been measured."""
        if self.mode == "fixed":
            return START_S + self.duration_s + self.warm_up_s
        return START_S + min(TYPICAL_RUN_S, self.duration_s) + self.warm_up_s


@dataclass(frozen=True)
class Forecast:
    """What a sweep will take.

    Attributes
    ----------
    cells
        How many there are.
    measured_cells
        How many of them will be measured by expectation.
    seconds, least_s, most_s
        By expectation, and the limits between which it surely is.
    writing_s
        For how long of the expected time runs write.
    write_share
        The mean share of writes in these runs, by I/Os.

    """

    cells: int
    measured_cells: int
    seconds: float
    least_s: float
    most_s: float
    writing_s: float
    write_share: float


def plan_sweep(
    arguments: Sequence[str],
    axes: Sequence[Axis],
    **more: Any,  # noqa: ANN401 - Of SweepPlan.
) -> tuple[SweepPlan, Forecast]:
    """Make a plan and say what it will take; no target is touched.

    Raises
    ------
    InvalidRequestError
        If the arguments or the values of a parameter are wrong.

    """
    options = [axis.option for axis in axes]
    if not axes:
        # The name of an axis that is misspelt is reported as the option that nobody knows.
        load_of(load_arguments(arguments, options))
    plan = SweepPlan(tuple(load_arguments(arguments, options)), tuple(axes), **more)
    _check(plan)
    return plan, _forecast(plan, Grid(axes), plan.write_shares)


def _check(plan: SweepPlan) -> None:
    for name, value in (("confidence", plan.confidence), ("precision", plan.precision)):
        if not 0 < value < 1:
            raise InvalidRequestError(f"{name} is between 0 and 100 %, not {100 * value:g} %")
    if not 0 <= plan.tolerance < 1:
        raise InvalidRequestError(f"tolerance is from 0 to 100 %, not {100 * plan.tolerance:g} %")
    if plan.duration_s < 1 or plan.warm_up_s < 0:
        raise InvalidRequestError("the duration is 1 s or more, the warm-up 0 s or more")


def _write_share(arguments: Sequence[str]) -> float:
    """Return the greatest share of writes of a run's targets, after checking its arguments."""
    spans = load_of(arguments).profile.time_spans
    shares = [target.write_percent for span in spans for target in span.targets]
    return max(shares, default=0) / 100


def _forecast(plan: SweepPlan, grid: Grid, shares: Sequence[float]) -> Forecast:
    measured = sum(one.expected_count(0) for one in plan.refinements(grid))
    cell_s = plan.typical_cell_s
    longest = START_S + plan.duration_s + plan.warm_up_s
    shortest = longest
    if plan.mode == "adaptive":
        shortest = START_S + plan.warm_up_s + LEAST_RUN_S
    least = sum(one.design for one in plan.refinements(grid))
    writing = [share for share in shares if share > 0]
    looks_s = (len(grid) - measured) * (START_S + PROBE_S) if plan.probes else 0.0
    return Forecast(
        cells=len(grid),
        measured_cells=round(measured),
        seconds=measured * cell_s + looks_s,
        least_s=least * min(shortest, longest),
        most_s=len(grid) * longest,
        writing_s=measured * cell_s * len(writing) / len(shares),
        write_share=sum(writing) / len(writing) if writing else 0.0,
    )
