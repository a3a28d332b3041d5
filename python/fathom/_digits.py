"""Figures with as many digits as their interval allows.

The uncertainty is rounded to two significant digits, and the figure to the same place (JCGM
100:2008, "Guide to the expression of uncertainty in measurement", 7.2.6). More digits would be
chance.
"""

from __future__ import annotations

import math

__all__ = [
    "beside_limit",
    "interval_words",
    "known_words",
    "last_place",
    "measured_place",
    "place_words",
]

_DIGITS_OF_UNCERTAINTY = 2
_DIGITS_ALONE = 3
_MOST_DECIMALS = 6
_DECIMALS_OF_EXACT = 3
# So far beyond a limit is what arithmetic leaves.
_ROUNDING = 1e-9


def last_place(value: float, half_width: float | None) -> int:
    """Return the power of ten of the last digit that half of an interval's width allows.

    Where no interval is known, that of three significant digits; of an exact figure thousandths.
    """
    if half_width is None or not math.isfinite(half_width):
        return _place(value, _DIGITS_ALONE)
    if half_width <= 0:
        return -_DECIMALS_OF_EXACT
    return _place(half_width, _DIGITS_OF_UNCERTAINTY)


def measured_place(value: float, half_width: float) -> int:
    """Return the place of the last digit of a measured figure, which has at least two of its own.

    A wide interval of a change must not make a figure of one side into nothing.
    """
    return min(last_place(value, half_width), _place(value, _DIGITS_OF_UNCERTAINTY))


def _place(value: float, digits: int) -> int:
    if not value or not math.isfinite(value):
        return -_DECIMALS_OF_EXACT
    # What rounds up to the next power of ten has its place.
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    return max(exponent - digits + 1, -_MOST_DECIMALS)


def place_words(value: float, place: int, *, sign: bool = False) -> str:
    """Return a figure rounded to a power of ten: ``48,200`` to 2, ``0.185`` to -3."""
    rounded = round(value, -place)
    # What is rounded to nothing has no sign of its own.
    rounded = rounded or 0.0
    return f"{rounded:{'+' if sign else ''},.{max(-place, 0)}f}"


def known_words(value: float, low: float | None, high: float | None, *, sign: bool = False) -> str:
    """Return a figure with the digits that its interval allows."""
    return place_words(value, last_place(value, _half(low, high)), sign=sign)


def interval_words(low: float, high: float, *, sign: bool = False) -> str:
    """Return an interval with the digits that its own width allows: ``106 to 241``."""
    place = last_place(high, _half(low, high))
    return f"{place_words(low, place, sign=sign)} to {place_words(high, place, sign=sign)}"


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


def beside_limit(value: float, limit: float, decimals: int = 0) -> str:
    """Return a share with so many digits that it is not on the other side of its limit."""
    found = f"{value:.{decimals}f}"
    for digits in range(decimals + 1, _MOST_DECIMALS + _DECIMALS_OF_EXACT):
        if (float(found) <= limit) == (value <= limit + _ROUNDING):
            break
        found = f"{value:.{digits}f}"
    return found
