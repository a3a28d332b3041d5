"""Bars that lie, each beneath its words: legible at any width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["lying_bars"]

_BAR = 13


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
    y = style.row_axis(names)
    x = style.metric("value", axis)
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": [*tooltip]}
    mark: dict[str, Any] = {"type": "bar", "height": _BAR, "yOffset": style.ROW_DOWN}
    if series:
        encoding["color"] = style.colour_by("series", series, entry_width=170)["color"]
    else:
        mark["color"] = style.SERIES[0]
    words = style.row_words(y, transform=[{"filter": "isValid(datum.words)"}])
    bars = {"mark": mark, "encoding": encoding}
    return style.rows([bars, words], rows)
