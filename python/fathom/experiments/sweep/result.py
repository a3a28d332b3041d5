"""What a sweep found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NotRequired, TypedDict

from fathom._frames import Columns, Row, Tabular
from fathom._tables import CELLS, cell_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom._claims import Claim, Doubt
    from fathom.experiments.sweep._latency import Latencies
    from fathom.experiments.sweep._refine import Learnt
    from fathom.runners import Figures

__all__ = ["CellOutcome", "Source", "Sweep", "SweepOutcome", "SweptCell"]

Source = Literal["measured", "interpolated", "failed", "pending"]


class EstimateOutcome(TypedDict):
    """A latency that was not measured, with its interval."""

    value_ns: float
    low_ns: float
    high_ns: float


class CellOutcome(TypedDict):
    """A ``SweptCell`` as the store keeps it; what older versions did not keep may be missing."""

    parameters: dict[str, str]
    source: Source
    iops: NotRequired[float | None]
    mib_per_s: NotRequired[float | None]
    iops_low: NotRequired[float | None]
    iops_high: NotRequired[float | None]
    is_precise: NotRequired[bool | None]
    figures: NotRequired[Mapping[str, float | None] | None]
    estimated_latency: NotRequired[dict[str, EstimateOutcome] | None]
    run_id: NotRequired[int | None]
    failure: NotRequired[str | None]
    findings: NotRequired[list[str]]


class LearntOutcome(TypedDict):
    """What is known of a slice's surface besides its cells."""

    check_scores: list[float]
    uneven_axes: list[int]


class SweepOutcome(TypedDict):
    """A ``Sweep`` as the store keeps it."""

    experiment_id: NotRequired[int]
    cells: NotRequired[list[CellOutcome]]
    checked: NotRequired[int]
    within: NotRequired[int]
    most_beyond: NotRequired[float | None]
    probed: NotRequired[int]
    stood_apart: NotRequired[int]
    unprobed: NotRequired[int]
    learnt: NotRequired[list[LearntOutcome]]
    ended_by: NotRequired[str | None]


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
        The interval of ``iops``; None if nothing told.
    is_precise
        Whether the interval is as narrow as was requested; None where nothing was asked.
    figures
        All figures of a cell that was measured.
    estimated_latency
        The latencies of a cell that was interpolated, each with its interval; by the names that
        they have in ``figures``.
    run_id, failure
        Its run in the store; why it failed.
    findings
        The rules that its run breaks and that speak against its figures.

    """

    parameters: dict[str, str]
    source: Source
    iops: float | None = None
    mib_per_s: float | None = None
    iops_low: float | None = None
    iops_high: float | None = None
    is_precise: bool | None = None
    figures: Figures | None = None
    estimated_latency: Latencies | None = None
    run_id: int | None = None
    failure: str | None = None
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sweep(Tabular):
    """What a sweep found; ``rows``, ``to_pandas`` and the like have a row for each cell.

    Attributes
    ----------
    experiment_id
        In the store.
    cells
        All of them, in the order of their parameters.
    checked, within
        How many cells that could have been interpolated were measured all the same, and how many of
        them lay within the tolerance; of all checks, also those after which more was measured.
    most_beyond
        The greatest share of interpolated cells that may lie beyond the tolerance, by these checks,
        at 95 %; None without checks.
    probed, stood_apart
        At how many cells a short look succeeded, beside enough others to compare it with, and how
        many of these stood apart and were measured.
    unprobed
        How many interpolated cells have no such look: it failed, there was no time for it, or
        another tool measured, which has none.
    learnt
        What is known of the surface of each slice besides the measured cells, for who goes on.
    elapsed_s
        How long this session took, in seconds.
    claims
        What it says, the headline first; each with the runs that it rests on.
    doubts
        What the marks of its rows mean: of each rule the surest finding, with its sentence.
    ended_by
        Why it ended before all cells were tried, and what to do; None if it did not.

    """

    tables: ClassVar[tuple[str, ...]] = ("cells",)

    experiment_id: int
    cells: list[SweptCell]
    checked: int
    within: int
    elapsed_s: float
    most_beyond: float | None = None
    probed: int = 0
    stood_apart: int = 0
    unprobed: int = 0
    learnt: list[Learnt] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    ended_by: str | None = None

    def count(self, source: Source) -> int:
        """Return how many cells have this source."""
        return sum(cell.source == source for cell in self.cells)

    def _kinds(self, _table: str) -> Columns:
        return CELLS

    def _rows(self, _table: str) -> Iterator[Row]:
        """Return the cells; a parameter whose values are all whole numbers is a number."""
        return cell_rows([(self.experiment_id, asdict(cell)) for cell in self.cells])
