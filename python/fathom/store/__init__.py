"""The store: every result is kept, in a file of SQLite or in PostgreSQL.

>>> from fathom.store import Store
>>> with Store() as store:
...     for run in store.runs.list(limit=10):
...         print(run.id, run.label, run.columns["total_iops"])
1 oltp 1000.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later
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
    )
    from fathom.store.moving import move_store
    from fathom.store.overrides import Override
    from fathom.store.store import Store, columns_of
    from fathom.store.summary import provenance_row, run_row

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
    "columns_of",
    "compact_store",
    "copy_store",
    "move_store",
    "provenance_row",
    "run_row",
]

if not TYPE_CHECKING:
    # SQLAlchemy takes longer to import than a list takes to be read (`glance`).
    __getattr__ = later(__name__)
