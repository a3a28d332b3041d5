"""The scratch file: made in a folder of its own, locked while it is used, removed at the end.

A killed assessment leaves its folder behind, but not its lock, which the kernel drops with the
process (flock(2)): the next assessment in the same place finds it unlocked and removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OF_EACH", "of_host", "remove_abandoned", "scratch_file"]

OF_EACH = "{index}"
"""What stands in the name of a file of which each host of a fleet has one: its place."""

_PREFIX = "fathom-assess-"
_OURS = re.compile(r"scratch(-\d+)?\.dat")
_LOCK = "lock"


@contextmanager
def scratch_file(name: str, folder: Path, hosts: int = 0) -> Iterator[Path]:
    """Return an empty file in a new folder below ``folder``; both are removed at the end.

    For the ``hosts`` of a fleet there is one for each, and ``{index}`` stands in what is returned.

    Raises
    ------
    TargetError
        If nothing can be made there.

    """
    try:
        made = _locked_folder(folder, hosts)
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


def of_host(path: Path, number: int = 0) -> Path:
    """Return the scratch file of a host; the same path if there is one alone."""
    return path.with_name(path.name.replace(OF_EACH, str(number)))


def _remove(folder: Path) -> None:
    """Remove what is ours; a folder in which somebody has put something stays."""
    with contextlib.suppress(OSError):
        for path in [*folder.iterdir()]:
            if path.name == _LOCK or _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)
        folder.rmdir()


def _locked_folder(folder: Path, hosts: int) -> tuple[Path, int]:
    """Return the scratch file, and the descriptor that holds the lock."""
    # As the folder was named: from Python 3.12 on, the name that is made is absolute.
    made = folder / Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)).name
    try:
        lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path = made / (f"scratch-{OF_EACH}.dat" if hosts else "scratch.dat")
        for number in range(hosts or 1):
            of_host(path, number).open("xb").close()
    except OSError:
        _remove(made)
        raise
    return path, lock


def remove_abandoned(name: str) -> list[tuple[Path, int]]:
    """Remove what killed assessments of a target left; return each with its size in bytes.

    Only what has our names, no other file within, and a lock that nobody holds is removed.
    """
    path = Path(name)
    if not path.exists():
        return []
    folder = path if path.is_dir() else path.parent
    return [
        (one, size)
        for one in sorted(folder.glob(f"{_PREFIX}*"))
        if (size := _removed_bytes(one)) is not None
    ]


def _removed_bytes(folder: Path) -> int | None:
    try:
        names = {entry.name for entry in folder.iterdir()}
        files = {one for one in names if _OURS.fullmatch(one)}
        if names != files | {_LOCK}:
            return None
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = sum((folder / one).stat().st_size for one in files)
        _remove(folder)
    except OSError:
        # Somebody holds the lock, or nothing can be locked or removed here.
        return None
    finally:
        os.close(lock)
    return size
