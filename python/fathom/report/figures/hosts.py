"""What each host of a fleet did, and what further hosts brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.hosts import host_figures
from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, Table, View
from fathom.report.figures._bars import lying_bars
from fathom.units import NS_PER_MS, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.hosts import HostFigures
    from fathom.report.material import Material, ReportedRun, Side

__all__ = ["hosts", "hosts_together"]

_NAME, _TITLE = "hosts", "Each host of the fleet"
_CAPTION = (
    "What each host did by itself, in the run of the most hosts. If one does less than the others, "
    "the sum is not what the target can do: look at the path, CPUs and settings of that host."
)
_SUM_NAME, _SUM_TITLE = "hosts-together", "What further hosts bring"
_SUM_CAPTION = (
    "IOPS of all hosts together, by how many measured; the dashed line is that many times what one "
    "host does. Where the sum stays below it, what the hosts share is at its limit."
)
_OTHERS, _SLOWEST = "the others", "the slowest"


def hosts(material: Material) -> Figure | None:
    """Return what each host did, of each side that a fleet has measured."""
    known = [(side, found) for side in material.sides if (found := _widest(side))]
    if not known:
        return None
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Host"),
        Column("IOPS", digits=3, is_significant=True),
        Column("MiB/s", digits=3, is_significant=True),
        Column("99 %", "ms", 3, is_significant=True),
        Column("Skew", "ms", 3, is_significant=True),
        Column("Note"),
    )
    rows = tuple(
        (*((side.name,) if many else ()), *_cells(one, run_hosts))
        for side, run_hosts in known
        for one in run_hosts
    )
    views = [View(_spec(found), {"Of": side.name} if many else {}) for side, found in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _widest(side: Side) -> list[HostFigures]:
    """Return the hosts of the last run with the most of them; none without a fleet of several."""
    found = [host_figures(run.result) for run in side.runs]
    widest: list[HostFigures] = max(reversed(found), key=len, default=[])
    return widest if len(widest) > 1 else []


def _slowest(found: Sequence[HostFigures]) -> str | None:
    rates = {one.name: one.total.iops for one in found if one.total and one.lost is None}
    # Where all did the same, such as nothing yet, none was slower.
    return min(rates, key=lambda name: rates[name]) if len({*rates.values()}) > 1 else None


def _cells(one: HostFigures, found: Sequence[HostFigures]) -> tuple[str | float | None, ...]:
    latency = one.total.latency if one.total else None
    note = f"lost: {one.lost}" if one.lost else "the slowest" if one.name == _slowest(found) else ""
    return (
        one.name,
        one.total.iops if one.total else None,
        one.total.mib_per_s if one.total else None,
        None if latency is None else latency.quantile_ns(0.99) / NS_PER_MS,
        None if one.start_skew_ns is None else one.start_skew_ns / NS_PER_MS,
        note,
    )


def _spec(found: Sequence[HostFigures]) -> dict[str, Any]:
    slowest = _slowest(found)
    rows = []
    for one in found:
        if one.total is None:
            continue
        latency = one.total.latency
        told = "" if latency is None else f", 99 % {time_words(latency.quantile_ns(0.99))}"
        note = " - lost" if one.lost else " - the slowest" if one.name == slowest else ""
        rows.append(
            {
                "name": one.name,
                "value": round(one.total.iops, 3),
                "words": f"{one.name}\n{rate_words(one.total.iops)} IOPS{told}{note}",
                "series": _SLOWEST if one.name == slowest else _OTHERS,
            }
        )
    return lying_bars(rows, style.count_axis("IOPS"), series=(_OTHERS, _SLOWEST))


def hosts_together(material: Material) -> Figure | None:
    """Return the sum by the number of hosts, of each side that one load has from several."""
    known = [(side, found) for side in material.sides if (found := _growing(side))]
    if not known:
        return None
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Hosts", digits=0),
        Column("IOPS", digits=3, is_significant=True),
        Column("Of linear", "%", 1),
    )
    rows = tuple(
        (
            *((side.name,) if many else ()),
            one["hosts"],
            one["iops"],
            100 * one["iops"] / one["linear"],
        )
        for side, found in known
        for one in found
    )
    views = [View(_sum_spec(found), {"Of": side.name} if many else {}) for side, found in known]
    return Figure(_SUM_NAME, _SUM_TITLE, _SUM_CAPTION, views, Table(columns, rows))


def _growing(side: Side) -> list[dict[str, Any]]:
    """Return the runs of the load that most numbers of hosts have made, the fewest hosts first."""
    loads: dict[tuple[object, ...], dict[int, ReportedRun]] = {}
    for run in side.runs:
        point = run.point
        load = (point.block_bytes, point.write_percent, point.threads, point.depth)
        count = sum(one.lost is None for one in host_figures(run.result))
        if count:
            loads.setdefault((*load, run.facts["random_percent"]), {})[count] = run
    most = max(loads.values(), key=len, default={})
    if len(most) < 2:  # noqa: PLR2004 - One number of hosts has no curve.
        return []
    fewest = min(most)
    each = most[fewest].point.iops / fewest
    return [
        {
            "hosts": count,
            "iops": round(run.point.iops, 3),
            "linear": round(each * count, 3) or 1.0,
            "rate": rate_words(run.point.iops),
            "share": f"{run.point.iops / (each * count or 1):.0%}",
        }
        for count, run in sorted(most.items())
    ]


def _sum_spec(rows: list[dict[str, Any]]) -> dict[str, Any]:
    axis = style.count_axis("IOPS together")
    x = {
        "field": "hosts",
        "type": "quantitative",
        "axis": style.whole_axis("Hosts", [row["hosts"] for row in rows]),
        "scale": {"domain": [0, 1.03 * rows[-1]["hosts"]], "nice": False},
    }
    dashed = {"type": "line", "color": style.FAINT, "strokeDash": [5, 4]}
    tooltip = [
        {"field": "hosts", "title": "hosts"},
        {"field": "rate", "title": "IOPS"},
        {"field": "share", "title": "of linear"},
    ]
    colour = style.SERIES[0]
    line = {"type": "line", "color": colour, "point": {"fill": colour, "size": 70}}
    content = {
        "data": {"values": rows},
        "layer": [
            {"mark": dashed, "encoding": {"x": x, "y": style.metric("linear", axis)}},
            {
                "mark": line,
                "encoding": {"x": x, "y": style.metric("iops", axis), "tooltip": tooltip},
            },
        ],
    }
    return style.whole(style.sized(content, 210))
