"""Sizes and times as fio writes and reads them, and sizes as DiskSpd does."""

from __future__ import annotations

import re

from fathom.errors import InvalidRequestError
from fathom.units import KIB, SIZES, TIMES_S, block_words

__all__ = ["fio_number", "fio_percent", "fio_seconds", "fio_size", "read_fio_size", "sized"]

# fio(1), "Parameter types": with kb_base=1024, its default, 4k and 4kb are 4096 bytes, and 4kib are
# 4000; with kb_base=1000 it is the other way round. The "i" of 4ki says nothing (fio 3.33).
_SIZE = re.compile(r"([0-9]+|0x[0-9a-f]+)\s*([kmgtp]?)(i?b?)", re.IGNORECASE)
_TIME = re.compile(
    r"([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*(us|usec|ms|msec|s|sec|m|h|d|)", re.IGNORECASE
)
# More than any number of 64 bits has, in either base.
_MOST_DIGITS = 20
_MOST = (1 << 63) - 1
_SHOWN = 40
_KILO = 1000
_BITS_PER_LETTER = 10
_ALL = 100
_SECONDS = {**TIMES_S, "usec": TIMES_S["us"], "msec": TIMES_S["ms"], "sec": TIMES_S["s"]}


def sized(size_bytes: int) -> str:
    """Return a size such as ``64K``, without losing a byte."""
    return block_words(size_bytes, "TGMK")


def fio_size(size_bytes: int) -> str:
    """Return a size such as ``64k``."""
    return sized(size_bytes).lower()


def read_fio_size(name: str, text: str, *, kb_base: int = KIB) -> int:
    """Read a size such as ``64k`` as bytes; ``kb_base`` is what a k is, 1024 or 1000.

    Raises
    ------
    InvalidRequestError
        If it is none, or more than 64 bits hold; ``name`` is the option in the message.

    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidRequestError(f"{name}={text}: not a size such as 64k or 1g")
    # Zeros in front do not make a number octal.
    digits = found[1].lower().removeprefix("0x").lstrip("0") or "0"
    base = 16 if found[1][:2] in ("0x", "0X") else 10
    unit = SIZES[found[2].upper()]
    if (found[3].lower() == "ib") == (kb_base == KIB):
        unit = _KILO ** (unit.bit_length() // _BITS_PER_LETTER)
    size = int(digits[:_MOST_DIGITS], base) * unit
    if len(digits) >= _MOST_DIGITS or size > _MOST:
        raise InvalidRequestError(f"{name}={text[:_SHOWN]}: more than a number of 64 bits holds")
    return size


def fio_percent(name: str, text: str) -> int:
    """Read a share of 0 to 100 percent.

    Raises
    ------
    InvalidRequestError
        If it is none; ``name`` is the option in the message.

    """
    percent = fio_number(name, text.strip().removesuffix("%"))
    if percent > _ALL:
        raise InvalidRequestError(f"{name}={text}: not a share of 0 to 100 percent")
    return percent


def fio_number(name: str, text: str) -> int:
    """Read a whole number, with a suffix such as ``k`` or without.

    Raises
    ------
    InvalidRequestError
        If it is none; ``name`` is the option in the message.

    """
    return read_fio_size(name, text)


def fio_seconds(name: str, text: str, default_unit: str = "s") -> float:
    """Read a time such as ``90``, ``2m`` or ``500ms`` as seconds.

    Raises
    ------
    InvalidRequestError
        If it is none; ``name`` is the option in the message.

    """
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise InvalidRequestError(f"{name}={text}: not a time such as 60 or 500ms")
    return float(found[1]) * _SECONDS[found[2].lower() or default_unit]
