"""The share of I/Os that took longer, down to one of a thousand million."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._common import run_choice
from fathom.report.figures._told_percentiles import NINES, Curve, told_curves
from fathom.units import millis

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fathom.report.material import Material, ReportedRun
    from fathom.result import Direction, Latency

__all__ = ["distribution"]

_NAME, _TITLE = "latency-distribution", "Latency distribution"
_CAPTION = (
    "Each curve says which share of the I/Os took at most a latency; each step upwards is one "
    "more nine, so that rare slow I/Os have as much room as the many fast ones. A steep curve is "
    "a steady device; a step to the right is a second population, such as misses of a cache. A "
    "curve ends at its slowest I/O: beyond, there are too few I/Os to tell."
)
_OF_TABLES = (
    "Curves with points are those of other tools that told a table of percentiles and no "
    "histogram: only the points are known."
)
_LABELS = ("0 %", "90 %", "99 %", *(f"99.{'9' * digits} %" for digits in range(1, NINES - 1)))
_QUANTILES = (0.5, 0.9, 0.95, *(round(1 - 10.0**-nines, 12) for nines in range(2, NINES + 1)))
# The share that belongs to so many nines.
_SHARE = {
    "calculate": (
        "format(100 * (1 - pow(10, -datum.nines)), datum.nines < 2 ? '.2f' : '.7~f') + ' %'"
    ),
    "as": "share",
}
# Closer points than these cannot be distinguished in a picture.
_LEAST_STEP = 0.02
_LEAST_RISE = 0.04
# Of more runs than these the points are farther apart, so that the page stays small.
_FINE_RUNS = 25


def distribution(material: Material) -> Figure | LeftOut | None:
    """Return the distributions of all runs that have histograms."""
    coarse = max(len(material.runs) / _FINE_RUNS, 1.0)
    runs = [
        (choice, curves)
        for choice, run in run_choice(material)
        if (curves := _curves(run, coarse) or told_curves(run.result.raw))
    ]
    if not runs:
        if not material.runs:
            return None
        why = "No run has a histogram of latencies, or a table of percentiles: they need -L."
        return LeftOut(_NAME, _TITLE, why)
    rows = tuple(row for choice, curves in runs for row in _rows(choice["Run"], curves))
    columns = (
        Column("Run"),
        Column("I/Os"),
        Column("Count", digits=0),
        Column("min", "ms", 3, is_significant=True),
        *(Column(_quantile_words(one), "ms", 3, is_significant=True) for one in _QUANTILES),
        Column("max", "ms", 3, is_significant=True),
    )
    views = [View(_spec(curves), choice) for choice, curves in runs]
    is_told = any(one.is_told for _, curves in runs for one in curves)
    caption = f"{_CAPTION} {_OF_TABLES}" if is_told else _CAPTION
    return Figure(_NAME, _TITLE, caption, views, Table(columns, rows))


def _quantile_words(quantile: float) -> str:
    return f"{100 * quantile:.7f}".rstrip("0").rstrip(".") + " %"


def _curves(run: ReportedRun, coarse: float) -> list[Curve]:
    """Return the histograms of a run: reads and writes, and response times where they differ."""
    span = run.result.time_spans[0] if run.result.time_spans else None
    kinds: Sequence[tuple[str, Direction]] = (
        (("reads", span.read), ("writes", span.write), ("syncs", span.sync)) if span else ()
    )
    found = []
    for name, direction in kinds:
        if direction.latency is not None and direction.latency.buckets:
            found.append(_curve(name, direction.latency, coarse))
        if direction.response is not None and direction.response.buckets:
            found.append(_curve(f"{name}, from when they were due", direction.response, coarse))
    return found


def _curve(name: str, latency: Latency, coarse: float) -> Curve:
    # A quantile is known if at least one I/O lies beyond it.
    known = [one for one in _QUANTILES if latency.count * (1 - one) >= 1 - 1e-6]
    return Curve(
        name=name,
        ios=latency.count,
        least_ns=latency.min_ns,
        greatest_ns=latency.max_ns,
        quantiles_ns={one: float(latency.quantile_ns(one)) for one in known},
        points=_points(latency, coarse),
    )


def _rows(run: str, curves: Sequence[Curve]) -> Iterable[tuple[Any, ...]]:
    for one in curves:
        values = (millis(one.quantiles_ns.get(quantile)) for quantile in _QUANTILES)
        yield (run, one.name, one.ios, millis(one.least_ns), *values, millis(one.greatest_ns))


def _points(latency: Latency, coarse: float) -> list[tuple[float, float]]:
    """Return latencies in nanoseconds with their nines, thinned to what can be seen."""
    points = [(float(max(latency.min_ns, 1)), 0.0)]
    seen = 0
    for lower_ns, count in latency.buckets.items():
        seen += count
        left = latency.count - seen
        if left <= 0:
            break
        nines = -math.log10(left / latency.count)
        ns = float(max(lower_ns, latency.min_ns, 1))
        last = points[-1]
        step = math.hypot((nines - last[1]) / _LEAST_RISE, math.log10(ns / last[0]) / _LEAST_STEP)
        if step >= coarse:
            points.append((ns, nines))
    end = min(math.log10(latency.count), NINES) if latency.count > 1 else 0.0
    points.append((float(max(latency.max_ns, 1)), max(end, points[-1][1])))
    return points


def _spec(curves: Sequence[Curve]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "ns": round(ns, 1),
            "nines": round(nines, 4),
            "series": one.name,
        }
        for one in curves
        for ns, nines in one.points
    ]
    x = style.log_latency("ns", [row["ns"] for row in rows])
    labels = ", ".join(f"'{one}'" for one in _LABELS)
    highest = max(math.ceil(max(row["nines"] for row in rows)), 1)
    y = {
        "field": "nines",
        "type": "quantitative",
        "scale": {"domain": [0, highest], "nice": False},
        "axis": {
            "title": "Share of I/Os within",
            "values": list(range(highest + 1)),
            "labelExpr": f"[{labels}][datum.value]",
            "minExtent": 84,
            "maxExtent": 84,
        },
    }
    shared = {"x": x, "y": y, "order": {"field": "nines"}}
    tooltip = [
        {"field": "series", "title": "I/Os"},
        {"field": "share", "title": "share"},
        {"field": "time", "title": "within"},
    ]
    names = [one.name for one in curves]
    is_told = any(one.is_told for one in curves)
    coloured = style.colour_by("series", names, lines=not is_told, entry_width=260)
    drawn = {"color": coloured["color"]} if is_told else coloured
    lines = {"mark": {"type": "line"}, "encoding": {**shared, **drawn}}
    # Where all is known, points cannot be seen; they are what the pointer finds.
    points: dict[str, Any] = {
        "mark": {"type": "point", "opacity": int(is_told), "size": 90 if is_told else 120},
        "encoding": {**shared, **(coloured if is_told else {}), "tooltip": tooltip},
    }
    return style.whole(style.sized({"layer": [lines, points]}, 300), rows) | {
        "transform": [style.time_told("ns", "time"), _SHARE],
        "usermeta": {"reserved": style.RESERVED + 38},
    }
