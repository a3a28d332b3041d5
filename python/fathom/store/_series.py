"""Series: the runs of one load on one target of one host, in the order of time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom.store._summaries import summaries
from fathom.store._tables import NATIVE, provenances, run_targets, runs
from fathom.store.errors import NotFoundError
from fathom.store.records import run_summary

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from fathom.store.records import RunSummary

__all__ = ["newest_of_each", "series_of"]

# What tells most loads apart; an index has them (``ix_runs_block_bytes...``).
_LOAD = (
    runs.c.block_bytes,
    runs.c.thread_count,
    runs.c.outstanding_per_thread,
    runs.c.write_percent,
    runs.c.random_percent,
)
# What may differ between two runs of the same load: chance, and what is only shown.
_NO_LOAD = {"random_seed", "format", "verbose", "progress_every_ios", "create_bytes"}
# Long options that say how a run is shown, kept or allowed.
_NO_OPTIONS = ("--json", "--live", "--overwrite", "--allow-write", "--protect", "--lease")


def series_of(
    connection: Connection, run_id: int, limit: int | None, name: str
) -> list[RunSummary]:
    """Return the runs of the series of one, as `Runs.series`."""
    found = connection.execute(
        sa.select(
            runs.c.id,
            runs.c.origin,
            runs.c.profile_json,
            runs.c.arguments_json,
            provenances.c.host_name,
            run_targets.c.path,
            *_LOAD,
        )
        .select_from(runs.outerjoin(provenances).outerjoin(run_targets, _first()))
        .where(runs.c.id == run_id)
    ).first()
    if found is None:
        raise NotFoundError(f"there is no run {run_id} in {name}")
    if found.origin != NATIVE:
        alone = summaries().where(runs.c.id == run_id)
        return [run_summary(row) for row in connection.execute(alone).mappings()]
    alike = [
        column.is_(None) if value is None else column == value
        for column, value in zip(_LOAD, found[6:], strict=True)
    ]
    query = (
        summaries()
        .add_columns(runs.c.profile_json, runs.c.arguments_json)
        .where(
            *alike,
            runs.c.outcome == "complete",
            runs.c.origin == NATIVE,
            provenances.c.host_name == found.host_name,
            run_targets.c.path == found.path,
        )
        .order_by(runs.c.started_at_unix_s.desc(), runs.c.id.desc())
    )
    known: dict[tuple[str, str], str] = {}
    load = _load(found.profile_json, found.arguments_json, known)
    same: list[RunSummary] = []
    for row in connection.execute(query).mappings():
        if _load(row["profile_json"], row["arguments_json"], known) == load:
            same.append(run_summary(row))
        if limit is not None and len(same) >= limit:
            break
    return same[::-1]


def newest_of_each(connection: Connection, limit: int) -> list[tuple[RunSummary, int]]:
    """Return the newest run of each series, as `Runs.newest_of_each_series`."""
    newest = sa.func.max(runs.c.id).label("newest")
    count = sa.func.count().label("run_count")
    query = (
        sa.select(newest, count)
        .select_from(runs.join(provenances).join(run_targets, _first()))
        .where(runs.c.outcome == "complete", runs.c.origin == NATIVE)
        .group_by(*_LOAD, provenances.c.host_name, run_targets.c.path)
        .order_by(newest.desc())
        .limit(limit)
    )
    counts = {row.newest: row.run_count for row in connection.execute(query)}
    shown = summaries().where(runs.c.id.in_([*counts])).order_by(runs.c.id.desc())
    rows = connection.execute(shown).mappings()
    return [(run_summary(row), int(counts[row["id"]])) for row in rows]


def _first() -> sa.ColumnElement[bool]:
    return sa.and_(run_targets.c.run_id == runs.c.id, run_targets.c.position == 0)


def _load(profile_json: str, arguments_json: str, known: dict[tuple[str, str], str]) -> str:
    """Return a load as text: its profile, and the long options, which no profile has."""
    given = profile_json, arguments_json
    if given not in known:
        words = [str(one) for one in json.loads(arguments_json)]
        options = [one for one in words if one.startswith("--") and not one.startswith(_NO_OPTIONS)]
        whole = {"profile": _without(json.loads(profile_json)), "options": sorted(options)}
        known[given] = json.dumps(whole, sort_keys=True)
    return known[given]


def _without(value: Any) -> Any:  # noqa: ANN401 - Any JSON.
    if isinstance(value, dict):
        return {key: _without(one) for key, one in value.items() if key not in _NO_LOAD}
    return [_without(one) for one in value] if isinstance(value, list) else value
