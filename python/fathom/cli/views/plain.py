"""The streams of the command: nothing of others gives a command to what shows it."""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from fathom._text import one_line, plain, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from _typeshed import ReadableBuffer

__all__ = ["one_line", "plain", "plain_streams", "unfailing", "unguarded"]


class _Plain:
    """A stream that writes plain text without secrets; all else is the stream's own.

    ``names`` are words of the command line that would begin a line of their own, wherever a
    sentence has them.
    """

    def __init__(self, stream: IO[str], names: Sequence[str]) -> None:
        self.stream = stream
        self._names = [(name, one_line(name)) for name in names]

    def write(self, text: str) -> int:
        shown = text
        for name, whole in self._names:
            shown = shown.replace(name, whole)
        self.stream.write(plain(without_secrets(shown)))
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - Whatever the stream has.
        return getattr(self.stream, name)


class _Unfailing(io.RawIOBase):
    """A descriptor that loses what cannot be written to it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, content: ReadableBuffer, /) -> int:
        try:
            return os.write(self._descriptor, content)
        except OSError:
            return memoryview(content).nbytes


def unfailing(stream: IO[str]) -> IO[str]:
    """Return a stream to the same place, where what cannot be written is lost without an error.

    What is said of the way there must neither end a measurement nor change its exit code: the log
    that it goes to may be on a full disk, and its reader may have gone.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    try:
        raw = _Unfailing(stream.fileno())
    except OSError:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=True,
        write_through=stream.write_through,
    )


def unguarded(stream: IO[str]) -> IO[str]:
    """Return the stream beneath, for what draws on the terminal by commands of its own."""
    return stream.stream if isinstance(stream, _Plain) else stream


def _names_with_lines(words: Sequence[str]) -> list[str]:
    """Return the words that have lines, and the names of files in them, the longest first."""
    long = [one for one in words if one_line(one) != plain(one)]
    names = {name for one in long for name in (one, one.rpartition("/")[2])}
    return sorted((one for one in names if one_line(one) != plain(one)), key=len, reverse=True)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Write plain text on both outputs: what a program reads first, a terminal may show later.

    JSON has escapes of its own for all that; an export to the standard output is exact.
    """
    before = sys.stdout, sys.stderr
    names = _names_with_lines(sys.argv[1:])
    if sys.stdout is not None:
        sys.stdout = _Plain(sys.stdout, names)
    if sys.stderr is not None:
        sys.stderr = _Plain(sys.stderr, names)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
