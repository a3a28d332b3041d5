"""What is assessed: a scratch file of our own, or a file or device that is only read."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._errors import FathomError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["AssessedTarget", "TargetError", "opened_target"]

_MIB = 1 << 20
_LEAST_BYTES = 64 * _MIB


class TargetError(FathomError):
    """A target cannot be assessed; nothing was measured."""


@dataclass(frozen=True)
class AssessedTarget:
    """What is measured.

    Attributes
    ----------
    name
        What the user called it.
    path
        The file or device.
    size_bytes
        Of the file or device; a file that is still to be filled will have it.
    is_scratch
        It was made for this, still has to be filled, and is removed at the end.
    writes
        Whether it may be written.
    is_direct
        Whether its file system lets I/O past the page cache.

    """

    name: str
    path: Path
    size_bytes: int
    is_scratch: bool
    writes: bool
    is_direct: bool


@contextmanager
def opened_target(name: str, size_bytes: int, *, writes: bool) -> Iterator[AssessedTarget]:
    """Return the target that a name stands for, and remove what was made for it.

    In a folder, and where nothing has this name yet, a scratch file is made, of at most half of the
    room that is left. What exists is only read, unless ``writes`` is true.

    Raises
    ------
    TargetError
        If there is no such folder, too little room, or nothing that could be measured.

    """
    path = Path(name)
    if path.is_dir():
        with _scratch_folder(path) as folder:
            yield _scratch(name, folder / "scratch.dat", size_bytes)
    elif path.exists():
        yield _existing(name, path, writes=writes)
    else:
        yielded = _scratch(name, path, size_bytes)
        try:
            yield yielded
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def _scratch_folder(folder: Path) -> Iterator[Path]:
    try:
        made = Path(tempfile.mkdtemp(prefix="fathom-assess-", dir=folder))
    except OSError as error:
        raise TargetError(f"{folder}: no scratch file can be made: {error.strerror}") from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _scratch(name: str, path: Path, size_bytes: int) -> AssessedTarget:
    """Make an empty file, which must not have been there."""
    try:
        room = shutil.disk_usage(path.parent).free // 2
    except OSError as error:
        raise TargetError(f"{name}: {error.strerror}: {path.parent}") from error
    if path.absolute().parent == Path("/dev"):
        raise TargetError(f"{name}: there is no such device")
    size_bytes = min(size_bytes, room) // _MIB * _MIB
    if size_bytes < _LEAST_BYTES:
        raise TargetError(
            f"{name}: a scratch file of {size_bytes // _MIB} MiB is too small; at least "
            f"{_LEAST_BYTES // _MIB} MiB, and twice that of free room, are needed"
        )
    try:
        path.open("xb").close()
    except OSError as error:
        raise TargetError(f"{name}: no scratch file can be made: {error.strerror}") from error
    return AssessedTarget(
        name, path, size_bytes, is_scratch=True, writes=True, is_direct=_is_direct(path)
    )


def _existing(name: str, path: Path, *, writes: bool) -> AssessedTarget:
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISBLK(kind):
        raise TargetError(f"{name} is no file, folder or block device")
    size_bytes = _size(name, path)
    if size_bytes < _MIB:
        raise TargetError(f"{name} has {size_bytes} bytes; at least 1 MiB is needed")
    return AssessedTarget(
        name, path, size_bytes, is_scratch=False, writes=writes, is_direct=_is_direct(path)
    )


def _size(name: str, path: Path) -> int:
    try:
        with path.open("rb") as opened:
            return opened.seek(0, os.SEEK_END)
    except OSError as error:
        raise TargetError(f"{name} cannot be read: {error.strerror}") from error


def _is_direct(path: Path) -> bool:
    """Whether the page cache can be left out; open(2): EINVAL where it cannot."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True
