"""What happened to a cluster, as upright lines over the time of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style

if TYPE_CHECKING:
    from fathom.report.material import ReportedRun

__all__ = ["happened_lines", "happened_names"]

_STEPS = 4


def _marks(run: ReportedRun) -> list[dict[str, Any]]:
    return [
        {"at": round(one.at_s, 3), "happened": one.words, "bad": one.is_bad} for one in run.happened
    ]


def happened_lines(run: ReportedRun, x: dict[str, Any]) -> list[dict[str, Any]]:
    """Return upright lines where something happened to a cluster."""
    if not run.happened:
        return []
    tooltip = [{"field": "at", "title": "second"}, {"field": "happened", "title": "cluster"}]
    colour = {"condition": {"test": "datum.bad", "value": style.MARK}, "value": style.SERIES[3]}
    mark = {"type": "rule", "strokeWidth": 2}
    encoding = {"x": {**x, "field": "at"}, "color": colour, "tooltip": tooltip}
    return [{"data": {"values": _marks(run)}, "mark": mark, "encoding": encoding}]


def happened_names(run: ReportedRun, x: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what stands beside these lines, each a step lower than the one before."""
    if not run.happened:
        return []
    place = {"align": "left", "baseline": "top", "dx": 4, "fontSize": 11, "limit": 220}
    rows = [{**one, "step": number % _STEPS} for number, one in enumerate(_marks(run))]
    return [
        {
            "data": {"values": [row for row in rows if row["step"] == step]},
            "mark": {"type": "text", **place, "y": 2 + 14 * step},
            "encoding": {"x": {**x, "field": "at"}, "text": {"field": "happened"}},
        }
        for step in sorted({row["step"] for row in rows})
    ]
