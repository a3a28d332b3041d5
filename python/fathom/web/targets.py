"""What this machine has that could be measured: devices, and folders with room."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import fathom
from fathom._hanging import HangingError, within
from fathom._proc import SECTOR_BYTES, mounts, text
from fathom.errors import FathomError

__all__ = ["Target", "targets"]

_LOOK_S = 3.0
_MOST = 64
# Of the system, whatever file system stands there.
_NO_PLACES = ("/proc/", "/run/", "/sys/")
_LEFT_OUT = re.compile(r"(ram|fd|sr|nbd)\d+")
_NO_FOLDERS = {
    "autofs", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "ramfs", "securityfs", "squashfs",
    "sysfs", "tracefs", "rpc_pipefs", "binfmt_misc",
}  # fmt: skip


class Target(NamedTuple):
    """A device or a folder; ``use`` are words about who uses it and whether it may be written."""

    kind: str
    path: str
    size_bytes: int | None
    free_bytes: int | None
    model: str
    use: str
    may_be_written: bool


def targets(root: Path = Path("/")) -> list[Target]:
    """Return devices, then folders; what hangs is shown so, and keeps nobody waiting for long."""
    return [*_devices(root / "sys/block"), *_folders(root / "proc")][:_MOST]


def _devices(block: Path) -> list[Target]:
    found = []
    names = sorted(one.name for one in block.iterdir()) if block.is_dir() else []
    for name in names:
        size_bytes = int(text(block / name / "size") or 0) * SECTOR_BYTES
        if not size_bytes or _LEFT_OUT.fullmatch(name):
            continue
        path = f"/dev/{name.replace('!', '/')}"
        use, may = _verdict(path)
        model = text(block / name / "device/model")
        found.append(Target("device", path, size_bytes, None, model, use, may))
    return found


def _verdict(path: str) -> tuple[str, bool]:
    """Return what the guard says of writing to a device, without any permission."""
    try:
        told = within(
            _LOOK_S, f"look at '{path}'", lambda: fathom.explain(["-b4K", "-w100", "-d1", path])
        )
    except (FathomError, HangingError) as error:
        return str(error), False
    verdict = told["targets"][0]["verdict"]
    if not verdict["is_refused"]:
        return "may be written", True
    return f"{verdict['reason']}; {verdict['remedy']}", False


def _folders(proc: Path) -> list[Target]:
    found: dict[str, Target] = {}
    for mount in mounts(proc):
        options = f"{mount.options},{mount.super_options}".split(",")
        if mount.kind in _NO_FOLDERS or "ro" in options or mount.place.startswith(_NO_PLACES):
            continue
        if mount.place.encode("utf-8", "replace").decode() != mount.place:
            # Neither a page nor JSON has a word for such a name.
            continue
        with_room = _with_room(mount.place, mount.kind, mount.source)
        if with_room is not None:
            found[mount.place] = with_room
    return [found[place] for place in sorted(found)]


def _with_room(place: str, kind: str, device: str) -> Target | None:
    try:
        seen = within(_LOOK_S, f"look at '{place}'", lambda: os.statvfs(place))
        is_folder = Path(place).is_dir() and os.access(place, os.W_OK)
    except (OSError, HangingError):
        return None
    if not is_folder or not seen.f_blocks:
        return None
    size, free = seen.f_blocks * seen.f_frsize, seen.f_bavail * seen.f_frsize
    return Target(
        "folder",
        place,
        size,
        free,
        f"{kind} on {device}",
        "files are made here",
        may_be_written=True,
    )
