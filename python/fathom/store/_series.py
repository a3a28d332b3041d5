"""Series: the runs of one load on one target of one host, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from fathom.store._summaries import summaries
from fathom.store._tables import runs
from fathom.store.errors import NotFoundError
from fathom.store.records import run_summary

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from fathom.store.records import RunSummary

__all__ = ["newest_of_each", "series_of"]


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
            .order_by(runs.c.started_at_unix_s.desc(), runs.c.id.desc())
            .limit(limit)
        )
    rows = connection.execute(query).mappings()
    return [run_summary(row) for row in rows][::-1]


def newest_of_each(connection: Connection, limit: int) -> list[tuple[RunSummary, int]]:
    """Return the newest run of each series, as `Runs.newest_of_each_series`."""
    newest = sa.func.max(runs.c.id).label("newest")
    count = sa.func.count().label("run_count")
    query = (
        sa.select(newest, count)
        .where(runs.c.series_key.is_not(None), runs.c.outcome == "complete")
        .group_by(runs.c.series_key)
        .order_by(newest.desc())
        .limit(limit)
    )
    counts = {row.newest: row.run_count for row in connection.execute(query)}
    shown = summaries().where(runs.c.id.in_([*counts])).order_by(runs.c.id.desc())
    rows = connection.execute(shown).mappings()
    return [(run_summary(row), int(counts[row["id"]])) for row in rows]
