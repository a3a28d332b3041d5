"""Which share of the I/Os took how long, over time or run by run: populations and outliers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import choice_of, run_choice
from fathom.units import NS_PER_S, millis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom.report.material import Material, Side
    from fathom.result import Result

__all__ = ["latency_map"]

_NAME, _TITLE = "latency-map", "Latency heat map over time"
_CAPTION = (
    "From left to right, time: intervals of a run, or one run after the other; the darker a "
    "field, the more of the I/Os of that time took that long (the scale is logarithmic, so that "
    "one of a million is still seen). Two dark bands are two populations, such as hits and "
    "misses of a cache; single fields far above are outliers."
)
# Of latencies over runs, fields per power of ten; intervals have four per power of two.
_STEPS = 8
_QUARTERS = 4
_LEAST_SHARE = 1e-7
# Narrower columns cannot be distinguished in a picture; they are joined, as they are where many
# runs would make the page large.
_MOST_COLUMNS, _LEAST_COLUMNS, _OF_ALL_RUNS = 80, 20, 800


@dataclass(frozen=True)
class _Field:
    """I/Os between two latencies, of the time from one instant to another.

    Times are seconds of a run, or numbers of runs, from 1.
    """

    start: float
    end: float
    low_ns: float
    high_ns: float
    ios: int
    share: float


def latency_map(material: Material) -> Figure | LeftOut | None:
    """Return the maps of repetitions, and of runs that counted latencies in their intervals."""
    repeated = [
        (choice_of(material, side.name, {"Over": "all runs"}), _over_runs(side))
        for side in material.sides
        if side.verb == "repeat"
    ]
    most = max(min(_MOST_COLUMNS, _OF_ALL_RUNS // max(len(material.runs), 1)), _LEAST_COLUMNS)
    within = [
        (
            choice_of(material, _side_of(material, run), {"Over": choice["Run"]}),
            _within(run.result, most),
        )
        for choice, run in run_choice(material)
    ]
    known = [(choice, fields) for choice, fields in [*repeated, *within] if fields]
    if not known:
        if not material.runs:
            return None
        why = (
            "No run counted latencies in each interval: they are kept with -L, -D and "
            "--interval-latency."
        )
        return LeftOut(_NAME, _TITLE, why)
    columns = (
        *(Column(name) for name in known[0][0]),
        Column("From", "run or s", 2),
        Column("To", "run or s", 2),
        Column("Latency from", "ms", 4, is_significant=True),
        Column("Latency to", "ms", 4, is_significant=True),
        Column("I/Os", digits=0),
        Column("Share", "%", 5),
    )
    rows = tuple(
        (*choice.values(), one.start, one.end, *_latencies_ms(one), one.ios, 100 * one.share)
        for choice, fields in known
        for one in fields
    )
    views = [View(_spec(fields, choice["Over"]), choice) for choice, fields in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _latencies_ms(field: _Field) -> tuple[float | None, float | None]:
    return millis(field.low_ns), millis(field.high_ns)


def _side_of(material: Material, run: object) -> str:
    return next(side.name for side, one in material.runs if one is run)


def _fields(
    start: float, end: float, counts: Mapping[tuple[float, float], int]
) -> Iterable[_Field]:
    """Return the fields of a column; ``counts`` are by their two latencies."""
    total = sum(counts.values())
    for (low_ns, high_ns), ios in sorted(counts.items()):
        yield _Field(start, end, low_ns, high_ns, ios, ios / total)


def _over_runs(side: Side) -> list[_Field]:
    found: list[_Field] = []
    for number, run in enumerate(side.runs, start=1):
        latency = run.result.time_spans[0].total.latency if run.result.time_spans else None
        counts: Counter[tuple[float, float]] = Counter()
        for lower_ns, ios in latency.buckets.items() if latency is not None else ():
            step = math.floor(math.log10(max(lower_ns, 1)) * _STEPS)
            counts[10 ** (step / _STEPS), 10 ** ((step + 1) / _STEPS)] += ios
        found += _fields(number - 0.5, number + 0.5, counts)
    return found


def _within(result: Result, most: int) -> list[_Field]:
    """Return the fields of the intervals of the first time span, over all threads."""
    if not result.raw["time_spans"]:
        return []
    span = result.raw["time_spans"][0]
    columns: list[Counter[tuple[float, float]]] = []
    for intervals in _interval_latencies(span):
        columns += [Counter() for _ in range(len(intervals) - len(columns))]
        for column, one in zip(columns, intervals, strict=False):
            for low_ns, ios in zip(one["bucket_lower_ns"], one["bucket_counts"], strict=True):
                column[low_ns, _upper_ns(low_ns)] += ios
    return _joined(columns, most, span["interval_ns"] / NS_PER_S)


def _interval_latencies(span: Mapping[str, Any]) -> Iterable[Sequence[Mapping[str, Any]]]:
    for thread in span["threads"]:
        for target in thread["targets"]:
            for kind in ("read", "write"):
                yield target[kind].get("interval_latency", ())


def _upper_ns(low_ns: int) -> int:
    """Return where a field ends: four of them share a power of two."""
    return low_ns + (1 << (low_ns.bit_length() - 1)) // _QUARTERS


def _joined(
    columns: Sequence[Counter[tuple[float, float]]], most: int, interval_s: float
) -> list[_Field]:
    found: list[_Field] = []
    together = -(-len(columns) // most)
    for first in range(0, len(columns), together or 1):
        piece = columns[first : first + together]
        counts: Counter[tuple[float, float]] = Counter()
        for one in piece:
            counts.update(one)
        start_s = first * interval_s
        found += _fields(start_s, start_s + len(piece) * interval_s, counts)
    return found


def _spec(fields: Sequence[_Field], over: str) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "from": round(one.start, 4),
            "to": round(one.end, 4),
            "low": round(one.low_ns, 1),
            "high": round(one.high_ns, 1),
            "share": float(f"{one.share:.4g}"),
            "ios": one.ios,
        }
        for one in fields
    ]
    ends = [row[name] for row in rows for name in ("low", "high")]
    colour = {
        "field": "share",
        "type": "quantitative",
        "scale": {
            "type": "log",
            "scheme": "blues",
            "domain": [max(min(one.share for one in fields), _LEAST_SHARE), 1],
            "clamp": True,
        },
        "legend": None,
    }
    is_runs = over == "all runs"
    axis = {"title": "Run" if is_runs else "Seconds of measured time", "grid": False}
    x = {
        "field": "from",
        "type": "quantitative",
        "axis": {**axis, "tickMinStep": 1, "format": "d"} if is_runs else axis,
        "scale": {"domain": [rows[0]["from"], max(row["to"] for row in rows)], "nice": False},
    }
    tooltip = [
        {"field": "low_words", "title": "from"},
        {"field": "high_words", "title": "to"},
        {"field": "ios", "title": "I/Os", "format": ","},
        {"field": "share", "title": "share", "format": ".3~%"},
    ]
    content = {
        "mark": {"type": "rect", "stroke": None},
        "encoding": {
            "x": x,
            "x2": {"field": "to"},
            "y": style.log_latency("low", ends),
            "y2": {"field": "high"},
            "color": colour,
            "tooltip": tooltip,
        },
    }
    told = [style.time_told("low", "low_words"), style.time_told("high", "high_words")]
    return style.whole(style.sized(content, 280), rows) | {"transform": told}
