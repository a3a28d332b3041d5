"""What several figures share: how points become rows, and which columns their tables have."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column
from fathom.units import millis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom.report.figure import Cell
    from fathom.report.material import Family, Material, Point, ReportedRun

__all__ = [
    "LATENCIES",
    "POINT_COLUMNS",
    "TOLD",
    "choice_of",
    "families",
    "latency_rows",
    "point_cells",
    "run_choice",
    "side_columns",
]

LATENCIES = {
    "mean": "mean_ns",
    "p50": "p50_ns",
    "p95": "p95_ns",
    "p99": "p99_ns",
    "p99.9": "p999_ns",
}
"""The latencies of a point by what readers call them."""

POINT_COLUMNS = (
    Column("Threads", digits=0),
    Column("Depth", digits=0),
    Column("IOPS", digits=3, is_significant=True),
    Column("MiB/s", digits=3, is_significant=True),
    *(Column(name, "ms", 3, is_significant=True) for name in LATENCIES),
    Column("CPU", "%", 1),
)


def point_cells(point: Point) -> tuple[Cell, ...]:
    """Return the cells of POINT_COLUMNS."""
    latencies = (millis(getattr(point, field)) for field in LATENCIES.values())
    return (
        point.threads or None,
        point.depth or None,
        point.iops,
        point.mib_per_s,
        *latencies,
        point.cpu_percent,
    )


TOLD = (style.time_told("ns", "time"), style.count_told("iops", "rate"))
"""What makes ``time`` and ``rate`` of latency_rows, in words."""


def latency_rows(
    points: Iterable[Point], names: Sequence[str], **more: object
) -> list[dict[str, Any]]:
    """Return one row for each point and latency that is known, in nanoseconds."""
    rows = []
    for point in points:
        for name in names:
            value = getattr(point, LATENCIES[name])
            if value:
                rows.append(
                    {
                        "iops": round(point.iops, 3),
                        "outstanding": point.outstanding,
                        "series": name,
                        "ns": round(value, 1),
                        "load": f"{point.threads} x {point.depth}",
                        **more,
                    }
                )
    return rows


def families(material: Material) -> list[tuple[dict[str, str], Family]]:
    """Return all families of loads with what tells them apart."""
    found = [
        (choice_of(material, side.name, family.choice), family)
        for side in material.sides
        for family in side.families
    ]
    return _distinct(found)


def _distinct(found: list[tuple[dict[str, str], Family]]) -> list[tuple[dict[str, str], Family]]:
    """Return only those whose choice has the same keys as the first, and each choice once."""
    kept: dict[tuple[tuple[str, str], ...], tuple[dict[str, str], Family]] = {}
    for choice, family in found:
        if choice.keys() == found[0][0].keys():
            kept.setdefault(tuple(choice.items()), (choice, family))
    return list(kept.values())


def choice_of(material: Material, side: str, choice: Mapping[str, str]) -> dict[str, str]:
    """Return a choice, and of which side it is where there are several."""
    return {"Of": side, **choice} if len(material.sides) > 1 else dict(choice)


def run_choice(material: Material) -> list[tuple[dict[str, str], ReportedRun]]:
    """Return all runs with words that tell them apart."""
    seen: set[str] = set()
    found = []
    pairs: list[tuple[str, ReportedRun]] = []
    for side in material.sides:
        for number, run in enumerate(side.runs, start=1):
            own = f"run {number}" if side.verb == "repeat" else run.label
            pairs.append((f"{side.name}: {own}" if len(material.sides) > 1 else own, run))
    for words, run in pairs:
        # A label may itself end like this.
        others = (f"{words} ({number})" for number in count(2))
        own = next(one for one in chain([words], others) if one not in seen)
        seen.add(own)
        found.append(({"Run": own}, run))
    return found


def side_columns(choices: Sequence[Mapping[str, str]]) -> tuple[Column, ...]:
    """Return the columns of what can be chosen."""
    return tuple(Column(name) for name in (choices[0] if choices else {}))
