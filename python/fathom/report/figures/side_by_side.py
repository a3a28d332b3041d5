"""Several targets, experiments or files side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from fathom.experiments.assess.key_figure import AS_FAR, AT_MOST
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
_LIMITED = "Numbers that met a limit are not set beside the others: {}."
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
    labels = [_common(sides, one.label) for one in sides[0].numbers]
    known = [(label, _of(sides, label)) for label in labels]
    shown = [(label, found) for label, found in known if len(found) > 1]
    limited = _limited_words(sides)
    if not shown:
        why = f"No number of the first page can be compared on more than one side.{limited}"
        return LeftOut("side-by-side", "Side by side", why)
    columns = (Column("Number"), *(Column(side.name) for side in sides))
    rows = tuple((label, *(_text(side, label) for side in sides)) for label, _ in shown)
    views = [View(_spec(label, found), {"Shown": label}) for label, found in shown]
    caption = _CAPTION if len(sides) == len(material.sides) else f"{_CAPTION} {barred}"
    return Figure(
        "side-by-side", "Side by side", f"{caption}{limited}", views, Table(columns, rows)
    )


def _number(side: Side, label: str) -> KeyNumber | None:
    return next((one for one in side.numbers if _base(one.label) == _base(label)), None)


def _base(label: str) -> str:
    """Return a label without how far it was measured, which may differ from side to side."""
    return label.removesuffix(AT_MOST).removesuffix(AS_FAR)


def _common(sides: Sequence[Side], label: str) -> str:
    """Return what all sides call a number: *at most* only if that holds of every one."""
    found = [one.label for side in sides if _is_shown(one := _number(side, label))]
    return next((one for one in found if one.endswith(AS_FAR)), found[0] if found else label)


def _is_shown(one: KeyNumber | None) -> TypeGuard[KeyNumber]:
    return one is not None and one.value is not None and not one.is_barred


def _limited_words(sides: Sequence[Side]) -> str:
    """Return which numbers of which sides are left out, as they are those of a limit."""
    found = [(side.name, [one.label for one in side.numbers if one.is_barred]) for side in sides]
    words = "; ".join(f"{', '.join(labels)} ({name})" for name, labels in found if labels)
    return f" {_LIMITED.format(words)}" if words else ""


def _text(side: Side, label: str) -> str | None:
    found = _number(side, label)
    if found is None or found.is_barred:
        return None
    return f"{found.text} ({found.conditions})" if found.conditions else found.text


def _of(sides: Sequence[Side], label: str) -> list[tuple[str, KeyNumber]]:
    pairs = [(side.name, _number(side, label)) for side in sides]
    found = [(name, one) for name, one in pairs if _is_shown(one)]
    # Who was measured less may not have come to the load at which the other gave more.
    is_cut = any(one.label.endswith(AS_FAR) for _, one in found)
    return [] if is_cut and len({one.conditions for _, one in found}) > 1 else found


def _spec(label: str, found: Sequence[tuple[str, KeyNumber]]) -> dict[str, Any]:
    rows = [
        {"name": f"{at}", "value": one.value, "words": f"{name}\n{one.text}"}
        for at, (name, one) in enumerate(found)
    ]
    is_time = any(one.text.endswith((" µs", " ms", " s")) for _, one in found)
    make = style.latency_axis if is_time else style.count_axis
    return lying_bars(rows, make(label), tooltip=[{"field": "words", "title": label}])
