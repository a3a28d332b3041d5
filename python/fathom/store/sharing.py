"""What many runs have in common: profiles are kept once, and series have a key."""

from __future__ import annotations

import hashlib
import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom import _packages
from fathom.store._tables import NATIVE, provenances, run_targets, runs, shared_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection

__all__ = [
    "drop_unused_texts",
    "fill_series",
    "insert_missing",
    "series_key",
    "share",
    "shared",
    "wait_for_copies",
]

_PREFIX = "sha256:"
_KEY_CHARACTERS = 32
_PIECE = 500
# What may differ between two runs of the same load: chance, and what is only shown.
_NO_LOAD = {"random_seed", "format", "verbose", "progress_every_ios", "create_bytes"}
# Long options that say how a run is shown, kept or allowed.
_NO_OPTIONS = ("--json", "--live", "--overwrite", "--allow-write", "--protect", "--lease")


def share(connection: Connection, text: str) -> str:
    """Return what stands for a text in a column, and keep the text once."""
    if text.startswith(_PREFIX):
        return text
    name = hashlib.sha256(text.encode()).hexdigest()
    there = sa.select(shared_texts.c.sha256).where(shared_texts.c.sha256 == name)
    # On a server the insert comes first also where it adds nothing: it keeps who compacts from
    # removing, until this transaction ends, a text that no run seems to mean yet.
    if not _is_file(connection) or connection.execute(there).first() is None:
        insert = insert_missing(connection, shared_texts)
        connection.execute(insert.values(sha256=name, content=text))
    return f"{_PREFIX}{name}"


def wait_for_copies(connection: Connection) -> None:
    """Wait, before a transaction locks anything, for who copies into the store of a server.

    A copy locks all tables that have numbers, these texts first: whoever has locked another one by
    then, and needs these or a number next, would wait for the copy, which waits for him.
    """
    if not _is_file(connection):
        connection.exec_driver_sql(f"LOCK TABLE {shared_texts.name} IN ROW EXCLUSIVE MODE")


def insert_missing(connection: Connection, table: sa.Table) -> Any:  # noqa: ANN401 - Of either.
    """Return an insert that lets be what another process has added, or is adding: it waits then."""
    if _is_file(connection):
        return table.insert().prefix_with("OR IGNORE")
    return _packages.insert(table).on_conflict_do_nothing()


def _is_file(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def shared(connection: Connection, text: str) -> str:
    """Return the text that a column means."""
    if not text.startswith(_PREFIX):
        return text
    name = text.removeprefix(_PREFIX)
    query = sa.select(shared_texts.c.content).where(shared_texts.c.sha256 == name)
    found = connection.execute(query).scalar()
    if found is None:
        raise ValueError("a text that it shares with others is missing")
    return str(found)


def drop_unused_texts(connection: Connection) -> int:
    """Remove texts that no run means any more, and return how many."""
    if not _is_file(connection):
        # It waits for those who save, who then wait for it.
        lock = f"LOCK TABLE {shared_texts.name} IN SHARE ROW EXCLUSIVE MODE"
        connection.exec_driver_sql(lock)
    used = sa.select(sa.func.substr(runs.c.profile_json, len(_PREFIX) + 1))
    used = used.where(runs.c.profile_json.like(f"{_PREFIX}%"))
    done = connection.execute(shared_texts.delete().where(shared_texts.c.sha256.not_in(used)))
    return int(done.rowcount)


def series_key(
    row: Mapping[str, object],
    host_name: str,
    path: str,
    known: dict[tuple[str, str], str],
    names: Mapping[str, str] = MappingProxyType({}),
) -> str | None:
    """Return the key of the series of a run: its load, its target and its host.

    ``row`` has its whole profile; ``known`` keeps loads that were read before. ``names`` are those
    by which targets of several names are known, by their paths; the same for all of ``known``.
    """
    if row.get("origin", NATIVE) != NATIVE:
        return None
    load = _load(str(row["profile_json"]), str(row["arguments_json"]), known, names)
    words = f"{load}\x00{host_name}\x00{names.get(path, path)}"
    return hashlib.sha256(words.encode()).hexdigest()[:_KEY_CHARACTERS]


def _load(
    profile_json: str,
    arguments_json: str,
    known: dict[tuple[str, str], str],
    names: Mapping[str, str],
) -> str:
    """Return a load as text: its profile, and the long options, which no profile has."""
    given = profile_json, arguments_json
    if given not in known:
        words = [str(one) for one in json.loads(arguments_json)]
        options = [one for one in words if one.startswith("--") and not one.startswith(_NO_OPTIONS)]
        whole = {"profile": _named(json.loads(profile_json), names), "options": sorted(options)}
        known[given] = json.dumps(whole, sort_keys=True)
    return known[given]


def _named(value: Any, names: Mapping[str, str], key: str = "") -> Any:  # noqa: ANN401 - Any JSON.
    """Return a load without what is none, and with the names by which its targets are known."""
    if isinstance(value, dict):
        kept = ((name, one) for name, one in value.items() if name not in _NO_LOAD)
        return {name: _named(one, names, name) for name, one in kept}
    if isinstance(value, list):
        return [_named(one, names) for one in value]
    return names.get(value, value) if key == "path" and isinstance(value, str) else value


def fill_series(connection: Connection) -> None:
    """Give runs that have none the key of their series; damaged ones stay without."""
    known: dict[tuple[str, str], str] = {}
    texts: dict[str, str] = {}
    last = 0
    while rows := _without_key(connection, last):
        values = []
        for row in rows:
            try:
                profile = row["profile_json"]
                if profile not in texts:
                    texts[profile] = shared(connection, profile)
                whole = {**row, "profile_json": texts[profile]}
                key = series_key(whole, row["host_name"] or "", row["path"] or "", known)
            except ValueError:
                key = None
            values.append({"run": row["id"], "key": key})
        update = runs.update().where(runs.c.id == sa.bindparam("run"))
        connection.execute(update.values(series_key=sa.bindparam("key")), values)
        last = int(rows[-1]["id"])


def _without_key(connection: Connection, last: int) -> list[sa.RowMapping]:
    first = sa.and_(run_targets.c.run_id == runs.c.id, run_targets.c.position == 0)
    query = (
        sa.select(
            runs.c.id,
            runs.c.origin,
            runs.c.profile_json,
            runs.c.arguments_json,
            provenances.c.host_name,
            run_targets.c.path,
        )
        .select_from(runs.outerjoin(provenances).outerjoin(run_targets, first))
        .where(runs.c.id > last, runs.c.origin == NATIVE, runs.c.series_key.is_(None))
        .order_by(runs.c.id)
        .limit(_PIECE)
    )
    return [*connection.execute(query).mappings()]
