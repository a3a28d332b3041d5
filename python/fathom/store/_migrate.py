"""Bringing a store to the tables of this version, safely beside others who open it too."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom import _packages
from fathom.store._database import no_store
from fathom.store._tables import REVISION, VERSION_TABLE, metadata
from fathom.store.errors import NotAStoreError, StoreError, StoreTooNewError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

    from fathom.store._database import Database

__all__ = ["MIGRATIONS", "alembic_config", "bring_up_to_date"]

MIGRATIONS = Path(__file__).parent / "migrations"
# Tells our files from those of other programs (https://sqlite.org/fileformat2.html, "Application
# ID"): the letters FTHM.
_APPLICATION_ID = 0x4654484D
# Versions whose tables are, in SQLite, those of today.
_ALIKE_IN_SQLITE = {"0004"}
# Any number that no other program of the database locks by; the same letters, for Fathom's tables.
_ADVISORY_LOCK = _APPLICATION_ID


def bring_up_to_date(database: Database, *, make: bool = True) -> None:
    """Make the tables, or migrate them; one opener does it, the others wait for it.

    All of it is one transaction, so that a process that dies meanwhile leaves the store as it was.

    Raises
    ------
    NotAStoreError
        If the database belongs to another program; it is not changed.
    StoreTooNewError
        If a later version of Fathom made the tables; they are not changed.
    NoStoreError
        If there are no tables yet, and ``make`` is not wanted.
    StoreError
        If a server's database has no room for all letters, so that no tables are made in it.

    """
    with database.reading() as connection:
        found = _revision(connection, database)
    if found is None and not make:
        raise no_store(database.name)
    if found is None:
        _migrate(database)
    elif found != REVISION:
        _migrate_older(database, found)
    if database.is_sqlite:
        _let_readers_and_writer_pass(database)


def _migrate_older(database: Database, found: str) -> None:
    """Migrate tables; who cannot, and perhaps only wants to read, learns who has to do it."""
    try:
        _migrate(database)
    except StoreError as error:
        # The other kinds say what is wrong and pass.
        if type(error) is not StoreError:
            raise
        if database.is_sqlite and found in _ALIKE_IN_SQLITE:
            # It stays readable on media that nobody may write.
            return
        raise StoreError(
            f"the tables of the store {database.name} are of version {found}, and this program "
            f"needs {REVISION}: let somebody who may change them open it once, such as with "
            f"fathom list ({error})"
        ) from error


def _migrate(database: Database) -> None:
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        # Another opener may have done it while this one waited.
        found = _revision(connection, database)
        if found == REVISION:
            return
        if found is None:
            _check_encoding(connection, database)
            _make(connection)
        else:
            _packages.command.upgrade(alembic_config(connection), REVISION)
        if database.is_sqlite:
            connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")


def _check_encoding(connection: Connection, database: Database) -> None:
    """Refuse a database that lacks letters: a run would be refused for its label at its end."""
    if database.is_sqlite:
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"the database of the store {database.name} keeps texts as {encoding}, which lacks "
            "letters that labels and paths may have: name one that was made with createdb -E UTF8 "
            "-T template0"
        )


def alembic_config(connection: Connection) -> _packages.Config:
    """Return Alembic's configuration for our migrations over an open connection."""
    config = _packages.Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _make(connection: Connection) -> None:
    """Make all tables as they are today, in a sixth of the time that all earlier layouts take."""
    metadata.create_all(connection, checkfirst=False)
    version = sa.Column("version_num", sa.String(32), nullable=False)
    key = sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc")
    versions = sa.Table(VERSION_TABLE, sa.MetaData(), version, key)
    versions.create(connection, checkfirst=True)
    connection.execute(versions.insert().values(version_num=REVISION))


def _revision(connection: Connection, database: Database) -> str | None:
    """Return the revision of our tables, None if the database is still empty of them."""
    tables = set(sa.inspect(connection).get_table_names())
    if VERSION_TABLE not in tables:
        _check_that_it_is_free(tables, connection, database)
        return None
    version: sa.ColumnClause[str] = sa.column("version_num", sa.String)
    query = sa.select(version).select_from(sa.table(VERSION_TABLE))
    found = connection.scalar(query)
    others = tables - {VERSION_TABLE} if database.is_sqlite else tables & set(metadata.tables)
    if found is None and others:
        raise NotAStoreError(
            f"{database.name} holds tables and does not say of which version they are, and was not "
            "changed: name another store with --store, or restore a copy of it"
        )
    if found is not None and found not in _known():
        raise StoreTooNewError(
            f"a later version of Fathom made the store {database.name} (its tables have version "
            f"{found}, this program knows up to {REVISION}): use that version, or another store"
        )
    return None if found is None else str(found)


def _known() -> set[str]:
    return {path.stem.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}


def _check_that_it_is_free(tables: set[str], connection: Connection, database: Database) -> None:
    foreign = bool(tables) if database.is_sqlite else bool(tables & set(metadata.tables))
    if database.is_sqlite:
        mark = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        foreign = foreign or mark not in (0, _APPLICATION_ID) or _was_used(connection)
    if foreign:
        raise NotAStoreError(
            f"{database.name} holds the tables of another program, and was not changed: "
            "name another store with --store"
        )


def _was_used(connection: Connection) -> bool:
    """Whether a file without tables has a number or views of another program, or had tables."""
    asked = ("PRAGMA user_version", "PRAGMA schema_version", "SELECT count(*) FROM sqlite_master")
    return any(connection.exec_driver_sql(one).scalar_one() for one in asked)


def _let_readers_and_writer_pass(database: Database) -> None:
    """Keep a write-ahead log, so that nobody who lists waits for somebody who saves.

    The file remembers it. Where it is impossible, as on a file system of another host, the store
    works all the same, with more waiting.
    """
    with database.own_words(), database.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        # Outside a transaction, which SQLAlchemy's own calls would begin.
        if raw.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            return
        try:
            raw.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Somebody else uses the store at this moment, and the next who opens it tries again; or
            # it can only be read.
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY):
                raise
