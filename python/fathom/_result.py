"""Results as data: typed, immutable, with the unit in each name."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Direction", "Latency", "Result", "TimeSpan", "Warning_"]

_NANOS_PER_SECOND = 1_000_000_000
_BYTES_PER_MIB = 1 << 20
_SUB_BUCKET_BITS = 10


@dataclass(frozen=True)
class Latency:
    """A histogram of latencies; quantiles are exact to 1/1024."""

    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    buckets: Mapping[int, int] = field(repr=False)

    @classmethod
    def merged(cls, histograms: Iterable[Mapping[str, Any]]) -> Latency | None:
        """Return one histogram for all of the stored ones, or None if there is none."""
        filled = [one for one in histograms if one["count"]]
        if not filled:
            return None
        buckets: Counter[int] = Counter()
        for one in filled:
            for lower_ns, count in zip(one["bucket_lower_ns"], one["bucket_counts"], strict=True):
                buckets[lower_ns] += count
        return cls(
            count=sum(one["count"] for one in filled),
            min_ns=min(one["min_ns"] for one in filled),
            max_ns=max(one["max_ns"] for one in filled),
            sum_ns=sum(one["sum_ns"] for one in filled),
            buckets=dict(sorted(buckets.items())),
        )

    @property
    def mean_ns(self) -> float:
        """The arithmetic mean, exact."""
        return self.sum_ns / self.count

    def quantile_ns(self, quantile: float) -> int:
        """Return the latency that this share (0 to 1) of the I/Os did not exceed."""
        rank = math.ceil(round(quantile * self.count, 6))
        if rank <= 1:
            return self.min_ns
        seen = 0
        for lower_ns, count in self.buckets.items():
            seen += count
            if seen >= rank:
                middle_ns = lower_ns + (_bucket_width_ns(lower_ns) - 1) // 2
                return min(max(middle_ns, self.min_ns), self.max_ns)
        return self.max_ns


def _bucket_width_ns(lower_ns: int) -> int:
    return 1 << max(lower_ns.bit_length() - 1 - _SUB_BUCKET_BITS, 0)


@dataclass(frozen=True)
class Direction:
    """Reads, writes or both, of all threads and targets of a time span."""

    ios: int
    bytes: int
    errors: int
    measured_ns: int
    latency: Latency | None

    @classmethod
    def merged(cls, parts: Iterable[Mapping[str, Any]], measured_ns: int) -> Direction:
        """Return the sum of what single threads measured."""
        parts = list(parts)
        return cls(
            ios=sum(part["ios"] for part in parts),
            bytes=sum(part["bytes"] for part in parts),
            errors=sum(part["errors"] for part in parts),
            measured_ns=measured_ns,
            latency=Latency.merged(part["latency"] for part in parts if part["latency"]),
        )

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return self.ios * _NANOS_PER_SECOND / self.measured_ns if self.measured_ns else 0.0

    @property
    def mib_per_s(self) -> float:
        """MiB per second."""
        if not self.measured_ns:
            return 0.0
        return self.bytes * _NANOS_PER_SECOND / self.measured_ns / _BYTES_PER_MIB


@dataclass(frozen=True)
class TimeSpan:
    """What one time span measured."""

    complete: bool
    measured_ns: int
    read: Direction
    write: Direction
    total: Direction
    cpu_percent: float

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a time span of the JSON form."""
        targets = [target for thread in data["threads"] for target in thread["targets"]]
        reads = [target["read"] for target in targets]
        writes = [target["write"] for target in targets]
        measured_ns = data["measured_ns"]
        used = [cpu["user_percent"] + cpu["kernel_percent"] for cpu in data["cpu"]]
        return cls(
            complete=data["outcome"] == "complete",
            measured_ns=measured_ns,
            read=Direction.merged(reads, measured_ns),
            write=Direction.merged(writes, measured_ns),
            total=Direction.merged(reads + writes, measured_ns),
            cpu_percent=sum(used) / len(used) if used else 0.0,
        )


@dataclass(frozen=True)
class Warning_:  # noqa: N801 - `Warning` is a builtin exception.
    """What a reader must know before believing the numbers."""

    kind: str
    target: str | None
    evidence: str
    remedy: str


@dataclass(frozen=True)
class Result:
    """One run."""

    command_line: str
    time_spans: tuple[TimeSpan, ...]
    warnings: tuple[Warning_, ...]
    raw: Mapping[str, Any] = field(repr=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON form of a result."""
        data: dict[str, Any] = json.loads(text)
        warnings = (
            Warning_(one["kind"], one["target"], one["evidence"], one["remedy"])
            for one in data["warnings"]
        )
        return cls(
            command_line=data["command_line"],
            time_spans=tuple(TimeSpan.from_dict(span) for span in data["time_spans"]),
            warnings=tuple(warnings),
            raw=data,
        )

    @property
    def read(self) -> Direction:
        """Reads of the first time span."""
        return self.time_spans[0].read

    @property
    def write(self) -> Direction:
        """Writes of the first time span."""
        return self.time_spans[0].write

    @property
    def total(self) -> Direction:
        """All I/O of the first time span."""
        return self.time_spans[0].total
