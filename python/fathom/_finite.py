"""Numbers that JSON has: it has no word for what is infinite, or is no number."""

from __future__ import annotations

import math

__all__ = ["finite"]


def finite(value: object) -> object:
    """Return data for JSON with None in place of each number that is infinite or none (NaN).

    Other programs refuse such numbers: Python's ``json`` alone writes words of its own for them.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value
