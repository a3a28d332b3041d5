"""The rate by the share of writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import LATENCIES
from fathom.units import millis, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, Point, Side

__all__ = ["mixes"]

_CAPTION = (
    "IOPS and 99th percentile of random I/Os of 4 KiB at the knee, by the share of "
    "writes among them. A rate that falls steeply from the first writes on is a device on which "
    "writes hinder reads."
)
# Two are no curve.
_LEAST_POINTS = 3


def mixes(material: Material) -> Figure | LeftOut | None:
    """Return the mixes of all assessed targets."""
    pairs = [(side, _points(side)) for side in material.sides]
    known = [(side, points) for side, points in pairs if len(points) >= _LEAST_POINTS]
    if not known:
        return None
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Writes", "%", 0),
        Column("IOPS", digits=3, is_significant=True),
        Column("MiB/s", digits=3, is_significant=True),
        *(Column(name, "ms", 3, is_significant=True) for name in LATENCIES),
    )
    rows = tuple(
        (
            *((side.name,) if many else ()),
            point.write_percent,
            point.iops,
            point.mib_per_s,
            *(millis(getattr(point, field)) for field in LATENCIES.values()),
        )
        for side, points in known
        for point in points
    )
    views = [View(_spec(points), {"Of": side.name} if many else {}) for side, points in known]
    return Figure("mixes", "Reads and writes mixed", _CAPTION, views, Table(columns, rows))


def _points(side: Side) -> list[Point]:
    """Return the mixes with the two ends at the same depth, by their share of writes."""
    mixed = [run.point for run in side.runs if run.key.startswith("mix-")]
    if not mixed:
        return []
    depth = mixed[0].depth
    ends = [
        run.point
        for run in side.runs
        if run.key.startswith("random-") and run.point.outstanding == depth
    ]
    by_share = {point.write_percent or 0.0: point for point in (*ends, *mixed)}
    return [point for _, point in sorted(by_share.items())]


def _spec(points: Sequence[Point]) -> dict[str, Any]:
    rows = [
        {
            "writes": point.write_percent,
            "iops": round(point.iops, 3),
            "ns": point.p99_ns,
            "rate": rate_words(point.iops),
            "time": "-" if point.p99_ns is None else time_words(point.p99_ns),
        }
        for point in points
    ]
    x = {
        "field": "writes",
        "type": "quantitative",
        "axis": {"title": "Writes, percent of all I/Os", "values": [0, 25, 50, 75, 100]},
        "scale": {"domain": [0, 100]},
    }
    tooltip = [
        {"field": "writes", "title": "writes, %"},
        {"field": "rate", "title": "IOPS"},
        {"field": "time", "title": "99th percentile"},
    ]

    def panel(y: dict[str, Any], colour: str) -> dict[str, Any]:
        mark = {"type": "line", "color": colour, "point": {"fill": colour, "size": 60}}
        return {"mark": mark, "encoding": {"x": x, "y": y, "tooltip": tooltip}}

    rates = style.metric("iops", style.count_axis("IOPS"))
    panels = [style.sized(panel(rates, style.SERIES[0]), 160)]
    if all(point.p99_ns for point in points):
        latencies = style.log_latency(
            "ns", [point.p99_ns or 0.0 for point in points], "99th percentile"
        )
        panels.append(style.sized(panel(latencies, style.SERIES[1]), 150))
    return style.whole(style.stacked(panels), rows)
