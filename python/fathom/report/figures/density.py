"""How many databases a machine carries: their sum beside N times one, each of them, the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.experiments.density.outcome import share_words
from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, Table, View
from fathom.units import NS_PER_MS, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import DensityPoint, Material, Side

__all__ = ["density"]

_NAME, _TITLE = "density", "How many it carries"
_CAPTION = (
    "Above: what all of them did together, by how many there were; the dashed line is that many "
    "times one, and the colour of a point says what was at its limit. In the middle: each of "
    "them, from the slowest to the fastest; points far apart had unequal shares. Below: their "
    "mean latencies."
)
_LIMITS = ("none", "CPU", "memory", "device")
_COLOURS = (style.SERIES[5], style.SERIES[1], style.SERIES[3], style.SERIES[0])


def density(material: Material) -> Figure | None:
    """Return the figure of all sides that counted databases; None if none did."""
    known = [side for side in material.sides if side.densities]
    if not known:
        return None
    many = len(known) > 1
    is_mixed = len({side.per_s for side in known}) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Databases", digits=0),
        *((Column("Unit"),) if is_mixed else ()),
        Column(
            "Together" if is_mixed else f"Together {known[0].per_s}", digits=3, is_significant=True
        ),
        Column("Of linear", "%"),
        Column("Slowest", digits=3, is_significant=True),
        Column("Fastest", digits=3, is_significant=True),
        Column("Fairness", digits=3),
        Column("Mean", "ms", 3, is_significant=True),
        Column("Limit"),
        Column("Because"),
    )
    rows = tuple(
        (*((side.name,) if many else ()), one.databases, *unit, *_cells(one))
        for side in known
        for unit in [(side.per_s,) if is_mixed else ()]
        for one in side.densities
    )
    views = [View(_spec(side), {"Of": side.name} if many else {}) for side in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _cells(point: DensityPoint) -> tuple[str | float | None, ...]:
    rates = [rate for _, rate, _ in point.members]
    return (
        point.per_s,
        None if point.linear_share is None else share_words(point.linear_share),
        min(rates),
        max(rates),
        point.fairness,
        point.latency_mean_ms,
        point.resource,
        point.evidence,
    )


def _spec(side: Side) -> dict[str, Any]:
    x = {
        "field": "databases",
        "type": "quantitative",
        "axis": style.whole_axis("Databases at once", [one.databases for one in side.densities]),
        "scale": {"domain": [0, 1.03 * side.densities[-1].databases], "nice": False},
    }
    panels = [
        style.sized(_sums(side.densities, side.per_s, x), 210),
        style.sized(_each(side.densities, side.per_s, x), 120),
    ]
    if any(mean is not None for one in side.densities for _, _, mean in one.members):
        panels.append(style.sized(_latencies(side.densities, x), 120))
    return style.whole(style.stacked(panels))


def _sums(points: Sequence[DensityPoint], unit: str, x: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "databases": one.databases,
            "sum": round(one.per_s, 3),
            "linear": round(one.linear_per_s, 3),
            "limit": one.resource,
            "rate": f"{rate_words(one.per_s)} {unit}",
            "share": "-" if one.linear_share is None else f"{share_words(one.linear_share)} %",
            "why": one.evidence,
        }
        for one in points
    ]
    used = [name for name in _LIMITS if any(one.resource == name for one in points)]
    colours = [_COLOURS[_LIMITS.index(name)] for name in used]
    colour = {
        "field": "limit",
        "type": "nominal",
        "scale": {"domain": used, "range": colours},
        "legend": style.legend(),
    }
    axis = style.count_axis(f"{unit} together")
    tooltip = [
        {"field": "databases", "title": "databases"},
        {"field": "rate", "title": "together"},
        {"field": "share", "title": "of linear"},
        {"field": "limit", "title": "limit"},
        {"field": "why", "title": "because"},
    ]
    dashed = {"type": "line", "color": style.FAINT, "strokeDash": [5, 4]}
    y = style.metric("sum", axis)
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": dashed, "encoding": {"x": x, "y": style.metric("linear", axis)}},
            {"mark": {"type": "line", "color": style.FAINT}, "encoding": {"x": x, "y": y}},
            {
                "mark": {"type": "point", "size": 110, "filled": True, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
            },
        ],
    }


def _each(points: Sequence[DensityPoint], unit: str, x: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "databases": one.databases,
            "rate": round(rate, 3),
            "name": name,
            "words": f"{rate_words(rate)} {unit}",
        }
        for one in points
        for name, rate, _ in one.members
    ]
    return _points(rows, x, style.metric("rate", style.count_axis(f"{unit} of each")))


def _latencies(points: Sequence[DensityPoint], x: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {
            "databases": one.databases,
            "ns": round(mean * NS_PER_MS, 1),
            "name": name,
            "words": time_words(mean * NS_PER_MS),
        }
        for one in points
        for name, _, mean in one.members
        if mean is not None
    ]
    return _points(rows, x, style.metric("ns", style.latency_axis("Mean latency")))


def _points(rows: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    tooltip = [
        {"field": "databases", "title": "databases"},
        {"field": "name", "title": "which"},
        {"field": "words", "title": "its own"},
    ]
    mark = {"type": "point", "color": style.SERIES[0], "filled": True, "opacity": 0.55}
    return {
        "data": {"values": rows},
        "mark": mark,
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
    }
