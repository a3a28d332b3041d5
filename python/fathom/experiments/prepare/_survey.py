"""How much of what is written is zero, compresses, or repeats: by samples, or by reading it all.

The unit of a sample is a window of 64 KiB at a random place of its stratum. What a window has in
common is one observation: blocks that lie side by side resemble each other.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np

from fathom.stats import independent_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom.experiments.prepare._extents import Span

__all__ = ["Interval", "Reader", "Survey", "survey"]

WINDOW_BYTES = 64 << 10
BLOCK_BYTES = 4096
SAMPLES = 1024
WHOLE_BYTES = 256 << 20
CONFIDENCE = 0.95
_QUANTILE = 1.959964
# zlib takes some 40 MiB a second; so many windows tell the ratio to less than a percent.
_COMPRESSED_MOST = 1024
# Fast; that of most file systems and arrays compresses rather less than more.
_ZLIB_LEVEL = 1
_HASH_BYTES = 8
_CONTENTS_MOST = 4 << 20
_ZEROS = bytes(WINDOW_BYTES)
_LEAST_FOR_INTERVAL = 2


@dataclass(frozen=True)
class Interval:
    """A figure, and the interval that holds the true one; both ends are it where all was read."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Survey:
    """What a part of a target holds.

    Attributes
    ----------
    bytes
        Of which this is reported.
    read_bytes, windows
        What was read of it, and in how many windows.
    is_whole
        All of it was read, so that the shares of zeros and repeats are exact.
    zero_share
        Share of blocks of 4 KiB that hold nothing but zeros.
    compress_ratio
        Bytes over what zlib makes of them, in windows of 64 KiB; of all that is not zero. None if
        there is no such thing.
    dedupe_ratio
        Blocks of 4 KiB over different ones, zeros left out; None unless all was read, because a
        sample does not tell it (Harnik et al., Estimating Unseen Deduplication, FAST 2016).
    repeated_share
        Share of the blocks that were read whose data stand in another one of them, too. Of a sample
        it is the least that the whole has.

    """

    bytes: int
    read_bytes: int
    windows: int
    is_whole: bool
    zero_share: Interval
    compress_ratio: Interval | None
    dedupe_ratio: float | None
    repeated_share: float


