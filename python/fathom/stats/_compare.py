"""Is B different from A? Effect size, interval and test for two sets of runs.

The unit is the run: the I/Os and the seconds of one run resemble each other, and runs differ among
themselves by more than their seconds tell. Where there is only one run, its seconds are all there
is, and the result says that differences between runs are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from fathom.stats._mean import LEAST_VALUES, long_run
from fathom.stats._types import as_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats._types import FloatArray, Values

__all__ = ["Comparison", "compare_means"]


@dataclass(frozen=True)
class Comparison:
    """How the mean of B differs from that of A, as a share of A's: 0.03 is 3 % more.

    Attributes
    ----------
    change, low, high
        The change and the interval that holds the true one with the given confidence.
    p_value
        The probability of a change so great by chance.
    effect_size
        The change in units of the standard deviation between runs (Hedges' g, 1981); None where one
        side has a single run.
    between_runs
        Whether differences between runs are accounted for; if not, the interval is too narrow.

    """

    change: float
    low: float
    high: float
    confidence: float
    p_value: float
    effect_size: float | None
    between_runs: bool
    a_mean: float
    b_mean: float
    a_runs: int
    b_runs: int

    @property
    def is_different(self) -> bool:
        """Whether chance is no explanation at the confidence asked for."""
        return self.p_value < 1 - self.confidence


@dataclass(frozen=True)
class _Side:
    """The mean of one side's logarithms, its variance, and the degrees of freedom of that."""

    mean: float
    variance: float
    freedom: float
    values: FloatArray


def compare_means(
    a_runs: Sequence[Values],
    b_runs: Sequence[Values],
    *,
    confidence: float = 0.95,
    a_pilot: int | None = None,
    b_pilot: int | None = None,
) -> Comparison:
    """Compare two sets of runs, each with its series in the order of time, or with one value.

    Welch's test on the logarithms of the runs' means, so that the change is a ratio and its
    interval is too. With one run on either side, that side's variance is the long-run variance of
    its series.

    Parameters
    ----------
    a_runs, b_runs
        For each run a series without its warm-up (at least 8 values), or a single value.
    confidence
        Of the interval; the test is at one minus this.
    a_pilot, b_pilot
        If the number of runs was decided by the spread of the first ones, how many these were; the
        spread is then theirs alone (see ``planned_count``).

    Raises
    ------
    ValueError
        If a value is not above 0, or one side has a single run with fewer than 8 values.

    """
    a, b = _side(a_runs, a_pilot), _side(b_runs, b_pilot)
    difference = b.mean - a.mean
    variance = a.variance + b.variance
    error = float(np.sqrt(variance))
    freedom = _freedom(a, b, is_planned=a_pilot is not None or b_pilot is not None)
    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    score = abs(difference) / error if error > 0 else (float("inf") if difference else 0.0)
    return Comparison(
        change=float(np.expm1(difference)),
        low=float(np.expm1(difference - half)),
        high=float(np.expm1(difference + half)),
        confidence=confidence,
        p_value=2 * float(stdtr(freedom, -score)),
        effect_size=_hedges(a.values, b.values),
        between_runs=min(a.values.size, b.values.size) > 1,
        a_mean=float(np.exp(a.mean)),
        b_mean=float(np.exp(b.mean)),
        a_runs=a.values.size,
        b_runs=b.values.size,
    )


def _side(runs: Sequence[Values], pilot: int | None) -> _Side:
    series = [np.atleast_1d(as_values(np.atleast_1d(np.asarray(run, float)))) for run in runs]
    if not series:
        raise ValueError("both sides need at least one run")
    if min(float(one.min()) for one in series) < 0 or min(float(o.mean()) for o in series) <= 0:
        raise ValueError("rates and latencies to compare are above 0")
    means = np.log([float(one.mean()) for one in series])
    if means.size > 1:
        first = means[:pilot]
        variance = float(first.var(ddof=1)) / means.size
        return _Side(float(means.mean()), variance, first.size - 1, means)
    (only,) = series
    if only.size < LEAST_VALUES:
        raise ValueError(
            f"one run with {only.size} intervals tells nothing of its spread: repeat it, or keep "
            f"at least {LEAST_VALUES} intervals (-D)"
        )
    found = long_run(only)
    # The variance of a logarithm is the relative variance (delta method).
    variance = float(found.variance) / only.size / float(only.mean()) ** 2
    return _Side(float(means[0]), variance, float(found.freedom), means)


def _freedom(a: _Side, b: _Side, *, is_planned: bool) -> float:
    if is_planned:
        # The pilot's spread made the standard error what was asked for, so it tells nothing of the
        # true one, and the difference is one of two Student variables (Chapman, Annals of
        # Mathematical Statistics 21, 1950). Its tails are within those of the wider one.
        return min(a.freedom, b.freedom)
    # Welch and Satterthwaite; a side that never varies takes no part.
    parts = sum(side.variance**2 / side.freedom for side in (a, b))
    return (a.variance + b.variance) ** 2 / parts if parts > 0 else 1.0


def _hedges(a: FloatArray, b: FloatArray) -> float | None:
    if min(a.size, b.size) < 2:  # noqa: PLR2004 - One value has no deviation.
        return None
    freedom = a.size + b.size - 2
    pooled = ((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / freedom
    if pooled == 0:
        return None
    correction = 1 - 3 / (4 * freedom - 1)
    return float((b.mean() - a.mean()) / np.sqrt(pooled) * correction)
