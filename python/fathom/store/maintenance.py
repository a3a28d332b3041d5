"""Looking after a store: whether it is whole, and making it smaller."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fathom.store._database import Database
from fathom.store._tables import experiments, metadata, provenances, runs, shared_texts, steps
from fathom.store.packing import is_small, repack, unpack_json
from fathom.store.sharing import drop_unused_texts, fill_series, share, shared
from fathom.store.store import Store
from fathom.store.where import store_url

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sqlalchemy.engine import Connection

__all__ = ["Checked", "Compacted", "check_store", "compact_store"]

_PIECE = 200


@dataclass
class Checked:
    """What was looked at, and what is wrong, in sentences."""

    runs: int = 0
    experiments: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Compacted:
    """What became of a store: how many runs were packed again, and its size in bytes."""

    runs: int
    before_bytes: int
    after_bytes: int


def check_store(where: str | os.PathLike[str] | None) -> Checked:
    """Read all of a store, and say what is wrong with it.

    Raises
    ------
    StoreError
        If it cannot be opened.

    """
    found = Checked()
    with Store(where, make=False):
        pass
    database = Database(store_url(where), make=False)
    try:
        with database.reading() as connection:
            if database.is_sqlite:
                found.faults += _sqlite_faults(connection)
            _check_runs(connection, found)
            _check_experiments(connection, found)
    finally:
        database.close()
    return found


def _sqlite_faults(connection: Connection) -> list[str]:
    told = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars()
    faults = [f"the file: {one}" for one in told if one != "ok"]
    foreign = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    return faults + [
        f"{row[0]}: row {row[1]} belongs to no row of {row[2]}" for row in foreign[:20]
    ]


def _check_runs(connection: Connection, found: Checked) -> None:
    columns = (runs.c.id, runs.c.result_json_zlib, runs.c.profile_json, runs.c.arguments_json)
    known: set[str] = set()
    last = 0
    while True:
        query = sa.select(*columns).where(runs.c.id > last).order_by(runs.c.id).limit(_PIECE)
        rows = connection.execute(query).all()
        for row in rows:
            found.runs += 1
            found.faults += _result_faults(row.id, row.result_json_zlib)
            asked = (row.profile_json, row.arguments_json)
            found.faults += _asked_faults(connection, row.id, asked, known)
        if len(rows) < _PIECE:
            break
        last = rows[-1].id
    without = sa.select(runs.c.id).where(runs.c.id.not_in(sa.select(provenances.c.run_id)))
    lost = connection.execute(without.limit(20)).scalars()
    found.faults += [f"run {one} has lost the facts about its host" for one in lost]


def _result_faults(run_id: int, packed: bytes) -> list[str]:
    try:
        json.loads(unpack_json(packed))
    except (ValueError, TypeError, RecursionError) as error:
        return [f"run {run_id}: its result cannot be read: {error}"]
    return []


def _asked_faults(
    connection: Connection, run_id: int, asked: tuple[str, str], known: set[str]
) -> list[str]:
    profile, arguments = asked
    try:
        if profile not in known:
            json.loads(shared(connection, profile))
            known.add(profile)
        json.loads(arguments)
    except (ValueError, TypeError, RecursionError) as error:
        return [f"run {run_id}: its request cannot be read: {error}"]
    return []


def _check_experiments(connection: Connection, found: Checked) -> None:
    named = sa.select(experiments.c.id, experiments.c.plan_json, experiments.c.outcome_json)
    for row in connection.execute(named.order_by(experiments.c.id)):
        found.experiments += 1
        for what, text in (("plan", row.plan_json), ("outcome", row.outcome_json)):
            if text is not None and not _is_object(text):
                found.faults.append(f"experiment e{row.id}: its {what} cannot be read")
    for step in connection.execute(sa.select(steps.c.experiment_id, steps.c.parameters_json)):
        if not _is_object(step.parameters_json):
            found.faults.append(f"experiment e{step.experiment_id}: a step cannot be read")


def _is_object(text: str) -> bool:
    with suppress(ValueError, TypeError, RecursionError):
        return isinstance(json.loads(text), dict)
    return False


def compact_store(
    where: str | os.PathLike[str] | None, on_packed: Callable[[int], None] = lambda _count: None
) -> Compacted:
    """Pack all results as new ones are, and give what is free back to the file system.

    Raises
    ------
    StoreError
        If the store cannot be written, or somebody else keeps it for long.

    """
    with Store(where, make=False) as store:
        store.check_writable()
    database = Database(store_url(where), make=False)
    try:
        before = _bytes(database)
        packed = _packed(database, on_packed)
        with database.writing() as connection:
            drop_unused_texts(connection)
            fill_series(connection)
        _give_back(database)
        return Compacted(packed, before, _bytes(database))
    finally:
        database.close()


def _bytes(database: Database) -> int:
    if database.is_sqlite:
        return _size(Path(database.name).resolve())
    sizes = [
        sa.func.coalesce(sa.func.pg_total_relation_size(sa.func.to_regclass(one)), 0)
        for one in metadata.tables
    ]
    with database.reading() as connection:
        return sum(connection.execute(sa.select(*sizes)).one())


def _give_back(database: Database) -> None:
    """Give free space back; outside a transaction, which SQLAlchemy's own calls would begin."""
    with database.own_words(), database.engine.connect() as connection:
        if not database.is_sqlite:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            # A role that does not own them leaves them as they are, with a warning of the server.
            for table in (runs, shared_texts):
                alone.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table.name}")
            return
        raw = connection.connection.dbapi_connection
        assert raw is not None  # noqa: S101 - It was connected just now.
        raw.execute("VACUUM")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _packed(database: Database, on_packed: Callable[[int], None]) -> int:
    """Pack in pieces, so that others can save in between; who is ended can begin again."""
    count, last = 0, 0
    while True:
        columns = (runs.c.id, runs.c.result_json_zlib, runs.c.profile_json)
        query = sa.select(*columns).where(runs.c.id > last).order_by(runs.c.id).limit(_PIECE)
        with database.writing() as connection:
            rows = connection.execute(query).all()
            for row in rows:
                values: dict[str, object] = {"profile_json": share(connection, row.profile_json)}
                if not is_small(row.result_json_zlib):
                    # What is damaged stays as it is, for whoever can read more of it.
                    with suppress(ValueError):
                        values["result_json_zlib"] = repack(row.result_json_zlib)
                        count += 1
                elif values["profile_json"] == row.profile_json:
                    continue
                connection.execute(runs.update().where(runs.c.id == row.id).values(values))
        on_packed(count)
        if len(rows) < _PIECE:
            return count
        last = rows[-1].id


def _size(file: Path) -> int:
    """Return what a file has with its log; the index of that is there only while it is open."""
    log = file.with_name(f"{file.name}-wal")
    return sum(one.stat().st_size for one in (file, log) if one.exists())
