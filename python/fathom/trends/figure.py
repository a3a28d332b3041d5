"""A trend as a picture: each run, the levels, where they change, and the band of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.metrics import higher_is_better, unit_of
from fathom.report import style
from fathom.report.figure import Column, Figure, Table, View
from fathom.trends.trend import day_words, figure_words

if TYPE_CHECKING:
    from fathom.trends.trend import Level, Trend

__all__ = ["trend_figure"]

_CAPTION = (
    "Each point is a run, and each line the geometric mean of a level. A dashed upright line is "
    "where the level changed."
)
_CUT = " The axis does not begin at 0."
_BAND = " The grey band is where 99 % of runs like those of the baseline lie."
_HEIGHT = 300
_DIGITS = 4


def trend_figure(trend: Trend) -> Figure:
    """Return the picture of a trend, and the runs as a table."""
    unit = {"ns": "ms", "IOPS": ""}.get(unit_of(trend.metric), "MiB/s")
    is_latency = not higher_is_better(trend.metric)
    columns = (
        Column("Run", digits=0),
        Column("Day"),
        Column(trend.metric, unit, _DIGITS, is_significant=True),
        Column("Level", digits=0),
    )
    divisor = 1e6 if is_latency else 1.0
    rows = tuple(
        (float(run.id), day_words(run), value / divisor, float(_level_of(trend, at)))
        for at, (run, value) in enumerate(zip(trend.runs, trend.values, strict=True))
    )
    caption = _CAPTION + ("" if _is_flat(trend) else _CUT) + (_BAND if _has_band(trend) else "")
    view = View(_spec(trend, is_latency=is_latency))
    return Figure("trend", trend.claims[0].text, caption, [view], Table(columns, rows))


def _is_flat(trend: Trend) -> bool:
    """Whether all values are the same, so that an axis around them would have one number."""
    return not _has_band(trend) and len({*trend.values}) == 1


def _has_band(trend: Trend) -> bool:
    return trend.band is not None and trend.band.has_spread


def _level_of(trend: Trend, at: int) -> int:
    return next(n for n, one in enumerate(trend.levels, 1) if one.first <= at <= one.last)


def _spec(trend: Trend, *, is_latency: bool) -> dict[str, object]:
    name = figure_words(trend.metric)
    name = f"{name[:1].upper()}{name[1:]}"
    axis = style.latency_axis(name) if is_latency else style.count_axis(name)
    x = {
        "type": "quantitative",
        "axis": {"title": "Run of the series, the oldest first", "tickMinStep": 1},
        "scale": {"zero": False, "nice": False, "domain": [0, len(trend.runs) + 1]},
    }

    def y(field: str) -> dict[str, object]:
        return style.metric(field, axis, zero=_is_flat(trend))

    points = [
        {"at": at + 1, "value": value, "run": run.id, "day": day_words(run)}
        for at, (run, value) in enumerate(zip(trend.runs, trend.values, strict=True))
    ]
    layers: list[dict[str, object]] = []
    if trend.band is not None and trend.band.has_spread:
        ends = {"low": trend.band.low, "high": trend.band.high, "mean": trend.band.mean}
        layers.append(
            {
                "data": {"values": [{**ends, "from": 0, "to": len(trend.runs) + 1}]},
                "mark": {"type": "rect", "color": style.FAINT, "opacity": 0.18},
                "encoding": {
                    "x": {**x, "field": "from"},
                    "x2": {"field": "to"},
                    "y": y("low"),
                    "y2": {"field": "high"},
                },
            }
        )
    layers += [
        {
            "mark": {"type": "point", "size": 22, "opacity": 0.6, "color": style.SERIES[0]},
            "encoding": {
                "x": {**x, "field": "at"},
                "y": y("value"),
                "tooltip": [{"field": one} for one in ("run", "day", "value")],
            },
        },
        {
            "data": {"values": [_level_row(one) for one in trend.levels]},
            "mark": {"type": "rule", "strokeWidth": 3, "color": style.SERIES[1]},
            "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}, "y": y("mean")},
        },
    ]
    if len(trend.levels) > 1:
        layers.append(
            {
                "data": {"values": [{"at": one.first + 0.5} for one in trend.levels[1:]]},
                "mark": {"type": "rule", "strokeDash": [6, 4], "color": style.FAINT},
                "encoding": {"x": {**x, "field": "at"}},
            }
        )
    return style.whole(style.sized({"layer": layers}, _HEIGHT), points)


def _level_row(level: Level) -> dict[str, float]:
    return {"from": level.first + 0.5, "to": level.last + 1.5, "mean": level.mean}
