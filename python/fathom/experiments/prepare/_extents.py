"""Where a file has data: holes, and extents that are allocated but were never written.

The kernel tells it by FIEMAP (Documentation/filesystems/fiemap.rst); file systems without it, such
as tmpfs, by lseek with SEEK_DATA and SEEK_HOLE, which counts unwritten extents as holes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Layout", "Span", "file_layout", "merged"]

Span = tuple[int, int]
"""A range of bytes: its first, and the one behind its last."""

_FS_IOC_FIEMAP = 0xC020660B
_FLAG_SYNC = 0x1
_LAST, _ENCODED = 0x1, 0x8
_UNWRITTEN, _SHARED = 0x800, 0x2000
_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_EXTENTS_AT_A_TIME = 512


@dataclass(frozen=True)
class Layout:
    """What the file system says of a file.

    Attributes
    ----------
    written
        Ranges with data, in order; what lies between them reads as zeros without any device.
    hole_bytes, unwritten_bytes
        Not allocated, and allocated but never written. Where the source is ``seek``, the latter are
        counted as holes, as far as the file system tells them from data at all.
    encoded_bytes, shared_bytes
        Of the written: what the file system has compressed or encrypted, and what several files
        share.
    source
        How it was found out; ``none`` if the file system tells nothing, so that all counts as
        written.

    """

    written: list[Span]
    hole_bytes: int
    unwritten_bytes: int = 0
    encoded_bytes: int = 0
    shared_bytes: int = 0
    source: Literal["fiemap", "seek", "none"] = "fiemap"


def file_layout(descriptor: int, size_bytes: int) -> Layout:
    """Return the layout of an open file.

    Raises
    ------
    OSError
        If it cannot be read.

    """
    if not size_bytes:
        return Layout([], 0)
    try:
        return _by_fiemap(descriptor, size_bytes)
    except OSError:
        # EOPNOTSUPP or ENOTTY: this file system has no such call.
        return _by_seeking(descriptor, size_bytes)


@dataclass
class _Sums:
    written: list[Span] = field(default_factory=list)
    unwritten: int = 0
    encoded: int = 0
    shared: int = 0

    def add(self, start: int, end: int, flags: int) -> None:
        if flags & _UNWRITTEN:
            self.unwritten += end - start
            return
        self.written.append((start, end))
        self.encoded += (end - start) * bool(flags & _ENCODED)
        self.shared += (end - start) * bool(flags & _SHARED)


def _by_fiemap(descriptor: int, size_bytes: int) -> Layout:
    sums, position = _Sums(), 0
    while position < size_bytes:
        found = _extents(descriptor, position, size_bytes - position)
        for logical, length, flags in found:
            # The last extent may reach beyond the end of the file.
            start, end = max(logical, position), min(logical + length, size_bytes)
            if start < end:
                sums.add(start, end, flags)
            position = max(position, end)
        if not found or found[-1][2] & _LAST:
            break
    written = merged(sums.written)
    data = sum(end - start for start, end in written)
    return Layout(
        written=written,
        hole_bytes=size_bytes - data - sums.unwritten,
        unwritten_bytes=sums.unwritten,
        encoded_bytes=sums.encoded,
        shared_bytes=sums.shared,
    )


def _extents(descriptor: int, start: int, length: int) -> list[tuple[int, int, int]]:
    """Return logical offset, length and flags of the next extents, written back before."""
    request = bytearray(_HEADER.size + _EXTENTS_AT_A_TIME * _EXTENT.size)
    _HEADER.pack_into(request, 0, start, length, _FLAG_SYNC, 0, _EXTENTS_AT_A_TIME, 0)
    fcntl.ioctl(descriptor, _FS_IOC_FIEMAP, request)
    count = _HEADER.unpack_from(request)[3]
    places = range(_HEADER.size, _HEADER.size + count * _EXTENT.size, _EXTENT.size)
    fields = [_EXTENT.unpack_from(request, place) for place in places]
    return [(one[0], one[2], one[5]) for one in fields]


def _by_seeking(descriptor: int, size_bytes: int) -> Layout:
    written: list[Span] = []
    position = 0
    while position < size_bytes:
        try:
            start = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                break  # There are no data behind this place.
            return Layout([(0, size_bytes)], 0, source="none")
        position = min(os.lseek(descriptor, start, os.SEEK_HOLE), size_bytes)
        written.append((start, position))
    data = sum(end - start for start, end in written)
    return Layout(written, size_bytes - data, source="seek")


def merged(spans: list[Span]) -> list[Span]:
    """Return ranges in order, those that touch or overlap as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return joined
