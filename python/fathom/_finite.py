"""Numbers that JSON has: it has no word for what is infinite, or is no number."""

from __future__ import annotations

import json
import math

__all__ = ["finite", "json_words"]


def finite(value: object) -> object:
    """Return data for JSON with None in place of each number that is infinite or none (NaN).

    Other programs refuse such numbers: Python's ``json`` alone writes words of its own for them.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def json_words(value: object, *, indent: int | None = 2) -> str:
    """Return data as JSON that every program reads: null for what is no finite number."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        # Rare: only then is all of it worth a copy.
        return json.dumps(finite(value), indent=indent, allow_nan=False)
