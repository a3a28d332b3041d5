"""The mean of runs, with an interval where one is honest, and with what it takes for granted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr

from fathom.stats.floats import as_values
from fathom.stats.mean import independent_mean
from fathom.stats.noise import LEAST_RUNS, Noise, inflation, recognise

if TYPE_CHECKING:
    from fathom.stats.floats import Values
    from fathom.stats.histogram import Histograms

__all__ = ["RunsEstimate", "order_interval", "runs_mean", "runs_percentile"]

_GIVEN_UP = 0.05


@dataclass(frozen=True)
class RunsEstimate:
    """A figure of several runs, with its interval where the runs carry one.

    Attributes
    ----------
    mean
        The mean; of a percentile that of all I/Os together.
    low, high
        The interval; None where none is honest, which ``noise`` and ``needed`` tell.
    confidence
        Of the interval.
    runs
        How many there are.
    widened
        By how much the interval is wider than that of independent runs.
    noise
        What the runs have besides independent normal noise.
    needed
        How many runs would carry an interval; None where no number is known, or none is needed.
    is_tested
        There are enough runs to test them, at least 10; fewer have no interval.
    median_low, median_high
        The interval of the median run by order statistics, where the mean has none.
    ios_needed
        Of a percentile, how many I/Os would carry an interval, if there are fewer.
    runs_needed
        Of a percentile, how many runs would, where these differ so much that theirs has no end.
    is_greatest
        Of a percentile: it is the greatest of all latencies, and nothing else.
    unseen_share, unseen_resemblance
        What comes in fewer of the runs, and neighbours that resemble each other less, so few runs
        often do not show; the interval takes for granted that there is neither.

    """

    mean: float
    low: float | None
    high: float | None
    confidence: float
    runs: int
    widened: float = 1.0
    noise: tuple[Noise, ...] = ()
    needed: int | None = None
    is_tested: bool = True
    median_low: float | None = None
    median_high: float | None = None
    ios_needed: int | None = None
    runs_needed: int | None = None
    is_greatest: bool = False
    unseen_share: float = 1.0
    unseen_resemblance: float = 1.0

    @property
    def can_tell(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.high is not None

    @property
    def relative_half_width(self) -> float:
        """Half of the interval's width as a share of the figure; infinite where there is none."""
        if self.low is None or self.high is None or not self.mean:
            return float("inf")
        return (self.high - self.low) / 2 / abs(self.mean)


def runs_mean(
    values: Values, *, confidence: float = 0.95, pilot: int | None = None
) -> RunsEstimate:
    """Return the mean of one figure of runs, in the order of time.

    Student's interval, wider where neighbours resemble each other (``inflation``); none where the
    runs drift, change level, remember, have two states, stall or are skewed, and are too few for
    that. Of fewer than 10 runs nothing of the kind can be told, and there is none.

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
    plain = independent_mean(series, confidence=confidence, pilot=pilot)
    noise = recognise(series)
    is_tested = series.size >= LEAST_RUNS
    is_told = is_tested and not noise
    median = order_interval(series, confidence=confidence) if noise else None
    widened = inflation(series) if is_told else 1.0
    half = (plain.high - plain.low) / 2 * widened
    return RunsEstimate(
        plain.mean,
        # The mean of what is never below 0 is not, either.
        max(plain.mean - half, 0.0 if series.min() >= 0 else -math.inf) if is_told else None,
        plain.mean + half if is_told else None,
        confidence,
        series.size,
        widened=widened,
        noise=noise,
        needed=needed_runs(noise) if is_tested else LEAST_RUNS,
        is_tested=is_tested,
        median_low=median[0] if median else None,
        median_high=median[1] if median else None,
        unseen_share=unseen_share(series.size),
        unseen_resemblance=unseen_resemblance(series.size),
    )


def runs_percentile(
    histograms: Histograms, quantile: float, *, confidence: float = 0.95
) -> RunsEstimate:
    """Return a percentile in nanoseconds of all I/Os of several runs (``Histograms.quantile``)."""
    found = histograms.quantile(quantile, confidence=confidence)
    runs = len(histograms.counts)
    is_tested = runs >= LEAST_RUNS
    return RunsEstimate(
        found.value_ns,
        found.low_ns if is_tested else None,
        found.high_ns if is_tested else None,
        confidence,
        runs,
        widened=found.widened,
        noise=found.noise,
        needed=needed_runs(found.noise) if is_tested else LEAST_RUNS,
        is_tested=is_tested,
        ios_needed=found.ios_needed,
        runs_needed=found.runs_needed,
        is_greatest=found.is_greatest,
        unseen_share=unseen_share(runs),
        unseen_resemblance=unseen_resemblance(runs),
    )


def needed_runs(noise: tuple[Noise, ...]) -> int | None:
    """Return how many runs would carry an interval all the same; None if no number does."""
    needed = [one.needed for one in noise]
    known = [one for one in needed if one is not None]
    return max(known) if known and len(known) == len(needed) else None


def order_interval(values: Values, *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the interval of the median by order statistics, which hold for every distribution.

    None if there are too few values: 95 % need 6. (David & Nagaraja, "Order Statistics", 2003, 7.1)
    """
    ordered = np.sort(as_values(values))
    count = ordered.size
    outside = (1 - confidence) / 2
    ranks = [rank for rank in range(1, count // 2 + 1) if bdtr(rank - 1, count, 0.5) <= outside]
    if not ranks:
        return None
    return float(ordered[ranks[-1] - 1]), float(ordered[count - ranks[-1]])


def unseen_share(runs: int) -> float:
    """Return in which share of runs something may come that so many runs did not show at 95 %."""
    return float(1 - _GIVEN_UP ** (1 / runs))


def unseen_resemblance(runs: int) -> float:
    """Return the resemblance of neighbours that half of the sets of so many runs do not show."""
    return min(2.0 / math.sqrt(runs), 1.0)
