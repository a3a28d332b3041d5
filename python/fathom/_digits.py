"""Figures with as many digits as their interval allows.

The uncertainty is rounded to two significant digits, and the figure to the same place (JCGM
100:2008, "Guide to the expression of uncertainty in measurement", 7.2.6). More digits would be
chance. An interval that is wider than its figure tells little of it, but does not make another
figure of it: what was measured keeps digits of its own.
"""

from __future__ import annotations

import math

__all__ = [
    "NOT_KNOWN",
    "beside_limit",
    "change_figure",
    "change_figures",
    "change_interval",
    "change_words",
    "drawn_change",
    "interval_words",
    "known_words",
    "last_place",
    "measured_place",
    "place_words",
]

NOT_KNOWN = "not known"
"""An end of an interval of which so few runs tell nothing."""

_DIGITS_OF_UNCERTAINTY = 2
_DIGITS_ALONE = 3
_MOST_DECIMALS = 6
_DECIMALS_OF_EXACT = 3
# So far beyond a limit is what arithmetic leaves.
_ROUNDING = 1e-9
# An end so many times as much as the ratio, or as little, tells nothing of it.
_KNOWN_FACTOR = 100.0
_PERCENT = 100.0


def last_place(value: float, half_width: float | None) -> int:
    """Return the power of ten of the last digit that half of an interval's width allows.

    Where no interval is known, that of three significant digits; of an exact figure thousandths.
    """
    if half_width is None or not math.isfinite(half_width):
        return _place(value, _DIGITS_ALONE)
    if half_width <= 0:
        return -_DECIMALS_OF_EXACT
    return _place(half_width, _DIGITS_OF_UNCERTAINTY)


def measured_place(value: float, half_width: float | None) -> int:
    """Return the place of the last digit of a measured figure, which has at least two of its own.

    A wide interval must not make a figure into nothing.
    """
    place = last_place(value, half_width)
    return min(place, _place(value, _DIGITS_OF_UNCERTAINTY)) if value else place


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


def known_words(value: float, low: float | None, high: float | None) -> str:
    """Return a figure with the digits that its interval allows."""
    return place_words(value, measured_place(value, _half(low, high)))


def interval_words(low: float, high: float) -> str:
    """Return an interval with the digits that its own width allows: ``106 to 241``."""
    place = last_place(high, _half(low, high))
    # An end that is small beside the width is not rounded to nothing.
    ends = (place_words(one, min(place, _place(one, 1)) if one else place) for one in (low, high))
    return " to ".join(ends)


def change_figures(percent: float, low: float, high: float) -> tuple[str, str, str]:
    """Return a change in percent and both ends of its interval, with the digits that it allows.

    None of them becomes another change by that: the ratio that it stands for keeps a digit, so that
    -91 % is not -100 %, which would be nothing, and 990 % not 0 %. An end is not known where the
    ratio is 100 times as much or as little as the one that was found, unless zero is beyond it.

    >>> change_figures(-91.06, -99.9999, 2.1e14)
    ('-91', 'not known', 'not known')
    >>> change_figures(12.34, 9.8, 14.9)
    ('+12.3', '+9.8', '+14.9')
    """
    half = _half(low, high)
    is_low_known, is_high_known = _known_ends(percent, low, high)
    return (
        change_figure(percent, half),
        change_figure(low, half) if is_low_known else NOT_KNOWN,
        change_figure(high, half) if is_high_known else NOT_KNOWN,
    )


def change_figure(percent: float, half: float | None = None) -> str:
    """Return a change in percent, rounded to no other change."""
    place = min(
        last_place(percent, half),
        # Whole percents tell what is less than ten of them.
        max(_place(percent, _DIGITS_OF_UNCERTAINTY), 0),
        _place(_PERCENT + percent, 1),
    )
    return place_words(percent, place, sign=True)


def _known_ends(percent: float, low: float, high: float) -> tuple[bool, bool]:
    ratio, least, most = (1 + one / _PERCENT for one in (percent, low, high))
    return low > 0 or least * _KNOWN_FACTOR >= ratio, high < 0 or most <= ratio * _KNOWN_FACTOR


def change_interval(percent: float, low: float, high: float) -> str:
    """Return the interval of a change in percent: ``+9.8 to +14.9``, ``+5 or more``."""
    _, least, most = change_figures(percent, low, high)
    if NOT_KNOWN not in {least, most}:
        return f"{least} to {most}"
    if least == most:
        return NOT_KNOWN
    return f"{most} or less" if least == NOT_KNOWN else f"{least} or more"


def change_words(percent: float, low: float, high: float) -> str:
    """Return a change with its interval within a sentence: ``+12.3 % (+9.8 to +14.9 %)``."""
    change, between = change_figures(percent, low, high)[0], change_interval(percent, low, high)
    if between == NOT_KNOWN:
        return f"{change} % (how much of that is chance, so few runs do not tell)"
    return f"{change} % ({between} %)"


def drawn_change(percent: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval as far as a figure shows them: what is not known is cut."""
    ratio = _PERCENT + percent
    return max(low, ratio / _KNOWN_FACTOR - _PERCENT), min(high, ratio * _KNOWN_FACTOR - _PERCENT)


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
