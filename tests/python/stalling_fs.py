"""A file system with one file whose reads stall now and then, served over FUSE by hand.

Mounting needs root and ``/dev/fuse``; what is not asked of it here has no answer but ENOSYS.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE = 1 << 20
_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _RELEASE, _FLUSH, _INIT, _OPENDIR, _BATCH_FORGET = (
    1, 2, 3, 14, 15, 18, 25, 26, 27, 42,
)  # fmt: skip
_ENOSYS = -38
_DIRECT_IO = 1
_MNT_FORCE_DETACH = 3
_LIBC = ctypes.CDLL(None, use_errno=True)


def _attributes(node: int) -> bytes:
    mode, size = (0o40755, 0) if node == 1 else (0o100644, SIZE)
    return struct.pack(
        "<QQQQQQIIIIIIIIII", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


def _serve(device: int, every_s: float, stall_s: float) -> None:
    data = bytes(SIZE)
    stall_at: float | None = None
    with suppress(OSError):
        while request := os.read(device, 1 << 17):
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            body, error = b"", 0
            if opcode in (_FORGET, _BATCH_FORGET):
                continue
            if opcode == _INIT:
                body = struct.pack("<IIIIHHII32x", 7, 31, 0, 0, 0, 0, 4096, 1)
            elif opcode == _LOOKUP:
                body = struct.pack("<QQQQII", 2, 0, 60, 60, 0, 0) + _attributes(2)
            elif opcode == _GETATTR:
                body = struct.pack("<QII", 60, 0, 0) + _attributes(node)
            elif opcode in (_OPEN, _OPENDIR):
                body = struct.pack("<QII", 1, _DIRECT_IO, 0)
            elif opcode == _READ:
                offset, size = struct.unpack_from("<QI", request, 48)
                body = data[offset : offset + size]
                now = time.monotonic()
                stall_at = now + every_s / 2 if stall_at is None else stall_at
                if now >= stall_at:
                    time.sleep(stall_s)
                    stall_at = now + every_s
            elif opcode not in (_RELEASE, _FLUSH):
                error = _ENOSYS
            os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


@contextmanager
def stalling_fs(folder: Path, *, every_s: float, stall_s: float) -> Iterator[Path]:
    """Mount it on a folder, and give the path of its file."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        pytest.skip(f"FUSE cannot be opened: {error}")
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if _LIBC.mount(b"stalling", os.fsencode(folder), b"fuse", 0, options):
        os.close(device)
        pytest.skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
    thread = threading.Thread(target=_serve, args=(device, every_s, stall_s), daemon=True)
    thread.start()
    try:
        yield folder / "file"
    finally:
        _LIBC.umount2(os.fsencode(folder), _MNT_FORCE_DETACH)
        thread.join(10)
        os.close(device)
