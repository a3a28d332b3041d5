"""Every run of an assessment or of a list of runs, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import _style as style
from fathom.report._figure import Column, Figure, LeftOut, Table, View
from fathom.report._marked import marked
from fathom.report._words import count_words, time_words
from fathom.report.figures._bars import lying_bars
from fathom.report.figures._common import POINT_COLUMNS, point_cells, run_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report._material import Material, ReportedRun

__all__ = ["workloads"]

_CAPTION = (
    "I/Os per second of {what}. The table has all runs, with their latencies; the number of a "
    "run is that in the store."
)


def workloads(material: Material) -> Figure | LeftOut | None:
    """Return a picture of the workloads, and the table of all runs."""
    # Cells of sweeps have figures of their own.
    swept = {id(run) for side, run in material.runs if side.verb in ("sweep", "tune")}
    runs = [(one["Run"], run) for one, run in run_choice(material) if id(run) not in swept]
    if not runs:
        return None
    mine = [(name, run) for name, run in runs if run.part == "workloads"]
    shown, what = (mine, "the workloads of applications") if mine else (runs, "all runs")
    columns = (Column("Run"), Column("Number"), Column("Part"), *POINT_COLUMNS)
    rows = tuple(
        (
            name,
            "" if run.run_id is None else str(run.run_id),
            run.part,
            *point_cells(run.point),
        )
        for name, run in runs
    )
    caption = _CAPTION.format(what=what)
    figure = Figure("workloads", "Workloads", caption, [View(_spec(shown))], Table(columns, rows))
    return marked(figure, [run.marks for _, run in runs])


def _spec(shown: Sequence[tuple[str, ReportedRun]]) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "value": round(run.point.iops, 3),
            "words": _words(name, run),
            "p99": "-" if run.point.p99_ns is None else time_words(run.point.p99_ns),
        }
        for name, run in shown
    ]
    tooltip = [{"field": "words", "title": "run"}, {"field": "p99", "title": "99th percentile"}]
    return lying_bars(rows, style.count_axis("I/Os per second"), tooltip=tooltip)


def _words(name: str, run: ReportedRun) -> str:
    point = run.point
    words = f"{name}\n{count_words(point.iops)} IOPS, {count_words(point.mib_per_s)} MiB/s"
    return words if point.mean_ns is None else f"{words}, {time_words(point.mean_ns)}"
