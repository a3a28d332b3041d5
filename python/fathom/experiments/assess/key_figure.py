"""The five numbers by which storage is known, and how numbers are put into words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fathom.experiments.assess.claim_maker import (
    conditions_of,
    is_durable,
    parameters_of,
    rules_of,
    why_not_most,
)
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.experiments.assess.cell import Cell
    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.runners import Figures

__all__ = [
    "AS_FAR",
    "AT_MOST",
    "RANDOM_READS",
    "KeyFigure",
    "Unit",
    "best_cell",
    "best_in_order",
    "key_figures",
    "most_random_reads",
    "number_words",
    "taken",
    "value_of",
    "value_words",
]

RANDOM_READS = ("random-", "threads-")
"""How the keys of random reads of the whole target with rising numbers outstanding begin."""
AT_MOST, AS_FAR = ", at most", ", as far as measured"
"""How the label of the best of many runs ends."""
Unit = Literal["ns", "ios_per_s", "mib_per_s"]


@dataclass(frozen=True)
class KeyFigure:
    """One number.

    Attributes
    ----------
    name, label
        For programs, and for the reader.
    unit
        Of ``value``: ``ns``, ``ios_per_s`` or ``mib_per_s``.
    value
        None where it was not measured, as of writes where nothing may be written.
    text
        The value with its unit, in words.
    cell_key, run_id
        The cell and the run that it comes from.
    conditions
        Under which it was measured, such as ``depth 16, unbuffered``.

    """

    name: str
    label: str
    unit: Unit
    value: float | None = None
    text: str = "not measured"
    cell_key: str | None = None
    run_id: int | None = None
    conditions: str = ""

    @property
    def higher_is_better(self) -> bool:
        """Whether more of it is what one wants."""
        return self.unit != "ns"


def number_words(value: float) -> str:
    """Return a number without its unit; below 10, whole numbers would hide what differs."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"  # noqa: PLR2004 - As above.


def value_words(value: float, unit: Unit) -> str:
    """Return a number with its unit: ``85 us``, ``160,000 IOPS``, ``3,100 MiB/s``."""
    if unit == "ns":
        return time_words(value)
    number = number_words(value)
    return f"{number} IOPS" if unit == "ios_per_s" else f"{number} MiB/s"


def best_cell(figures: Mapping[str, Figures], *prefixes: str) -> str | None:
    """Return the key of the reading cell with the most I/Os of those whose key begins so."""
    found = [key for key in figures if key.startswith(prefixes) and not key.endswith("-write")]
    return max(found, key=lambda key: figures[key].iops, default=None)


def best_in_order(figures: Mapping[str, Figures]) -> str | None:
    """Return the key of the cell that reads most in order: a backup may have more in flight."""
    found = [key for key in figures if key.startswith("sequential-") and key[-1].isdigit()]
    found += [key for key in ("backup",) if found and key in figures]
    return max(found, key=lambda key: figures[key].mib_per_s, default=None)


def most_random_reads(plan: TargetCells) -> str | None:
    """Return the key of the run with the most random reads of 4 KiB, whichever part it is of.

    Those of a part of the target, and through the page cache, are other loads.
    """
    mine = {
        one.cell.key: one.figures
        for one in plan.cells
        if one.figures is not None and _is_random_read(one.cell)
    }
    return max(mine, key=lambda key: mine[key].iops, default=None)


def _is_random_read(cell: Cell) -> bool:
    if cell.role == "steady_round":
        return cell.key.endswith("-4k") and "-w0" in cell.arguments
    is_saturation = cell.key.startswith(RANDOM_READS) and not cell.writes
    return is_saturation or (cell.role in ("baseline", "baseline_again") and not cell.writes)


def _most(
    plan: TargetCells, label: str, family: tuple[str, ...], besides: tuple[str, ...] = ()
) -> str:
    """Return the label of what is the best of many runs: *at most* if nothing speaks against."""
    is_cut = why_not_most(plan, family, besides=besides)
    return f"{label}{AS_FAR if is_cut else AT_MOST}"


def key_figures(plan: TargetCells) -> list[KeyFigure]:
    """Return the five numbers of a target, always in the same order."""
    figures = plan.figures()
    cells = {one.cell.key: one for one in plan.cells}
    read = "read-1" if "read-1" in figures else "again"
    random_label = _most(plan, "Random reads of 4 KiB", RANDOM_READS, ("read-1",))
    ordered_label = _most(plan, "Reading in order", ("sequential-", "backup"))
    wanted: tuple[tuple[str, str, Unit, str | None], ...] = (
        ("read_latency", "One random read of 4 KiB, on average", "ns", read),
        ("durable_write_latency", _write_label(cells.get("write-1")), "ns", "write-1"),
        ("random_reads", random_label, "ios_per_s", most_random_reads(plan)),
        ("random_writes", "Random writes of 4 KiB", "ios_per_s", "random-write"),
        ("sequential_read", ordered_label, "mib_per_s", best_in_order(figures)),
    )
    return [
        taken(KeyFigure(name, label, unit), cells.get(key or ""))
        for name, label, unit, key in wanted
    ]


def _write_label(one: AssessedCell | None) -> str:
    if one is None or is_durable(one):
        return "One write that survives an outage"
    return "One write, which need not survive an outage"


def taken(empty: KeyFigure, cell: AssessedCell | None) -> KeyFigure:
    """Return the figure with what the cell gave."""
    figures = None if cell is None else cell.figures
    value = None if figures is None else value_of(figures, empty.unit)
    if value is None or cell is None:
        return empty
    text = value_words(value, empty.unit)
    stalled = ", stalled" if "stalled" in rules_of(cell) else ""
    return replace(
        empty,
        conditions=conditions_of(parameters_of(cell)) + stalled,
        value=value,
        text=text,
        cell_key=cell.cell.key,
        run_id=cell.run_id,
    )


def value_of(figures: Figures, unit: Unit) -> float | None:
    """Return the figure that has a unit; None if it was not measured."""
    if unit == "ns":
        return figures.latency_mean_ns
    return figures.iops if unit == "ios_per_s" else figures.mib_per_s
