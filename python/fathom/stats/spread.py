"""Single values: how they spread, which of them stand apart, whether they drift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr, stdtrit

from fathom.stats.floats import as_values
from fathom.stats.mean import LEAST_VALUES, long_run

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray, Values

__all__ = ["Drift", "Outlier", "coefficient_of_variation", "find_drift", "find_outliers"]

_LEAST_FOR_OUTLIERS = 6
_GREATEST_OUTLIER_SHARE = 0.2
# Rosner's critical values hold their level from 15 values on; below, several steps are each tested
# at their share of the level.
_EXACT_FROM = 15
_ROUNDING = 1e-12


def coefficient_of_variation(values: Values) -> float:
    """Return the standard deviation as a share of the mean.

    Raises
    ------
    ValueError
        If there are fewer than 2 values, or their mean is 0.

    """
    series = as_values(values, least=2)
    mean = float(series.mean())
    if mean == 0:
        raise ValueError("values with a mean of 0 have no coefficient of variation")
    return float(series.std(ddof=1)) / abs(mean)


@dataclass(frozen=True)
class Outlier:
    """One value that does not belong to the others; ``deviations`` is how far off it is.

    The unit is the standard deviation of the values without the outliers; the sign tells the side.
    It is None where those do not differ from each other, and so have no such unit.
    """

    index: int
    value: float
    deviations: float | None


def find_outliers(values: Values, *, level: float = 0.05) -> list[Outlier]:
    """Return the values that stand apart from otherwise normal ones, in their order.

    Rosner's generalised ESD test (Technometrics 25, 1983; NIST handbook 1.3.5.17.3), which finds
    several outliers that hide each other. Of values without any, a share of ``level`` of the sets
    has one found. Fewer than 6 values have none.
    """
    series = as_values(values)
    count = series.size
    if count < _LEAST_FOR_OUTLIERS or float(np.ptp(series)) == 0:
        return []
    most = max(1, int(count * _GREATEST_OUTLIER_SHARE))
    removed, beyond = _extremes(series, most, level / most if count < _EXACT_FROM else level)
    if not beyond:
        return []
    found = removed[:beyond]
    rest = np.delete(series, found)
    centre, deviation = float(rest.mean()), float(rest.std(ddof=1))
    # Equal values deviate from their mean by its rounding alone, which is no unit.
    unit = deviation if deviation > _ROUNDING * abs(centre) else None
    return [
        Outlier(index, value, None if unit is None else (value - centre) / unit)
        for index in sorted(found)
        for value in (float(series[index]),)
    ]


def _extremes(series: FloatArray, most: int, level: float) -> tuple[list[int], int]:
    """Return the most extreme values one after the other, and how many of them are outliers."""
    left, rest = [*range(series.size)], series
    removed: list[int] = []
    beyond = 0
    for step in range(1, most + 1):
        distances = np.abs(rest - rest.sum() / rest.size)
        deviation = math.sqrt(float(distances @ distances) / (rest.size - 1))
        if deviation == 0:
            break
        extreme = int(distances.argmax())
        removed.append(left.pop(extreme))
        if distances[extreme] > deviation * _critical(series.size, step, level):
            beyond = step
        rest = np.concatenate((rest[:extreme], rest[extreme + 1 :]))
    return removed, beyond


@lru_cache(maxsize=4096)
def _critical(count: int, step: int, level: float) -> float:
    remaining = count - step
    share = 1 - level / (2 * (remaining + 1))
    student = float(stdtrit(remaining - 1, share))
    root = np.sqrt((remaining - 1 + student**2) * (remaining + 1))
    return float(remaining * student / root)


@dataclass(frozen=True)
class Drift:
    """A linear trend: ``share`` is its rise from the first to the last value, by the mean.

    ``p_value`` is the probability of a trend at least so strong by chance.
    """

    share: float
    p_value: float
    level: float

    @property
    def is_drifting(self) -> bool:
        """Whether chance is no explanation at the level."""
        return self.p_value < self.level


def find_drift(values: Values, *, level: float = 0.05) -> Drift:
    """Test a series for a linear trend; neighbours may resemble each other.

    Raises
    ------
    ValueError
        If there are fewer than 8 values.

    """
    series = as_values(values, least=LEAST_VALUES)
    count = series.size
    positions = np.arange(count) - (count - 1) / 2
    power = float((positions**2).sum())
    mean = float(series.mean())
    slope = float((positions * (series - mean)).sum()) / power
    residuals = series - mean - slope * positions
    found = long_run(residuals)
    error = np.sqrt(float(found.variance) / power)
    # One degree of freedom is spent on the slope.
    freedom = max(float(found.freedom) - 1, 1.0)
    score = abs(slope) / error if error > 0 else (float("inf") if slope else 0.0)
    return Drift(
        share=slope * (count - 1) / abs(mean) if mean else float("nan"),
        p_value=2 * float(stdtr(freedom, -score)),
        level=level,
    )
