"""Loads that do not belong to one curve, each as a row with a point for either side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report._words import time_words
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.figures._shared_loads import Compared, SharedLoad

__all__ = ["rows_spec"]


def rows_spec(
    compared: Compared, loads: Sequence[SharedLoad], names: Sequence[str]
) -> dict[str, Any]:
    """Return the picture: above each pair of points the load, both values and the difference."""
    told = rate_words if compared.is_rate else time_words
    rows: list[dict[str, Any]] = []
    for at, load in enumerate(loads):
        pair = [compared.of(one) or 0.0 for one in (load.a, load.b)]
        found = compared.difference(load)
        a, b = (told(one) for one in pair)
        words = f"{load.label}\n{a} and {b}: {found.words if found else ''}"
        rows += [
            {"name": str(at), "side": name, "value": round(value, 3), "words": words}
            for name, value in zip(names, pair, strict=True)
        ]
    values = [row["value"] for row in rows]
    if compared.is_rate:
        x = style.metric("value", style.count_axis(compared.name))
    else:
        x = style.log_latency("value", values, compared.name)
    return style.rows(_layers(x, names), rows)


def _layers(x: dict[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    y = style.row_axis()
    of_first = [{"filter": {"field": "side", "equal": names[0]}}]
    tooltip = [{"field": "side", "title": "of"}, {"field": "words", "title": "A and B"}]
    return [
        {
            "mark": {
                "type": "line",
                "color": style.FAINT,
                "yOffset": style.ROW_DOWN,
                "strokeWidth": 1.5,
            },
            "encoding": {"x": x, "y": y, "detail": {"field": "name"}},
        },
        {
            # Outlines, so that both are seen where they agree.
            "mark": {
                "type": "point",
                "size": 100,
                "yOffset": style.ROW_DOWN,
                "filled": False,
                "strokeWidth": 2,
                "opacity": 1,
            },
            "encoding": {
                "x": x,
                "y": y,
                **style.colour_by("side", names, entry_width=220),
                "tooltip": tooltip,
            },
        },
        style.row_words(y, transform=of_first),
    ]
