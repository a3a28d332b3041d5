"""Numbers as people say them."""

from __future__ import annotations

import re

__all__ = [
    "NANOS_PER_MILLI",
    "bytes_words",
    "count_words",
    "millis",
    "size_words",
    "time_words",
    "with_micro",
]

NANOS_PER_MILLI = 1_000_000
_NANOS_PER_MICRO = 1_000
_NANOS_PER_SECOND = 1_000_000_000
_LARGE = 100
_US = re.compile(r"(?<=\d) us\b")


def time_words(time_ns: float) -> str:
    """Return a time such as ``85 µs``, ``4.2 ms`` or ``1.5 s``."""
    for unit_ns, unit in ((_NANOS_PER_SECOND, "s"), (NANOS_PER_MILLI, "ms")):
        if time_ns >= unit_ns:
            return f"{_three(time_ns / unit_ns)} {unit}"
    return f"{_three(time_ns / _NANOS_PER_MICRO)} µs"


def with_micro(text: str) -> str:
    """Return a sentence of a terminal, which has ``us``, with the sign of microseconds."""
    return _US.sub(" µs", text)


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.3g}"


def count_words(value: float) -> str:
    """Return a rate such as ``85,312`` or ``7.25``."""
    return f"{value:,.0f}" if value >= _LARGE else f"{value:.3g}"


def size_words(size_bytes: float) -> str:
    """Return a block size as DiskSpd writes it, such as ``64K``."""
    for unit, unit_bytes in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size_bytes >= unit_bytes and size_bytes % unit_bytes == 0:
            return f"{size_bytes / unit_bytes:g}{unit}"
    return f"{size_bytes:g}"


def bytes_words(size_bytes: float) -> str:
    """Return a size such as ``1.5 GiB``."""
    for unit, unit_bytes in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1024)):
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.4g} {unit}"
    return f"{size_bytes:g} bytes"


def millis(time_ns: float | None) -> float | None:
    """Return nanoseconds as milliseconds."""
    return None if time_ns is None else time_ns / NANOS_PER_MILLI
