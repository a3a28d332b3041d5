"""I/Os that went wrong, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Fault", "OutstandingIo"]


@dataclass(frozen=True)
class Fault:
    """I/Os on one target, of all threads, that went wrong in the same way.

    ``operation`` is ``read``, ``write``, ``fsync``, ``fdatasync`` or ``trim``; ``kind`` is the name
    of the error, such as ``EIO``, or ``short`` if fewer bytes were transferred than requested.
    ``ios`` completed in the measured time, ``outside_ios`` before or after it. Short I/Os are part
    of the I/Os of their direction, failed ones are not.
    """

    target: str
    operation: str
    kind: str
    ios: int
    outside_ios: int

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> tuple[Self, ...]:
        """Read the faults of a time span of the JSON form; versions that kept none give none."""
        counts: dict[tuple[str, str, str], list[int]] = {}
        for row in (row for thread in data["threads"] for row in thread["targets"]):
            path = data["targets"][row["target"]]["path"] if row.get("faults") else ""
            for fault in row.get("faults", ()):
                count = counts.setdefault((path, fault["operation"], fault["kind"]), [0, 0])
                count[0] += fault["ios"]
                count[1] += fault["outside_ios"]
        return tuple(cls(*key, *count) for key, count in sorted(counts.items()))


@dataclass(frozen=True)
class OutstandingIo:
    """An I/O that had not come back from the kernel when its time span was ended without it.

    ``submitted_ns`` counts from the beginning of the load, ``waited_ns`` up to the end of the run.
    """

    thread: int
    target: str
    operation: str
    offset_bytes: int
    bytes: int
    submitted_ns: int
    waited_ns: int

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> tuple[Self, ...]:
        """Read what was outstanding in a time span of the JSON form."""
        paths = [target["path"] for target in data["targets"]]
        return tuple(
            cls(**{**io, "target": paths[io["target"]]}) for io in data.get("outstanding", ())
        )
