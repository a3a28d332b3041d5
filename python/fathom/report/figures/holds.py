"""What a target holds: holes, parts that were never written, zeros, and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report.figure import Column, Figure, Table, View
from fathom.report.figures._bars import lying_bars
from fathom.units import MIB, size_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import Material, Part

__all__ = ["holds"]

_CAPTION = (
    "Shares of the target. Reads of holes and of what was never written are answered by the file "
    "system, and those of zeros by some devices, without the medium; only data are sure to be "
    "read from the device."
)


def holds(material: Material) -> Figure | None:
    """Return what was found by looking at targets; None if nobody looked."""
    known = [side for side in material.sides if side.parts]
    if not known:
        return None
    columns = (Column("Of"), Column("Holds"), Column("Size", "MiB", 2), Column("Share", "%", 2))
    rows = tuple(
        (side.name, one.name, one.bytes / MIB, 100 * one.share)
        for side in known
        for one in side.parts
    )
    many = len(known) > 1
    views = [View(_spec(side.parts), {"Of": side.name} if many else {}) for side in known]
    return Figure("holds", "What it holds", _CAPTION, views, Table(columns, rows))


def _spec(parts: Sequence[Part]) -> dict[str, Any]:
    rows = [
        {
            "name": one.name,
            "value": round(100 * one.share, 3),
            "words": f"{one.name}\n{100 * one.share:.1f} %, {size_words(one.bytes)}",
        }
        for one in parts
    ]
    tooltip = [{"field": "words", "title": "part"}]
    return lying_bars(rows, {"title": "Share of the target, percent"}, tooltip=tooltip)
