"""What the kernel tells in ``/proc``: mounts, times of CPUs, and which process is which.

What cannot be read is empty, never a guess. ``proc`` is where the kernel's files are.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "PROC",
    "SECTOR_BYTES",
    "Mount",
    "boot_id",
    "cpu_ticks",
    "mounts",
    "process_ids",
    "process_stat",
    "text",
]

PROC = Path("/proc")
SECTOR_BYTES = 512
"""The unit of the sizes in ``/sys/block`` and ``/proc/diskstats``, whatever the device's own."""

# proc(5), /proc/self/mountinfo: what stands before " - ", without its optional fields.
_NUMBER, _ROOT, _PLACE, _OPTIONS = 2, 3, 4, 5


@dataclass(frozen=True)
class Mount:
    """A mount: ``number`` is the device's (``8:1``), ``root`` what of its file system is shown.

    ``root`` and ``place`` are names of files, which need not be text that can be saved.
    """

    number: str
    root: str
    place: str
    options: str
    kind: str
    source: str
    super_options: str


def text(path: Path) -> str:
    """Return what stands in a file of the kernel, without the white space around it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def mounts(proc: Path = PROC) -> Iterator[Mount]:
    """Return the mounts that this process sees, in the order in which they were made."""
    try:
        lines = (proc / "self/mountinfo").read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        # A name may have any character but those that stand there as octal numbers: nothing but
        # a blank ends a field, and nothing but a line feed a line.
        before, is_mount, behind = line.partition(b" - ")
        fields, more = ([*map(_unescaped, one.split(b" "))] for one in (before, behind))
        if is_mount and len(fields) > _OPTIONS:
            yield _mount(fields, more)


def _mount(fields: list[bytes], behind: list[bytes]) -> Mount:
    options, kind, source, more = (
        one.decode("utf-8", "replace") for one in (fields[_OPTIONS], *[*behind, b"", b""][:3])
    )
    root, place = (os.fsdecode(fields[one]) for one in (_ROOT, _PLACE))
    return Mount(fields[_NUMBER].decode("ascii"), root, place, options, kind, source, more)


def _unescaped(field: bytes) -> bytes:
    """Return a field in which the kernel wrote blanks and the like as octal numbers."""
    return re.sub(rb"\\([0-3][0-7]{2})", lambda found: bytes([int(found[1], 8)]), field)


def boot_id(proc: Path = PROC) -> str:
    """Return what all processes have in common from one start of the machine to the next."""
    return text(proc / "sys/kernel/random/boot_id")


def process_stat(pid: int, proc: Path = PROC) -> list[str]:
    """Return the fields of ``/proc/pid/stat`` behind the name, the first of them the state."""
    return text(proc / str(pid) / "stat").rpartition(")")[2].split()


def process_ids() -> list[int]:
    """Return the processes that there are."""
    return [int(one.name) for one in PROC.iterdir() if one.name.isdigit()]


def cpu_ticks(proc: Path = PROC) -> dict[int, list[int]]:
    """Return what each CPU has done, in the order of proc(5): user, nice, system, idle, ..."""
    found = {}
    for line in text(proc / "stat").splitlines():
        name, *words = line.split() or [""]
        if name.startswith("cpu") and name[3:].isdecimal():
            found[int(name[3:])] = [int(one) for one in words]
    return found
