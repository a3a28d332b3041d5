"""A file system that never answers: it is mounted, and every question for a name in it hangs.

Or it has a file of each name, and whoever opens one hangs.

Served over FUSE by hand (include/uapi/linux/fuse.h): the handshake is answered, and nothing else.
Mounting needs root and ``/dev/fuse``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOOKUP = 1
_GETATTR = 3
OPEN = 14
_INIT = 26
# FORGET, INTERRUPT and BATCH_FORGET.
_UNANSWERED = (2, 36, 42)
_MNT_FORCE = 1
_MNT_DETACH = 2
_FILE_BYTES = 1 << 20
_LIBC = ctypes.CDLL(None, use_errno=True)


class HangingFs:
    """The mounted file system, and whether somebody hangs in it."""

    def __init__(self, folder: Path, device: int) -> None:
        """Speak through a device that is mounted on a folder."""
        self.folder = folder
        self.hangs_at = LOOKUP
        self.asked = threading.Event()
        self._device = device

    def release(self) -> None:
        """Break it off: all that hangs in it ends with an error."""
        _LIBC.umount2(os.fsencode(self.folder), _MNT_FORCE)

    def serve(self) -> None:
        """Answer what is needed to be mounted, until the file system is gone."""
        with suppress(OSError):
            while request := os.read(self._device, 1 << 17):
                self._answer(request)

    def _answer(self, request: bytes) -> None:
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode == _INIT:
            # Version 7.31, no flags, the least that may be written at once.
            body = struct.pack("<IIIIHHII32x", 7, 31, 0, 0, 0, 0, 4096, 1)
        elif opcode == _GETATTR and node == 1:
            # The root: a folder that anybody may search.
            body = struct.pack("<QII", 60, 0, 0) + _attributes(1, 0, 0o40755)
        elif opcode == _GETATTR:
            body = struct.pack("<QII", 60, 0, 0) + _attributes(node, _FILE_BYTES, 0o100644)
        elif opcode == LOOKUP and self.hangs_at == OPEN:
            body = struct.pack("<QQQQII", 2, 0, 60, 60, 0, 0)
            body += _attributes(2, _FILE_BYTES, 0o100644)
        else:
            # Other programs look at mounted file systems, too, but ask for no name.
            if opcode == self.hangs_at:
                self.asked.set()
            elif self.hangs_at == OPEN and opcode not in _UNANSWERED:
                self._write(unique, -errno.ENOSYS)
            return
        self._write(unique, 0, body)

    def _write(self, unique: int, error: int, body: bytes = b"") -> None:
        os.write(self._device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def _attributes(node: int, size_bytes: int, mode: int) -> bytes:
    return struct.pack("<QQQQQQIIIIIIIIII", node, size_bytes, *[0] * 7, mode, 1, *[0] * 5)


@contextmanager
def hanging_fs(folder: Path) -> Iterator[HangingFs]:
    """Mount it on a folder; when it is left, all that hangs ends with an error."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"FUSE cannot be opened: {error}")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if _LIBC.mount(b"hanging", os.fsencode(folder), b"fuse", 0, options):
        os.close(device)
        pytest.skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
    system = HangingFs(folder, device)
    thread = threading.Thread(target=system.serve, daemon=True)
    thread.start()
    try:
        yield system
    finally:
        # Who hangs in it would keep it busy.
        system.release()
        _LIBC.umount2(os.fsencode(folder), _MNT_DETACH)
        os.close(device)
