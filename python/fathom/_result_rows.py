"""The rows of one result: its intervals, and the buckets of its histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom._frames import Columns, Row

__all__ = [
    "INTERVALS",
    "LATENCIES",
    "MEASURED_TOTALS",
    "TOTALS",
    "interval_rows",
    "latency_rows",
]

_DIRECTIONS = ("read", "write")
_PLACE: Columns = {"time_span": "int", "thread": "int", "target": "str", "direction": "str"}
INTERVALS: Columns = {
    **_PLACE,
    "start_ns": "int",
    "ios": "int",
    "bytes": "int",
    "latency_ns_min": "int?",
    "latency_ns_max": "int?",
    "latency_ns_sum": "int",
    "latency_ns_sum_squares": "float",
}
LATENCIES: Columns = {**_PLACE, "clock": "str", "bucket_lower_ns": "int", "ios": "int"}
MEASURED_TOTALS: Columns = {
    "time_span": "int",
    "direction": "str",
    "measured_s": "float",
    "ios": "int",
    "bytes": "int",
    "errors": "int",
    "iops": "float",
    "mib_per_s": "float",
    "latency_mean_ns": "float?",
    "latency_p50_ns": "int?",
    "latency_p95_ns": "int?",
    "latency_p99_ns": "int?",
    "latency_p999_ns": "int?",
    "latency_max_ns": "int?",
}
_COUNTS: Columns = dict.fromkeys(["ios", "bytes", "errors"], "int?")
_RATES: Columns = dict.fromkeys(["measured_s", "iops", "mib_per_s"], "float?")
TOTALS: Columns = {**MEASURED_TOTALS, **_COUNTS, **_RATES}
"""Those of a store, in which imported runs do not tell all of them."""
# No latency is the least or the greatest of an interval without an I/O.
_OF_NONE = {"latency_ns_min": None, "latency_ns_max": None}


def interval_rows(raw: Mapping[str, Any]) -> Iterator[Row]:
    """Return the I/Os of each interval of the time series, which ``-D`` keeps."""
    for place, part, interval_ns in _parts(raw):
        for index, cell in enumerate(part["series"]["cells"]):
            known = cell if cell["ios"] else {**cell, **_OF_NONE}
            yield {**place, "start_ns": index * interval_ns, **known}


def latency_rows(raw: Mapping[str, Any]) -> Iterator[Row]:
    """Return the buckets of the histograms, each with its least value."""
    for place, part, _interval_ns in _parts(raw):
        for clock in ("latency", "response"):
            histogram = part.get(clock)
            if not histogram:
                continue
            pairs = zip(histogram["bucket_lower_ns"], histogram["bucket_counts"], strict=True)
            for lower_ns, count in pairs:
                yield {**place, "clock": clock, "bucket_lower_ns": lower_ns, "ios": count}


def _parts(raw: Mapping[str, Any]) -> Iterator[tuple[Row, Mapping[str, Any], int]]:
    """Return where each part was measured, the part, and the length of its intervals."""
    for number, span in enumerate(raw["time_spans"]):
        for thread in span["threads"]:
            for target in thread["targets"]:
                for direction in _DIRECTIONS:
                    place: Row = {
                        "time_span": number,
                        "thread": thread["index"],
                        "target": span["targets"][target["target"]]["path"],
                        "direction": direction,
                    }
                    yield place, target[direction], span["interval_ns"]
