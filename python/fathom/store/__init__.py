"""The store: every result is kept, in a file of SQLite or in PostgreSQL.

>>> from fathom.store import Store
>>> with Store() as store:
...     for run in store.runs.list(limit=10):
...         print(run.id, run.label, run.columns["total_iops"])
1 oltp 1000.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fathom.store.errors import (
    NoStoreError,
    NotAStoreError,
    NotFoundError,
    NotSavedError,
    StoreError,
    StoreFullError,
    StoreInUseError,
    StoreLockedError,
    StoreTooNewError,
)
from fathom.store.records import (
    Baseline,
    Experiment,
    ExperimentState,
    RunSummary,
    Step,
    StoredRun,
)

if TYPE_CHECKING:
    from fathom.store.copying import Copied, copy_store
    from fathom.store.maintenance import (
        Checked,
        Compacted,
        check_store,
        compact_store,
        move_store,
    )
    from fathom.store.overrides import Override
    from fathom.store.store import Store

__all__ = [
    "Baseline",
    "Checked",
    "Compacted",
    "Copied",
    "Experiment",
    "ExperimentState",
    "NoStoreError",
    "NotAStoreError",
    "NotFoundError",
    "NotSavedError",
    "Override",
    "RunSummary",
    "Step",
    "Store",
    "StoreError",
    "StoreFullError",
    "StoreInUseError",
    "StoreLockedError",
    "StoreTooNewError",
    "StoredRun",
    "check_store",
    "compact_store",
    "copy_store",
    "move_store",
]

# SQLAlchemy takes longer to import than a list takes to be read (`glance`).
_LATER = {
    "Copied": "copying",
    "Checked": "maintenance",
    "Compacted": "maintenance",
    "Override": "overrides",
    "Store": "store",
    "check_store": "maintenance",
    "compact_store": "maintenance",
    "copy_store": "copying",
    "move_store": "maintenance",
}


def __getattr__(name: str) -> object:
    """Import what needs the database when it is asked for (PEP 562)."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = found
    return found
