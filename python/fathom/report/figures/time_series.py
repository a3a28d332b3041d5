"""Rates and latencies over the time of a run, with its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import run_choice
from fathom.report.figures._happened import happened_lines, happened_names
from fathom.units import MIB, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom.result import Result

__all__ = ["time_series"]

if TYPE_CHECKING:
    from fathom.report.material import Material, ReportedRun

_NAME, _TITLE = "time-series", "Over time"
_CAPTION = (
    "IOPS and latency in the course of a run. Grey bands are phases that are not "
    "counted: warm-up before 0, cool-down at the end. The solid line of latency is the mean of "
    "an interval, the dashed one its slowest I/O. A dashed upright line marks where the start-up "
    "transient ended, as the stop rule found it. An upright line with a name is what happened to a "
    "cluster meanwhile (--events)."
)
_KINDS = ("read", "write")
# More intervals than this cannot be distinguished in a picture; they are joined. So they are where
# many runs would make the page large.
_MOST_INTERVALS, _LEAST_INTERVALS, _OF_ALL_RUNS = 120, 40, 4000
_TOLD = (
    {"calculate": "(datum.t + datum.t2) / 2", "as": "middle"},
    style.count_told("iops", "rate"),
    style.time_told("mean", "mean_words"),
    style.time_told("max", "max_words"),
)
_IOS, _BYTES, _SUM, _MOST = range(4)


def time_series(material: Material) -> Figure | LeftOut | None:
    """Return the series of all runs that kept one."""
    if not material.runs:
        return None
    most = max(min(_MOST_INTERVALS, _OF_ALL_RUNS // len(material.runs)), _LEAST_INTERVALS)
    known = [
        (choice, run, rows)
        for choice, run in run_choice(material)
        if (rows := _rows(run.result, most))
    ]
    if not known:
        return LeftOut(_NAME, _TITLE, "No run kept intervals: they are kept with -D.")
    columns = (
        Column("Run"),
        Column("I/Os"),
        Column("From", "s", 2),
        Column("To", "s", 2),
        Column("IOPS", digits=3, is_significant=True),
        Column("MiB/s", digits=3, is_significant=True),
        Column("mean", "ms", 3, is_significant=True),
        Column("max", "ms", 3, is_significant=True),
    )
    table = tuple(
        (choice["Run"], row["kind"], row["t"], row["t2"], row["iops"], row["mib"], *_ends(row))
        for choice, _, rows in known
        for row in rows
    )
    views = [View(_spec(run, rows), choice) for choice, run, rows in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, table))


def _ends(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    return tuple(None if row.get(name) is None else row[name] / 1e6 for name in ("mean", "max"))  # type: ignore[return-value]


def _rows(result: Result, most: int) -> list[dict[str, Any]]:
    """Return one row for each interval and kind of the first time span."""
    if not result.raw["time_spans"]:
        return []
    span = result.raw["time_spans"][0]
    interval_s = span["interval_ns"] / NS_PER_S
    measured_s = span["measured_ns"] / NS_PER_S
    if not interval_s:
        return []
    return [
        row
        for kind in _KINDS
        for row in _kind_rows(kind, _cells(span, kind), most, interval_s, measured_s)
    ]


def _cells(span: Mapping[str, Any], kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return I/Os, bytes, sum and greatest of latencies of each interval, over all threads."""
    parts = [
        [
            (one["ios"], one["bytes"], one["latency_ns_sum"], one["latency_ns_max"])
            for one in target[kind]["series"]["cells"]
        ]
        for thread in span["threads"]
        for target in thread["targets"]
    ]
    longest = max((len(part) for part in parts), default=0)
    total = np.zeros((longest, 4))
    for part in parts:
        if part:
            values = np.array(part, float)
            total[: len(part), :_MOST] += values[:, :_MOST]
            np.maximum(total[: len(part), _MOST], values[:, _MOST], out=total[: len(part), _MOST])
    return total


