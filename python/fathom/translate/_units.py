"""Sizes and times as fio writes and reads them."""

from __future__ import annotations

import re

from fathom._errors import InvalidRequestError

__all__ = ["fio_number", "fio_seconds", "fio_size", "read_fio_size"]

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
# fio(1), "Parameter types": with kb_base=1024, its default, 4k and 4kb are 4096 bytes, as are 4ki
# and 4kib.
_SIZE = re.compile(r"(\d+|0x[0-9a-f]+)\s*([kmgtp]?)(i?b?)", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|usec|ms|msec|s|sec|m|h|d|)", re.IGNORECASE)
_SECONDS = {
    "us": 1e-6,
    "usec": 1e-6,
    "ms": 1e-3,
    "msec": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def fio_size(size_bytes: int) -> str:
    """Return a size such as ``64k``."""
    for unit in "tgmk":
        if size_bytes and size_bytes % _UNITS[unit] == 0:
            return f"{size_bytes // _UNITS[unit]}{unit}"
    return str(size_bytes)


def read_fio_size(name: str, text: str) -> int:
    """Read a size such as ``64k`` as bytes.

    Raises
    ------
    InvalidRequestError
        If it is none; ``name`` is the option in the message.

    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidRequestError(f"{name}={text}: not a size such as 64k or 1g")
    return int(found[1], 0) * _UNITS[found[2].lower()]


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
