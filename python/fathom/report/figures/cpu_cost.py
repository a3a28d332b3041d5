"""What an I/O costs in CPU time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._bars import lying_bars
from fathom.report.figures._common import run_choice
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, ReportedRun

__all__ = ["cpu_cost"]

_NAME, _TITLE = "cpu-per-io", "CPU time per I/O"
_CAPTION = (
    "The CPU time that each I/O took on average: in the kernel, on the threads of load, and in "
    "the tool itself. Threads of the kernel that work for others are not in it. A second of a "
    "processor divided by this is how many I/Os it can make."
)
_IN_KERNEL, _OWN = "in the kernel", "in the tool"


def cpu_cost(material: Material) -> Figure | LeftOut | None:
    """Return what I/Os of all runs cost."""
    known = [
        (choice["Run"], run, costs)
        for choice, run in run_choice(material)
        if (costs := _costs(run)) is not None
    ]
    if not known:
        if not material.runs:
            return None
        return LeftOut(_NAME, _TITLE, "No run tells what its I/Os cost in CPU time.")
    columns = (
        Column("Run"),
        Column("In the kernel", "µs", 3),
        Column("In the tool", "µs", 3),
        Column("I/Os per CPU second", digits=0),
        Column("IOPS", digits=3, is_significant=True),
        Column("CPU", "%", 1),
    )
    rows = tuple(
        (
            name,
            kernel_ns / 1e3,
            own_ns / 1e3,
            NS_PER_S / (kernel_ns + own_ns),
            run.point.iops,
            run.point.cpu_percent,
        )
        for name, run, (kernel_ns, own_ns) in known
    )
    view = View(_spec([(name, costs) for name, _, costs in known]))
    return Figure(_NAME, _TITLE, _CAPTION, [view], Table(columns, rows))


def _costs(run: ReportedRun) -> tuple[float, float] | None:
    """Return the nanoseconds of an I/O in the kernel and in the tool."""
    if not run.result.time_spans:
        return None
    span = run.result.time_spans[0]
    if span.kernel_ns_per_io is None or span.own_ns_per_io is None:
        return None
    costs = span.kernel_ns_per_io, span.own_ns_per_io
    return costs if sum(costs) > 0 else None


def _spec(known: Sequence[tuple[str, tuple[float, float]]]) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "series": series,
            "value": round(value, 1),
            "time": time_words(value),
            "words": f"{name}\n{time_words(sum(costs))}" if series == _IN_KERNEL else None,
        }
        for name, costs in known
        for series, value in zip((_IN_KERNEL, _OWN), costs, strict=True)
    ]
    tooltip = [
        {"field": "name", "title": "run"},
        {"field": "series", "title": "where"},
        {"field": "time", "title": "is"},
    ]
    axis = style.latency_axis("CPU time per I/O")
    return lying_bars(rows, axis, series=(_IN_KERNEL, _OWN), tooltip=tooltip)
