"""The cells of a sweep as a map: two parameters, and a figure as colour."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import POINT_COLUMNS, choice_of, point_cells
from fathom.report.figures._marked import marked
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fathom.report.material import GridCell, Material, Point, Side

__all__ = ["heat_map"]

_INFERRED = (
    "Cells whose number stands in brackets, or that have a ring where there is no room for "
    "numbers, were not measured, but follow from their neighbours."
)
# What is upright, and what goes from left to right, if a sweep varies it.
_PREFERENCE = ("block", "write", "threads", "depth")
_ROW_HEIGHT = 30
_NARROW = "bandwidth('x') < 44"
_INK = {
    "condition": {
        "test": "luminance(scale('color', datum.value)) < 0.35",
        "value": "#ffffff",
    },
    "value": "#0b1a2b",
}


class _Shown(NamedTuple):
    name: str
    value: Callable[[Point], float | None]
    words: Callable[[float], str]


_SHOWN = (
    _Shown("IOPS", lambda point: point.iops, rate_words),
    _Shown("MiB/s", lambda point: point.mib_per_s, rate_words),
    _Shown("Mean latency", lambda point: point.mean_ns, time_words),
    _Shown("99th percentile", lambda point: point.p99_ns, time_words),
)


def heat_map(material: Material) -> Figure | LeftOut | None:
    """Return the maps of all sweeps that vary at least two parameters."""
    sides = [side for side in material.sides if side.grid]
    swept = [side for side in sides if len(side.axes) > 1]
    if not swept:
        why = "The sweep varied one parameter only."
        return LeftOut("heat-map", "Heat map", why) if sides else None
    views = [view for side in swept for view in _views(material, side)]
    first = swept[0]
    cells = [(side, cell) for side in swept for cell in side.grid if side.axes == first.axes]
    columns = (
        *((Column("Of"),) if len(swept) > 1 else ()),
        *(Column(_axis_title(first, name)) for name in first.axes),
        *POINT_COLUMNS,
        Column("Source"),
        Column("Run"),
    )
    rows = tuple(
        (*((side.name,) if len(swept) > 1 else ()), *_cells(side, cell)) for side, cell in cells
    )
    upright, across = _pair(first)
    title = f"{upright.capitalize()} x {across}"
    figure = Figure("heat-map", title, _caption(swept), views, Table(columns, rows))
    return marked(
        figure, [cell.point.marks if cell.point else () for _, cell in cells], material.found_names
    )


def _axis_title(side: Side, name: str) -> str:
    """Return what the column of an axis is called: threads of each target are not those of all."""
    title = name.capitalize()
    if name not in ("threads", "depth"):
        return title
    pairs = [(cell.parameters[name], cell.point) for cell in side.grid]
    is_apart = any(point and str(getattr(point, name)) != value for value, point in pairs)
    return f"{title} per target" if is_apart else title


def _caption(swept: Sequence[Side]) -> str:
    """Return what the marks of these maps mean, of those that occur in them."""
    cells = [cell for side in swept for cell in side.grid]
    sentences = ["Each cell is one combination; more is darker."]
    if any(cell.point and not cell.point.is_measured for cell in cells):
        sentences.append(_INFERRED)
    empty = _empty_words(cells)
    sentences += [f"Empty cells {empty}."] if empty else []
    if any(_has_gaps(side) for side in swept):
        sentences.append("Where there is no cell, that load was not measured.")
    others = ", ".join(_others(swept[0]))
    slices = f", and which slice ({others})" if others else ""
    return " ".join([*sentences, f"Choose above what the colour shows{slices}."])


def _empty_words(cells: Sequence[GridCell]) -> str:
    """Return why some cells of these maps are empty; nothing if none is."""
    sources = {cell.source for cell in cells if cell.point is None}
    points = [point for cell in cells if (point := _point(cell))]
    drawn = [one for one in _SHOWN if any(map(one.value, points))]
    is_part = any(not one.value(point) for one in drawn for point in points)
    words = [
        *(["failed"] if "failed" in sources else []),
        *(["are still to be measured"] if sources - {"failed"} else []),
        *(["have no such figure"] if is_part else []),
    ]
    return " or ".join(words)


def _has_gaps(side: Side) -> bool:
    """Whether not every combination is a cell, as of a tuning, which leaves loads out."""
    combinations = math.prod(len(_values(side, name)) for name in side.axes)
    return combinations > len({tuple(cell.parameters.items()) for cell in side.grid})


def _point(cell: GridCell) -> Point | None:
    """Return the point of a cell, of one that was not measured with its estimated latencies."""
    estimated: dict[str, Any] = dict(cell.estimated_ns)
    return None if cell.point is None else replace(cell.point, **estimated)


def _cells(side: Side, cell: GridCell) -> tuple[Any, ...]:
    point = _point(cell)
    known = (None,) * len(POINT_COLUMNS) if point is None else point_cells(point)
    source = f"{cell.source}: {cell.failure}" if cell.failure else cell.source
    run_id = cell.point.run_id if cell.point else None
    run = None if run_id is None else str(run_id)
    return (*(cell.parameters[name] for name in side.axes), *known, source, run)


def _pair(side: Side) -> tuple[str, str]:
    """Return the parameters of the two axes: the block and the depth, if they were varied."""
    known = [name for name in _PREFERENCE if name in side.axes]
    ordered = [*known, *(name for name in side.axes if name not in known)]
    return ordered[0], ordered[-1] if ordered[-1] != ordered[0] else ordered[1]


def _others(side: Side) -> list[str]:
    return [name for name in side.axes if name not in _pair(side)]


def _values(side: Side, name: str) -> list[str]:
    values = list(dict.fromkeys(cell.parameters[name] for cell in side.grid))
    # Of a tuning, not every row has every column.
    return sorted(values, key=int) if all(one.isdigit() for one in values) else values


def _views(material: Material, side: Side) -> Iterable[View]:
    others = _others(side)
    slices = [*product(*(_values(side, name) for name in others))]
    for shown in _SHOWN:
        if not any((point := _point(cell)) and shown.value(point) for cell in side.grid):
            continue
        for one in slices:
            held = dict(zip(others, one, strict=True))
            cells = [
                cell
                for cell in side.grid
                if all(cell.parameters[name] == value for name, value in held.items())
            ]
            words = {name.capitalize(): value for name, value in held.items()}
            choice = choice_of(material, side.name, {"Shown": shown.name, **words})
            yield View(_spec(side, cells, shown), choice)


def _spec(side: Side, cells: Sequence[GridCell], shown: _Shown) -> dict[str, Any]:
    upright, across = _pair(side)
    # One scale for all slices, so that they can be compared.
    values = [shown.value(point) for cell in side.grid if (point := _point(cell))]
    known = [one for one in values if one]
    rows = [_row(cell, shown, upright, across) for cell in cells]
    x, y = (
        {
            "field": place,
            "type": "ordinal",
            "sort": _values(side, name),
            "axis": {"title": name.capitalize(), "labelAngle": 0, "grid": False},
        }
        for place, name in (("x", across), ("y", upright))
    )
    place = {"x": x, "y": y}
    return style.whole(
        style.sized(
            {
                "layer": [
                    {
                        "mark": {"type": "rect", "stroke": style.PAPER, "strokeWidth": 2},
                        "encoding": {**place, "color": _colour(known), "tooltip": _tooltip(side)},
                    },
                    _numbers(place, _tooltip(side)),
                    _rings(place, _tooltip(side)),
                ]
            },
            {"step": _ROW_HEIGHT},
        ),
        rows,
    )


def _colour(known: Sequence[float]) -> dict[str, Any]:
    is_wide = max(known) > 10 * min(known)
    scale: dict[str, Any] = {
        "scheme": "blues",
        "type": "log" if is_wide else "linear",
        "domain": [min(known), max(known)],
    }
    scale |= {} if is_wide else {"zero": False}
    return {
        "condition": {
            "test": "isValid(datum.value)",
            "field": "value",
            "type": "quantitative",
            "scale": scale,
            "legend": None,
        },
        "value": style.GRID,
    }


def _row(cell: GridCell, shown: _Shown, upright: str, across: str) -> dict[str, Any]:
    point = _point(cell)
    value = None if point is None else shown.value(point)
    words = "" if not value else shown.words(value)
    is_known = point is not None and point.is_measured
    return {
        "x": cell.parameters[across],
        "y": cell.parameters[upright],
        "value": round(value, 3) if value else None,
        "words": words if is_known or not words else f"({words})",
        "short": _short(value, shown) if is_known or not value else f"({_short(value, shown)})",
        "inferred": bool(value) and not is_known,
        "source": cell.source if not cell.failure else f"{cell.source}: {cell.failure}",
    }


def _short(value: float | None, shown: _Shown) -> str:
    """Return a number that has room in a cell."""
    if not value:
        return ""
    if shown.words is time_words:
        return time_words(value)
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


def _numbers(place: dict[str, Any], tooltip: list[dict[str, str]]) -> dict[str, Any]:
    """Return the numbers in the cells, where the cells are wide enough for them."""
    return {
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {
            "type": "text",
            "fontSize": 11,
            "opacity": {"expr": f"{_NARROW} ? 0 : 1"},
        },
        "encoding": {
            **place,
            "text": {"field": "short"},
            # The number lies above its cell, and would keep the pointer from it.
            "tooltip": tooltip,
            "color": _INK,
        },
    }


def _rings(place: dict[str, Any], tooltip: list[dict[str, str]]) -> dict[str, Any]:
    """Return the marks of cells that were not measured, where these are too narrow for numbers."""
    return {
        "transform": [{"filter": "datum.inferred"}],
        "mark": {
            "type": "point",
            "filled": False,
            "size": 26,
            "strokeWidth": 1.5,
            "opacity": {"expr": f"{_NARROW} ? 1 : 0"},
        },
        "encoding": {**place, "tooltip": tooltip, "stroke": _INK},
    }


def _tooltip(side: Side) -> list[dict[str, str]]:
    upright, across = _pair(side)
    return [
        {"field": "words", "title": "value"},
        {"field": "y", "title": upright},
        {"field": "x", "title": across},
        {"field": "source", "title": "is"},
    ]
