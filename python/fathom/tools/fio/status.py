"""What fio reports again and again while it runs (``--status-interval``).

Each report is a document of its own, and counts from the start of the run: the last one is the
result, and those before it are none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.imported.model import ImportedResult

    _Report = tuple[Mapping[str, Any], Sequence[ImportedResult]]

__all__ = ["last_of_clients", "last_reports"]

# A run that follows another in one file begins when that has ended: their beginnings are as far
# apart as the first one took, and those of reports of one run are the same, as exactly as fio tells
# when it wrote them. Before 2.14 it tells seconds.
_SAME_START = 0.5
_LEAST_S = {"timestamp_ms": 0.1, "timestamp": 1.0}
# Jobs tell whole seconds since then.
_SAME_PROCESS_S = 1.5
_SEVERAL = 2
_OF_A_JOB = ("hostname", "port", "groupid", "jobname")
_UNITS_S = {"timestamp_ms": 1e-3, "timestamp": 1.0}


def last_reports(reports: Sequence[_Report]) -> list[ImportedResult]:
    """Return the results of documents, each with what was read of it: of one run those of the last.

    They must have been read without a fault.
    """
    found: list[ImportedResult] = []
    earlier = 0
    for told, later in pairwise([*reports, ({}, ())]):
        if _is_continued(told, later):
            earlier += 1
            continue
        found += [noted(one, earlier) for one in told[1]]
        earlier = 0
    return found


def last_of_clients(
    told: Sequence[dict[str, Any]], given: Mapping[str, Any], *, is_sum: Callable[[Any], bool]
) -> tuple[list[dict[str, Any]], int]:
    """Return the jobs of the last report that fio's client wrote, and how many went before it.

    It writes all reports of all jobs into one list; only the first has the sum of all, behind it.
    """
    jobs = [one for one in told if not is_sum(one)]
    keys = [str([one.get(name) for name in _OF_A_JOB]) for one in jobs]
    options = [given, *(one.get("job options") for one in told)]
    if any(isinstance(one, dict) and "numjobs" in one for one in options):
        # Only what follows the sum tells reports from jobs of one name.
        count = next((place for place, one in enumerate(told) if is_sum(one)), len(keys))
    else:
        count = len({*keys})
    reports, rest = divmod(len(keys), count or 1)
    if reports < _SEVERAL or rest or keys != keys[:count] * reports:
        return [*told], 0
    return jobs[-count:], reports - 1


def noted(result: ImportedResult, earlier: int) -> ImportedResult:
    """Return a result with a note of how many reports there were before it."""
    if not earlier:
        return result
    words = (
        f"fio reported {earlier + 1} times while it ran (--status-interval), each time from the "
        "start on: these are the figures of the last report."
    )
    return replace(result, notes=(*result.notes, words))


def _is_continued(told: _Report, later: _Report) -> bool:
    """Whether a document tells of the same run as the one behind it, and of less of it."""
    if not told[1] or len(told[1]) != len(later[1]):
        return False
    pairs = [*zip(told[1], later[1], strict=True)]
    if any(_load(one) != _load(other) for one, other in pairs):
        return False
    name = next((one for one in _UNITS_S if one in told[0] and one in later[0]), None)
    if name is None or not _written_s(told, name) < _written_s(later, name):
        return False
    if any(_ios(one) > _ios(other) for one, other in pairs):
        return _is_ramp(told, later, name)
    if not _lasted_s(told):
        return _is_ahead(told, later, name)
    apart_s = _began_s(later, name) - _began_s(told, name)
    return _lasted_s(told) >= _LEAST_S[name] and abs(apart_s) < _SAME_START * _lasted_s(told)


def _is_ramp(told: _Report, later: _Report, name: str) -> bool:
    """Whether a document tells of the ramp alone, behind which fio counts from nought again."""
    has_ramp = any(one.load.warm_up_s for one in told[1])
    apart_s = _started_s(later, name) - _started_s(told, name)
    return has_ramp and abs(apart_s) < _SAME_PROCESS_S


def _is_ahead(told: _Report, later: _Report, name: str) -> bool:
    """Whether nothing was measured yet (``ramp_time``), and fio of the other document ran then."""
    if any(one.failure for one in told[1]):
        return False
    return _started_s(later, name) < _written_s(told, name)


def _started_s(report: _Report, name: str) -> float:
    """Return when the process began of which a document tells, to a second."""
    jobs = report[0].get("jobs") or ()
    elapsed_s = max((_number(one, "elapsed") for one in jobs), default=math.nan)
    return _written_s(report, name) - elapsed_s


def _load(result: ImportedResult) -> tuple[object, ...]:
    return result.tool_version, result.title, result.host_name, result.load, result.targets


def _ios(result: ImportedResult) -> int:
    return (result.total and result.total.ios) or 0


def _lasted_s(report: _Report) -> float:
    """Return how long groups that ran one after the other were measured; 0 of none yet."""
    rates = [(one, [one.read, one.write, one.trim, one.total]) for one in report[1]]
    begun = [one for one, parts in rates if any(part and part.iops for part in parts)]
    return sum(one.measured_s or 0.0 for one in begun)


def _written_s(report: _Report, name: str) -> float:
    return _number(report[0], name) * _UNITS_S[name]


def _number(data: Mapping[str, Any], name: str) -> float:
    """Return a number; of what is none NaN, which is before nothing and behind nothing."""
    found = data.get(name)
    return float(found) if isinstance(found, int | float) else math.nan


def _began_s(report: _Report, name: str) -> float:
    """Return when a run began that a document was written of."""
    return _written_s(report, name) - _lasted_s(report)
