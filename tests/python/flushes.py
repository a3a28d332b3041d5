"""Stores that do not wait for the disk: what is tested are processes that die, not power cuts."""

from __future__ import annotations

from typing import Any

from fathom.store import _database


def leave_out() -> None:
    """Let SQLite not flush what it writes, in this process and those that are forked from it."""
    set_up = _database._set_up_sqlite

    def hasty(connection: Any, _record: object) -> None:  # noqa: ANN401 - A driver's object.
        set_up(connection, _record)
        connection.execute("PRAGMA synchronous = OFF")

    _database._set_up_sqlite = hasty
