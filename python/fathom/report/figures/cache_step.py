"""What caches do: the same reads within ever larger parts of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._addresses import is_address
from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._bars import lying_bars
from fathom.units import millis, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, Point, Side

__all__ = ["cache_step"]

_CAPTION = (
    "Mean latency of single random reads of 4 KiB within the first part of the target, by the "
    "size of that part{cached}."
)
_CACHED = ", and through the page cache of this machine"
_STEP = "A step from one size to the next"
_DEVICE = (
    f"{_STEP} is a cache of the device or controller that the larger part no longer fits into."
)
_PAGE_CACHE = (
    "All of these reads went through the page cache of this machine, which its file system does "
    f"not let them past. {_STEP} is that memory, or a cache of the device or controller, that the "
    "larger part no longer fits into."
)
_ELSEWHERE = (
    "Findings say that something else than the device answered reads. "
    f"{_STEP} can be the memory of a host, as well as a cache of the device or controller, that "
    "the larger part no longer fits into."
)
_SERVED = (
    f"{_STEP} is the memory of the host that serves the target, or a cache of its device or "
    "controller, that the larger part no longer fits into."
)
# What says that memory of this host, or of one beneath it, answered.
_OTHERS = frozenset({"page-cache", "not-the-device"})


def cache_step(material: Material) -> Figure | LeftOut | None:
    """Return the steps of all assessed targets."""
    known = [(side, found) for side in material.sides if (found := _sets(side))]
    if not known:
        if not any(side.verb == "assess" for side in material.sides):
            return None
        why = "No part of the target was read for itself."
        return LeftOut("cache-step", "Cache effects", why)
    many = len(known) > 1
    columns = (
        *((Column("Of"),) if many else ()),
        Column("Read within"),
        Column("IOPS", digits=3, is_significant=True),
        Column("mean", "ms", 4, is_significant=True),
        Column("p99", "ms", 4, is_significant=True),
    )
    rows = tuple(
        (
            *((side.name,) if many else ()),
            name,
            point.iops,
            millis(point.mean_ns),
            millis(point.p99_ns),
        )
        for side, found in known
        for name, point in found
    )
    views = [View(_spec(found), {"Of": side.name} if many else {}) for side, found in known]
    return Figure("cache-step", "Cache effects", _caption(known), views, Table(columns, rows))


def _caption(known: Sequence[tuple[Side, list[tuple[str, Point]]]]) -> str:
    """Return what is drawn, and which cache a step can be, of each target where these differ."""
    causes: dict[str, list[str]] = {}
    for side, _ in known:
        causes.setdefault(_cause(side), []).append(side.name)
    cached = _CACHED if any(side.run("cached") for side, _ in known) else ""
    told = [
        words if len(causes) == 1 else f"Of {' and '.join(names)}: {words}"
        for words, names in causes.items()
    ]
    return " ".join([_CAPTION.format(cached=cached), *told])


def _cause(side: Side) -> str:
    """Return what a step from one size to the next is on this side."""
    runs = [one for one in side.runs if one.key == "read-1" or one.key.startswith("set-")]
    if any(one.asked.get("caching") == "cached" for one in runs):
        return _PAGE_CACHE
    if any(_OTHERS & {*one.marks} for one in runs):
        return _ELSEWHERE
    paths = [str(one["path"]) for run in runs for one in run.beneath if one.get("path")]
    return _SERVED if any(map(is_address, paths)) else _DEVICE


def _sets(side: Side) -> list[tuple[str, Point]]:
    """Return the parts that were read, rising; the page cache comes first."""
    parts = [
        (int(run.key.removeprefix("set-")), run.point)
        for run in side.runs
        if run.key.startswith("set-")
    ]
    cached, whole = side.run("cached"), side.run("read-1")
    if not parts and cached is None:
        return []
    found = [("through the page cache", cached.point)] if cached else []
    found += [(f"the first {size_words(mib << 20)}", point) for mib, point in sorted(parts)]
    if whole is not None:
        size = whole.beneath[0].get("size_bytes") if whole.beneath else None
        found.append((f"all of it ({size_words(size)})" if size else "all of it", whole.point))
    return [(name, point) for name, point in found if point.mean_ns]


def _spec(found: Sequence[tuple[str, Point]]) -> dict[str, Any]:
    rows = [
        {
            "name": name,
            "value": round(point.mean_ns or 0, 1),
            "words": f"{name}\n{time_words(point.mean_ns or 0)}",
            "rate": rate_words(point.iops),
        }
        for name, point in found
    ]
    tooltip = [{"field": "words", "title": "mean"}, {"field": "rate", "title": "IOPS"}]
    return lying_bars(rows, style.latency_axis("Mean latency"), tooltip=tooltip)
