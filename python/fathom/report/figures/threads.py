"""How the rate grows with threads, and how busy each processor was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, ReportedRun, Side

__all__ = ["threads"]

_NAME, _TITLE = "threads", "Threads and processors"
_CAPTION = (
    "Above: IOPS by the number of threads; the dashed line is what that many times "
    "the rate of the fewest threads would be. Below: how busy each processor was, in percent. "
    "Where every processor is busy, with the load or with what else runs there, the machine is the "
    "limit and not the device."
)
_ROW_HEIGHT = 26


def threads(material: Material) -> Figure | LeftOut | None:
    """Return the scaling of each side that has runs with different numbers of threads."""
    scaled = [(side, found) for side in material.sides if (found := _scaling(side))]
    if not scaled:
        if not material.runs:
            return None
        return LeftOut(_NAME, _TITLE, "No runs differ in their number of threads only.")
    columns = (
        *((Column("Of"),) if len(scaled) > 1 else ()),
        Column("Threads", digits=0),
        Column("IOPS", digits=3, is_significant=True),
        Column("Processor"),
        Column("User", "%", 1),
        Column("Kernel", "%", 1),
        Column("Idle", "%", 1),
    )
    rows = tuple(
        (*((side.name,) if len(scaled) > 1 else ()), run.point.threads, run.point.iops, *cpu)
        for side, runs in scaled
        for run in runs
        for cpu in _processors(run)
    )
    views = [
        View(_spec(runs), {"Of": side.name} if len(scaled) > 1 else {}) for side, runs in scaled
    ]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _scaling(side: Side) -> list[ReportedRun]:
    """Return runs that differ in threads only, rising; of an assessment, those at the knee."""
    many = [one for one in side.runs if one.key.startswith("threads-")]
    if side.verb == "assess" and many:
        depth = many[0].point.depth
        single = [
            one
            for one in side.runs
            if one.key.startswith(("random-", "read-1"))
            and one.point.depth == depth
            and one.point.write_percent == 0
        ]
        return [*single[:1], *many]
    by_load: dict[tuple[object, ...], dict[int, ReportedRun]] = {}
    for one in side.runs:
        point = one.point
        load = (point.block_bytes, point.write_percent, point.depth, one.facts["random_percent"])
        by_load.setdefault(load, {})[point.threads] = one
    most = max(by_load.values(), key=len, default={})
    return [one for _, one in sorted(most.items())] if len(most) > 1 else []


def _processors(run: ReportedRun) -> list[tuple[str, float, float, float]]:
    spans = run.result.raw["time_spans"]
    return [
        (
            f"CPU {cpu['os_id']}",
            cpu["user_percent"],
            cpu["kernel_percent"],
            cpu["idle_percent"],
        )
        for cpu in (spans[0]["cpu"] if spans else ())
    ]


def _spec(runs: Sequence[ReportedRun]) -> dict[str, Any]:
    first = runs[0].point
    rates = [
        {
            "threads": run.point.threads,
            "iops": round(run.point.iops, 3),
            "ideal": round(first.iops * run.point.threads / first.threads, 3),
            "rate": rate_words(run.point.iops),
        }
        for run in runs
    ]
    busy = [
        {
            "threads": run.point.threads,
            "cpu": name,
            "busy": round(user + kernel, 2),
            "words": f"{user + kernel:.0f} %",
            "kernel": f"{kernel:.0f} %",
        }
        for run in runs
        for name, user, kernel, _ in _processors(run)
    ]
    x = {"field": "threads", "type": "ordinal", "axis": {"title": "Threads", "labelAngle": 0}}
    panels = [style.sized(_rates(rates, x), 190)]
    if busy:
        panels.append(style.sized(_busy(busy, x), {"step": _ROW_HEIGHT}))
    return style.whole(style.stacked(panels))


def _rates(rows: list[dict[str, Any]], x: dict[str, Any]) -> dict[str, Any]:
    axis = style.count_axis("IOPS")
    return {
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "line", "color": style.FAINT, "strokeDash": [5, 4]},
                "encoding": {"x": x, "y": style.metric("ideal", axis)},
            },
            {
                "mark": {
                    "type": "line",
                    "color": style.SERIES[0],
                    "point": {"fill": style.SERIES[0], "size": 70},
                },
                "encoding": {
                    "x": x,
                    "y": style.metric("iops", axis),
                    "tooltip": [{"field": "threads"}, {"field": "rate", "title": "IOPS"}],
                },
            },
        ],
    }


def _busy(rows: list[dict[str, Any]], x: dict[str, Any]) -> dict[str, Any]:
    names = list(dict.fromkeys(row["cpu"] for row in rows))
    y = {"field": "cpu", "type": "ordinal", "sort": names, "axis": {"title": None, "grid": False}}
    colour = {
        "field": "busy",
        "type": "quantitative",
        "scale": {"scheme": "oranges", "domain": [0, 100]},
        "legend": None,
    }
    tooltip = [
        {"field": "cpu", "title": "processor"},
        {"field": "words", "title": "busy"},
        {"field": "kernel", "title": "in the kernel"},
    ]
    dark = {"test": "datum.busy > 60", "value": "#ffffff"}
    return {
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": style.PAPER, "strokeWidth": 2},
                "encoding": {"x": x, "y": y, "color": colour, "tooltip": tooltip},
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "x": x,
                    "y": y,
                    "text": {"field": "words"},
                    "tooltip": tooltip,
                    "color": {"condition": dark, "value": "#2b1300"},
                },
            },
        ],
    }
