"""What a measured target is made of: file system, device, scheduler, as the kernel tells it.

The engine's result knows the host; this adds what stands in ``/proc`` and ``/sys``. What the kernel
does not tell is None, never a guess. Nothing here opens a device.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom._proc import PROC, SECTOR_BYTES, Mount, mounts, text
from fathom.units import KIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "TargetProvenance",
    "is_among_devices",
    "memory_bytes",
    "target_name",
    "target_provenance",
]


@dataclass(frozen=True)
class TargetProvenance:
    """Where a target's bytes lie.

    ``device_names`` are the whole disks beneath it, joined by commas; the other fields of several
    disks are joined in the same order where they differ.
    """

    file_system: str | None = None
    mount_options: str | None = None
    device_names: str | None = None
    device_model: str | None = None
    device_serial: str | None = None
    device_firmware: str | None = None
    device_scheduler: str | None = None
    device_write_cache: str | None = None
    device_is_rotational: bool | None = None
    device_bytes: int | None = None


def is_among_devices(path: str | os.PathLike[str]) -> bool:
    """Whether a name lies where the names of devices are: a file of that name would lie in memory.

    What is mounted below, such as ``/dev/shm``, is another place.
    """
    folder = Path(os.path.realpath(path)).parent
    devices = Path("/dev")
    if folder == devices:
        return True
    try:
        numbers = [one.stat().st_dev for one in (folder, devices, Path("/"))]
    except OSError:
        return False
    is_there = numbers[0] == numbers[1] != numbers[2]
    return is_there and not folder.is_relative_to(devices / "shm")


def memory_bytes(proc: Path = PROC) -> int:
    """Return the size of the host's memory in bytes, 0 if the kernel does not tell."""
    for line in text(proc / "meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * KIB
    return 0


def target_provenance(
    path: str | os.PathLike[str], *, sys: Path = Path("/sys"), proc: Path = PROC
) -> TargetProvenance:
    """Return what lies beneath a file or a device; of what is missing, beneath its folder."""
    if is_address(path):
        return TargetProvenance()
    try:
        found = _status(Path(path))
    except OSError:
        return TargetProvenance()
    if stat.S_ISBLK(found.st_mode):
        return _of_disks(_disks(sys, found.st_rdev), None)
    mount = _mount(proc, found.st_dev) or _mount_above(proc, Path(path), found.st_dev)
    number = found.st_dev
    if mount and os.major(number) == 0 and mount.source.startswith("/dev/"):
        # btrfs gives its files a device number that belongs to no disk.
        try:
            number = Path(mount.source).stat().st_rdev
        except OSError:
            number = found.st_dev
    return _of_disks(_disks(sys, number), mount)


def target_name(
    path: str,
    earlier: Callable[[], Iterable[str]] = list,
    *,
    proc: Path = PROC,
) -> str:
    """Return one name for a file that has several; of what is no file here, the name as it is.

    Links and ``..`` are followed, and a folder that is mounted elsewhere, too, has the name that it
    has there. Of a file with several names on its file system the first that ``earlier`` returns
    is taken, so that its runs stay together; a relative one counts from here, or from the folder
    of the file.
    """
    if is_address(path):
        return path
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):
            return path
        real = _real(Path(path), proc)
        if found.st_nlink == 1:
            return str(real)
        # By its name here an earlier run is known, whatever led to it.
        others = (base / one for one in earlier() for base in (Path(), real.parent))
        same = next((one for one in others if _is_file(one, found)), real)
        return str(_real(same, proc))
    except OSError:
        return path


def _real(path: Path, proc: Path) -> Path:
    return _mounted_first(path.resolve(), proc)


def _is_file(path: Path, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), wanted)
    except OSError:
        return False


