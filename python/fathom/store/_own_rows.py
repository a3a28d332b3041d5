"""From a run of our own JSON to the rows that are saved.

It was measured elsewhere: nothing is looked up on this machine.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fathom.result import Result
from fathom.store._import_rows import (
    imported_provenance_row,
    imported_run_row,
    imported_target_rows,
)
from fathom.store._tables import run_targets
from fathom.store.summary import host_row, run_row

if TYPE_CHECKING:
    from fathom.imported import OwnRun

__all__ = ["own_rows"]

_Row = dict[str, Any]


def own_rows(own: OwnRun, label: str | None) -> tuple[_Row, _Row, list[_Row]]:
    """Return the columns of the run, of its provenance and of its targets.

    Raises
    ------
    KeyError, TypeError, ValueError, ArithmeticError, AttributeError
        If its JSON has another shape than a result's.

    """
    name = own.label if label is None else label
    failures = [] if own.failure is None else [own.failure or "unknown"]
    if isinstance(own.result, Result):
        arguments = own.arguments or _arguments(own.command_line)
        row = run_row(own.result, arguments, name, failures)
        provenance = {**host_row(own.result), "memory_bytes": own.memory_bytes}
        return row, provenance, _targets(own, own.result)
    row = imported_run_row(own.result, own.arguments, name, failures)
    return row, imported_provenance_row(own.result), imported_target_rows(own.result)


def _arguments(command_line: str) -> list[str]:
    """Return the arguments of a command line; none of one that no shell would take."""
    try:
        return shlex.split(command_line)[1:]
    except ValueError:
        return []


def _targets(own: OwnRun, result: Result) -> list[_Row]:
    """Return what lies beneath the targets; of a result alone, only their own facts."""
    names = {column.name for column in run_targets.c} - {"run_id", "position"}
    spans = result.raw["time_spans"]
    measured = spans[0]["targets"] if spans else []
    told = own.targets or measured
    return [
        {"position": position}
        | dict.fromkeys(sorted(names))
        | {name: target[name] for name in sorted(names & set(target))}
        for position, target in enumerate(told)
    ]
