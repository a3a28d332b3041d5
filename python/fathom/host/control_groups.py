"""The control groups of this process: their limits, and how often each was met.

Both versions are read (https://docs.kernel.org/admin-guide/cgroup-v2.html, .../cgroup-v1/), for
this process's group and all above it: the narrowest of them limits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fathom._proc import mounts, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["GroupCounters", "IoKey", "read_groups", "read_words"]

_SECTOR_LIMITS = {
    "rbps": "read bytes",
    "wbps": "written bytes",
    "riops": "reads",
    "wiops": "writes",
}
# The files of version 1, and what each limits.
_THROTTLES = {
    "blkio.throttle.read_bps_device": "read bytes",
    "blkio.throttle.write_bps_device": "written bytes",
    "blkio.throttle.read_iops_device": "reads",
    "blkio.throttle.write_iops_device": "writes",
}
_SERVED = {
    "blkio.throttle.io_service_bytes_recursive": {"Read": "read bytes", "Write": "written bytes"},
    "blkio.throttle.io_serviced_recursive": {"Read": "reads", "Write": "writes"},
}
_SERVED_V2 = {"rbytes": "read bytes", "wbytes": "written bytes", "rios": "reads", "wios": "writes"}
# More than this is what the kernel writes for no limit at all (version 1).
_NO_LIMIT_BYTES = 1 << 60


class IoKey(NamedTuple):
    """A group, a device by its numbers, and what of its I/O is counted."""

    group: str
    device: str
    what: str


@dataclass
class GroupCounters:
    """What the groups of this process have counted; each by the group's name.

    ``cpu_periods`` are those of a quota and how many of them it cut short; ``memory_hits`` how
    often a limit of memory was met, ``memory_limits`` these limits in bytes; ``refaulted_pages``
    what was read again that had been in memory before.
    """

    cpu_periods: dict[str, tuple[int, int]] = field(default_factory=dict)
    memory_hits: dict[str, int] = field(default_factory=dict)
    memory_limits: dict[str, int] = field(default_factory=dict)
    refaulted_pages: dict[str, int] = field(default_factory=dict)
    io: dict[IoKey, int] = field(default_factory=dict)
    io_limits: dict[IoKey, int] = field(default_factory=dict)


def read_groups(root: Path = Path("/")) -> GroupCounters:
    """Return what the groups of this process count; what cannot be read is left out."""
    found = GroupCounters()
    for folder, name, is_unified in _folders(root):
        _read_cpu(found, folder, name)
        _read_memory(found, folder, name, is_unified=is_unified)
        _read_io(found, folder, name)
    return found


def read_words(path: Path) -> dict[str, int]:
    """Return the numbers of a file of lines such as ``nr_periods 12``; none if it is not there."""
    found = {}
    for line in _lines(path):
        name, _, number = line.partition(" ")
        if number.strip().isascii() and number.strip().isdigit():
            found[name] = int(number)
    return found


def _lines(path: Path) -> list[str]:
    return text(path).splitlines()


def _folders(root: Path) -> Iterator[tuple[Path, str, bool]]:
    """Return the folders of this process's groups and of those above them, each with its name."""
    hierarchies = list(_hierarchies(root))
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, group = [*line.split(":", 2), "", ""][:3]
        names = set(filter(None, controllers.split(",")))
        for point, inside, options in hierarchies:
            is_unified = options is None
            if is_unified is not (number == "0") or not (is_unified or names & (options or set())):
                continue
            here = Path(group)
            below = here.relative_to(inside) if here.is_relative_to(inside) else Path()
            for part in (below, *below.parents):
                folder = root / point.relative_to("/") / part
                yield folder, "/" if part == Path() else f"/{part}", is_unified


def _hierarchies(root: Path) -> Iterator[tuple[Path, Path, set[str] | None]]:
    """Return where groups are mounted, what of their tree, and which controllers (version 1)."""
    for one in mounts(root / "proc"):
        if one.kind == "cgroup2":
            yield Path(one.place), Path(one.root), None
        elif one.kind == "cgroup":
            yield Path(one.place), Path(one.root), set(one.super_options.split(","))


def _read_cpu(found: GroupCounters, folder: Path, name: str) -> None:
    words = read_words(folder / "cpu.stat")
    if words.get("nr_periods"):
        found.cpu_periods[name] = words["nr_periods"], words.get("nr_throttled", 0)


def _read_memory(found: GroupCounters, folder: Path, name: str, *, is_unified: bool) -> None:
    statistics = read_words(folder / "memory.stat")
    before = "" if is_unified else "total_"
    kinds = [f"{before}workingset_refault_{one}" for one in ("file", "anon")]
    if any(one in statistics for one in kinds):
        found.refaulted_pages[name] = sum(statistics.get(one, 0) for one in kinds)
    if is_unified:
        events = read_words(folder / "memory.events")
        if events:
            found.memory_hits[name] = events.get("max", 0) + events.get("high", 0)
    else:
        hits = _lines(folder / "memory.failcnt")
        if hits and hits[0].isdigit():
            found.memory_hits[name] = int(hits[0])
    limit = _lines(folder / ("memory.max" if is_unified else "memory.limit_in_bytes"))
    for one in limit[:1]:
        if one.isdigit() and int(one) < _NO_LIMIT_BYTES:
            found.memory_limits[name] = int(one)


def _read_io(found: GroupCounters, folder: Path, name: str) -> None:
    for file, what in _THROTTLES.items():
        for line in _lines(folder / file):
            device, _, number = line.partition(" ")
            if number.isdigit():
                found.io_limits[IoKey(name, device, what)] = int(number)
    for file, kinds in _SERVED.items():
        for line in _lines(folder / file):
            words = line.split()  # Device, kind, count.
            if len(words) == 3 and words[1] in kinds and words[2].isdigit():  # noqa: PLR2004
                found.io[IoKey(name, words[0], kinds[words[1]])] = int(words[2])
    _read_io_unified(found, folder, name)


def _read_io_unified(found: GroupCounters, folder: Path, name: str) -> None:
    wanted: tuple[tuple[str, Mapping[str, str], dict[IoKey, int]], ...] = (
        ("io.max", _SECTOR_LIMITS, found.io_limits),
        ("io.stat", _SERVED_V2, found.io),
    )
    for file, kinds, into in wanted:
        for line in _lines(folder / file):
            device, *pairs = line.split() or [""]
            for pair in pairs:
                kind, _, number = pair.partition("=")
                if kind in kinds and number.isdigit():
                    into[IoKey(name, device, kinds[kind])] = int(number)
