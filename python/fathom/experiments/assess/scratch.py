"""The scratch file: made in a folder of its own, locked while it is used, removed at the end.

A killed assessment leaves its folder behind, but not its lock, which the kernel drops with the
process (flock(2)): the next assessment in the same place finds it unlocked and removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import FathomError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TargetError", "remove_abandoned", "scratch_file"]

_PREFIX = "fathom-assess-"
_FILE = "scratch.dat"
_LOCK = "lock"


class TargetError(FathomError):
    """A target cannot be assessed; nothing was measured."""


@contextmanager
def scratch_file(name: str, folder: Path) -> Iterator[Path]:
    """Return an empty file in a new folder below ``folder``; both are removed at the end.

    Raises
    ------
    TargetError
        If nothing can be made there.

    """
    try:
        made = _locked_folder(folder)
    except OSError as error:
        raise TargetError(
            f"{name}: no scratch file can be made in {folder}: {error.strerror}. Name a folder "
            "that can be written, or a file that exists, which is only read"
        ) from error
    path, lock = made
    try:
        yield path
    finally:
        _remove(path.parent)
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove what is ours; a folder in which somebody has put something stays."""
    with contextlib.suppress(OSError):
        for name in (_FILE, _LOCK):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _locked_folder(folder: Path) -> tuple[Path, int]:
    """Return the scratch file, and the descriptor that holds the lock."""
    # As the folder was named: from Python 3.12 on, the name that is made is absolute.
    made = folder / Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)).name
    try:
        lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = made / _FILE
        path.open("xb").close()
    except OSError:
        _remove(made)
        raise
    return path, lock


def remove_abandoned(name: str) -> list[tuple[Path, int]]:
    """Remove what killed assessments of a target left; return each with its size in bytes.

    Only what has our names, no other file within, and a lock that nobody holds is removed.
    """
    path = Path(name)
    folder = path if path.is_dir() else path.parent
    return [
        (one, size)
        for one in sorted(folder.glob(f"{_PREFIX}*"))
        if (size := _removed_bytes(one)) is not None
    ]


def _removed_bytes(folder: Path) -> int | None:
    try:
        names = {entry.name for entry in folder.iterdir()}
        if not names <= {_FILE, _LOCK} or _LOCK not in names:
            return None
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = (folder / _FILE).stat().st_size if _FILE in names else 0
        _remove(folder)
    except OSError:
        # Somebody holds the lock, or nothing can be locked or removed here.
        return None
    finally:
        os.close(lock)
    return size
