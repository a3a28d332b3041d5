"""Counters of the kernel at one instant; two of them tell what happened between."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fathom._proc import SECTOR_BYTES, cpu_ticks, text
from fathom.host.control_groups import GroupCounters, read_groups, read_words

__all__ = ["Counters", "Disk", "read_counters"]

# proc(5), /proc/stat: what a CPU did, in this order.
_IDLE, _IOWAIT, _GUEST = 3, 4, 8
# https://docs.kernel.org/admin-guide/iostats.html, counted behind the name.
_READS, _READ_SECTORS, _WRITES, _WRITTEN_SECTORS, _BUSY_MS = 0, 2, 4, 6, 9
_LEAST_DISK_FIELDS = 11


class Disk(NamedTuple):
    """What a block device has done: I/Os, bytes read and written, and milliseconds with I/O."""

    numbers: str
    ios: int
    read_bytes: int
    written_bytes: int
    busy_ms: int


@dataclass(frozen=True)
class Counters:
    """What the kernel has counted until ``at_s`` on the monotonic clock.

    CPU times are in ticks of the CPUs that this process may use; ``pressure_us`` is how long some
    task waited for memory or I/O (``memory``, ``io``), where the kernel counts that.
    """

    at_s: float
    cpus: int
    busy_ticks: int
    iowait_ticks: int
    all_ticks: int
    refaulted_pages: int
    swapped_in_pages: int
    pressure_us: dict[str, int] = field(default_factory=dict)
    disks: dict[str, Disk] = field(default_factory=dict)
    groups: GroupCounters = field(default_factory=GroupCounters)


def read_counters(root: Path = Path("/"), cpus: frozenset[int] | None = None) -> Counters:
    """Read them; what a kernel does not count is 0 or missing.

    ``root`` is where the kernel's files are; ``cpus`` those that count, else this process's own.
    """
    allowed = frozenset(os.sched_getaffinity(0)) if cpus is None else cpus
    busy, waiting, everything = _cpu_ticks(root, allowed)
    memory = read_words(root / "proc/vmstat")
    refaults = ("workingset_refault_file", "workingset_refault_anon")
    return Counters(
        at_s=time.monotonic(),
        cpus=len(allowed),
        busy_ticks=busy,
        iowait_ticks=waiting,
        all_ticks=everything,
        refaulted_pages=sum(memory.get(one, 0) for one in refaults),
        swapped_in_pages=memory.get("pswpin", 0),
        pressure_us=_pressure(root),
        disks=_disks(root),
        groups=read_groups(root),
    )


def _cpu_ticks(root: Path, allowed: frozenset[int]) -> tuple[int, int, int]:
    busy = waiting = everything = 0
    for cpu, spent in cpu_ticks(root / "proc").items():
        if cpu not in allowed:
            continue
        # What guests take is in the time of users already.
        ticks = spent[:_GUEST]
        waiting += ticks[_IOWAIT]
        everything += sum(ticks)
        busy += sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
    return busy, waiting, everything


def _pressure(root: Path) -> dict[str, int]:
    """Return how long some task waited (https://docs.kernel.org/accounting/psi.html)."""
    found = {}
    for name in ("memory", "io"):
        for line in text(root / "proc/pressure" / name).splitlines():
            kind, *pairs = line.split()
            if kind == "some" and pairs[-1].startswith("total="):
                found[name] = int(pairs[-1].removeprefix("total="))
    return found


def _disks(root: Path) -> dict[str, Disk]:
    found = {}
    for line in text(root / "proc/diskstats").splitlines():
        major, minor, name, *words = line.split()
        if (
            len(words) < _LEAST_DISK_FIELDS
            or (root / "sys/class/block" / name / "partition").exists()
        ):
            continue
        count = [int(one) for one in words]
        found[name] = Disk(
            numbers=f"{major}:{minor}",
            ios=count[_READS] + count[_WRITES],
            read_bytes=count[_READ_SECTORS] * SECTOR_BYTES,
            written_bytes=count[_WRITTEN_SECTORS] * SECTOR_BYTES,
            busy_ms=count[_BUSY_MS],
        )
    return found
