"""Writing files of ours: whole or not at all, and never over what somebody else made."""

from __future__ import annotations

import os
import struct
import zlib
from typing import TYPE_CHECKING

from fathom._files import check_regular, replacing
from fathom.report._gather import ReportError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MADE_BY", "marked_png", "write"]

# Stands in every file that a report is written to, within the first or last so many bytes.
MADE_BY = "Made by Fathom"
_LOOKED_AT = 4096
_PNG_HEADER_BYTES = 33


def write(path: Path, content: bytes, *, force: bool = False) -> None:
    """Write a file, which appears only once it is whole.

    Raises
    ------
    ReportError
        If the file cannot be written, or one exists that Fathom did not make and ``force`` is
        false.

    """
    if path.exists() and not force and not _is_ours(path):
        raise ReportError(
            f"{path} exists and is no report of Fathom's: name another file, or add --force"
        )
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(content)
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror or error}") from error


def _is_ours(path: Path) -> bool:
    """Whether the mark stands near the beginning or the end."""
    try:
        check_regular(path)
        with path.open("rb") as stream:
            first = stream.read(_LOOKED_AT)
            stream.seek(max(stream.seek(0, os.SEEK_END) - _LOOKED_AT, 0))
            last = stream.read()
    except OSError:
        return False
    return MADE_BY.encode() in first or MADE_BY.encode() in last


def marked_png(image: bytes, comment: str) -> bytes:
    """Return a PNG image with our mark and a comment in a chunk of text behind its header."""
    text = b"Comment\x00" + f"{MADE_BY}: {comment}".encode("latin-1", "replace")
    body = b"tEXt" + text
    chunk = struct.pack(">I", len(text)) + body + struct.pack(">I", zlib.crc32(body))
    return image[:_PNG_HEADER_BYTES] + chunk + image[_PNG_HEADER_BYTES:]
