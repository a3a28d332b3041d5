"""Text of others - labels, names of files, models of devices, imported lines - as plain text.

A terminal takes some characters as commands: to clear the screen, to write elsewhere, to turn
letters around. A label or a file that somebody sent may hold them, so they are shown as escapes.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plain", "plain_streams", "unguarded"]

# The control characters of ECMA-48 (C0 but tab and line feed, DEL, C1), those that order text
# from right to left (Unicode, UAX #9) or end lines, and bytes of names that are no text.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Return a text in which nothing is a command to a terminal; tabs and line feeds stay."""
    return _COMMANDS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    # Python's own place for a byte that is no UTF-8 (PEP 383).
    if 0xDC80 <= number <= 0xDCFF:  # noqa: PLR2004 - The first and the last of them.
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"  # noqa: PLR2004 - One byte.


class _Plain:
    """A stream that writes plain text; all else is the stream's own."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(plain(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - Whatever the stream has.
        return getattr(self.stream, name)


def unguarded(stream: IO[str]) -> IO[str]:
    """Return the stream beneath, for what draws on the terminal by commands of its own."""
    return stream.stream if isinstance(stream, _Plain) else stream


@contextmanager
def plain_streams() -> Iterator[None]:
    """Write plain text on the error output, and on the standard output where it is a terminal.

    Other programs get what they ask for, unchanged.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout = _Plain(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _Plain(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
