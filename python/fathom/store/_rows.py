"""Adding the rows of one run, within a transaction of the caller's."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fathom.store._tables import NATIVE, provenances, run_targets, runs, steps
from fathom.store.sharing import series_key, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.engine import Connection

    from fathom.store.records import StepState

__all__ = ["add_run", "as_text"]

_STEP_AFTER: Mapping[str, StepState] = {"complete": "done", "failed": "failed"}


def as_text(words: str) -> str:
    """Return words as databases keep them: bytes that are no text, and zeros, as escapes."""
    return words.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def _as_texts(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: as_text(one) if isinstance(one, str) else one for name, one in row.items()}


def add_run(
    connection: Connection,
    row: Mapping[str, Any],
    provenance: Mapping[str, Any],
    targets: Sequence[Mapping[str, Any]],
    names: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Add a run with its provenance, end the step that it belongs to, and return its id.

    ``names`` are those by which its targets are known in series, by their paths.
    """
    row, provenance = dict(_as_texts(row)), _as_texts(provenance)
    if row.get("origin", NATIVE) == NATIVE and "series_key" not in row:
        path = as_text(str(targets[0]["path"])) if targets else ""
        known = {as_text(typed): as_text(name) for typed, name in names.items()}
        row["series_key"] = series_key(row, provenance["host_name"], path, {}, known)
    row["profile_json"] = share(connection, row["profile_json"])
    # Given beside the statement, values need no statement of their own.
    run_id = int(connection.execute(runs.insert().returning(runs.c.id), row).scalar_one())
    connection.execute(provenances.insert(), {"run_id": run_id, **provenance})
    if targets:
        rows = [{"run_id": run_id, **_as_texts(target)} for target in targets]
        connection.execute(run_targets.insert(), rows)
    # A run that was interrupted leaves its step as it was: who resumes measures it again.
    state = _STEP_AFTER.get(row["outcome"])
    if row["step_id"] is not None and state is not None:
        values = {"state": state, "failure": row["failure"]}
        connection.execute(steps.update().where(steps.c.id == row["step_id"]).values(values))
    return run_id