def _kind_rows(
    kind: str,
    cells: np.ndarray[Any, np.dtype[np.float64]],
    most: int,
    interval_s: float,
    measured_s: float,
) -> Iterable[dict[str, Any]]:
    if not cells.size or not cells[:, _IOS].any():
        return
    joined = -(-len(cells) // most)
    for first in range(0, len(cells), joined):
        piece = cells[first : first + joined]
        start_s = first * interval_s
        end_s = min(start_s + len(piece) * interval_s, measured_s)
        # A part of one interval at the end is too short for a rate.
        if end_s - start_s < 0.5 * interval_s:
            continue
        ios, transferred, latency_ns = (float(piece[:, at].sum()) for at in (_IOS, _BYTES, _SUM))
        row: dict[str, Any] = {
            "kind": f"{kind}s",
            "t": round(start_s, 4),
            "t2": round(end_s, 4),
            "iops": round(ios / (end_s - start_s), 2),
            "mib": round(transferred / MIB / (end_s - start_s), 3),
        }
        if ios and latency_ns:
            row |= {"mean": round(latency_ns / ios), "max": round(float(piece[:, _MOST].max()))}
        yield row


def _spec(run: ReportedRun, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    result = run.result
    asked = result.raw["request"]["profile"]["time_spans"][0]
    end_s = result.raw["time_spans"][0]["measured_ns"] / NS_PER_S
    phases = _phases(asked, end_s)
    first_s = min((one["from"] for one in phases), default=0.0)
    last_s = max((one["to"] for one in phases), default=end_s)
    x = {
        "field": "middle",
        "type": "quantitative",
        "axis": {"title": "Seconds of measured time", "tickCount": 6},
        "scale": {"domain": [min(first_s, 0.0), max(last_s, end_s)], "nice": False},
    }
    # The rates of bytes are in the table only.
    told = [{name: value for name, value in row.items() if name != "mib"} for row in rows]
    kinds = [f"{kind}s" for kind in _KINDS if any(row["kind"] == f"{kind}s" for row in rows)]
    around = [*_phase_layers(phases, x), *_transient(result, x), *happened_lines(run, x)]
    panels = [style.sized(_rates([*around, *happened_names(run, x)], x, kinds), 170)]
    known_ns = [row[name] for row in rows if "mean" in row for name in ("mean", "max")]
    if known_ns:
        panels.append(style.sized(_latencies(around, x, kinds, known_ns), 190))
    return style.whole(style.stacked(panels), told) | {"transform": [*_TOLD]}


def _phases(asked: Mapping[str, Any], end_s: float) -> list[dict[str, Any]]:
    """Return the phases that are not counted."""
    warm_up_s, cool_down_s = float(asked["warm_up_s"]), float(asked["cool_down_s"])
    phases = []
    if warm_up_s:
        phases.append({"from": -warm_up_s, "to": 0.0, "name": "warm-up"})
    if cool_down_s:
        phases.append({"from": end_s, "to": end_s + cool_down_s, "name": "cool-down"})
    return phases


def _phase_layers(phases: Sequence[dict[str, Any]], x: dict[str, Any]) -> list[dict[str, Any]]:
    if not phases:
        return []
    place = {"x": {**x, "field": "from"}, "x2": {"field": "to"}}
    tooltip = [{"field": "name", "title": "phase"}]
    data = {"values": phases}
    return [
        {
            "data": data,
            "mark": {"type": "rect", "color": style.FAINT, "opacity": 0.22},
            "encoding": {**place, "tooltip": tooltip},
        }
    ]


def _transient(result: Result, x: dict[str, Any]) -> list[dict[str, Any]]:
    stop = result.time_spans[0].stop
    known = stop.confidence if stop else None
    if known is None or not known.transient_ns:
        return []
    at = {"at": known.transient_ns / NS_PER_S}
    return [
        {
            "data": {"values": [at]},
            "mark": {"type": "rule", "color": style.MARK, "strokeDash": [4, 4]},
            "encoding": {"x": {**x, "field": "at"}},
        }
    ]


def _tooltip() -> list[dict[str, str]]:
    return [
        {"field": "kind", "title": "I/Os"},
        {"field": "t", "title": "from second"},
        {"field": "rate", "title": "IOPS"},
        {"field": "mean_words", "title": "mean"},
        {"field": "max_words", "title": "slowest"},
    ]


def _rates(around: list[dict[str, Any]], x: dict[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    colours = style.colour_by("kind", kinds)
    return {
        "layer": [
            *around,
            {
                "mark": {"type": "line"},
                "encoding": {
                    "x": x,
                    "y": style.metric("iops", style.count_axis("IOPS")),
                    "color": colours["color"],
                    "tooltip": _tooltip(),
                },
            },
            _found_by_pointer(x, "iops"),
        ]
    }


def _found_by_pointer(x: dict[str, Any], field: str) -> dict[str, Any]:
    return {
        "mark": {"type": "point", "opacity": 0, "size": 90},
        "encoding": {
            "x": x,
            "y": {"field": field, "type": "quantitative"},
            "tooltip": _tooltip(),
        },
    }


def _latencies(
    around: list[dict[str, Any]],
    x: dict[str, Any],
    kinds: Sequence[str],
    values_ns: Sequence[float],
) -> dict[str, Any]:
    # The panel above has the legend.
    colour = style.colour_by("kind", kinds)["color"] | {"legend": None}
    layers = [
        {
            "mark": {"type": "line", **look},
            "encoding": {"x": x, "y": style.log_latency(field, values_ns), "color": colour},
        }
        for field, look in (
            ("mean", {}),
            ("max", {"strokeDash": [3, 3], "strokeWidth": 1.2, "opacity": 0.85}),
        )
    ]
    return {"layer": [*around, *layers, _found_by_pointer(x, "mean")]}
