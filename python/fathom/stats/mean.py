"""Means of series whose neighbours resemble each other.

The I/Os per second of one second resemble those of the next, so the textbook interval, which takes
them as independent, is too narrow. What counts is the long-run variance: that of the mean times the
number of values. It is estimated from the lowest frequencies of the series (equal-weighted cosines:
Lazarus, Lewis, Stock & Watson, "HAR Inference: Recommendations for Practice", 2018), after an AR(1)
part has been taken out and put back (prewhitening: Andrews & Monahan 1992), whose coefficient is
freed of its bias (Kendall 1954, Marriott & Pope 1954).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct
from scipy.special import stdtrit

from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray, Values

__all__ = ["Estimate", "LongRun", "independent_mean", "long_run", "planned_count", "series_mean"]

LEAST_VALUES = 8
# Beyond it a series of practical length cannot be told from one that wanders off.
_GREATEST_COEFFICIENT = 0.97
# The number of cosines that the authors recommend: this times n to the power of two thirds.
_COSINES = 0.4
_LEAST_COSINES = 4
# How much the uncertainty of the coefficient costs in degrees of freedom. The delta method gives 4
# for an estimate that is independent of the rest; half of it covers nominally in simulation, for
# coefficients of 0 to 0.9 (test_stats_mean.py).
_COEFFICIENT_COST = 2.0
_LEAST_FREEDOM = 2.0


@dataclass(frozen=True)
class Estimate:
    """A mean, and the interval that holds the true one with the given confidence.

    ``effective_count`` is the number of independent values that would tell as much.
    """

    mean: float
    low: float
    high: float
    confidence: float
    effective_count: float

    @property
    def relative_half_width(self) -> float:
        """Half of the interval's width as a share of the mean; infinite for a mean of 0."""
        return (self.high - self.low) / 2 / abs(self.mean) if self.mean else float("inf")


@dataclass(frozen=True)
class LongRun:
    """Long-run variances along the last axis, and the degrees of freedom of each."""

    variance: FloatArray
    freedom: FloatArray


def long_run(values: Values) -> LongRun:
    """Return the long-run variance of each series along the last axis.

    Raises
    ------
    ValueError
        If a series has fewer than 8 values.

    """
    series = as_values(values, least=LEAST_VALUES)
    count = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    coefficient = _coefficient(centred)
    white = centred[..., 1:] - coefficient[..., None] * centred[..., :-1]
    cosines = max(_LEAST_COSINES, round(_COSINES * count ** (2 / 3)))
    waves: FloatArray = dct(white, type=2, norm="ortho", axis=-1)[..., 1 : cosines + 1]
    variance = (waves**2).mean(axis=-1) / (1 - coefficient) ** 2
    cost = _COEFFICIENT_COST * (1 + coefficient) / (count * (1 - coefficient))
    freedom = np.maximum(2 / (2 / cosines + cost), _LEAST_FREEDOM)
    return LongRun(variance=variance, freedom=freedom)


def _coefficient(centred: FloatArray) -> FloatArray:
    """Return how much of a value's deviation its successor repeats, without the estimate's bias."""
    power = (centred**2).sum(axis=-1)
    products = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1)
    raw = np.divide(products, power, out=np.zeros_like(power), where=power > 0)
    unbiased = raw + (1 + 3 * raw) / centred.shape[-1]
    return np.asarray(np.clip(unbiased, 0.0, _GREATEST_COEFFICIENT))


def series_mean(values: Values, *, confidence: float = 0.95) -> Estimate:
    """Return the mean of one series in the order of time, with its interval.

    Raises
    ------
    ValueError
        If the series has fewer than 8 values.

    """
    series = as_values(values, least=LEAST_VALUES)
    count = series.shape[-1]
    found = long_run(series)
    variance = float(series.var(ddof=1))
    long_variance = float(found.variance)
    half = _student(confidence, float(found.freedom)) * np.sqrt(long_variance / count)
    mean = float(series.mean())
    effective = count * min(variance / long_variance, 1.0) if long_variance > 0 else float(count)
    return Estimate(mean, mean - float(half), mean + float(half), confidence, effective)


def independent_mean(
    values: Values, *, confidence: float = 0.95, pilot: int | None = None
) -> Estimate:
    """Return the mean of independent values, such as one figure of each of several runs.

    Parameters
    ----------
    values
        The values in the order in which they were measured.
    confidence
        Of the interval.
    pilot
        If the spread of the first values decided how many there are, how many these were
        (see ``planned_count``).

    Raises
    ------
    ValueError
        If there are fewer than 2 values.

    """
    series = as_values(values, least=2)
    count = series.shape[-1]
    first = as_values(series[:pilot], least=2)
    mean = float(series.mean())
    half = _student(confidence, first.size - 1) * float(first.std(ddof=1)) / np.sqrt(count)
    return Estimate(mean, mean - float(half), mean + float(half), confidence, float(count))


def planned_count(pilot: Values, *, relative_half_width: float, confidence: float = 0.95) -> int:
    """Return how many values in all make the interval of the mean as narrow as requested.

    Stein's two stages (Annals of Mathematical Statistics 16, 1945): the spread of a pilot decides
    the number, and stays the estimate of the spread whatever follows. The interval then covers
    exactly, while one that stops as soon as it looks narrow enough stops too early: simulated
    comparisons of equals that stopped so differed in up to 10 % of the cases instead of 5 %.

    Raises
    ------
    ValueError
        If the pilot has fewer than 2 values, or a mean of 0.

    """
    series = as_values(pilot, least=2)
    mean = float(series.mean())
    if mean == 0:
        raise ValueError("a mean of 0 has no relative interval")
    half = abs(mean) * relative_half_width
    root = _student(confidence, series.size - 1) * float(series.std(ddof=1)) / half
    return max(series.size, int(np.ceil(root**2)))


def _student(confidence: float, freedom: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence is between 0 and 1, not {confidence}")
    return float(stdtrit(freedom, (1 + confidence) / 2))