def survey(  # noqa: PLR0913 - All but the first two have defaults and names.
    path: str,
    spans: Sequence[Span],
    *,
    samples: int = SAMPLES,
    whole: bool = False,
    seed: int = 0,
    on_read: Callable[[int], None] = lambda _done: None,
) -> Survey:
    """Read samples of ranges, or all of them if they are small or ``whole`` is requested.

    ``on_read`` gets the number of bytes that have been read.

    Raises
    ------
    OSError
        If the target cannot be read.

    """
    total = sum(end - start for start, end in spans)
    everything = whole or total <= max(WHOLE_BYTES, samples * WINDOW_BYTES)
    windows = list(_all_windows(spans)) if everything else _drawn(spans, total, samples, seed)
    found = _Found(every=max(len(windows) // _COMPRESSED_MOST, 1))
    with Reader(path) as reader:
        for start, end in windows:
            found.add(reader.read(start, end))
            on_read(found.read_bytes)
    return found.survey(total, is_whole=everything)


def _all_windows(spans: Sequence[Span]) -> Iterator[Span]:
    for start, end in spans:
        for first in range(start, end, WINDOW_BYTES):
            yield first, min(first + WINDOW_BYTES, end)


def _drawn(spans: Sequence[Span], total: int, samples: int, seed: int) -> list[Span]:
    """Return one window in each of so many equal parts of the ranges."""
    random = np.random.default_rng(seed)
    places = ((np.arange(samples) + random.random(samples)) * (total / samples)).astype(np.int64)
    ends = np.cumsum([end - start for start, end in spans])
    drawn: list[Span] = []
    for place in places:
        which = int(np.searchsorted(ends, place, side="right"))
        start, end = spans[which]
        inside = start + int(place) - int(ends[which] - (end - start))
        # No block is read twice: it would look like a repeat.
        first = max(inside // BLOCK_BYTES * BLOCK_BYTES, start, drawn[-1][1] if drawn else 0)
        if first < end:
            drawn.append((first, min(first + WINDOW_BYTES, end)))
    return drawn


class Reader:
    """Reads past the page cache where the file system lets it, into one aligned buffer."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._buffer = mmap.mmap(-1, WINDOW_BYTES + BLOCK_BYTES)

    def __enter__(self) -> Self:
        self._plain = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        self._direct: int | None
        try:
            self._direct = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
        except OSError:
            self._direct = None
        return self

    def __exit__(self, *_reason: object) -> None:
        os.close(self._plain)
        if self._direct is not None:
            os.close(self._direct)
        self._buffer.close()

    def read(self, start: int, end: int) -> bytes:
        size = self._read_direct(start, end)
        if size is None:
            return os.pread(self._plain, end - start, start)
        return self._buffer[: min(size, end - start)]

    def _read_direct(self, start: int, end: int) -> int | None:
        if self._direct is None or start % BLOCK_BYTES:
            return None
        # The last block of a file may be shorter, but must be requested whole.
        asked = -(-(end - start) // BLOCK_BYTES) * BLOCK_BYTES
        try:
            with memoryview(self._buffer) as view:
                return os.preadv(self._direct, [view[:asked]], start)
        except OSError:
            # Blocks of the device may be larger, or its end not a multiple of 4 KiB.
            return None


@dataclass
class _Found:
    every: int
    read_bytes: int = 0
    blocks: int = 0
    zero_blocks: int = 0
    windows: int = 0
    zero_windows: list[float] = field(default_factory=list)
    compressed: list[float] = field(default_factory=list)
    contents: Counter[int] = field(default_factory=Counter)
    kept: int = 1

    def add(self, window: bytes) -> None:
        blocks = [window[at : at + BLOCK_BYTES] for at in range(0, len(window), BLOCK_BYTES)]
        told = [one for one in blocks if one != _ZEROS[: len(one)]]
        self.blocks += len(blocks)
        self.zero_blocks += len(blocks) - len(told)
        self.zero_windows.append(1 - len(told) / max(len(blocks), 1))
        if told and self.windows % self.every == 0:
            data = b"".join(told)
            self.compressed.append(min(len(zlib.compress(data, _ZLIB_LEVEL)) / len(data), 1.0))
        for one in told:
            self._note(int.from_bytes(hashlib.blake2b(one, digest_size=_HASH_BYTES).digest()))
        self.read_bytes += len(window)
        self.windows += 1

    def _note(self, content: int) -> None:
        """Count a content; of too many, only every second, fourth, ... content is kept.

        Which of them are kept is decided by the content itself, so that its repeats are counted all
        or not at all.
        """
        if content % self.kept:
            return
        self.contents[content] += 1
        if len(self.contents) > _CONTENTS_MOST:
            self.kept *= 2
            self.contents = Counter(
                {one: count for one, count in self.contents.items() if one % self.kept == 0}
            )

    def survey(self, total: int, *, is_whole: bool) -> Survey:
        counted = sum(self.contents.values())
        distinct = len(self.contents)
        repeated = sum(count for count in self.contents.values() if count > 1)
        return Survey(
            bytes=total,
            read_bytes=self.read_bytes,
            windows=self.windows,
            is_whole=is_whole,
            zero_share=self._zero_share(is_whole=is_whole),
            compress_ratio=self._compress_ratio(is_exact=is_whole and self.every == 1),
            dedupe_ratio=counted / distinct if is_whole and distinct else None,
            repeated_share=repeated / counted if counted else 0.0,
        )

    def _zero_share(self, *, is_whole: bool) -> Interval:
        share = self.zero_blocks / self.blocks if self.blocks else 0.0
        if is_whole or not self.windows:
            return Interval(share, share, share)
        # Wilson's interval for windows that are zero as a whole or not at all, which have the
        # greatest variance of all with this mean.
        n, z = self.windows, _QUANTILE
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
        return Interval(share, max(min(middle - half, share), 0.0), min(middle + half, 1.0))

    def _compress_ratio(self, *, is_exact: bool) -> Interval | None:
        if not self.compressed:
            return None
        mean = float(np.mean(self.compressed))
        if is_exact or len(self.compressed) < _LEAST_FOR_INTERVAL:
            return Interval(1 / mean, 1 / mean, 1 / mean)
        known = independent_mean(self.compressed, confidence=CONFIDENCE)
        # The mean of the compressed shares is known; the ratio is its inverse.
        return Interval(1 / mean, 1 / min(known.high, 1.0), 1 / max(known.low, 1e-6))
