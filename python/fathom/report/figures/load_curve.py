"""Latency against achieved throughput, with the knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom import stats
from fathom.findings.causes import BEFALLING_RULES
from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Figure, LeftOut, Table, View
from fathom.report.figures._common import (
    LATENCIES,
    POINT_COLUMNS,
    TOLD,
    families,
    latency_rows,
    point_cells,
    side_columns,
)
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.report.material import Material, Point

__all__ = ["knee_of", "load_curve"]

_NAME, _TITLE = "load-curve", "Load curve"
_ALL = "all together"
_CAPTION = (
    "Each point is one load; from left to right, more I/Os are under way at once. As long as the "
    "curves run flat, more load brings more I/Os for the same latency; where they turn upwards, "
    "I/Os only wait longer. The knee is the load of least mean latency among those within 3 % of "
    "the greatest throughput, of the runs that nothing disturbed, or of all of them if there are "
    "not two such."
)


def load_curve(material: Material) -> Figure | LeftOut | None:
    """Return the load curves of all families of loads."""
    if not any(
        side.verb in ("assess", "sweep", "tune") or side.families for side in material.sides
    ):
        return None
    known = [
        (choice, [one for one in family.points if one.mean_ns is not None], family.knee_depth)
        for choice, family in families(material)
    ]
    known = [one for one in known if len(one[1]) > 1]
    if not known:
        why = (
            "No latencies were measured at two or more loads that differ in depth or threads only."
        )
        return LeftOut(_NAME, _TITLE, why)
    choices = [choice for choice, *_ in known]
    rows = tuple(
        (*choice.values(), *point_cells(point)) for choice, points, _ in known for point in points
    )
    return Figure(
        _NAME,
        _TITLE,
        _CAPTION,
        [*_together(known), *(View(_spec(points, knee), choice) for choice, points, knee in known)],
        Table((*side_columns(choices), *POINT_COLUMNS), rows),
    )


def _together(known: Sequence[tuple[dict[str, str], list[Point], int | None]]) -> list[View]:
    """Return the curves of all targets in one picture, for each load that several have."""
    loads: dict[tuple[tuple[str, str], ...], dict[str, list[Point]]] = {}
    for choice, points, _ in known:
        if "Of" in choice:
            load = tuple((name, value) for name, value in choice.items() if name != "Of")
            loads.setdefault(load, {})[choice["Of"]] = points
    return [
        View(_spec_of_all(curves), {"Of": _ALL, **dict(load)})
        for load, curves in loads.items()
        if len(curves) > 1
    ]


def _spec_of_all(curves: Mapping[str, Sequence[Point]]) -> dict[str, Any]:
    rows = [
        row
        for name, points in curves.items()
        for row in latency_rows(points, ["mean"], series=name)
    ]
    shared = {
        "x": style.metric("iops", style.count_axis("IOPS"), ticks=6),
        "y": style.log_latency("ns", [row["ns"] for row in rows]),
        "order": {"field": "outstanding"},
        **style.colour_by("series", list(curves), entry_width=220),
        "tooltip": [
            {"field": "series", "title": "of"},
            {"field": "time", "title": "mean latency"},
            {"field": "rate", "title": "IOPS"},
            {"field": "load", "title": "threads x depth"},
        ],
    }
    line = {key: value for key, value in shared.items() if key != "shape"}
    layers = [
        {"mark": {"type": "line"}, "encoding": line},
        {"mark": {"type": "point"}, "encoding": shared},
    ]
    return style.whole(style.sized({"layer": layers}, 300), rows) | {"transform": [*TOLD]}


def knee_of(points: Sequence[Point], depth: int | None = None) -> Point:
    """Return the knee of loads whose latency is known.

    That is the load of one thread at ``depth``, if an assessment took that for the knee; else the
    knee of the runs that nothing disturbed, or of all of them if there are not two such.
    """
    taken = next((one for one in points if (one.threads, one.depth) == (1, depth)), None)
    if taken is not None:
        return taken
    points = _undisturbed(points)
    by_load = {point.outstanding: point for point in points}
    return by_load[
        int(
            stats.find_knee(
                [stats.LoadPoint(one.outstanding, one.iops, one.mean_ns or 0.0) for one in points]
            ).load
        )
    ]


def _undisturbed(points: Sequence[Point]) -> Sequence[Point]:
    """Return the points whose runs were not disturbed by more than all of them were."""
    marks = [BEFALLING_RULES & {*one.marks} for one in points]
    common = frozenset.intersection(*marks)
    kept = [one for one, mine in zip(points, marks, strict=True) if mine == common]
    return kept if len(kept) > 1 else points


def _spec(points: Sequence[Point], knee_depth: int | None) -> dict[str, Any]:
    rows = latency_rows(points, list(LATENCIES))
    names = [name for name in LATENCIES if any(row["series"] == name for row in rows)]
    knee = knee_of(points, knee_depth)
    x = style.metric("iops", style.count_axis("IOPS"), ticks=6)
    shared = {
        "x": x,
        "y": style.log_latency("ns", [row["ns"] for row in rows]),
        "order": {"field": "outstanding"},
        **style.colour_by("series", names, entry_width=80),
        "tooltip": [
            {"field": "series", "title": "latency"},
            {"field": "time", "title": "is"},
            {"field": "rate", "title": "IOPS"},
            {"field": "load", "title": "threads x depth"},
        ],
    }
    line = {key: value for key, value in shared.items() if key != "shape"}
    marked = [{"iops": knee.iops, "words": _knee_words(knee)}]
    # The words stand where there is room: left of a knee that lies right.
    is_right = knee.iops > max(one.iops for one in points) / 2
    return style.whole(
        style.sized(
            {
                "layer": [
                    {
                        "data": {"values": marked},
                        "mark": {"type": "rule", "color": style.MARK, "strokeDash": [5, 4]},
                        "encoding": {"x": x},
                    },
                    {
                        "data": {"values": marked},
                        "mark": {
                            "type": "text",
                            "align": "right" if is_right else "left",
                            "dx": -6 if is_right else 6,
                            "baseline": "top",
                            "fill": style.MARK,
                        },
                        "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "words"}},
                    },
                    {"mark": {"type": "line"}, "encoding": line},
                    {"mark": {"type": "point"}, "encoding": shared},
                ]
            },
            300,
        ),
        rows,
    ) | {"transform": [*TOLD]}


def _knee_words(knee: Point) -> str:
    latency = "" if knee.mean_ns is None else f", {time_words(knee.mean_ns)}"
    return f"knee: {knee.threads} x {knee.depth}, {rate_words(knee.iops)} IOPS{latency}"
