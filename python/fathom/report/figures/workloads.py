"""Every run of an assessment or of a list of runs, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fathom._claims import mark_of
from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._bars import lying_bars
from fathom.report.figures._common import POINT_COLUMNS, point_cells, run_choice
from fathom.report.figures._marked import marked
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.report.material import Material, ReportedRun

__all__ = ["workloads"]

_CAPTION = (
    "{what}. The table has all runs, with their latencies; the number of a run is that in the "
    "store."
)
_OF_APPLICATIONS = (
    "The workloads of applications, each in what counts for it: of a database IOPS, at the latency "
    "beside them; of its log latency, of which less is better; of a backup MiB/s"
)
_OF_ALL = "IOPS of all runs"


class _Unit(NamedTuple):
    """What counts for a workload: its name, the figure, and its axis."""

    name: str
    value: Callable[[ReportedRun], float | None]
    axis: Callable[[str], dict[str, Any]]


_UNITS = {
    "oltp": _Unit("IOPS", lambda run: run.point.iops, style.count_axis),
    "log": _Unit("mean latency", lambda run: run.point.mean_ns, style.latency_axis),
    "backup": _Unit("MiB/s", lambda run: run.point.mib_per_s, style.count_axis),
}


def workloads(material: Material) -> Figure | LeftOut | None:
    """Return a picture of the workloads, and the table of all runs."""
    # Cells of sweeps have figures of their own.
    swept = {id(run) for side, run in material.runs if side.verb in ("sweep", "tune")}
    runs = [(one["Run"], run) for one, run in run_choice(material) if id(run) not in swept]
    if not runs:
        return None
    mine = [(name, run) for name, run in runs if run.part == "workloads" and run.key in _UNITS]
    views, what = (_views(mine), _OF_APPLICATIONS) if mine else ([], "")
    if not views:
        views, what = [View(_spec(runs, _UNITS["oltp"]))], _OF_ALL
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
    figure = Figure("workloads", "Workloads", caption, views, Table(columns, rows))
    return marked(figure, [run.marks for _, run in runs], material.found_names)


def _views(shown: Sequence[tuple[str, ReportedRun]]) -> list[View]:
    """Return a picture of each workload of applications, in its own unit."""
    views = []
    for kind, unit in _UNITS.items():
        known = [
            (name, run) for name, run in shown if run.key == kind and unit.value(run) is not None
        ]
        if known:
            choice = {"Workload": f"{known[0][1].label}: {unit.name}"}
            views.append(View(_spec(known, unit), choice))
    return views


def _spec(shown: Sequence[tuple[str, ReportedRun]], unit: _Unit) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "value": round(unit.value(run) or 0.0, 3),
            "words": _words(name, run),
            "p99": "-" if run.point.p99_ns is None else time_words(run.point.p99_ns),
        }
        for name, run in shown
    ]
    tooltip = [{"field": "words", "title": "run"}, {"field": "p99", "title": "99th percentile"}]
    return lying_bars(rows, unit.axis(unit.name), tooltip=tooltip)


def _words(name: str, run: ReportedRun) -> str:
    point = run.point
    mark = f" [{mark_of(run.marks)}]" if mark_of(run.marks) else ""
    words = f"{name}{mark}\n{rate_words(point.iops)} IOPS, {rate_words(point.mib_per_s)} MiB/s"
    return words if point.mean_ns is None else f"{words}, {time_words(point.mean_ns)}"
