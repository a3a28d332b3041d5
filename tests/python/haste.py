"""What tests need not wait for: the disk, and looks of the collector at what stays."""

from __future__ import annotations

import gc
from typing import Any

from fathom.store import _database


def collect_rarely() -> None:
    """Let the collector look only at what is made from here on, and not at all modules each time.

    A tenth of all processor time went into looks at what had only just been made.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def leave_out_flushes() -> None:
    """Let SQLite not flush what it writes, in this process and those that are forked from it.

    What is tested are processes that die, not power cuts.
    """
    set_up = _database._set_up_sqlite

    def hasty(connection: Any, _record: object) -> None:  # noqa: ANN401 - A driver's object.
        set_up(connection, _record)
        connection.execute("PRAGMA synchronous = OFF")

    _database._set_up_sqlite = hasty
