"""A range cut into pieces: each is one run of the engine, and a resumed session skips it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.experiments.prepare._extents import merged
from fathom.experiments.prepare._survey import BLOCK_BYTES, WINDOW_BYTES, Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.prepare._extents import Layout, Span

__all__ = ["Missing", "Piece", "cut", "missing_spans", "piece_bytes"]

_PIECES = 256
_LEAST_PIECE_BYTES = 256 << 20
# A piece repeats only data of its own, so that pieces read whole tell how much repeats.
_MOST_REPEATING_BYTES = 1 << 30
# Each range is a run of its own, of some 20 ms; of so many only the larger ones are written.
_MOST_SMALL_SPANS = 4096


@dataclass(frozen=True)
class Piece:
    """So many bytes from an offset on, a multiple of the block's; passes count from 1."""

    offset: int
    bytes: int
    block_bytes: int
    pass_number: int = 1

    @property
    def is_aligned(self) -> bool:
        """Whether it can be written past the page cache."""
        return self.offset % BLOCK_BYTES == 0 and self.block_bytes % BLOCK_BYTES == 0


def piece_bytes(total_bytes: int, *, repeating: bool = False) -> int:
    """Return how large pieces are: few enough to be listed, small enough to be done again."""
    share = -(-total_bytes // _PIECES)
    size = max(_LEAST_PIECE_BYTES, -(-share // _LEAST_PIECE_BYTES) * _LEAST_PIECE_BYTES)
    return min(size, _MOST_REPEATING_BYTES) if repeating else size


def cut(
    spans: Sequence[Span], block_bytes: int, size_bytes: int, pass_number: int = 1
) -> list[Piece]:
    """Cut ranges into pieces of at most ``size_bytes``, a multiple of the block.

    What is left of whole blocks at the end of a range has pieces of its own, of smaller blocks, so
    that every byte is written, and none twice.
    """
    pieces = []
    for start, end in spans:
        for first in range(start, end, size_bytes):
            last = min(first + size_bytes, end)
            for block in (block_bytes, BLOCK_BYTES, max(last - first, 1)):
                whole = (last - first) // block * block
                if whole:
                    pieces.append(Piece(first, whole, block, pass_number))
                    first += whole  # noqa: PLW2901 - The rest is for smaller blocks.
                if first == last:
                    break
                if block == BLOCK_BYTES:
                    pieces.append(Piece(first, last - first, last - first, pass_number))
                    break
    return pieces


@dataclass(frozen=True)
class Missing:
    """Ranges that hold nothing: holes, unwritten, or zeros; and what is too scattered to write."""

    spans: list[Span]
    left_bytes: int


def missing_spans(path: str, layout: Layout, size_bytes: int) -> Missing:
    """Find the blocks of 4 KiB that hold nothing; all that is written is read for it.

    Raises
    ------
    OSError
        If the target cannot be read.

    """
    empty: list[Span] = []
    position = 0
    with Reader(path) as reader:
        for start, end in [*layout.written, (size_bytes, size_bytes)]:
            start, end = min(start, size_bytes), min(end, size_bytes)  # noqa: PLW2901 - Cut off.
            if position < start:
                empty.append((position, start))
            for first in range(start, end, WINDOW_BYTES):
                window = reader.read(first, min(first + WINDOW_BYTES, end))
                empty += _zero_spans(first, window)
            position = max(position, end)
    spans = _in_blocks(merged(empty), size_bytes)
    if len(spans) <= _MOST_SMALL_SPANS:
        return Missing(spans, 0)
    large = [one for one in spans if one[1] - one[0] >= WINDOW_BYTES]
    return Missing(large, _bytes(spans) - _bytes(large))


def _zero_spans(first: int, window: bytes) -> list[Span]:
    zeros = bytes(BLOCK_BYTES)
    if not window.strip(b"\0"):
        return [(first, first + len(window))]
    places = range(0, len(window), BLOCK_BYTES)
    blocks = [(place, window[place : place + BLOCK_BYTES]) for place in places]
    return [
        (first + place, first + place + len(one))
        for place, one in blocks
        if one == zeros[: len(one)]
    ]


def _in_blocks(spans: Sequence[Span], size_bytes: int) -> list[Span]:
    """Return what of the ranges is whole blocks, or the last one of the target."""
    inside = []
    for start, end in spans:
        first = -(-start // BLOCK_BYTES) * BLOCK_BYTES
        last = end if end == size_bytes else end // BLOCK_BYTES * BLOCK_BYTES
        if first < last:
            inside.append((first, last))
    return inside


def _bytes(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)
