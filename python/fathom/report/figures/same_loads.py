"""The same loads on both sides: two tools, two devices, or before and after."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.report import style
from fathom.report._words import time_words
from fathom.report.figure import Column, Figure, LeftOut, Table, View
from fathom.report.figures._same_loads_rows import rows_spec
from fathom.report.figures._shared_loads import (
    COMPARED,
    Difference,
    other_loads,
    overall,
    shared_loads,
)
from fathom.units import NS_PER_MS, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom.report.figure import Cell
    from fathom.report.figures._shared_loads import Compared, SharedLoad
    from fathom.report.material import Material, Side

__all__ = ["same_loads"]

_NAME, _TITLE = "same-loads", "The same loads on both sides"
_CAPTION = (
    "Each load that both sides have: A is {a}, B is {b}. The difference is that of B from A, in "
    "percent of A."
)
_RULES = (
    "Upright rules are intervals at 95 % confidence: of a value where that side tells how well its "
    "mean is known, of a difference where both do. A difference whose interval holds 0 may be "
    "noise."
)
_RULES_OF_ONE = (
    "Upright rules are intervals at 95 % confidence, of values whose side tells how well their "
    "means are known."
)
_ROWS_RULES = (
    "Intervals at 95 % confidence stand in the words of each load, where both sides tell how well "
    "their means are known. A difference whose interval holds 0 may be noise."
)
_OF_FIO = (
    "fio counts I/Os whole that were in flight when its warm-up ended: its mean latency is higher "
    "by about the share that one wait has of the measured time."
)
_PAIR = 2
_POINT = {"type": "point", "size": 100, "filled": False, "strokeWidth": 2, "opacity": 1}


def same_loads(material: Material) -> Figure | LeftOut | None:
    """Return both sides of each load; None unless there are two sides with cells or parts."""
    loads = shared_loads([_of_a_device(one) for one in material.sides])
    unlike = [*_limited(material.sides), *_unlike([_of_a_device(one) for one in material.sides])]
    if not loads:
        is_told = other_loads(material.sides) or shared_loads(material.sides)
        return LeftOut(_NAME, _TITLE, " ".join(unlike)) if is_told else None
    if material.compared is not None and material.compared.refused:
        return LeftOut(_NAME, _TITLE, material.compared.refused)
    barred = [one.name for one in material.sides if one.is_barred]
    # Two tools on one target are compared with each other, whatever it is that answers.
    if barred and len({side.tool for side in material.sides}) == 1:
        why = f"No comparison of devices: the numbers of {' and '.join(barred)} are not a device's."
        return LeftOut(_NAME, _TITLE, why)
    names = [side.name for side in material.sides]
    # The lower panel and the caption speak of A and B: the key says which is which.
    lettered = [f"{letter}: {name}" for letter, name in zip("AB", names, strict=True)]
    views = [
        View(_spec(compared, some, lettered), {"Shown": compared.name, **choice})
        for compared in COMPARED
        for choice, some in _together(compared, loads)
    ]
    told = (*_intervals_words(loads), *_overall(loads), *unlike)
    caption = " ".join([_CAPTION.format(a=names[0], b=names[1]), *told])
    if len({side.tool for side in material.sides}) > 1 and any(
        side.tool.startswith("fio") and _may_have_warmed_up(side) for side in material.sides
    ):
        caption = f"{caption} {_OF_FIO}"
    return Figure(_NAME, _TITLE, caption, views, _table(loads, names))


def _of_a_device(side: Side) -> Side:
    """Return a side without the runs that met a limit, if others of it did not."""
    if side.is_barred or not side.barred_keys:
        return side
    return replace(side, runs=tuple(one for one in side.runs if one.key not in side.barred_keys))


def _limited(sides: Sequence[Side]) -> Iterable[str]:
    """Say which loads are not compared, as a limit was met in them."""
    if len(sides) != _PAIR:
        return
    for side, other in zip(sides, reversed(sides), strict=True):
        shared = {one.key for one in other.runs} & side.barred_keys
        labels = [one.label for one in side.runs if one.key in shared]
        if labels and not side.is_barred:
            yield f"{side.name} met a limit in these, which are not compared: {', '.join(labels)}."


def _may_have_warmed_up(side: Side) -> bool:
    """Whether a warm-up ended with I/Os in flight; of imports nobody knows."""
    requests = [one.result.raw.get("request") if one.result else None for one in side.runs]
    return not requests or any(
        one is None or any(span.get("warm_up_s") for span in one["profile"]["time_spans"])
        for one in requests
    )


def _together(
    compared: Compared, loads: Sequence[SharedLoad]
) -> Iterable[tuple[Mapping[str, str], list[SharedLoad]]]:
    """Return the loads that one picture shows, and what is held in it."""
    found: dict[tuple[tuple[str, str], ...], list[SharedLoad]] = {}
    for one in loads:
        if compared.difference(one) is not None:
            found.setdefault(tuple(one.choice.items()), []).append(one)
    for choice, some in found.items():
        yield dict(choice), some


def _overall(loads: Sequence[SharedLoad]) -> Iterable[str]:
    for compared in COMPARED[:2]:
        found = overall(compared, loads)
        if found is not None:
            count, mean = found
            which = f"all {count}" if count == len(loads) else f"{count} of {len(loads)}"
            yield f"{compared.name} over {which} loads: {_mean_words(mean)}."


def _mean_words(mean: Difference) -> str:
    """Return the mean with the least and the greatest, which are no interval of confidence."""
    ends = [
        Difference(one).words for one in (mean.low_percent, mean.high_percent) if one is not None
    ]
    return f"{Difference(mean.percent).words} on average, {' to '.join(ends)} load by load"


def _intervals_words(loads: Sequence[SharedLoad]) -> Iterable[str]:
    """Say which intervals the pictures have, as rules or in words; or that they have none."""
    found = [compared.difference(one) for compared in COMPARED for one in loads]
    if all(one is None or one.low_percent is None for one in found):
        if any(_has_rule(one) for one in loads):
            yield _RULES_OF_ONE
        yield (
            "No difference has an interval, so that any of them may be noise; fathom compare "
            "--run tells which are not."
        )
        return
    if any(one.rising for one in loads):
        yield _RULES
    if not all(one.rising for one in loads):
        yield _ROWS_RULES


def _has_rule(load: SharedLoad) -> bool:
    """Whether a value of the load has an interval in the upper panel."""
    values = ((compared, cell) for compared in COMPARED for cell in (load.a, load.b))
    return bool(load.rising) and any(one.interval(cell) is not None for one, cell in values)


def _unlike(sides: Sequence[Side]) -> Iterable[str]:
    """Say which loads are not compared, and what else keeps the others from being the same."""
    other = other_loads(sides)
    if other:
        yield f"Of one name, but not the same load, and not compared: {'; '.join(other)}."
    sizes = [{one["size_bytes"] for run in side.runs for one in run.beneath} for side in sides]
    known = [max(one) for one in sizes if one and None not in one]
    if len(known) == len(sides) and min(known) != max(known):
        words = " and ".join(map(size_words, known))
        yield f"They were measured over {words}: less is easier."


def _table(loads: Sequence[SharedLoad], names: Sequence[str]) -> Table:
    columns = (
        Column("Load"),
        Column("Figure"),
        Column(f"A: {names[0]}", digits=3, is_significant=True),
        Column(f"B: {names[1]}", digits=3, is_significant=True),
        Column("Difference", "%", 2),
        Column("From", "%", 2),
        Column("To", "%", 2),
        Column("In times"),
        Column("Source"),
    )
    return Table(columns, tuple(row for one in loads for row in _rows(one)))


def _rows(load: SharedLoad) -> Iterable[tuple[Cell, ...]]:
    for compared in COMPARED:
        found = compared.difference(load)
        if found is None:
            continue
        divisor = 1 if compared.is_rate else NS_PER_MS
        values = ((compared.of(one) or 0.0) / divisor for one in (load.a, load.b))
        figure = compared.name if compared.is_rate else f"{compared.name} [ms]"
        difference: tuple[Cell, ...] = (found.percent, found.low_percent, found.high_percent, None)
        if not found.is_percentage:
            difference = (None, None, None, found.words)
        yield (load.label, figure, *values, *difference, load.sources)


def _spec(compared: Compared, loads: Sequence[SharedLoad], names: Sequence[str]) -> dict[str, Any]:
    if not loads[0].rising:
        return rows_spec(compared, loads, names)
    steps = list(dict.fromkeys(one.step for one in loads))
    x = {"field": "step", "type": "ordinal", "sort": steps}
    values = [row for one in loads for row in _values(compared, one, names)]
    differences = [_difference(compared, one) for one in loads]
    # The axis of the lower panel is that of both.
    upper = {**x, "axis": {"title": None, "labelAngle": 0}}
    lower = {**x, "axis": {"title": _axis_title(loads[0]), "labelAngle": 0}}
    return style.whole(
        style.stacked(
            [
                style.sized(_upper(compared, values, upper, names), 210),
                style.sized(_lower(differences, lower), 120),
            ]
        )
    )


def _axis_title(load: SharedLoad) -> str:
    known = {"depth": "I/Os under way, of each thread", "threads": "Threads"}
    return known.get(load.rising, load.rising.capitalize())


def _values(compared: Compared, load: SharedLoad, names: Sequence[str]) -> Iterable[dict[str, Any]]:
    for name, cell in zip(names, (load.a, load.b), strict=True):
        value, interval = compared.of(cell) or 0.0, compared.interval(cell)
        ends = {} if interval is None else dict(zip(("low", "high"), interval, strict=True))
        yield {
            "step": load.step,
            "side": name,
            "value": round(value, 3),
            "words": (rate_words if compared.is_rate else time_words)(value),
            "known": cell.source,
            **{key: round(end, 3) for key, end in ends.items()},
        }


def _difference(compared: Compared, load: SharedLoad) -> dict[str, Any]:
    found = compared.difference(load)
    if found is None:
        raise AssertionError("loads without a difference are not shown")
    numbers = {"percent": found.percent, "low": found.low_percent, "high": found.high_percent}
    known = {key: round(one, 3) for key, one in numbers.items() if one is not None}
    return {"step": load.step, "words": found.words, **known}


def _upper(
    compared: Compared,
    rows: Sequence[Mapping[str, Any]],
    x: Mapping[str, Any],
    names: Sequence[str],
) -> dict[str, Any]:
    if compared.is_rate:
        y = style.metric("value", style.count_axis(compared.name))
    else:
        y = style.log_latency("value", [row["value"] for row in rows], compared.name)
    # Outlines and dashes, so that both are seen where they agree.
    coloured = style.colour_by("side", names, entry_width=220)
    dashed = style.colour_by("side", names, entry_width=220, lines=True)
    tooltip = [
        {"field": "side", "title": "of"},
        {"field": "words", "title": compared.name},
        {"field": "known", "title": "is"},
    ]
    line = {"x": x, "y": y, "color": coloured["color"]}
    dashes = {**dashed["strokeDash"], "legend": None}
    points = {"x": x, "y": y, **coloured, "tooltip": tooltip}
    layers = [
        {"mark": {"type": "line"}, "encoding": {**line, "strokeDash": dashes}},
        {"mark": _POINT, "encoding": points},
    ]
    if any("low" in row for row in rows):
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        rule: dict[str, Any] = {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule"},
        }
        layers.insert(0, rule | {"encoding": {**line, **ends}})
    return {"data": {"values": list(rows)}, "layer": layers}


def _lower(rows: Sequence[Mapping[str, Any]], x: Mapping[str, Any]) -> dict[str, Any]:
    y = style.metric("percent", {"title": "B - A, percent"}, ticks=4)
    tooltip = [{"field": "words", "title": "difference"}]
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": [{"zero": 0}]},
            "mark": {"type": "rule", "color": style.FAINT},
            "encoding": {"y": {**y, "field": "zero"}},
        },
        {
            "mark": {"type": "point", "size": 80, "color": style.SERIES[2], "opacity": 1},
            "encoding": {"x": x, "y": y, "tooltip": tooltip},
        },
    ]
    if any("low" in row for row in rows):
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        mark = {"type": "rule", "color": style.SERIES[2], "strokeWidth": 2}
        layers.insert(1, {"mark": mark, "encoding": {"x": x, **ends}})
    return {"data": {"values": list(rows)}, "layer": layers}
