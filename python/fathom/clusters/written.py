"""A report as JSON and as texts: what ``fathom report --events`` and other programs read."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from fathom._local_time import local_words
from fathom.clusters.model import (
    COLUMNS,
    KINDS,
    ClusterError,
    ClusterReport,
    Found,
    Move,
    ResourceEvent,
    ResourceRow,
    ResourceState,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "events_of_report",
    "is_report",
    "named_rows",
    "report_from_json",
    "report_to_json",
    "stamp",
]

NEVER = "NA"
"""What stands where something never happened, as in scripts."""


def stamp(unix_s: float | None) -> str:
    """Return a time as this machine's zone has it, to a second, or ``NA``."""
    if unix_s is None:
        return NEVER
    return local_words(unix_s)


def named_rows(report: ClusterReport) -> list[dict[str, str]]:
    """Return the rows with the columns that scripts know."""
    return [dict(zip(COLUMNS, _cells(one), strict=True)) for one in report.rows]


def _cells(row: ResourceRow) -> tuple[str, ...]:
    times = (
        row.last_online_unix_s,
        row.last_offline_unix_s,
        row.last_degraded_unix_s,
        row.last_error_unix_s,
    )
    words = (row.cluster_type, row.cluster, row.group, row.resource, row.node, row.status)
    return (*words, *map(stamp, times))


def report_to_json(report: ClusterReport) -> dict[str, object]:
    """Return all of a report."""
    return {
        "columns": named_rows(report),
        "rows": [asdict(one) for one in report.rows],
        "events": [asdict(one) for one in report.events],
        "moves": [asdict(one) for one in report.moves],
        "since_unix_s": report.since_unix_s,
    }


def is_report(data: object) -> bool:
    """Whether JSON is a report that ``fathom resources`` wrote."""
    return isinstance(data, dict) and {"rows", "events", "moves"} <= data.keys()


def report_from_json(data: object) -> ClusterReport:
    """Return the report that was written.

    Raises
    ------
    ClusterError
        If it is none, or a damaged one.

    """
    if not isinstance(data, dict) or not is_report(data):
        raise ClusterError("it is no JSON of fathom resources: it lacks rows, events or moves")
    try:
        rows = tuple(ResourceRow(**one) for one in data["rows"])
        events = tuple(ResourceEvent(**one) for one in data["events"])
        moves = tuple(Move(**one) for one in data["moves"])
    except TypeError as error:
        raise ClusterError(f"it is a damaged JSON of fathom resources: {error}") from error
    for row in rows:
        # Its times are made again from the events.
        _check({name: one for name, one in vars(row).items() if not name.endswith("_unix_s")})
    for one in events:
        _check(vars(one), "at_unix_s")
        if one.kind not in KINDS:
            raise ClusterError(f"there is no kind of event {one.kind!r}")
    for move in moves:
        _check(vars(move), "began_unix_s", "ended_unix_s")
    return ClusterReport(rows, events, moves, data.get("since_unix_s"))


def _check(fields: Mapping[str, object], *numbers: str) -> None:
    for name, value in fields.items():
        is_right = _is_time(value) if name in numbers else isinstance(value, str)
        if not is_right:
            raise ClusterError(f"it is a damaged JSON of fathom resources: {name} is {value!r}")


def _is_time(value: object) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    # Whole numbers of any length are JSON.
    with suppress(OverflowError):
        return math.isfinite(value)
    return False


def events_of_report(data: object, cluster: str) -> Found:
    """Return what an earlier report tells, so that reports can be added; names stay its own.

    Raises
    ------
    ClusterError
        If it is damaged.

    """
    report = report_from_json(data)
    types = {one.cluster: one.cluster_type for one in report.rows}
    states = [
        ResourceState(one.cluster, one.group, one.resource, one.node, one.status)
        for one in report.rows
    ]
    kind = next(iter(types.values()), "")
    return Found(kind, cluster, states, list(report.events), types)
