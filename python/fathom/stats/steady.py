"""Steady state as the SNIA Solid State Storage Performance Test Specification has it.

PTS 2.0.2 (2020), definitions 2.1.13 and 2.1.24: over a window of five rounds, the greatest minus
the least value is at most 20 % of the average, and the best linear fit rises or falls by at most 10
% of the average from the first to the last round of the window (four steps). After 25 rounds
without it the test ends, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats.floats import as_values
from fathom.stats.snia import FIT_PERCENT, RANGE_PERCENT, ROUND_LIMIT, WINDOW_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.stats.floats import FloatArray, Values

__all__ = ["SteadyState", "WindowCheck", "find_steady_state"]

_PERCENT = 100
# Sums of decimal fractions are off by a few units of the last place; the limits include equality.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class WindowCheck:
    """One figure over a window: its range and its fit's excursion, as shares of the average."""

    range_share: float
    fit_share: float
    slope_per_round: float
    average: float

    @property
    def is_steady(self) -> bool:
        """Whether both rules hold."""
        return (
            self.range_share <= RANGE_PERCENT / _PERCENT + _ROUNDING
            and self.fit_share <= FIT_PERCENT / _PERCENT + _ROUNDING
        )


@dataclass(frozen=True)
class SteadyState:
    """Whether and when all figures were steady.

    Attributes
    ----------
    is_steady
        All figures kept both rules in one window.
    rounds
        The last round of that window, from 1; without one, the last round that was looked at.
    checks
        Each figure over the window that ends there; empty before five rounds are done.
    is_exhausted
        25 rounds are done without it.

    """

    is_steady: bool
    rounds: int
    checks: Mapping[str, WindowCheck]
    is_exhausted: bool

    @property
    def first_round(self) -> int:
        """The first round of that window."""
        return self.rounds - WINDOW_ROUNDS + 1


def check_window(values: FloatArray) -> WindowCheck:
    """Check the five rounds of a window."""
    average = float(values.mean())
    positions = np.arange(values.size) - (values.size - 1) / 2
    slope = float((positions * (values - average)).sum() / (positions**2).sum())
    unit = abs(average) or float("nan")
    return WindowCheck(
        range_share=float(np.ptp(values)) / unit,
        fit_share=abs(slope) * (values.size - 1) / unit,
        slope_per_round=slope,
        average=average,
    )


def find_steady_state(figures: Mapping[str, Values]) -> SteadyState:
    """Return the first window in which all figures are steady.

    Parameters
    ----------
    figures
        For each name, such as ``iops``, one value per round, in the order of the rounds.

    Raises
    ------
    ValueError
        If the figures have different numbers of rounds, or there are none.

    """
    series = {name: as_values(values) for name, values in figures.items()}
    lengths = {values.size for values in series.values()}
    if len(lengths) != 1:
        raise ValueError("each figure needs one value per round, all the same number")
    rounds = min(lengths.pop(), ROUND_LIMIT)
    checks: dict[str, WindowCheck] = {}
    for end in range(WINDOW_ROUNDS, rounds + 1):
        window = slice(end - WINDOW_ROUNDS, end)
        checks = {name: check_window(values[window]) for name, values in series.items()}
        if all(check.is_steady for check in checks.values()):
            return SteadyState(is_steady=True, rounds=end, checks=checks, is_exhausted=False)
    exhausted = rounds == ROUND_LIMIT
    return SteadyState(is_steady=False, rounds=rounds, checks=checks, is_exhausted=exhausted)
