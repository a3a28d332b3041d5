"""What an assessment will measure, and how long it will take; nothing is opened for writing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom._hanging import must_answer
from fathom.errors import TargetError
from fathom.experiments._run_times import LEAST_RUN_S
from fathom.experiments.assess.plan import plan_cells
from fathom.experiments.assess.session import AssessedCell, Assessor, TargetCells, interleaved
from fathom.experiments.assess.target import foreseen_target
from fathom.experiments.first_look import writes_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fathom.experiments.assess.cell import Effort
    from fathom.experiments.assess.target import AssessedTarget

__all__ = [
    "Foreseen",
    "all_targets",
    "foresee",
    "planned_cells",
    "same_size",
    "writing_loads",
]


@dataclass(frozen=True)
class Foreseen:
    """What an assessment would do.

    Attributes
    ----------
    plans
        The cells of each target.
    seconds, least_s, most_s
        By expectation, and the limits; filling scratch files comes on top of the least.
    fill_bytes
        Of all scratch files together.
    measured_s
        For how long each run measures at the most, if all have the same share of the time.
    precision_percent
        A run ends as soon as its mean is known to within this.

    """

    plans: list[TargetCells]
    seconds: float
    least_s: float
    most_s: float
    fill_bytes: int
    measured_s: int
    precision_percent: int

    @property
    def rule_s(self) -> float:
        """For how long a run has to measure, and longer, before its mean can be known."""
        return LEAST_RUN_S


def foresee(
    names: Sequence[str], effort: Effort, *, writes: bool = False, steady_seconds: int = 0
) -> Foreseen:
    """Return what ``assess`` would do with these; nothing is made, written or measured.

    Raises
    ------
    TargetError
        If a target cannot be assessed.

    """
    must_answer(names)
    share = 1 + len(names)
    targets = all_targets(
        lambda name, size: foreseen_target(name, size, writes=writes, room_share=share),
        names,
        [effort.size_bytes] * len(names),
    )
    plans = [planned_cells(one, effort, steady_seconds) for one in same_size(targets)]
    assessor, order = Assessor(plans, [], effort), [*interleaved(plans)]
    least_s, seconds, most_s = assessor.left_s(order)
    measured_s = assessor.measured_s(order)
    fill_bytes = sum(one.target.size_bytes for one in plans if one.target.is_scratch)
    return Foreseen(
        plans, seconds, least_s, most_s, fill_bytes, measured_s, effort.precision_percent
    )


def writing_loads(names: Sequence[str]) -> list[list[str]]:
    """Return loads that write to what exists of the targets, for the guard to judge beforehand."""
    there = [
        name
        for name in names
        if is_address(name) or (Path(name).exists() and not Path(name).is_dir())
    ]
    return [writes_to(name) for name in there]


def all_targets(
    opened: Callable[[str, int], AssessedTarget], names: Sequence[str], sizes: Sequence[int]
) -> list[AssessedTarget]:
    """Return all targets.

    Raises
    ------
    TargetError
        It names all that cannot be assessed: one does not hide the others.

    """
    found, refused = [], []
    for name, size_bytes in zip(names, sizes, strict=True):
        try:
            found.append(opened(name, size_bytes))
        except TargetError as error:
            refused.append(str(error))
    if refused:
        raise TargetError("; ".join(refused))
    return found


def same_size(targets: Iterable[AssessedTarget]) -> list[AssessedTarget]:
    """Return the targets with scratch files of one size, so that they are comparable."""
    several = [*targets]
    least = min((one.size_bytes for one in several if one.is_scratch), default=0)
    return [replace(one, size_bytes=least) if one.is_scratch else one for one in several]


def planned_cells(target: AssessedTarget, effort: Effort, steady_seconds: int) -> TargetCells:
    """Return the cells of a target, and those that are left out, in their order."""
    kept, left_out = plan_cells(target, effort, steady_seconds=steady_seconds)
    cells = [AssessedCell(cell) for cell in kept]
    cells += [AssessedCell(cell, state="left_out") for cell in left_out]
    return TargetCells(target, sorted(cells, key=lambda one: one.cell.place))
