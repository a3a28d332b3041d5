"""Several targets, experiments or files side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._bars import lying_bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.report.material import KeyNumber, Material, Side

__all__ = ["side_by_side"]

_CAPTION = (
    "The numbers of the first page for all targets. Whether more or less is better is in the "
    "name: of latencies, less is better; of rates, more."
)
_BARRED = "Not set beside the others, as the numbers are not a device's: {}."


def side_by_side(material: Material) -> Figure | LeftOut | None:
    """Return a picture for each of the numbers that several sides have; None of one side."""
    if len(material.sides) < 2:  # noqa: PLR2004 - A pair.
        return None
    if material.compared is not None and material.compared.refused:
        return LeftOut("side-by-side", "Side by side", material.compared.refused)
    sides = [one for one in material.sides if not one.is_barred]
    barred = _BARRED.format(", ".join(one.name for one in material.sides if one.is_barred))
    if len(sides) < 2:  # noqa: PLR2004 - A pair.
        return LeftOut("side-by-side", "Side by side", barred)
    labels = [one.label for one in sides[0].numbers]
    known = [(label, _of(sides, label)) for label in labels]
    shown = [(label, found) for label, found in known if len(found) > 1]
    if not shown:
        why = "No number of the first page was measured on more than one side."
        return LeftOut("side-by-side", "Side by side", why)
    columns = (Column("Number"), *(Column(side.name) for side in sides))
    rows = tuple((label, *(_text(side, label) for side in sides)) for label, _ in shown)
    views = [View(_spec(label, found), {"Shown": label}) for label, found in shown]
    caption = _CAPTION if len(sides) == len(material.sides) else f"{_CAPTION} {barred}"
    return Figure("side-by-side", "Side by side", caption, views, Table(columns, rows))


def _number(side: Side, label: str) -> KeyNumber | None:
    return next((one for one in side.numbers if one.label == label), None)


def _text(side: Side, label: str) -> str | None:
    found = _number(side, label)
    if found is None:
        return None
    return f"{found.text} ({found.conditions})" if found.conditions else found.text


def _of(sides: Sequence[Side], label: str) -> list[tuple[str, KeyNumber]]:
    pairs = [(side.name, _number(side, label)) for side in sides]
    found = [(name, one) for name, one in pairs if one is not None and one.value is not None]
    # Who was measured less may not have come to the load at which the other gave more.
    is_cut = label.endswith(", as far as measured")
    return [] if is_cut and len({one.conditions for _, one in found}) > 1 else found


def _spec(label: str, found: Sequence[tuple[str, KeyNumber]]) -> dict[str, Any]:
    rows = [
        {"name": f"{at}", "value": one.value, "words": f"{name}\n{one.text}"}
        for at, (name, one) in enumerate(found)
    ]
    is_time = any(one.text.endswith((" µs", " ms", " s")) for _, one in found)
    make = style.latency_axis if is_time else style.count_axis
    return lying_bars(rows, make(label), tooltip=[{"field": "words", "title": label}])
