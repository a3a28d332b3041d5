"""A look into the file of a store that takes no lock of SQLite's from it.

When a process closes any descriptor of a file, it loses all its locks on that file (fcntl(2)), and
with them those of SQLite's connections: another program that then closes the store takes itself for
the last one, and removes the log into which this process still writes. So a file is opened once for
all looks of this process, and closed when nobody uses the store any more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Look"]

# In front of those that SQLite locks (https://sqlite.org/fileformat2.html#the_lock_byte_page).
_UNUSED_BYTE = 0x40000000 - 1

_guard = threading.Lock()


@dataclass
class _Held:
    descriptors: list[int] = field(default_factory=list)
    looks: int = 0


_held: dict[tuple[int, int], _Held] = {}


class Look:
    """A file that is open for looking, until this is closed."""

    def __init__(self, path: Path) -> None:
        """Open it, unless this process has it open already.

        Raises
        ------
        OSError
            If it cannot be opened.

        """
        self._number: tuple[int, int] | None = None
        with _guard:
            found = path.stat()
            number = (found.st_dev, found.st_ino)
            if number not in _held:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened = os.fstat(descriptor)
                # It may have been replaced in between, by one that is held.
                number = (opened.st_dev, opened.st_ino)
                _held.setdefault(number, _Held()).descriptors.append(descriptor)
            _held[number].looks += 1
            self._number = number

    def read(self, count: int) -> bytes:
        """Return its first bytes."""
        held = _Held() if self._number is None else _held[self._number]
        return os.pread(held.descriptors[0], count, 0)

    def has_locks(self) -> bool:
        """Whether its file system has locks: one is taken that SQLite knows nothing of.

        SQLite itself takes a system without them for a lock of somebody else, and waits.
        """
        if self._number is None:
            return True
        descriptor = _held[self._number].descriptors[0]
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _UNUSED_BYTE)
            fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, _UNUSED_BYTE)
        except OSError as error:
            return error.errno != errno.ENOLCK
        return True

    def close(self) -> None:
        """Let go of it; who closed his connections before loses no lock by that."""
        with _guard:
            number, self._number = self._number, None
            if number is None:
                return
            held = _held[number]
            held.looks -= 1
            if not held.looks:
                for descriptor in held.descriptors:
                    os.close(descriptor)
                del _held[number]
