"""The question for a list of runs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fathom.store._tables import import_sources, provenances, run_targets, runs
from fathom.store.records import BULKY

__all__ = ["summaries"]

_LISTED = [column for column in runs.c if column.name not in BULKY]


def summaries() -> sa.Select[Any]:
    """Return the question for all that a list of runs has; `glance` has the same in words."""
    first = sa.and_(run_targets.c.run_id == runs.c.id, run_targets.c.position == 0)
    beneath = [
        column.label(f"target_{column.name}") if "device" not in column.name else column
        for column in run_targets.c
        if column.name not in ("run_id", "position")
    ]
    host = [column for column in provenances.c if column.name != "run_id"]
    joined = runs.outerjoin(provenances).outerjoin(run_targets, first).outerjoin(import_sources)
    source = import_sources.c.name.label("source_name")
    return sa.select(*_LISTED, *host, *beneath, source).select_from(joined)