def _mounted_first(path: Path, proc: Path) -> Path:
    """Return the name of a file below the mount of its whole file system, if there is one."""
    seen = list(mounts(proc))
    here = _nearest(seen, path)
    if here is None:
        return path
    whole = [one.place for one in seen if (one.number, one.root) == (here.number, "/")]
    if here.root == "/" and here.place in whole[:1]:
        return path
    below = Path(here.root.lstrip("/")) / path.relative_to(here.place)
    named = [Path(one) / below for one in whole[:1]]
    return next((one for one in named if _is_file(one, path.stat())), path)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except FileNotFoundError:
        return path.absolute().parent.stat()


def _mount(proc: Path, number: int) -> Mount | None:
    """Return the first mount of the file system with this device number."""
    wanted = f"{os.major(number)}:{os.minor(number)}"
    return next((one for one in mounts(proc) if one.number == wanted), None)


def _mount_above(proc: Path, path: Path, number: int) -> Mount | None:
    """Return the mount above a path whose number no mount has, as in a subvolume of btrfs."""
    if os.major(number) != 0:
        return None
    return _nearest(list(mounts(proc)), path.resolve())


def _nearest(seen: Sequence[Mount], path: Path) -> Mount | None:
    """Return the mount that a path lies in; of several at one place the last hides the others."""
    above = [one for one in reversed(seen) if path.is_relative_to(one.place)]
    return max(above, key=lambda one: len(Path(one.place).parts), default=None)


def _disks(sys: Path, number: int) -> list[Path]:
    """Return the whole disks beneath a block device, through volumes and partitions."""
    start = (sys / f"dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    found = {disk for one in _with_its_pool(sys, start) for disk in _beneath(one)}
    return sorted(found) if start.is_dir() else []


def _with_its_pool(sys: Path, device: Path) -> list[Path]:
    """Return a device, and those over which btrfs spreads its file system with it."""
    pools = (sys / "fs/btrfs").glob(f"*/devices/{device.name}")
    return next(([*map(Path.resolve, one.parent.iterdir())] for one in pools), [device])


def _beneath(device: Path) -> Iterable[Path]:
    if (device / "partition").exists():
        device = device.parent
    slaves = device / "slaves"
    below = sorted(slaves.iterdir()) if slaves.is_dir() else []
    if not below:
        return [device]
    return [disk for slave in below for disk in _beneath(slave.resolve())]


def _of_disks(disks: list[Path], mount: Mount | None) -> TargetProvenance:
    def joined(look: Callable[[Path], str | None]) -> str | None:
        found = [look(disk) or "" for disk in disks]
        return ", ".join(found if len(set(found)) > 1 else found[:1]) or None

    turning = [text(disk / "queue/rotational") for disk in disks]
    sizes = [text(disk / "size") for disk in disks]
    return TargetProvenance(
        file_system=mount.kind if mount else None,
        mount_options=f"{mount.options};{mount.super_options}" if mount else None,
        device_names=", ".join(disk.name for disk in disks) or None,
        device_model=joined(lambda disk: _first(disk, "device/model", "device/name")),
        device_serial=joined(_serial),
        device_firmware=joined(lambda disk: _first(disk, "device/firmware_rev", "device/rev")),
        device_scheduler=joined(lambda disk: _chosen(text(disk / "queue/scheduler"))),
        device_write_cache=joined(lambda disk: _first(disk, "queue/write_cache")),
        device_is_rotational="1" in turning if any(turning) else None,
        device_bytes=sum(map(int, filter(None, sizes))) * SECTOR_BYTES if any(sizes) else None,
    )


def _serial(disk: Path) -> str | None:
    plain = _first(disk, "device/serial", "serial", "device/wwid")
    # SCSI keeps it in page 0x80 of the vital product data: four bytes of header, then the text.
    page = disk / "device/vpd_pg80"
    try:
        return plain or page.read_bytes()[4:].decode("ascii", "replace").strip("\0 ") or None
    except OSError:
        return None


def _chosen(schedulers: str) -> str | None:
    """Return the one in brackets: ``[none] mq-deadline``."""
    _, bracket, rest = schedulers.partition("[")
    return rest.split("]")[0] if bracket else schedulers or None


def _first(disk: Path, *names: str) -> str | None:
    return next(filter(None, (text(disk / name) for name in names)), None)
