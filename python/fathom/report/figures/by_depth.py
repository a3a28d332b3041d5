"""Throughput and latency by how many I/Os are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import (
    LATENCIES,
    POINT_COLUMNS,
    TOLD,
    families,
    latency_rows,
    point_cells,
    side_columns,
)
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, Point

__all__ = ["by_depth"]

_CAPTION = (
    "Above: IOPS by how many I/Os are under way at once, over all threads; hollow "
    "points of a sweep were not measured, but follow from their neighbours. Below: latencies at "
    "the same loads, on a logarithmic scale. A load beyond which the upper curve stays level "
    "only makes I/Os wait."
)


def by_depth(material: Material) -> Figure | LeftOut | None:
    """Return IOPS and latency by queue depth of all families of loads."""
    known = families(material)
    if not known:
        return None
    choices = [choice for choice, _ in known]
    is_mixed = any(not point.is_measured for _, family in known for point in family.points)
    more = (Column("Source"),) if is_mixed else ()
    rows = tuple(
        (*choice.values(), *point_cells(point), *((_source(point),) if is_mixed else ()))
        for choice, family in known
        for point in family.points
    )
    return Figure(
        "by-depth",
        "Throughput and latency by queue depth",
        _CAPTION,
        [View(_spec(family.points), choice) for choice, family in known],
        Table((*side_columns(choices), *POINT_COLUMNS, *more), rows),
    )


def _source(point: Point) -> str:
    return "measured" if point.is_measured else "interpolated"


def _spec(points: Sequence[Point]) -> dict[str, Any]:
    x = {
        "field": "outstanding",
        "type": "ordinal",
        "axis": {"title": "I/Os under way", "labelAngle": 0},
        "sort": "ascending",
    }
    panels = [style.sized(_rates(points, x), 170)]
    rows = latency_rows(points, list(LATENCIES))
    if rows:
        panels.append(style.sized(_latencies(rows, x), 200))
    return style.whole(style.stacked(panels))


def _rates(points: Sequence[Point], x: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "outstanding": one.outstanding,
            "iops": round(one.iops, 3),
            "rate": rate_words(one.iops),
            "load": f"{one.threads} x {one.depth}",
            "known": _source(one),
        }
        for one in points
    ]
    y = style.metric("iops", style.count_axis("IOPS"))
    tooltip = [
        {"field": "rate", "title": "IOPS"},
        {"field": "load", "title": "threads x depth"},
        {"field": "known", "title": "is"},
    ]
    hollow = {
        "condition": {"test": "datum.known == 'measured'", "value": style.SERIES[0]},
        "value": style.PAPER,
    }
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "line", "color": style.SERIES[0]}, "encoding": {"x": x, "y": y}},
            {
                "mark": {"type": "point", "stroke": style.SERIES[0], "filled": True},
                "encoding": {"x": x, "y": y, "fill": hollow, "tooltip": tooltip},
            },
        ],
    }


def _latencies(rows: list[dict[str, Any]], x: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in LATENCIES if any(row["series"] == name for row in rows)]
    shared = {
        "x": x,
        "y": style.log_latency("ns", [row["ns"] for row in rows]),
        **style.colour_by("series", names, entry_width=80),
        "tooltip": [
            {"field": "series", "title": "latency"},
            {"field": "time", "title": "is"},
            {"field": "load", "title": "threads x depth"},
        ],
    }
    line = {key: value for key, value in shared.items() if key != "shape"}
    return {
        "data": {"values": rows},
        "transform": [*TOLD],
        "layer": [
            {"mark": {"type": "line"}, "encoding": line},
            {"mark": {"type": "point"}, "encoding": shared},
        ],
    }
