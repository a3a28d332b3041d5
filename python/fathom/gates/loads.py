"""The runs of a gate by their load: a figure is a mean of runs of one load alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fathom.store.sharing import series_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import StoredRun

__all__ = ["loads_words", "runs_by_load"]

# What all tools tell of a load; of what was imported, nobody knows more.
_TOLD = (
    "block_bytes",
    "thread_count",
    "outstanding_per_thread",
    "write_percent",
    "random_percent",
    "host_name",
    "target_path",
)


def runs_by_load(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Return runs in groups of one load on one target of one host, in the order of their first."""
    known: dict[tuple[str, str], str] = {}
    groups: dict[object, list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(_key(run, known), []).append(run)
    return [*groups.values()]


def _key(run: StoredRun, known: dict[tuple[str, str], str]) -> object:
    columns = run.summary.columns
    if run.imported is not None:
        return tuple(columns.get(name) for name in _TOLD)
    row = {
        "profile_json": json.dumps(run.result.raw["request"]["profile"]),
        "arguments_json": json.dumps(run.arguments),
    }
    return series_key(row, _text(columns.get("host_name")), _path(run), known)


def _path(run: StoredRun) -> str:
    return _text(run.targets[0]["path"]) if run.targets else ""


def _text(value: object) -> str:
    return "" if value is None else str(value)


def loads_words(groups: Sequence[Sequence[StoredRun]]) -> str:
    """Return how many groups there are, by what may differ: ``2 loads or targets``."""
    firsts = [runs[0] for runs in groups]
    nouns = ["loads"]
    if len({_path(run) for run in firsts}) > 1:
        nouns.append("targets")
    if len({run.summary.columns.get("host_name") for run in firsts}) > 1:
        nouns.append("hosts")
    return f"{len(groups)} {' or '.join(nouns)}"
