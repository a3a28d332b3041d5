"""What is assessed: a scratch file of our own, or a file or device that is only read."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathom import _fathom
from fathom._addresses import is_address, misnomer
from fathom._files import size_of
from fathom._provenance import is_among_devices
from fathom.engine import explain
from fathom.errors import InvalidRequestError, TargetError, with_remedy
from fathom.experiments.assess.scratch import of_host, scratch_file
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AssessedTarget", "Kind", "foreseen_target", "opened_target"]

Kind = Literal["scratch", "file", "device", "network"]

_LEAST_BYTES = 64 * MIB
_BEYOND_AN_INODE = 64 << 10


@dataclass(frozen=True)
class AssessedTarget:
    """What is measured.

    Attributes
    ----------
    name
        What the user called it.
    path
        The file or device, or the address of what another host serves.
    size_bytes
        Of the file or device; a file that is still to be filled will have it.
    is_scratch
        It was made for this, still has to be filled, and is removed at the end.
    writes
        Whether it may be written.
    is_direct
        Whether its file system lets I/O past the page cache.
    hosts
        How many hosts of a fleet measure it together; 0 if it is no fleet.
    identity
        The same for all names of one file, device or folder, and for nothing else; empty where
        nobody knows.

    """

    name: str
    path: Path | str
    size_bytes: int
    is_scratch: bool
    writes: bool
    is_direct: bool
    hosts: int = 0
    identity: str = ""

    @property
    def kind(self) -> Kind:
        """What it is: a scratch file, a file that was there, a block device, or another host's."""
        if self.is_scratch:
            return "scratch"
        if isinstance(self.path, str):
            return "network"
        return "device" if self.path.is_block_device() else "file"

    def lost(self) -> str | None:
        """Return why the target cannot be measured any more; None if it is there."""
        if isinstance(self.path, str):
            try:
                _served_bytes(self.path, writes=False)
            except TargetError as error:
                return f"{self.name} is gone: {error}"
            return None
        try:
            path = of_host(self.path) if self.is_scratch else self.path
            now_bytes = size_of(path)
        except OSError as error:
            return f"{self.name} is gone: {error.strerror}"
        # A device that was detached may keep its name, and has no size.
        is_empty = not now_bytes and self.kind == "device"
        return f"{self.name} is gone: it has no bytes any more" if is_empty else None


@contextmanager
def opened_target(
    name: str, size_bytes: int, *, writes: bool, room_share: int = 2, hosts: int = 0
) -> Iterator[AssessedTarget]:
    """Return the target that a name stands for, and remove what was made for it.

    In a folder a scratch file is made, which takes at most one part in ``room_share`` of the room
    that is left; with ``hosts``, one for each host of a fleet. A file or device is only read,
    unless ``writes`` is true.

    Raises
    ------
    TargetError
        If nothing has this name, there is too little room, or nothing that could be measured.

    """
    _check_name(name)
    path = Path(name)
    if is_address(name):
        yield replace(_served(name, writes=writes), hosts=hosts)
        return
    if path.exists() and not path.is_dir():
        yield replace(_existing(name, path, writes=writes), hosts=hosts)
        return
    folder = _scratch_folder(name, path)
    size_bytes = _room_bytes(name, folder, size_bytes, room_share)
    with scratch_file(name, folder, hosts) as scratch:
        is_direct = _is_direct(of_host(scratch))
        made = AssessedTarget(
            name, scratch, size_bytes, is_scratch=True, writes=True, is_direct=is_direct
        )
        yield replace(made, hosts=hosts, identity=_identity(folder))


def foreseen_target(
    name: str, size_bytes: int, *, writes: bool, room_share: int = 2
) -> AssessedTarget:
    """Return what ``opened_target`` would return, without making or writing anything.

    Of a scratch file it is not known whether its file system lets I/O past the page cache: that it
    does is supposed.

    Raises
    ------
    TargetError
        As ``opened_target``.

    """
    _check_name(name)
    if is_address(name):
        return _served(name, writes=writes)
    path = Path(name)
    if path.exists() and not path.is_dir():
        return _existing(name, path, writes=writes)
    folder = _scratch_folder(name, path)
    size_bytes = _room_bytes(name, folder, size_bytes, room_share)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TargetError(f"{name}: no scratch file can be made in {folder}: it cannot be written")
    return AssessedTarget(name, folder, size_bytes, is_scratch=True, writes=True, is_direct=True)


