"""Bars that lie, each beneath its words: legible at any width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import _style as style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["lying_bars"]

_STEP = 60
_BAR = 13
# Bars and words share a row: the words stand above.
_WORDS_UP, _BAR_DOWN = -26, 18
RESERVED = 40


def lying_bars(
    rows: Sequence[Mapping[str, Any]],
    axis: Mapping[str, Any],
    *,
    series: Sequence[str] = (),
    tooltip: Sequence[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """Return a picture of bars from 0, stacked if there are several series.

    Each row has ``name``, ``value``, ``words`` (once for each name, the two lines above its bar)
    and ``series`` if there are any.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    # The axis has no words of its own, and thus takes no width.
    hidden = {"labels": False, "ticks": False, "domain": False, "title": None, "grid": False}
    no_width = {"minExtent": 0, "maxExtent": 0}
    y = {"field": "name", "type": "nominal", "sort": names, "axis": {**hidden, **no_width}}
    x = style.metric("value", axis)
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": [*tooltip]}
    mark: dict[str, Any] = {"type": "bar", "height": _BAR, "yOffset": _BAR_DOWN}
    if series:
        encoding["color"] = style.colour_by("series", series, entry_width=170)["color"]
    else:
        mark["color"] = style.SERIES[0]
    words = {
        "transform": [
            {"filter": "isValid(datum.words)"},
        ],
        "mark": {
            "type": "text",
            "align": "left",
            "baseline": "top",
            "dy": _WORDS_UP,
            "lineBreak": "\n",
            "lineHeight": 16,
            "limit": {"expr": "width"},
        },
        "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "words"}},
    }
    bars = {"mark": mark, "encoding": encoding}
    content = style.sized({"layer": [bars, words]}, {"step": _STEP})
    return style.whole(content, rows) | {"usermeta": {"reserved": RESERVED}}
