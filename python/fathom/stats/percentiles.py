"""What each run says of a percentile of all I/Os, so that the percentiles of two sides compare.

A percentile of all I/Os of a side comes from its merged histograms. By how much it differs from run
to run is known by the share of each run's I/Os up to it (Woodruff, JASA 47, 1952), read back to
latency through the slope of the merged distribution: the linear part of the percentile as a
function of the runs (Francisco & Fuller, Annals of Statistics 19, 1991). The mean of these values
is the percentile of all I/Os, and their spread is that of its interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fathom.stats.histogram import bucket_widths_ns, ios_needed, more_runs

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray
    from fathom.stats.histogram import Histograms

__all__ = ["TooFewIos", "percentile_of_each_run"]


@dataclass(frozen=True)
class TooFewIos:
    """Why a percentile of a side's runs has no interval.

    Attributes
    ----------
    quantile
        The share of I/Os that it stands for.
    value_ns
        The percentile of all I/Os.
    ios, needed
        How many there are, and how many would carry an interval at least; None if there are enough.
    is_greatest
        The value is the greatest of all latencies, and tells no more than that.
    runs, runs_needed
        How many runs there are, and how many would carry an interval where the runs differ so much
        that theirs reaches beyond all I/Os; None if no reasonable number would.

    """

    quantile: float
    value_ns: float
    ios: int
    needed: int | None
    is_greatest: bool
    runs: int = 0
    runs_needed: int | None = None


def percentile_of_each_run(
    histograms: Histograms, quantile: float, *, confidence: float = 0.95
) -> FloatArray | TooFewIos:
    """Return what each of several runs says of the percentile of all their I/Os, in nanoseconds.

    The geometric mean is that percentile; so it is of one run alone, which has one value.

    Raises
    ------
    ValueError
        If the quantile is not within 0 to 1.

    """
    found = histograms.quantile(quantile, confidence=confidence)
    runs = len(histograms.counts)
    needed = math.ceil(ios_needed(quantile, runs, confidence)) if 0 < quantile < 1 else found.ios
    carried = found.ios > needed or (found.ios == needed and not found.is_greatest)
    edges = _Edges(histograms)
    middle = edges.at(quantile)
    if runs == 1 and carried:
        return np.array([middle])
    residuals = histograms.residuals(edges.place(quantile))
    error = float(np.linalg.norm(residuals)) * math.sqrt(runs / max(runs - 1, 1)) / found.ios
    # No distribution is known better than its I/Os tell, however much alike runs are.
    half = float(stdtrit(max(runs - 1, 1), (1 + confidence) / 2)) * error
    half = max(half, math.sqrt(quantile * (1 - quantile) / found.ios))
    if not carried or not 1 / found.ios < quantile - half < quantile + half < 1 - 1 / found.ios:
        few = TooFewIos(quantile, found.value_ns, found.ios, needed, found.is_greatest, runs)
        if not carried:
            return few
        room = min(quantile, 1 - quantile) - 1 / found.ios
        spread = error * math.sqrt(runs)
        return replace(few, needed=None, runs_needed=more_runs(spread, runs, room, confidence))
    slope = (math.log(edges.at(quantile + half)) - math.log(edges.at(quantile - half))) / (2 * half)
    return np.asarray(middle * np.exp(-residuals * runs / found.ios * slope))


class _Edges:
    """The merged distribution, continuous within its buckets: equals differ by no bucket."""

    def __init__(self, histograms: Histograms) -> None:
        total = histograms.counts.sum(axis=0)
        self._shares: FloatArray = np.cumsum(total) / total.sum()
        self._before = np.concatenate(([0.0], self._shares[:-1]))
        self._lower = np.maximum(histograms.lower_ns.astype(np.float64), 1.0)
        self._widths = bucket_widths_ns(histograms.lower_ns)

    def place(self, share: float) -> int:
        """Return the bucket in which a share of the I/Os is reached."""
        found = int(np.searchsorted(self._shares, share * (1 - 1e-12)))
        return min(found, len(self._shares) - 1)

    def at(self, share: float) -> float:
        """Return the latency that this share of the I/Os did not exceed."""
        place = self.place(share)
        mass = self._shares[place] - self._before[place]
        within = (share - self._before[place]) / mass if mass > 0 else 0.5
        return float(self._lower[place] + within * self._widths[place])
