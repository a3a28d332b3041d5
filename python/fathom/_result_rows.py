"""The rows of one result: its intervals, and the buckets of its histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom._frames import Row

__all__ = ["interval_rows", "latency_rows"]

_DIRECTIONS = ("read", "write")


def interval_rows(raw: Mapping[str, Any]) -> Iterator[Row]:
    """Return the I/Os of each interval of the time series, which ``-D`` keeps."""
    for place, part, interval_ns in _parts(raw):
        for index, cell in enumerate(part["series"]["cells"]):
            yield {**place, "start_ns": index * interval_ns, **cell}


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
