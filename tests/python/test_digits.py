"""Figures and changes with the digits that their interval allows, and with none that are false."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fathom._digits import (
    change_figures,
    change_interval,
    change_words,
    drawn_change,
    interval_words,
    known_words,
)

_PERCENT = 100


def test_a_change_is_not_rounded_to_the_magnitude_of_its_interval() -> None:
    """It said *+0 % (+0 to +210,000,000,000,000 %)* of 38,000 and 3,400 IOPS."""
    assert change_words(-91.06, -99.999999, 2.1e14).startswith("-91 % (how much of that is chance")
    assert change_figures(989.7, -99.99999999, 2.4e16)[0] == "+990"
    assert change_interval(-91.06, -99.999999, 2.1e14) == "not known"


def test_a_change_is_not_rounded_to_nothing_at_all() -> None:
    """It said *-100 % (-100 to +10,300 %)* of 880 and 400 IOPS, and *+0 %* of their latency."""
    assert change_figures(-54.34, -99.8, 10_300) == ("-54", "not known", "not known")
    assert change_figures(-54.34, -98.95, 950) == ("-54", "-99", "+950")
    assert change_figures(-99.7, -99.99, 500)[0] == "-99.7"


@pytest.mark.parametrize(
    ("percent", "low", "high", "between"),
    [
        (12.34, 9.8, 14.9, "+9.8 to +14.9"),
        (0.03, -5.1, 5.4, "-5.1 to +5.4"),
        (1e6, 5.0, 1.9e12, "+5 or more"),
        (-99.999, -99.99999999, -12.0, "-12 or less"),
        # Of a device a thousand times as fast, much is known.
        (100_000.0, 90_000.0, 111_000.0, "+90,000 to +111,000"),
        (1e9, -99.999, math.inf, "not known"),
    ],
)
def test_an_end_that_so_few_runs_do_not_tell_is_called_so(
    percent: float, low: float, high: float, between: str
) -> None:
    assert change_interval(percent, low, high) == between


def test_no_shown_change_is_another_than_was_found() -> None:
    """Whatever the interval, the ratio that is shown is the one that was found."""
    draw = np.random.default_rng(1)
    for _ in range(20_000):
        middle, half = draw.normal(0, 3), draw.lognormal(0, 2)
        ends = [middle + sign * half for sign in (0, -1, 1)]
        found = [_PERCENT * math.expm1(min(one, 600)) for one in ends]
        for text, percent in zip(change_figures(*found), found, strict=True):
            if text == "not known":
                continue
            shown = float(text.replace(",", ""))
            # At the middle of two digits the half of one is 5 % of the figure.
            assert math.isclose(shown, percent, rel_tol=0.051, abs_tol=0.51), (found, text)
            ratio = 1 + percent / _PERCENT
            if ratio > 1e-4:
                assert math.isclose(1 + shown / _PERCENT, ratio, rel_tol=0.51), (found, text)


def test_a_picture_ends_where_an_interval_is_no_more_known() -> None:
    low, high = drawn_change(-91.06, -99.999999, 2.1e14)
    assert (round(low, 2), round(high)) == (-99.91, 794)
    assert drawn_change(12.34, 9.8, 14.9) == (9.8, 14.9)


def test_a_wide_interval_makes_no_mean_to_nothing() -> None:
    """A repetition of three runs had a mean of 0 IOPS, and an interval from 0."""
    assert known_words(42.3, 0.0, 12_000.0) == "42"
    assert interval_words(3.2, 4_100.0) == "3 to 4,100"
    assert interval_words(0.0, 4_100.0) == "0 to 4,100"
    assert known_words(0.0, 0.0, 4_100.0) == "0"
