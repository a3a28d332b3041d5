"""The question for a list of runs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom.store._tables import import_sources, provenances, run_targets, runs
from fathom.store.records import BULKY

if TYPE_CHECKING:
    from fathom._frames import Kind

__all__ = ["run_columns", "summaries"]

_LISTED = [column for column in runs.c if column.name not in BULKY]


@cache
def summaries() -> sa.Select[Any]:
    """Return the question for all that a list of runs has; `glance` has the same in words."""
    first = sa.and_(run_targets.c.run_id == runs.c.id, run_targets.c.position == 0)
    beneath = [
        column.label(f"target_{column.name}") if "device" not in column.name else column
        for column in run_targets.c
        if column.name not in ("run_id", "position")
    ]
    host = [column for column in provenances.c if column.name != "run_id"]
    joined = runs.outerjoin(provenances).outerjoin(run_targets, first).outerjoin(import_sources)
    every = run_targets.alias("every_target")
    count = sa.select(sa.func.count(every.c.run_id)).where(every.c.run_id == runs.c.id)
    targets = count.scalar_subquery().label("target_count")
    source = import_sources.c.name.label("source_name")
    return sa.select(*_LISTED, *host, *beneath, targets, source).select_from(joined)


def run_columns() -> dict[str, Kind]:
    """Return what the columns of a list of runs hold; that of no other table is known of all."""
    ours = {column.name: column for column in _LISTED}
    return {
        column.name: _kind(
            column, may_lack=column.name not in ours or bool(ours[column.name].nullable)
        )
        for column in summaries().selected_columns
        if isinstance(column, sa.ColumnElement)
    }


def _kind(column: sa.ColumnElement[Any], *, may_lack: bool) -> Kind:
    if isinstance(column.type, sa.Integer):
        return "int?" if may_lack else "int"
    if isinstance(column.type, sa.Float):
        return "float?" if may_lack else "float"
    return "str?" if may_lack else "str"
