"""Series: the runs of one load on one target of one host, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom.store._summaries import summaries
from fathom.store._tables import runs
from fathom.store.errors import NotFoundError
from fathom.store.records import run_summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from fathom.store.records import RunSummary

__all__ = [
    "NEWEST_FIRST",
    "failed_after",
    "newest_by",
    "newest_of_each",
    "series_keys",
    "series_of",
]

NEWEST_FIRST = (runs.c.started_at_unix_s.desc().nulls_last(), runs.c.id.desc())
"""By when they began: runs that were copied or imported have great ids and may be old."""


def series_of(
    connection: Connection, run_id: int, limit: int | None, name: str
) -> list[RunSummary]:
    """Return the runs of the series of one, as `Runs.series`."""
    found = connection.execute(
        sa.select(runs.c.id, runs.c.series_key).where(runs.c.id == run_id)
    ).first()
    if found is None:
        raise NotFoundError(f"there is no run {run_id} in {name}")
    query = summaries().where(runs.c.id == run_id)
    if found.series_key is not None:
        query = (
            summaries()
            .where(runs.c.series_key == found.series_key, runs.c.outcome == "complete")
            .order_by(*NEWEST_FIRST)
            .limit(limit)
        )
    rows = connection.execute(query).mappings()
    return [run_summary(row) for row in rows][::-1]


def failed_after(connection: Connection, newest: RunSummary, limit: int | None) -> list[RunSummary]:
    """Return the failed runs of the series of one that began after it, as `Runs.failed_after`."""
    key = sa.select(runs.c.series_key).where(runs.c.id == newest.id).scalar_subquery()
    began, at = runs.c.started_at_unix_s, newest.started_at_unix_s
    is_later = began.is_not(None) if at is None else began > at
    is_same = began.is_(None) if at is None else began == at
    query = (
        summaries()
        .where(runs.c.series_key == key, runs.c.outcome == "failed")
        .where(sa.or_(is_later, sa.and_(is_same, runs.c.id > newest.id)))
        .order_by(*NEWEST_FIRST)
        .limit(limit)
    )
    return [run_summary(row) for row in connection.execute(query).mappings()][::-1]


def series_keys(connection: Connection, run_ids: Sequence[int]) -> set[str]:
    """Return the keys of the series of runs."""
    query = sa.select(runs.c.series_key).where(runs.c.id.in_(run_ids)).distinct()
    return {str(one) for one in connection.execute(query).scalars() if one is not None}


def newest_by(group: sa.ColumnElement[Any], *which: sa.ColumnElement[bool]) -> sa.Subquery:
    """Return the id of the newest run of each group, with the number of its runs."""
    place = sa.func.row_number().over(partition_by=group, order_by=NEWEST_FIRST)
    count = sa.func.count().over(partition_by=group)
    ranked = (
        sa.select(runs.c.id, place.label("place"), count.label("run_count"))
        .where(*which)
        .subquery()
    )
    return sa.select(ranked.c.id, ranked.c.run_count).where(ranked.c.place == 1).subquery()


def newest_of_each(connection: Connection, limit: int) -> list[tuple[RunSummary, int]]:
    """Return the newest run of each series, as `Runs.newest_of_each_series`."""
    is_of_one = (runs.c.series_key.is_not(None), runs.c.outcome == "complete")
    newest = newest_by(runs.c.series_key, *is_of_one)
    query = (
        sa.select(newest.c.id, newest.c.run_count)
        .join(runs, runs.c.id == newest.c.id)
        .order_by(*NEWEST_FIRST)
        .limit(limit)
    )
    counts = {row.id: int(row.run_count) for row in connection.execute(query)}
    shown = summaries().where(runs.c.id.in_([*counts])).order_by(*NEWEST_FIRST)
    rows = connection.execute(shown).mappings()
    return [(run_summary(row), counts[row["id"]]) for row in rows]
