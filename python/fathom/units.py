"""Units of time and size: the one table of the lab, and their words.

>>> size_words(1536 << 20), block_words(64 << 10), time_words(85_300), clock_words(75)
('1.5 GiB', '64K', '85.3 us', '1:15')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "GIB",
    "KIB",
    "LATENCY_UNITS",
    "LONGEST_S",
    "MIB",
    "NS_PER_MS",
    "NS_PER_S",
    "NS_PER_US",
    "SIZES",
    "TIMES_S",
    "block_words",
    "clock_words",
    "counted",
    "first_listed",
    "listed",
    "millis",
    "ms_words",
    "rate_words",
    "size_words",
    "time_words",
]

_MOST_NAMES = 4
SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
"""Bytes by the letters that DiskSpd and fio write behind a number."""

KIB, MIB, GIB = SIZES["K"], SIZES["M"], SIZES["G"]

NS_PER_S, NS_PER_MS, NS_PER_US = 1_000_000_000, 1_000_000, 1_000

LATENCY_UNITS = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}
"""Nanoseconds by the unit."""

TIMES_S = {
    **{unit: of_ns / NS_PER_S for unit, of_ns in LATENCY_UNITS.items()},
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
"""Seconds by the unit."""

LONGEST_S = 10 * 365 * 24 * 3600
"""Nothing is measured for longer; the engine reads times up to 2^31 s, and takes those for more."""

_LARGE = 100
_COARSE_MS = 0.01
_TINY = 1e-4
_LEAST_TOLD = 1e-7
_MINUTE_S = 60


def rate_words(value: float) -> str:
    """Return a rate as a whole number; of a small one, three digits: ``85,312`` or ``7.25``."""
    if 0 < value < _TINY:
        # Never as a power of ten, which is no figure to read.
        return f"{value:.7f}".rstrip("0") if value >= _LEAST_TOLD else f"below {_LEAST_TOLD:.7f}"
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.3g}"


def time_words(time_ns: float, *, micro: str = "us") -> str:
    """Return a latency such as ``85 us``, ``4.2 ms`` or ``1.5 s``; three digits, as of rates."""
    for unit_ns, unit in ((NS_PER_S, "s"), (NS_PER_MS, "ms")):
        if time_ns >= unit_ns:
            return f"{rate_words(time_ns / unit_ns)} {unit}"
    return f"{rate_words(time_ns / NS_PER_US)} {micro}"


def ms_words(time_ns: float) -> str:
    """Return a figure in milliseconds: three decimals, or three digits of what is below 10 us."""
    value_ms = time_ns / NS_PER_MS
    if _COARSE_MS / 10 <= value_ms < _COARSE_MS:
        return f"{value_ms:.5f}"
    return rate_words(value_ms) if 0 < value_ms < _COARSE_MS else f"{value_ms:,.3f}"


def clock_words(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds; what is more than nothing is a second."""
    whole = max(round(seconds), int(seconds > 0))
    minutes, rest = divmod(whole, _MINUTE_S)
    hours, minutes = divmod(minutes, _MINUTE_S)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size_words(size_bytes: float) -> str:
    """Return a size such as ``1.5 GiB``."""
    for letter in "PTGMK":
        if size_bytes >= SIZES[letter]:
            return f"{size_bytes / SIZES[letter]:.4g} {letter}iB"
    return f"{size_bytes:.0f} bytes"


def block_words(size_bytes: float, letters: str = "GMK") -> str:
    """Return the size of a block as DiskSpd writes it, such as ``64K``."""
    for letter in letters:
        if size_bytes and size_bytes % SIZES[letter] == 0:
            return f"{int(size_bytes) // SIZES[letter]}{letter}"
    return str(int(size_bytes))


def millis(time_ns: float | None) -> float | None:
    """Return nanoseconds as milliseconds."""
    return None if time_ns is None else time_ns / NS_PER_MS


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def first_listed(names: Sequence[str]) -> str:
    """Return names in a sentence, of many the first and how many more: ``a, b, c and 7 more``."""
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} more"]
    return listed(names)


def counted(count: int, what: str) -> str:
    """Return how many there are of something: ``1 thread``, ``4 threads``."""
    return f"{count} {what}{'' if count == 1 else 's'}"
