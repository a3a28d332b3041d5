"""Results of several time spans, as one for each: a figure and what explains it are of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["by_time_span"]


def by_time_span(result: Result) -> list[Result]:
    """Return a result of each time span, with its load and with what was warned of it.

    What was warned of the whole run is said of each. A result of one time span is returned itself.
    """
    count = len(result.time_spans)
    return [result] if count <= 1 else [_only(result.raw, number) for number in range(count)]


def _only(raw: Mapping[str, Any], number: int) -> Result:
    request = raw["request"]
    warnings = [
        {**one, "time_span": None if one["time_span"] is None else 0}
        for one in raw["warnings"]
        if one["time_span"] in (None, number)
    ]
    data = {
        **_with_one(raw, number),
        "request": {**request, "profile": _with_one(request["profile"], number)},
        "warnings": warnings,
    }
    if "profile" in raw:
        data["profile"] = _with_one(raw["profile"], number)
    if "parts" in raw:
        data["parts"] = [_with_one(part, number) for part in raw["parts"]]
    return Result.from_data(data)


def _with_one(whole: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the same with that time span alone, if it has so many."""
    return {**whole, "time_spans": whole["time_spans"][number : number + 1]}
