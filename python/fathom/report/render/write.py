"""Writing files of ours: whole or not at all, and never over what somebody else made."""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import TYPE_CHECKING

from fathom._files import anything, read_bytes, replacing, why_no_file
from fathom.report.collect.gather import ReportError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MADE_BY", "check_place", "marked_png", "sealed", "write"]

# Stands in every file that a report is written to.
MADE_BY = "Made by Fathom"
_SEAL = f"{MADE_BY}, sha256 "
_PNG = b"\x89PNG\r\n\x1a\n"
# The last chunk of a PNG image has no data.
_PNG_END_BYTES = 12
_JSON_END = b"}\n"
_MOST_MIB = 1024
_PNG_HEADER_BYTES = 33


def check_place(path: Path, *, force: bool = False) -> None:
    """Refuse a place that nothing can be written to, before anything is drawn for it.

    Raises
    ------
    ReportError
        If there is no such folder, something is there that is no file, or a file exists that
        Fathom did not make and ``force`` is false.

    """
    why = why_no_file(path)
    if why is not None:
        raise ReportError(f"{path} {why}")
    if path.exists() and not force and not _may_go(path):
        raise ReportError(
            f"{path} exists and is no report of Fathom's, or was edited since: name another file, "
            "or add --overwrite"
        )


def write(path: Path, content: bytes, *, force: bool = False) -> None:
    """Write a file, which appears only once it is whole.

    Raises
    ------
    ReportError
        If the file cannot be written, or one exists that Fathom did not make and ``force`` is
        false.

    """
    check_place(path, force=force)
    try:
        may_go = anything if force else _may_go
        with replacing(path, may_go=may_go, keep=True) as unfinished:
            unfinished.write_bytes(sealed(content))
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror or error}") from error


def _may_go(path: Path) -> bool:
    """Whether a file is, byte for byte, one that Fathom has written, or has nothing to lose."""
    try:
        found = read_bytes(path, most_mib=_MOST_MIB)
    except OSError:
        return False
    if not found:
        return True
    before, after = _parted(found)
    seal_bytes = len(_seal(found))
    return sealed(before[:-seal_bytes] + after) == found


def sealed(content: bytes) -> bytes:
    """Return a report with its digest behind it, by which it is seen that nobody has edited it."""
    before, after = _parted(content)
    return before + _seal(content) + after


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """Return what stands before a seal, and what stands behind it."""
    at = len(content) - (_PNG_END_BYTES if content.startswith(_PNG) else 0)
    at -= len(_JSON_END) if _is_json(content) else 0
    return content[:at], content[at:]


def _is_json(content: bytes) -> bool:
    return content.startswith(b"{") and content.endswith(_JSON_END)


def _seal(content: bytes) -> bytes:
    """Return a digest as a comment of the content's form; its length is that of the form."""
    words = _SEAL + hashlib.sha256(content).hexdigest()
    if content.startswith(_PNG):
        return _png_text(words)
    if content.startswith(b"%PDF"):
        return f"\n% {words}\n".encode()
    if _is_json(content):
        # JSON has no comments: one key more, of the outermost object.
        return f', "$comment": "{words}"\n'.encode()
    return f"\n<!-- {words} -->\n".encode()


def marked_png(image: bytes, comment: str) -> bytes:
    """Return a PNG image with our mark and a comment in a chunk of text behind its header."""
    chunk = _png_text(f"{MADE_BY}: {comment}")
    return image[:_PNG_HEADER_BYTES] + chunk + image[_PNG_HEADER_BYTES:]


def _png_text(words: str) -> bytes:
    text = b"Comment\x00" + words.encode("latin-1", "replace")
    body = b"tEXt" + text
    return struct.pack(">I", len(text)) + body + struct.pack(">I", zlib.crc32(body))
