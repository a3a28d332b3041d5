"""What the other processes of the store's tests do; forked, so that they start at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import fathom
from fathom.store import Store, move_store
from forkserver import forkserver

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["CONTEXT", "move_to", "save_runs"]

CONTEXT = forkserver()

RESULT = fathom.Result.from_json(
    (Path(__file__).parent / "fixtures/result.json").read_text(),
)


def save_runs(address: str, label: str, count: int, told: Connection) -> None:
    """Open the store, save runs and tell each one's id once it is saved."""
    told.send("ready")
    with Store(address) as store:
        for _ in range(count):
            told.send(store.runs.save(RESULT, ["x.dat"], label=label))
    told.close()


def move_to(source: str, target: str) -> None:
    """Move a store."""
    move_store(source, target)
