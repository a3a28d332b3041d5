"""Is the difference of two sets of runs more than chance? For numbers, and for whole curves.

Neighbouring runs resemble each other: what else a machine does lasts longer than one run. Runs
are then not exchangeable, and a test that takes them so (Welch's, a permutation's) finds
differences between equals: in up to half of the comparisons on a machine that is busy. What a mean
of runs is worth is known by how much the series of runs moves slowly. That is measured here by its
first few cosines (equal-weighted cosine test: Mueller, "HAC corrections for strongly
autocorrelated time series", JBES 32, 2014; Lazarus, Lewis, Stock & Watson, "HAR inference", JBES
36, 2018), and it counts where it is more than the spread of the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct
from scipy.special import stdtr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["Contrast", "Side", "contrast", "resemblance", "unbiased_lag_1"]

# So many cosines of each side tell its slow movement. More would have more degrees of freedom, and
# look at movement that is faster than what disturbs. Chosen on recorded runs and in simulation
# (docs/comparing.md).
_COSINES = 2
# From this resemblance of neighbours on, the first cosine moves more than the second, so that both
# tell less than two independent values: the difference has the freedom of one side only.
_STRONG = 0.3


@dataclass(frozen=True)
class Side:
    """Runs in the order of time, one row each; a number is a row of one.

    Attributes
    ----------
    values
        One row for each run.
    pilot
        If the spread of the first runs decided how many there are, how many these were.
    known
        The variance of the mean and its degrees of freedom, where the runs do not tell: of a
        single run.
    is_drawn
        The rows are differences of pairs whose order was drawn by chance, each pair's by itself.
        What the machine does beside them then has a sign by chance in each row, so that rows do not
        resemble their neighbours however much runs do (Fisher, "The Design of Experiments", 1935).

    """

    values: FloatArray
    pilot: int | None = None
    known: tuple[float, float] | None = None
    is_drawn: bool = False

    @property
    def mean(self) -> FloatArray:
        """The mean of the rows."""
        return _mean(self.values)

    def spread(self) -> tuple[float, float]:
        """Return the variance of the mean of independent runs, and its degrees of freedom."""
        if self.known is not None:
            return self.known
        first = self.values[: self.pilot]
        variance = _variance(first)
        if self.is_drawn:
            # A machine that got busy behind the pilot shows in all rows.
            variance = max(variance, _variance(self.values))
        return variance / len(self.values), len(first) - 1

    def slow(self) -> tuple[float, float]:
        """Return the variance of the mean by the first cosines, and its degrees of freedom."""
        if self.known is not None or self.is_drawn:
            return self.spread()
        count = min(_COSINES, len(self.values) - 1)
        waves = dct(self.values, type=2, norm="ortho", axis=0)[1 : count + 1]
        return _power(waves) / count / len(self.values), count


@dataclass(frozen=True)
class Contrast:
    """A difference of means, its standard error, the error's degrees of freedom, and the test.

    The p-value is that of Student's distribution. For curves, whose length takes the place of the
    difference, it is an upper bound: their parts do not all move together, and the ratio of their
    squared lengths then has lighter tails than that of two numbers.
    """

    difference: FloatArray
    error: float
    freedom: float
    p_value: float


def resemblance(sides: Sequence[Side]) -> float:
    """Return how much of a run's deviation the next run repeats, over all sides; 0 if unknown.

    The coefficient of lag 1, freed of its bias (Kendall, Biometrika 41, 1954).
    """
    found, weights = [], []
    for side in sides:
        centred = side.values - side.mean
        power = _power(centred)
        count = len(centred)
        if count > 2 and power > 0:  # noqa: PLR2004 - Two runs have one difference.
            raw = float(np.add.reduce(centred[1:] * centred[:-1], axis=None)) / power
            found.append(raw + (1 + 3 * raw) / count)
            weights.append(count)
    return float(np.average(found, weights=weights)) if found else 0.0


def unbiased_lag_1(series: FloatArray) -> FloatArray:
    """Return that coefficient of each series of numbers along the last axis."""
    count = series.shape[-1]
    centred = series - series.mean(axis=-1, keepdims=True)
    raw = (centred[..., 1:] * centred[..., :-1]).sum(axis=-1) / (centred**2).sum(axis=-1)
    return np.asarray(raw + (1 + 3 * raw) / count)


def contrast(sides: Sequence[Side]) -> Contrast:
    """Test the difference of two sides, or whether the mean of one differs from 0."""
    difference = sides[-1].mean - sides[0].mean if len(sides) > 1 else sides[0].mean
    fast = [*zip(*(side.spread() for side in sides), strict=True)]
    slow = [*zip(*(side.slow() for side in sides), strict=True)]
    if sum(fast[0]) >= sum(slow[0]):
        # The pilot's spread made the standard error what was requested, so it tells nothing of the
        # true one, and the difference is one of two Student variables (Chapman, Annals of
        # Mathematical Statistics 21, 1950). Its tails are within those of the wider one.
        is_planned = any(side.pilot is not None for side in sides)
        variance, freedom = sum(fast[0]), min(fast[1]) if is_planned else _freedom(*fast)
    else:
        is_strong = resemblance(sides) >= _STRONG
        variance, freedom = sum(slow[0]), min(slow[1]) if is_strong else _freedom(*slow)
    error, length = float(np.sqrt(variance)), float(np.linalg.norm(difference))
    score = length / error if error > 0 else (float("inf") if length else 0.0)
    return Contrast(difference, error, freedom, 2 * float(stdtr(freedom, -score)))


def _variance(rows: FloatArray) -> float:
    return _power(rows - _mean(rows)) / (len(rows) - 1)


def _mean(rows: FloatArray) -> FloatArray:
    # As ``mean`` does, which takes longer to begin than this takes for a few runs.
    return np.asarray(np.add.reduce(rows, axis=0) / len(rows))


def _power(rows: FloatArray) -> float:
    return float(np.add.reduce(rows * rows, axis=None))


def _freedom(variances: Sequence[float], freedoms: Sequence[float]) -> float:
    # Welch and Satterthwaite; a side that never varies takes no part.
    parts = sum(one**2 / free for one, free in zip(variances, freedoms, strict=True))
    return sum(variances) ** 2 / parts if parts > 0 else 1.0