def _check_name(name: str) -> None:
    if (wrong := misnomer(name)) is not None:
        raise TargetError(wrong)


def _scratch_folder(name: str, path: Path) -> Path:
    """Return the folder that was named.

    What is not there is not measured in the folder above it: where the name of a mount point is
    misspelt, that is another disk.
    """
    if path.is_dir() and is_among_devices(path / "scratch"):
        raise TargetError(f"{name}: files there lie in memory; name a device in it, or a folder")
    if path.is_dir():
        return path
    if is_among_devices(path):
        raise TargetError(f"{name}: there is no such device")
    above = path.absolute().parent
    remedy = (
        f"to measure where it would be, name the folder {above}" if above.is_dir() else "name one"
    )
    raise TargetError(f"{name}: No such file or folder; {remedy}")


def _room_bytes(name: str, folder: Path, size_bytes: int, room_share: int) -> int:
    """Return how large a scratch file may be, in whole MiB."""
    try:
        room = shutil.disk_usage(folder).free // room_share
    except OSError as error:
        raise TargetError(f"{name}: {error.strerror}: {folder}") from error
    size_bytes = min(size_bytes, room) // MIB * MIB
    if size_bytes < _LEAST_BYTES:
        raise TargetError(
            f"{name}: a scratch file of {size_bytes // MIB} MiB is too small; at least "
            f"{_LEAST_BYTES // MIB} MiB, and {room_share} times that of free room, are needed"
        )
    return size_bytes


def _existing(name: str, path: Path, *, writes: bool) -> AssessedTarget:
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISBLK(kind):
        raise TargetError(f"{name} is no file, folder or block device")
    size_bytes = _size(name, path)
    if writes:
        _must_be_writable(name, path)
    if size_bytes < MIB:
        raise TargetError(f"{name} has {size_bytes} bytes; at least 1 MiB is needed")
    return AssessedTarget(
        name,
        path,
        size_bytes,
        is_scratch=False,
        writes=writes,
        is_direct=_is_direct(path),
        identity=_identity(path),
    )


def _identity(path: Path) -> str:
    """Return what all names of a file, folder or device share: links of either kind, and nodes."""
    try:
        found = path.stat()
    except OSError:
        return ""
    if stat.S_ISBLK(found.st_mode):
        return f"device {os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    return f"{found.st_dev}:{found.st_ino}"


def _served(name: str, *, writes: bool) -> AssessedTarget:
    """Return what another host serves. This host has no page cache for it."""
    size_bytes = _served_bytes(name, writes=writes)
    if size_bytes < MIB:
        raise TargetError(f"{name} has {size_bytes} bytes; at least 1 MiB is needed")
    return AssessedTarget(
        name, name, size_bytes, is_scratch=False, writes=writes, is_direct=True, identity=name
    )


def _served_bytes(name: str, *, writes: bool) -> int:
    try:
        found = explain(["-b4K", "-d1", *(["-w100"] if writes else []), name])
    except InvalidRequestError as error:
        raise TargetError(str(error)) from error
    return int(found["targets"][0]["size_bytes"])


def _size(name: str, path: Path) -> int:
    try:
        return size_of(path)
    except OSError as error:
        raise TargetError(f"{name} cannot be read: {with_remedy(error)}") from error


def _must_be_writable(name: str, path: Path) -> None:
    """Find out before anything is measured; opening for writing changes nothing by itself."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    except OSError as error:
        raise TargetError(
            f"{name} cannot be written: {error.strerror}; leave out --write to only read it"
        ) from error


def _is_direct(path: Path) -> bool:
    """Whether the page cache can be left out, as far as the file system says."""
    if not path.is_file() or path.stat().st_size:
        return _fathom.bypasses_page_cache(path)
    # An empty file may lie in its inode, from where that is not possible: one beside it is asked.
    with tempfile.TemporaryFile(dir=path.parent) as other:
        other.write(bytes(_BEYOND_AN_INODE))
        other.flush()
        return _fathom.bypasses_page_cache(f"/proc/self/fd/{other.fileno()}")
