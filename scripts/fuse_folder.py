"""A folder served over FUSE by hand: its files are those of another folder.

Mounting needs root and ``/dev/fuse``; what is not asked of it here has no answer but ENOSYS. Data
go through the page cache or past it, as whoever opens a file wants.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["served"]

_LOOKUP, _FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE, _RELEASE, _FSYNC, _FLUSH, _INIT = (
    1, 2, 3, 4, 14, 15, 16, 18, 20, 25, 26,
)  # fmt: skip
_STATFS, _OPENDIR, _BATCH_FORGET = 17, 27, 42
_ENOENT, _ENOSYS = -2, -38
_ASYNC_READ_AND_BIG_WRITES = 1 | 1 << 5
_MOST_BYTES = 1 << 17
_DETACH = 2
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class _Server:
    """Answers what the kernel asks of one folder; node 1 is the folder, files follow."""

    device: int
    below: Path
    names: list[str] = field(default_factory=list)

    def serve(self) -> None:
        """Answer until the folder is unmounted."""
        with suppress(OSError):
            while request := os.read(self.device, _MOST_BYTES + 4096):
                _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
                if opcode in (_FORGET, _BATCH_FORGET):
                    continue
                try:
                    body, error = self._answer(opcode, node, request)
                except OSError as refused:
                    body, error = b"", -(refused.errno or 5)
                os.write(self.device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

    def _answer(self, opcode: int, node: int, request: bytes) -> tuple[bytes, int]:
        if opcode == _LOOKUP:
            return self._lookup(request[40:].split(b"\0")[0].decode())
        if opcode in (_RELEASE, _FSYNC, _FLUSH):
            return b"", 0
        if opcode in (_READ, _WRITE):
            return self._moved(opcode, node, request), 0
        body = self._told(opcode, node)
        return body, 0 if body else _ENOSYS

    def _told(self, opcode: int, node: int) -> bytes:
        """Return what is known of a file or of the folder; nothing if it is not."""
        if opcode == _INIT:
            sizes = (_MOST_BYTES, _ASYNC_READ_AND_BIG_WRITES, 16, 12, _MOST_BYTES, 1)
            return struct.pack("<IIIIHHII32x", 7, 31, *sizes)
        if opcode in (_GETATTR, _SETATTR):
            return struct.pack("<QII", 60, 0, 0) + self._attributes(node)
        if opcode in (_OPEN, _OPENDIR):
            return struct.pack("<QII", node, 0, 0)
        if opcode == _STATFS:
            found = os.statvfs(self.below)
            blocks = (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
            return struct.pack("<QQQQQIII28x", *blocks, found.f_bsize, 255, found.f_frsize)
        return b""

    def _lookup(self, name: str) -> tuple[bytes, int]:
        if not (self.below / name).is_file():
            return b"", _ENOENT
        if name not in self.names:
            self.names.append(name)
        node = 2 + self.names.index(name)
        return struct.pack("<QQQQII", node, 0, 60, 60, 0, 0) + self._attributes(node), 0

    def _attributes(self, node: int) -> bytes:
        found = (self.below / self.names[node - 2] if node > 1 else self.below).stat()
        times = (int(found.st_atime), int(found.st_mtime), int(found.st_ctime), 0, 0, 0)
        owner = (found.st_mode, 1, 0, 0, 0, 4096, 0)
        sizes = (node, found.st_size, found.st_blocks)
        return struct.pack("<QQQQQQIIIIIIIIII", *sizes, *times, *owner)

    def _moved(self, opcode: int, node: int, request: bytes) -> bytes:
        offset, size = struct.unpack_from("<QI", request, 48)
        file = os.open(self.below / self.names[node - 2], os.O_RDWR)
        try:
            if opcode == _READ:
                return os.pread(file, size, offset)
            return struct.pack("<II", os.pwrite(file, request[80 : 80 + size], offset), 0)
        finally:
            os.close(file)


@contextmanager
def served(below: Path, folder: Path) -> Iterator[Path]:
    """Mount the files of one folder on another; OSError where it cannot be."""
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    try:
        if _LIBC.mount(b"fathom-folder", os.fsencode(folder), b"fuse", 0, options):
            raise OSError(ctypes.get_errno(), "FUSE cannot be mounted")
        thread = threading.Thread(target=_Server(device, below).serve, daemon=True)
        thread.start()
        try:
            yield folder
        finally:
            _LIBC.umount2(os.fsencode(folder), _DETACH)
            thread.join(10)
    finally:
        os.close(device)
