"""The rate of writing over what has been written: caches that fill up, drives that slow down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.units import GIB, MIB, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, WrittenPiece

__all__ = ["writing"]

_NAME, _TITLE = "writing", "Rate while it was written"
_CAPTION = (
    "Each step is one piece that was written, as high as its rate, by how much had been written "
    "before. A step down is a cache that is full, such as the faster cells of an SSD; a second "
    "pass that is slower than the first is a drive that has to make room."
)


def writing(material: Material) -> Figure | LeftOut | None:
    """Return the rates of all targets that were written to prepare them; None if none was."""
    known = [side for side in material.sides if side.pieces]
    if not known:
        return None
    columns = (
        Column("Of"),
        Column("Behind", "MiB", 1),
        Column("Written", "MiB", 1),
        Column("MiB/s", digits=3, is_significant=True),
        Column("Run"),
    )
    rows = tuple(
        (side.name, one.before_bytes / MIB, one.bytes / MIB, one.mib_per_s, str(one.run_id))
        for side in known
        for one in side.pieces
    )
    many = len(known) > 1
    views = [View(_spec(side.pieces), {"Of": side.name} if many else {}) for side in known]
    return Figure(_NAME, _TITLE, _CAPTION, views, Table(columns, rows))


def _spec(pieces: Sequence[WrittenPiece]) -> dict[str, Any]:
    last = pieces[-1]
    is_large = last.before_bytes + last.bytes >= 4 * GIB
    unit, name = (GIB, "GiB") if is_large else (MIB, "MiB")
    rows = [
        {
            "from": round(one.before_bytes / unit, 4),
            "to": round((one.before_bytes + one.bytes) / unit, 4),
            "rate": round(one.mib_per_s, 3),
            "words": f"{rate_words(one.mib_per_s)} MiB/s",
            "size": size_words(one.bytes),
            "run": one.run_id,
        }
        for one in pieces
    ]
    x = {
        "field": "from",
        "type": "quantitative",
        "axis": {"title": f"Written before, {name}", "tickCount": 5},
        "scale": {"domain": [0, rows[-1]["to"]], "nice": False},
    }
    tooltip = [
        {"field": "words", "title": "rate"},
        {"field": "size", "title": "piece"},
        {"field": "run", "title": "run"},
    ]
    y = style.metric("rate", style.count_axis("MiB per second"))
    mark = {
        "type": "rect",
        "fill": style.SERIES[0],
        "fillOpacity": 0.3,
        "stroke": style.SERIES[0],
        "strokeWidth": 1.5,
    }
    zero = {"datum": 0}
    encoding = {"x": x, "x2": {"field": "to"}, "y": y, "y2": zero, "tooltip": tooltip}
    return style.whole(style.sized({"mark": mark, "encoding": encoding}, 240), rows)
