"""What was at its limit between two readings of the counters: CPU, memory or a device.

The order is that in which one hides behind another: a quota leaves CPUs idle, too little memory
looks like a slow device, and only what no limit of a control group explains is the CPUs' or the
device's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fathom.host.counters import Disk
from fathom.units import MIB, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.host.counters import Counters

__all__ = ["RESOURCES", "Limit", "Resource", "limit_between"]

Resource = Literal["CPU", "memory", "device", "none"]
RESOURCES: tuple[Resource, ...] = ("CPU", "memory", "device", "none")

# Our choice, each: a share of the time (or of a limit) from which on it is one.
_THROTTLED = 0.1
_BUSY = 0.85
_WAITED_FOR_MEMORY = 0.2
_READ_AGAIN = 0.5
_LEAST_READ_AGAIN_BYTES_PER_S = 1 * MIB
_DEVICE_BUSY = 0.8
_WAITED_FOR_IO = 0.25
_OF_AN_IO_LIMIT = 0.85
_PAGE_BYTES = 4096
_US_PER_S = 1_000_000
_NO_DISK = Disk("", 0, 0, 0, 0)


@dataclass(frozen=True)
class Limit:
    """What was at its limit, and by which counters; ``none`` if nothing of these was.

    ``cpu_percent`` is how busy the CPUs were, ``others_percent`` the part of it that this program
    and what it started did not use; None where that is not known.
    """

    resource: Resource
    evidence: str
    cpu_percent: float
    others_percent: float | None = None


def limit_between(before: Counters, after: Counters, own_cpu_s: float | None = None) -> Limit:
    """Return what was at its limit between two readings; ``own_cpu_s`` is what we used."""
    seconds = max(after.at_s - before.at_s, 1e-3)
    ticks = max(after.all_ticks - before.all_ticks, 1)
    busy = (after.busy_ticks - before.busy_ticks) / ticks
    others = None
    if own_cpu_s is not None:
        others = 100 * max(busy - own_cpu_s / (seconds * max(after.cpus, 1)), 0.0)
    rules: tuple[tuple[Resource, Callable[[], str | None]], ...] = (
        ("CPU", lambda: _quota(before, after)),
        ("memory", lambda: _memory(before, after, seconds)),
        ("device", lambda: _io_limit(before, after, seconds)),
        ("CPU", lambda: _cpus(busy)),
        ("device", lambda: _device(before, after, seconds)),
        ("device", lambda: _waiting(before, after, seconds, ticks)),
    )
    for resource, rule in rules:
        evidence = rule()
        if evidence is not None:
            return Limit(resource, evidence, 100 * busy, others)
    return Limit("none", f"the CPUs were {busy:.0%} busy, and no device was", 100 * busy, others)


def _quota(before: Counters, after: Counters) -> str | None:
    worst, name = 0.0, ""
    for group, (periods, cut) in after.groups.cpu_periods.items():
        then, cut_then = before.groups.cpu_periods.get(group, (0, 0))
        if periods > then:
            share = (cut - cut_then) / (periods - then)
            worst, name = max((worst, name), (share, group))
    if worst < _THROTTLED:
        return None
    return f"the CPU quota of control group {name} ended {worst:.0%} of its periods early"


def _cpus(busy: float) -> str | None:
    return f"the CPUs were {busy:.0%} busy" if busy >= _BUSY else None


def _memory(before: Counters, after: Counters, seconds: float) -> str | None:
    read_bytes = max(
        (disk.read_bytes - _then(before, name).read_bytes for name, disk in after.disks.items()),
        default=0,
    )
    for group, limit in after.groups.memory_limits.items():
        hits = after.groups.memory_hits.get(group, 0) - before.groups.memory_hits.get(group, 0)
        pages = _more(before.groups.refaulted_pages, after.groups.refaulted_pages, group)
        again = pages * _PAGE_BYTES
        if hits > 0 and _is_thrashing(again, read_bytes, seconds):
            words = f"control group {group} met its memory limit of {size_words(limit)}"
            return f"{words} {hits:,} times; {_again_words(again)}"
    waited = _pressure(before, after, "memory", seconds)
    if waited is not None and waited >= _WAITED_FOR_MEMORY:
        return f"for {waited:.0%} of the time something waited for memory"
    pages = after.refaulted_pages - before.refaulted_pages
    swapped = (after.swapped_in_pages - before.swapped_in_pages) * _PAGE_BYTES
    again = max(pages * _PAGE_BYTES, swapped)
    # What a group with a limit of its own reads again is reported above; here memory as a whole is.
    if after.groups.memory_limits or not _is_thrashing(again, read_bytes, seconds):
        return None
    return f"memory was full; {_again_words(again)}"


def _again_words(again_bytes: int) -> str:
    return f"{size_words(again_bytes)} were read that had been in memory before"


def _is_thrashing(again_bytes: int, read_bytes: int, seconds: float) -> bool:
    is_much = again_bytes / seconds >= _LEAST_READ_AGAIN_BYTES_PER_S
    return is_much and again_bytes >= _READ_AGAIN * read_bytes


def _more(before: dict[str, int], after: dict[str, int], name: str) -> int:
    return after.get(name, 0) - before.get(name, 0)


def _then(before: Counters, name: str) -> Disk:
    return before.disks.get(name, _NO_DISK)


def _pressure(before: Counters, after: Counters, name: str, seconds: float) -> float | None:
    """Return the share of the time in which something waited; None where it is not counted."""
    if name not in after.pressure_us:
        return None
    return (after.pressure_us[name] - before.pressure_us.get(name, 0)) / _US_PER_S / seconds


def _io_limit(before: Counters, after: Counters, seconds: float) -> str | None:
    names = {disk.numbers: name for name, disk in after.disks.items()}
    for key, limit in after.groups.io_limits.items():
        count = after.groups.io.get(key, 0) - before.groups.io.get(key, 0)
        rate = count / seconds
        if limit and rate >= _OF_AN_IO_LIMIT * limit:
            words = f"of the {limit:,} {key.what}/s that control group {key.group} allows on"
            return f"{rate_words(rate)} {words} {names.get(key.device, key.device)}"
    return None


def _device(before: Counters, after: Counters, seconds: float) -> str | None:
    shares = {
        name: (disk.busy_ms - _then(before, name).busy_ms) / 1000 / seconds
        for name, disk in after.disks.items()
    }
    name = max(shares, key=lambda one: shares[one], default=None)
    if name is None or shares[name] < _DEVICE_BUSY:
        return None
    return f"{name} had I/O for {min(shares[name], 1):.0%} of the time"


def _waiting(before: Counters, after: Counters, seconds: float, ticks: int) -> str | None:
    waited = _pressure(before, after, "io", seconds)
    if waited is not None and waited >= _WAITED_FOR_IO:
        return f"for {waited:.0%} of the time something waited for I/O"
    idle = (after.iowait_ticks - before.iowait_ticks) / ticks
    if idle >= _WAITED_FOR_IO:
        return f"the CPUs were idle for {idle:.0%} of the time because of I/O"
    return None
