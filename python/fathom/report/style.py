"""How figures look: colours for light and dark, axes with units, and what all of them share.

A specification names colours as ``var(--...)``, so that a page follows light and dark by its style
sheet alone; ``drawn`` puts the colours themselves in, for pictures that stand alone. The colours of
series differ with any colour vision (after Okabe and Ito, "Color Universal Design", 2008),
and series also differ in their points or dashes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "AXIS",
    "CONFIG",
    "FAINT",
    "PAPER",
    "RESERVED",
    "ROWS_RESERVED",
    "ROW_DOWN",
    "SCHEMA",
    "SERIES",
    "THEMES",
    "colour_by",
    "count_axis",
    "count_told",
    "drawn",
    "latency_axis",
    "legend",
    "log_latency",
    "metric",
    "row_axis",
    "row_words",
    "rows",
    "sized",
    "spread",
    "stacked",
    "time_told",
    "whole",
    "whole_axis",
]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SERIES = tuple(f"var(--s{number})" for number in range(1, 7))
TEXT, FAINT, GRID, PAPER, MARK = (
    f"var(--{name})" for name in ("text", "faint", "grid", "paper", "mark")
)
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
THEMES: Mapping[str, Mapping[str, str]] = {
    "light": {
        "text": "#1c2430",
        "faint": "#5b6675",
        "grid": "#e3e7ec",
        "paper": "#ffffff",
        "mark": "#b3261e",
        "s1": "#0067b1",
        "s2": "#c75000",
        "s3": "#00775a",
        "s4": "#a03e78",
        "s5": "#7d6200",
        "s6": "#566070",
    },
    "dark": {
        "text": "#e8ecf2",
        "faint": "#a5b0be",
        "grid": "#333c49",
        "paper": "#171c24",
        "mark": "#ff8a80",
        "s1": "#5ab4f0",
        "s2": "#ff9a50",
        "s3": "#3fcf9f",
        "s4": "#e894c6",
        "s5": "#e3c54a",
        "s6": "#aab4c0",
    },
}
_APART = {
    "scale": {"color": "independent", "shape": "independent"},
    "legend": {"color": "independent", "shape": "independent"},
}
# Widths are the page's or the picture's less what axis, title and margin take.
_AXIS_EXTENT = 46
RESERVED = 88
# Rows whose words stand above their marks, in pixels: nearer to them than to those before.
_ROW_STEP, _ROW_WORDS_UP = 64, -24
ROW_DOWN = 16
ROWS_RESERVED = 40
_FEW_DECADES = 3
# Of an axis that does not begin at 0: the share of its values that it has at least.
_LEAST_SPREAD = 0.005
# What has room in a legend, in letters; the beginning tells what it is, and the end which one.
_NAME_LENGTH, _NAME_HEAD = 32, 10
# As words of Vega: nanoseconds as what people say.
_TIME = (
    "datum.value >= 1e9 ? format(datum.value/1e9, '~r') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value/1e6, '~r') + ' ms' : "
    "datum.value >= 1e3 ? format(datum.value/1e3, '~r') + ' µs' : format(datum.value, '~r') + ' ns'"
)
_COUNT = (
    "datum.value >= 1e6 ? format(datum.value/1e6, '~r') + 'M' : "
    "datum.value >= 1e3 ? format(datum.value/1e3, '~r') + 'k' : format(datum.value, '~r')"
)
_NAME = (
    f"length(datum.label) > {_NAME_LENGTH} ? slice(datum.label, 0, {_NAME_HEAD}) + '…' + "
    f"slice(datum.label, {_NAME_HEAD + 1 - _NAME_LENGTH}) : datum.label"
)
AXIS: Mapping[str, Any] = {
    "labelColor": TEXT,
    "titleColor": TEXT,
    "domainColor": FAINT,
    "tickColor": FAINT,
    "gridColor": GRID,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelOverlap": True,
}
CONFIG: Mapping[str, Any] = {
    "background": "transparent",
    "font": "DejaVu Sans, system-ui, sans-serif",
    "padding": 6,
    "view": {"stroke": None},
    "axis": AXIS,
    "axisY": {"minExtent": _AXIS_EXTENT, "maxExtent": _AXIS_EXTENT},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "title": None,
        "labelColor": TEXT,
        "titleColor": TEXT,
        "labelFontSize": 12,
        "symbolSize": 90,
        "labelLimit": 260,
    },
    "title": {"color": TEXT, "fontSize": 13, "fontWeight": "normal", "anchor": "start"},
    "header": {"labelColor": TEXT, "titleColor": TEXT},
    "text": {"fill": TEXT, "fontSize": 12},
    "line": {"strokeWidth": 2},
    "point": {"size": 60, "filled": True},
}


def whole(content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return a specification that stands alone, over these rows."""
    return {
        "$schema": SCHEMA,
        "config": CONFIG,
        "data": {"values": list(rows)},
        **content,
    }


