"""Which share of the I/Os took how long, run by run: populations and outliers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fathom.report import _style as style
from fathom.report._figure import Column, Figure, LeftOut, Table, View
from fathom.report._words import millis, time_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._result import Latency
    from fathom.report._material import Material, Side

__all__ = ["latency_map"]

_NAME, _TITLE = "latency-map", "Latency heat map over the runs"
_CAPTION = (
    "Each column is one run, in the order of time; the darker a field, the more of its I/Os took "
    "that long (the scale is logarithmic, so that one of a million is still seen). Two dark "
    "bands are two populations, such as hits and misses of a cache; single fields far above are "
    "outliers."
)
# Fields per power of ten.
_STEPS = 8
_LEAST_SHARE = 1e-7


def latency_map(material: Material) -> Figure | LeftOut | None:
    """Return the maps of all repetitions."""
    repeated = [side for side in material.sides if side.verb == "repeat" and len(side.runs) > 1]
    if not repeated:
        return None
    known = [(side, fields) for side in repeated if (fields := _fields(side))]
    if not known:
        why = "No run has a histogram of latencies: they are kept with -L."
        return LeftOut(_NAME, _TITLE, why)
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Run", digits=0),
        Column("From", "ms", 4),
        Column("To", "ms", 4),
        Column("I/Os", digits=0),
        Column("Share", "%", 5),
    )
    rows = tuple(
        (*((side.name,) if many else ()), run, *_ends_ms(step), ios, 100 * share)
        for side, fields in known
        for run, step, ios, share in fields
    )
    views = [View(_spec(fields), {"Of": side.name} if many else {}) for side, fields in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _ends_ms(step: int) -> tuple[float | None, float | None]:
    return millis(_edge(step)), millis(_edge(step + 1))


def _edge(step: int) -> float:
    """Return the least latency of a field in nanoseconds."""
    return float(10 ** (step / _STEPS))


def _fields(side: Side) -> list[tuple[int, int, int, float]]:
    """Return run, field, I/Os and share of all fields that have any."""
    found = []
    for number, run in enumerate(side.runs, start=1):
        latency = run.result.time_spans[0].total.latency if run.result.time_spans else None
        if latency is not None and latency.buckets:
            found += [
                (number, step, ios, ios / latency.count)
                for step, ios in sorted(_counts(latency).items())
            ]
    return found


def _counts(latency: Latency) -> dict[int, int]:
    counts: dict[int, int] = {}
    for lower_ns, ios in latency.buckets.items():
        step = math.floor(math.log10(max(lower_ns, 1)) * _STEPS)
        counts[step] = counts.get(step, 0) + ios
    return counts


def _spec(fields: Sequence[tuple[int, int, int, float]]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "run": run,
            "low": round(_edge(step), 2),
            "high": round(_edge(step + 1), 2),
            "share": share,
            "words": f"{time_words(_edge(step))} to {time_words(_edge(step + 1))}",
            "ios": ios,
        }
        for run, step, ios, share in fields
    ]
    ends = [row[name] for row in rows for name in ("low", "high")]
    least = max(min(row["share"] for row in rows), _LEAST_SHARE)
    colour = {
        "field": "share",
        "type": "quantitative",
        "scale": {"type": "log", "scheme": "blues", "domain": [least, 1], "clamp": True},
        "legend": None,
    }
    tooltip = [
        {"field": "run", "title": "run"},
        {"field": "words", "title": "latency"},
        {"field": "ios", "title": "I/Os", "format": ","},
        {"field": "share", "title": "share", "format": ".3~%"},
    ]
    return style.whole(
        style.sized(
            {
                "mark": {"type": "bar", "width": {"band": 1}, "stroke": None},
                "encoding": {
                    "x": {"field": "run", "type": "ordinal", "axis": _RUNS, "scale": _TIGHT},
                    "y": style.log_latency("low", ends),
                    "y2": {"field": "high"},
                    "color": colour,
                    "tooltip": tooltip,
                },
            },
            280,
        ),
        rows,
    )


_RUNS = {"title": "Run", "labelAngle": 0, "grid": False}
_TIGHT = {"paddingInner": 0.04}
