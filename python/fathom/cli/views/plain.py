"""The streams of the command: nothing of others gives a command to what shows it."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from fathom._text import one_line, plain, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_line", "plain", "plain_streams", "unguarded"]


class _Plain:
    """A stream that writes plain text without secrets; all else is the stream's own."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(plain(without_secrets(text)))
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - Whatever the stream has.
        return getattr(self.stream, name)


def unguarded(stream: IO[str]) -> IO[str]:
    """Return the stream beneath, for what draws on the terminal by commands of its own."""
    return stream.stream if isinstance(stream, _Plain) else stream


@contextmanager
def plain_streams() -> Iterator[None]:
    """Write plain text on both outputs: what a program reads first, a terminal may show later.

    JSON has escapes of its own for all that; an export to the standard output is exact.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is not None:
        sys.stdout = _Plain(sys.stdout)
    if sys.stderr is not None:
        sys.stderr = _Plain(sys.stderr)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
