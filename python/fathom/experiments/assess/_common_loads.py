"""Comparing targets of which not all is measured: only loads that all of them have."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.experiments.assess.claim_maker import parameters_of
from fathom.experiments.assess.key_figure import KeyFigure, taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.experiments.assess.session import AssessedCell, TargetCells

__all__ = ["of_common_loads", "partial_words"]

# Of these the best run of many counts: who was measured less has less to choose from.
_FAMILIES = {
    "random_reads": ("Random reads of 4 KiB", ("read-1", "random-", "threads-")),
    "sequential_read": ("Reading in order", ("sequential-", "backup")),
    "random_writes": ("Random writes of 4 KiB", ("random-",)),
}
_OTHER_LOAD = "not at one load"
_LOAD = ("block_bytes", "random_percent", "write_percent", "threads", "depth", "limit_bytes")
_NOT_REACHED = ("pending", "failed")


def partial_words(plans: Sequence[TargetCells], names: Sequence[str]) -> str:
    """Return, as a sentence, how much of each target was measured; nothing if all was."""
    if not any(one.missing() for one in plans):
        return ""
    counts = ", ".join(
        f"{name} has {len(one.done())} of {len(one.done()) + len(one.missing())} measurements"
        for name, one in zip(names, plans, strict=True)
    )
    return f"This comparison is partial, and only of loads that all have ({counts}). "


def of_common_loads(
    plans: Sequence[TargetCells], columns: Sequence[Sequence[KeyFigure]]
) -> list[list[KeyFigure]]:
    """Return the figures of all targets, each of one load on all of them.

    A figure that is the best of many runs becomes that of the greatest load that all have; one that
    was measured at different knees is no figure that could be compared.
    """
    rows = zip(*columns, strict=True)
    found = [_of_one_load(plans, row) for row in rows]
    return [list(column) for column in zip(*found, strict=True)]


def _of_one_load(plans: Sequence[TargetCells], row: Sequence[KeyFigure]) -> list[KeyFigure]:
    first = row[0]
    label, prefixes = _FAMILIES.get(first.name, ("", ()))
    is_written = first.name == "random_writes"
    if not prefixes or all(_is_whole(plan, prefixes, is_written=is_written) for plan in plans):
        return [*row]
    if not is_written:
        return _greatest(plans, row, label, prefixes)
    pairs = zip(plans, row, strict=True)
    loads = {
        _load(cell)
        for plan, one in pairs
        for cell in plan.cells
        if one.value is not None and cell.cell.key == one.cell_key
    }
    if len(loads) <= 1:
        return [*row]
    return [one if one.value is None else replace(one, value=None, text=_OTHER_LOAD) for one in row]


def _is_whole(plan: TargetCells, prefixes: tuple[str, ...], *, is_written: bool) -> bool:
    """Whether all of a family was measured that could tell something; of reads no write does."""
    family = [one for one in plan.cells if one.cell.key.startswith(prefixes)]
    mine = [one for one in family if is_written or not one.cell.writes]
    return plan.lost is None and not any(one.state in _NOT_REACHED for one in mine)


def _greatest(
    plans: Sequence[TargetCells], row: Sequence[KeyFigure], label: str, prefixes: tuple[str, ...]
) -> list[KeyFigure]:
    """Return the figure of the load with the most outstanding that all have."""
    families = [_measured(plan, prefixes) for plan in plans]
    some = [one for one in families if one]
    common = [load for load in some[0] if all(load in one for one in some)] if some else []
    if not common:
        return [replace(one, label=label, value=None, text=_other(one)) for one in row]
    load = max(common, key=_outstanding)
    threads, depth = (dict(load)[name] for name in ("threads", "depth"))
    at = f"depth {depth}" if threads == 1 else f"{threads} threads, depth {depth}"
    empty = KeyFigure(row[0].name, f"{label} at {at}", row[0].unit)
    return [taken(empty, family.get(load)) for family in families]


def _other(one: KeyFigure) -> str:
    return one.text if one.value is None else _OTHER_LOAD


_Load = tuple[tuple[str, int | float | str | bool], ...]


def _load(one: AssessedCell) -> _Load:
    asked = parameters_of(one) or {}
    return tuple((name, asked[name]) for name in _LOAD if name in asked)


def _outstanding(load: _Load) -> int:
    asked = dict(load)
    return int(asked["threads"]) * int(asked["depth"])


def _measured(plan: TargetCells, prefixes: tuple[str, ...]) -> Mapping[_Load, AssessedCell]:
    """Return the reading cells of a family that were measured, by their loads."""
    return {
        _load(one): one
        for one in plan.cells
        if one.figures is not None
        and one.arguments
        and one.cell.key.startswith(prefixes)
        and not one.cell.key.endswith("-write")
    }