def stacked(panels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return panels one above the other, which share nothing but the data, each with its legend."""
    return {"vconcat": list(panels), "spacing": 18, "resolve": _APART}


def sized(content: Mapping[str, Any], height: float | Mapping[str, float] = 260) -> dict[str, Any]:
    """Return a panel as wide as there is room."""
    return {"width": "container", "height": height, **content}


def legend(*, entry_width: int = 120) -> dict[str, Any]:
    """Return a legend in as many columns as there is room for.

    Of names that have no room the middle is left out: paths of disks differ at their ends.
    """
    return {"columns": {"expr": f"max(1, floor(width / {entry_width}))"}, "labelExpr": _NAME}


def colour_by(
    field: str, values: Sequence[str], *, entry_width: int = 120, lines: bool = False
) -> dict[str, Any]:
    """Return encodings that tell series apart by colour, and by point or dash."""
    count = len(values)
    colours = [SERIES[at % len(SERIES)] for at in range(count)]
    common = {"field": field, "type": "nominal"}
    shown = legend(entry_width=entry_width) if count > 1 else None
    other, marks = ("strokeDash", _DASHES) if lines else ("shape", _SHAPES)
    ranges = [marks[at % len(marks)] for at in range(count)]
    return {
        "color": {**common, "scale": {"domain": [*values], "range": colours}, "legend": shown},
        other: {**common, "scale": {"domain": [*values], "range": ranges}, "legend": shown},
    }


def _axis(title: str | None, label: str | None = None, **more: object) -> dict[str, Any]:
    return {"title": title, **({"labelExpr": label} if label else {}), **more}


def latency_axis(title: str = "Latency", **more: object) -> dict[str, Any]:
    """Return an axis of nanoseconds with units that people read."""
    return _axis(title, _TIME, **more)


def log_latency(
    field: str, values_ns: Iterable[float], title: str = "Latency", **more: object
) -> dict[str, Any]:
    """Return an encoding on a logarithmic scale from the least to the greatest of the values.

    Its marks are the powers of ten, with 2 and 5 of each where there are few of them.
    """
    known = [one for one in values_ns if one > 0]
    low, high = (min(known), max(known)) if known else (1e3, 1e6)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high * 1.0001))
    is_short = last - first <= _FEW_DECADES
    steps = (1, 2, 5) if is_short else (1,)
    marks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    # The least mark at or below all values, and the greatest at or above them, are the ends.
    least = max(one for one in marks if one <= low)
    greatest = min(one for one in marks if one >= high)
    if least == greatest:
        greatest = min(one for one in [*marks, 10.0 ** (last + 1)] if one > least)
    shown = [one for one in marks if least <= one <= greatest]
    return {
        "field": field,
        "type": "quantitative",
        "axis": {**latency_axis(title, **more), "values": shown},
        "scale": {"type": "log", "domain": [least, greatest], "nice": False},
    }


def count_axis(title: str | None, **more: object) -> dict[str, Any]:
    """Return an axis of large numbers."""
    return _axis(title, _COUNT, **more)


def whole_axis(title: str, values: Sequence[int]) -> dict[str, Any]:
    """Return an axis of whole numbers with a tick at each value that was measured.

    Ticks that Vega chooses lie between them where there are few, and are rounded to the same.
    """
    return {"title": title, "format": "d", "values": [*values], "labelOverlap": True}


def metric(
    field: str, axis: Mapping[str, Any], *, zero: bool = True, ticks: int = 5
) -> dict[str, Any]:
    """Return the encoding of a number on a linear scale."""
    return {
        "field": field,
        "type": "quantitative",
        "axis": {**axis, "tickCount": ticks},
        "scale": {"zero": zero, "nice": True},
    }


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the domain of values that are nearly the same, so that ticks have words of their own.

    Narrower than half a percent of the values, all ticks would be called the same, and what nobody
    can tell apart would fill the picture. Empty where the values lie farther apart.
    """
    low, high = min(values), max(values)
    least = _LEAST_SPREAD * high
    if high - low >= least:
        return {}
    middle = (low + high) / 2
    return {"domain": [middle - least / 2, middle + least / 2]}


def rows(
    layers: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a picture of rows, each of which has its words above its marks, at any width."""
    content = sized({"layer": list(layers)}, {"step": _ROW_STEP})
    return whole(content, values) | {"usermeta": {"reserved": ROWS_RESERVED}}


def row_axis(names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the encoding of rows by their ``name``, in this order or that of the data."""
    # The axis has no words of its own, and thus takes no width.
    hidden = {"labels": False, "ticks": False, "domain": False, "title": None, "grid": False}
    return {
        "field": "name",
        "type": "nominal",
        "sort": None if names is None else list(names),
        "axis": {**hidden, "minExtent": 0, "maxExtent": 0},
    }


def row_words(y: Mapping[str, Any], **more: object) -> dict[str, Any]:
    """Return the layer of the ``words`` above each row."""
    mark = {
        "type": "text",
        "align": "left",
        "baseline": "top",
        "dy": _ROW_WORDS_UP,
        "lineBreak": "\n",
        "lineHeight": 16,
        "limit": {"expr": "width"},
    }
    encoding = {"x": {"value": 0}, "y": y, "text": {"field": "words"}}
    return {**more, "mark": mark, "encoding": encoding}


def time_told(field: str, name: str) -> dict[str, str]:
    """Return a transformation that puts a time in nanoseconds into words."""
    value = f"datum.{field}"
    parts = [
        f"{value} >= {unit_ns:g} ? format({value} / {unit_ns:g}, '.3~r') + ' {unit}'"
        for unit_ns, unit in ((1e9, "s"), (1e6, "ms"))
    ]
    known = " : ".join([*parts, f"format({value} / 1000, '.3~r') + ' µs'"])
    return {"calculate": f"isValid({value}) ? ({known}) : '-'", "as": name}


def count_told(field: str, name: str) -> dict[str, str]:
    """Return a transformation that puts a rate into words."""
    return {
        "calculate": f"format(datum.{field}, datum.{field} < 100 ? '.3~r' : ',.0f')",
        "as": name,
    }


def drawn(spec: Mapping[str, Any], theme: str, width: float) -> dict[str, Any]:
    """Return a specification with the colours of a theme, for a picture of this width in pixels."""
    reserved = spec.get("usermeta", {}).get("reserved", RESERVED)
    content = {key: value for key, value in spec.items() if key != "usermeta"}
    found: dict[str, Any] = _themed(content, theme, width - reserved)
    return found


def _themed(spec: object, theme: str, width: float) -> Any:  # noqa: ANN401 - Any JSON.
    if isinstance(spec, dict):
        return {key: _themed_item(key, value, theme, width) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [_themed(one, theme, width) for one in spec]
    if isinstance(spec, str) and spec.startswith("var(--"):
        return THEMES[theme][spec[6:-1]]
    return spec


def _themed_item(key: str, value: object, theme: str, width: float) -> object:
    if key == "width" and value == "container":
        return width
    if key == "background":
        return THEMES[theme]["paper"]
    return _themed(value, theme, width)
