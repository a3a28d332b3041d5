"""Latency histograms of several runs, merged, and their percentiles with intervals.

The histograms have the engine's layout (HDR: ten bits below the leading one, so that a bucket is at
most 1/1024 of its value wide), which is the same everywhere; merging loses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, stdtrit

from fathom._tails import independent_ios
from fathom.stats.floats import as_values
from fathom.stats.noise import Noise, inflation, recognise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from fathom.stats.floats import FloatArray, Values

__all__ = ["Histograms", "QuantileEstimate", "bucket_widths_ns", "ios_needed", "more_runs"]

_SUB_BUCKET_BITS = 10
# Nobody makes more.
_MOST_RUNS = 1000


@dataclass(frozen=True)
class QuantileEstimate:
    """A quantile of the merged histograms in nanoseconds, with its interval.

    Attributes
    ----------
    quantile, value_ns
        The share of the I/Os, and the latency that it does not exceed.
    low_ns, high_ns
        The interval; None where the I/Os or the runs carry none.
    confidence
        Of the interval.
    between_runs
        The interval comes from the differences between runs; if false there was one run, its I/Os
        were taken as independent, and the interval is likely too narrow.
    ios
        In all histograms.
    ios_needed
        As many I/Os would carry an interval, if these are too few; None, too, for the least and the
        greatest latency, which no number of I/Os gives an interval.
    is_greatest
        The value is the greatest of all latencies, and tells no more than that.
    noise
        What the shares of the runs have besides independent noise, which no interval counts.
    widened
        By how much the interval is wider than that of independent runs.

    """

    quantile: float
    value_ns: float
    low_ns: float | None
    high_ns: float | None
    confidence: float
    between_runs: bool
    ios: int = 0
    ios_needed: int | None = None
    runs_needed: int | None = None
    is_greatest: bool = False
    noise: tuple[Noise, ...] = ()
    widened: float = 1.0


class Histograms:
    """The histograms of several runs on common buckets.

    Attributes
    ----------
    lower_ns
        The least value of each bucket in nanoseconds, ascending.
    counts
        I/Os in each bucket: one row for each run.

    """

    def __init__(self, runs: Sequence[Mapping[int, int]]) -> None:
        """Take the buckets of each run, such as ``Latency.buckets``.

        Raises
        ------
        ValueError
            If there is no run, or one has no I/O.

        """
        buckets = [np.fromiter(run.keys(), np.int64, len(run)) for run in runs]
        counts = [np.fromiter(run.values(), np.float64, len(run)) for run in runs]
        if not runs or any(one.sum() == 0 for one in counts):
            raise ValueError("each run needs a histogram with at least one I/O")
        places = np.unique(np.concatenate(buckets))
        self.lower_ns: npt.NDArray[np.int64] = places
        self.counts: FloatArray = np.zeros((len(runs), places.size))
        for row, (lower, count) in enumerate(zip(buckets, counts, strict=True)):
            self.counts[row, np.searchsorted(places, lower)] = count

    @property
    def middle_ns(self) -> FloatArray:
        """The middle of each bucket in nanoseconds."""
        return np.asarray(self.lower_ns + np.floor((bucket_widths_ns(self.lower_ns) - 1) / 2))

    def shares(self) -> FloatArray:
        """Return, for each run, the share of I/Os up to and with each bucket."""
        sums = np.cumsum(self.counts, axis=1)
        return np.asarray(sums / sums[:, -1:])

    def quantile(self, quantile: float, *, confidence: float = 0.95) -> QuantileEstimate:
        """Return a quantile of all runs together, with its interval where there is one.

        Of several runs that of Woodruff (JASA 47, 1952) over runs as clusters: how much the share
        of I/Os up to the quantile differs from run to run gives an interval of shares, which is
        read back through the merged distribution; its lower end is that of the test at each latency
        (Francisco & Fuller, Annals of Statistics 19, 1991), if that is lower. Of one run it is that
        of order statistics, by the binomial distribution. There is none where too few I/Os are
        beyond the quantile, or where the runs are not of one kind (``recognise``).

        Raises
        ------
        ValueError
            If the quantile is not within 0 to 1.

        """
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {quantile}")
        total = self.counts.sum(axis=0)
        cumulated = np.cumsum(total)
        place = _place(cumulated, quantile)
        ios = int(cumulated[-1])
        needed = ios_needed(quantile, len(self.counts), confidence)
        noise: tuple[Noise, ...] = ()
        widened = 1.0
        ends: tuple[int, int] | None = None
        if ios >= needed:
            if len(self.counts) == 1:
                ends = _order_places(cumulated, quantile, confidence)
            else:
                levels = self.levels(place)
                body = self.levels(_place(cumulated, 0.5))
                noise, widened = recognise(levels, memory_in=body), inflation(levels)
                ends = None if noise else self._ends(quantile, place, confidence, widened)
        middle = self.middle_ns
        return QuantileEstimate(
            quantile=quantile,
            value_ns=float(middle[place]),
            low_ns=None if ends is None else float(middle[ends[0]]),
            high_ns=None if ends is None else float(middle[ends[1]]),
            confidence=confidence,
            between_runs=len(self.counts) > 1,
            ios=ios,
            ios_needed=None if ends or noise else self._more_ios(needed, ios),
            runs_needed=(
                None
                if ends or noise or ios < needed
                else self._more_runs(place, quantile, confidence, widened)
            ),
            is_greatest=math.ceil(quantile * ios * (1 - 1e-12)) >= ios,
            noise=noise,
            widened=widened,
        )

    def levels(self, place: int) -> FloatArray:
        """Return how many I/Os of each run are on the rarer side of a bucket, less skewed.

        Counts of rare I/Os are as those of Poisson, and those of runs whose latencies differ by
        factors are skewed beside: as of a negative binomial variable (Anscombe, "The transformation
        of Poisson, binomial and negative-binomial data", Biometrika 35, 1948).
        """
        totals = self.counts.sum(axis=1)
        below = self.counts[:, : place + 1].sum(axis=1)
        is_low = below.sum() < totals.sum() / 2
        rare = (below if is_low else totals - below) * totals.mean() / totals
        mean = max(float(rare.mean()), 1.0)
        beyond_chance = max(float(rare.var()) - mean, 0.0) / mean**2
        factor = max(beyond_chance, 1e-6)
        found = np.arcsinh(np.sqrt((rare + 0.375) * factor))
        return np.asarray(found if not is_low else -found)

    def residuals(self, place: int) -> FloatArray:
        """Return by how many I/Os each run has more up to a bucket than its part of all.

        Their squares are those of the variance of a ratio of sums over clusters (Cochran, "Sampling
        Techniques", 1977, 6.3).
        """
        totals = self.counts.sum(axis=1)
        below = self.counts[:, : place + 1].sum(axis=1)
        return np.asarray(below - below.sum() / totals.sum() * totals)

    def _ends(
        self, quantile: float, place: int, confidence: float, widened: float
    ) -> tuple[int, int] | None:
        """Return the buckets of both ends; None if one is beyond all I/Os."""
        runs = len(self.counts)
        ios = float(self.counts.sum())
        student = widened * float(stdtrit(runs - 1, (1 + confidence) / 2))
        error = float(np.linalg.norm(self.residuals(place))) * math.sqrt(runs / (runs - 1)) / ios
        half = student * error
        # Runs whose I/Os all lie in one bucket do not differ at all.
        if not 1 / ios < quantile - half <= quantile + half < 1 - 1 / ios:
            return None
        cumulated = np.cumsum(self.counts.sum(axis=0))
        low, high = (_place(cumulated, quantile + side * half) for side in (-1, 1))
        return min(low, self._tested_end(quantile, student)), high

    def _more_ios(self, needed: float, ios: int) -> int | None:
        """Return how many I/Os would carry an interval; None where they are not what is missing."""
        if math.isinf(needed) or (ios >= needed and len(self.counts) > 1):
            return None
        return max(math.ceil(needed), ios + 1)

    def _more_runs(
        self, place: int, quantile: float, confidence: float, widened: float
    ) -> int | None:
        """Return how many runs would carry an interval, as these differ too much for theirs."""
        runs, ios = len(self.counts), float(self.counts.sum())
        if runs == 1:
            return None
        # By how much the share of I/Os up to the bucket differs from run to run.
        spread = float(np.linalg.norm(self.residuals(place))) * runs / math.sqrt(runs - 1) / ios
        return more_runs(widened * spread, runs, min(quantile, 1 - quantile) - 1 / ios, confidence)

    def _tested_end(self, quantile: float, student: float) -> int:
        """Return the first bucket whose share of I/Os is not shown to be below the quantile."""
        totals = self.counts.sum(axis=1)
        apart = np.cumsum(self.counts, axis=1) - quantile * totals[:, None]
        runs = len(apart)
        error = apart.std(axis=0, ddof=1) / math.sqrt(runs)
        return int(np.argmax(apart.mean(axis=0) + student * error >= 0))


def bucket_widths_ns(lower_ns: npt.NDArray[np.int64]) -> FloatArray:
    """Return how wide the buckets are that begin at these latencies, in nanoseconds."""
    exponents = np.frexp(lower_ns.astype(np.float64))[1] - 1 - _SUB_BUCKET_BITS
    return np.asarray(np.exp2(np.maximum(exponents, 0)))


def ios_needed(quantile: float, runs: int, confidence: float) -> float:
    """Return how many independent I/Os carry an interval at least."""
    rare = min(quantile, 1 - quantile)
    if rare <= 0:
        return math.inf
    if runs == 1:
        return independent_ios(rare, confidence)
    return float(stdtrit(runs - 1, (1 + confidence) / 2)) ** 2 / rare


def more_runs(spread: float, runs: int, room: float, confidence: float) -> int | None:
    """Return how many runs of this spread have an interval that reaches no farther than ``room``.

    Student's factor falls steeply with the number of runs, which no number of I/Os of the same few
    runs makes up for. None if 1,000 runs would not do.
    """
    counts = np.arange(max(runs, 1) + 1, _MOST_RUNS + 1)
    half = stdtrit(counts - 1, (1 + confidence) / 2) * spread / np.sqrt(counts)
    enough = counts[half < room]
    return int(enough[0]) if enough.size else None


def _order_places(
    cumulated: FloatArray, quantile: float, confidence: float
) -> tuple[int, int] | None:
    """Return the buckets of the two order statistics that hold the quantile of independent I/Os."""
    ios = int(cumulated[-1])
    outside = (1 - confidence) / 2
    # Around the ranks by the normal distribution, far enough for any number of I/Os.
    reach = 10 + int(10 * math.sqrt(ios * quantile * (1 - quantile)))
    middle = int(ios * quantile)
    ranks = np.arange(max(middle - reach, 1), min(middle + reach, ios) + 1)
    below = bdtr(ranks - 1, ios, quantile)
    lower, upper = ranks[below <= outside], ranks[below >= 1 - outside]
    if not lower.size or not upper.size:
        return None
    low, high = (np.searchsorted(cumulated, rank) for rank in (lower[-1], upper[0]))
    return int(low), int(high)


def _place(cumulated: FloatArray, quantile: float) -> int:
    # The rule of ranks is the engine's (measure/latency.rs): ceil(quantile * count), at least 1.
    rank = max(math.ceil(quantile * cumulated[-1] * (1 - 1e-12)), 1)
    return int(min(np.searchsorted(cumulated, rank), cumulated.size - 1))


def from_values(values: Values) -> dict[int, int]:
    """Return the buckets that the engine would fill with these latencies in nanoseconds."""
    whole = as_values(values).astype(np.int64)
    exponents = np.frexp(np.maximum(whole, 1).astype(np.float64))[1] - 1 - _SUB_BUCKET_BITS
    shift = np.maximum(exponents, 0)
    places, counts = np.unique(whole >> shift << shift, return_counts=True)
    return dict(zip(places.tolist(), counts.tolist(), strict=True))
