"""Words of a report, whose pages have the sign of microseconds."""

from __future__ import annotations

import re

from fathom import units

__all__ = ["time_words", "with_micro"]

_US = re.compile(r"(?<=\d) us\b")


def time_words(time_ns: float) -> str:
    """Return a time such as ``85 µs``, ``4.2 ms`` or ``1.5 s``."""
    return units.time_words(time_ns, micro="µs")


def with_micro(text: str) -> str:
    """Return a sentence of a terminal, which has ``us``, with the sign of microseconds."""
    return _US.sub(" µs", text)
