"""What latencies are usual for, and what they suffice for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.units import NS_PER_MS, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.runners import Figures

__all__ = ["class_of", "rank_of", "suited_for"]

# By the mean of a 4 KiB random read at depth 1: what such a latency is usual for.
_CLASSES = (
    (5 * NS_PER_US, "as fast as memory, and faster than any device"),
    (60 * NS_PER_US, "in the class of the fastest flash (NVMe)"),
    (250 * NS_PER_US, "in the class of flash (NVMe or SATA)"),
    (1 * NS_PER_MS, "in the class of flash behind a network or controller"),
    (4 * NS_PER_MS, "in the class of networked or hybrid storage"),
)
_SLOWEST = "in the class of rotating disks"
# Microsoft, SQL Server I/O guidance: mean latency of data files and of the log.
_LIMITS = {
    "oltp": ((10 * NS_PER_MS, "well suited"), (20 * NS_PER_MS, "sufficient")),
    "log": (
        (1 * NS_PER_MS, "very well suited"),
        (5 * NS_PER_MS, "well suited"),
        (15 * NS_PER_MS, "sufficient"),
    ),
}
_TOO_SLOW = "too slow"


def class_of(mean_ns: float) -> str:
    """Return the class of storage for which such a mean of single reads is usual."""
    return next((words for limit, words in _CLASSES if mean_ns < limit), _SLOWEST)


def rank_of(mean_ns: float) -> int:
    """Return the place of the class among all of them, from 0 for the fastest."""
    return sum(mean_ns >= limit for limit, _ in _CLASSES)


def suited_for(key: str, figures: Mapping[str, Figures]) -> str | None:
    """Return how well the workload ``oltp`` or ``log`` is served; None if it was not measured."""
    one = figures.get(key)
    if one is None or one.latency_mean_ns is None:
        return None
    limits = _LIMITS[key]
    mean_ns = one.latency_mean_ns
    return next((words for limit, words in limits if mean_ns < limit), _TOO_SLOW)
