"""A list of runs without what writing needs: SQLAlchemy takes longer to import than they to read.

Only the plainest case is read here: a file of SQLite with the tables of this version, that nobody
keeps locked. Whatever else there is, `Store` does or tells; so none of its rules stands twice. The
question (``listed.sql``) is the one that `Runs.list` asks, which a test compares.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fathom._own_stores import note_store
from fathom.store._revision import REVISION, VERSION_TABLE
from fathom.store.records import run_summary
from fathom.store.where import store_file

if TYPE_CHECKING:
    from fathom.store.records import RunSummary

__all__ = ["QUESTION", "newest_runs"]

QUESTION = Path(__file__).with_name("listed.sql")


def newest_runs(where: str | os.PathLike[str] | None, limit: int) -> list[RunSummary] | None:
    """Return the newest runs of a store; None where `Store` has to be asked."""
    file = store_file(where)
    # What is no file of that name may keep who opens it waiting.
    if file is None or not os.path.isfile(file):  # noqa: PTH113 - False where it may not be seen.
        return None
    try:
        # Not "ro": who closes a store last takes away what SQLite keeps beside it.
        address = f"file:{quote(str(file))}?mode=rw"
        opened = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
        with closing(opened) as connection:
            found = _read(connection, limit)
    except (sqlite3.Error, OverflowError, UnicodeError):
        return None
    if found is not None:
        note_store(file)
    return found


def _read(connection: sqlite3.Connection, limit: int) -> list[RunSummary] | None:
    connection.execute("BEGIN")
    versions = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall()  # noqa: S608
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if (versions, mode) != ([(REVISION,)], "wal"):
        return None
    connection.row_factory = sqlite3.Row
    rows = connection.execute(QUESTION.read_text(encoding="utf-8"), {"limit": limit})
    return [run_summary(dict(row)) for row in rows]
