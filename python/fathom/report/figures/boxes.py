"""Latencies of each repetition as boxes, with the means joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.units import millis, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, ReportedRun, Side
    from fathom.result import Latency

__all__ = ["box_plots"]

_NAME, _TITLE = "box-plots", "From run to run"
_CAPTION = (
    "Above: the rate of each run. Below: one box for each run, from the latency of its 25th "
    "percentile to that of its 75th, the median between them; whiskers reach from the 5th to the "
    "99th. The joined points are the means. Boxes at different heights are runs that differ by "
    "more than chance within a run: only more runs make their mean known better."
)
_QUANTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p99": 0.99}


def box_plots(material: Material) -> Figure | LeftOut | None:
    """Return the boxes of all repetitions."""
    known = [side for side in material.sides if side.verb == "repeat" and len(side.runs) > 1]
    if not known:
        return None
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Run", digits=0),
        Column("IOPS", digits=3, is_significant=True),
        Column("mean", "ms", 3, is_significant=True),
        *(Column(name, "ms", 3, is_significant=True) for name in _QUANTILES),
    )
    rows = tuple(
        (*((side.name,) if many else ()), number, run.point.iops, *_cells(run))
        for side in known
        for number, run in enumerate(side.runs, start=1)
    )
    views = [View(_spec(side), {"Of": side.name} if many else {}) for side in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _latency(run: ReportedRun) -> Latency | None:
    found = run.result.time_spans[0].total.latency if run.result.time_spans else None
    return found if found is not None and found.buckets else None


def _cells(run: ReportedRun) -> tuple[float | None, ...]:
    latency = _latency(run)
    if latency is None:
        return (millis(run.point.mean_ns), *(None for _ in _QUANTILES))
    values = (millis(latency.quantile_ns(one)) for one in _QUANTILES.values())
    return (millis(run.point.mean_ns), *values)


def _spec(side: Side) -> dict[str, Any]:
    x = {"field": "run", "type": "ordinal", "axis": {"title": "Run", "labelAngle": 0}}
    panels = [style.sized(_rates(side, x), 150)]
    boxes = [_box(number, run) for number, run in enumerate(side.runs, start=1)]
    known = [one for one in boxes if one is not None]
    if known:
        panels.append(style.sized(_boxes(known, x), 220))
    return style.whole(style.stacked(panels))


def _rates(side: Side, x: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"run": number, "iops": round(run.point.iops, 3), "rate": rate_words(run.point.iops)}
        for number, run in enumerate(side.runs, start=1)
    ]
    y = style.metric("iops", style.count_axis("IOPS"), zero=False)
    y["scale"] |= style.spread([run.point.iops for run in side.runs])
    tooltip = [{"field": "run"}, {"field": "rate", "title": "IOPS"}]
    mark = {
        "type": "line",
        "color": style.SERIES[0],
        "point": {"fill": style.SERIES[0], "size": 60},
    }
    encoding = {"x": x, "y": y, "tooltip": tooltip}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _box(number: int, run: ReportedRun) -> dict[str, Any] | None:
    latency = _latency(run)
    if latency is None or run.point.mean_ns is None:
        return None
    values = {name: max(latency.quantile_ns(one), 1) for name, one in _QUANTILES.items()}
    words = {f"{name}_words": time_words(value) for name, value in values.items()}
    mean = {"mean": round(run.point.mean_ns, 1), "mean_words": time_words(run.point.mean_ns)}
    return {"run": number, **values, **words, **mean}


def _boxes(rows: Sequence[dict[str, Any]], x: dict[str, Any]) -> dict[str, Any]:
    ends_ns = [row[name] for row in rows for name in ("p5", "p99", "mean")]

    def y(field: str) -> dict[str, Any]:
        return {"y": style.log_latency(field, ends_ns)}

    tooltip = [
        {"field": "run", "title": "run"},
        *({"field": f"{name}_words", "title": name} for name in ("mean", *_QUANTILES)),
    ]
    colour = style.SERIES[0]
    return {
        "data": {"values": list(rows)},
        "layer": [
            {
                "mark": {"type": "rule", "color": colour},
                "encoding": {"x": x, **y("p5"), "y2": {"field": "p99"}},
            },
            {
                "mark": {
                    "type": "bar",
                    "width": {"band": 0.55},
                    "fill": colour,
                    "fillOpacity": 0.3,
                    "stroke": colour,
                },
                "encoding": {"x": x, **y("p25"), "y2": {"field": "p75"}, "tooltip": tooltip},
            },
            {
                "mark": {
                    "type": "tick",
                    "color": colour,
                    "thickness": 2.5,
                    "width": {"band": 0.55},
                },
                "encoding": {"x": x, **y("p50")},
            },
            {
                "mark": {
                    "type": "line",
                    "color": style.SERIES[1],
                    "strokeWidth": 1.5,
                    "point": {"fill": style.SERIES[1], "size": 45, "shape": "diamond"},
                },
                "encoding": {"x": x, **y("mean"), "tooltip": tooltip},
            },
        ],
    }
