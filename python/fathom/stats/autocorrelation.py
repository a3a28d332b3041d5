"""The mean of runs that resemble their neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.stats._contrast import Side, resemblance
from fathom.stats.floats import as_values
from fathom.stats.mean import LEAST_VALUES, series_mean

if TYPE_CHECKING:
    from fathom.stats.floats import Values
    from fathom.stats.mean import Estimate

__all__ = ["Neighbours", "neighbours"]

# One-sided, 5 %: so often independent runs seem to resemble each other.
_DEVIATIONS = 1.645


@dataclass(frozen=True)
class Neighbours:
    """How much of a run's deviation the next run repeats, and the mean with that counted.

    ``is_alike`` says whether chance is no explanation of it, at 5 %. ``estimate`` is that of
    ``series_mean``, whose interval covers also where neighbours resemble each other.
    """

    resemblance: float
    is_alike: bool
    estimate: Estimate


def neighbours(values: Values, *, confidence: float = 0.95) -> Neighbours | None:
    """Return what neighbouring runs, in the order of time, tell; None for fewer than 8."""
    series = as_values(values)
    count = series.size
    if count < LEAST_VALUES:
        return None
    alike = resemblance([Side(series[:, None])])
    # The error of the coefficient, which grows as its bias is taken out.
    error = (1 + 3 / count) / math.sqrt(count)
    estimate = series_mean(series, confidence=confidence)
    return Neighbours(alike, alike > _DEVIATIONS * error, estimate)
