"""Latency histograms of several runs, merged, and their percentiles with intervals.

The histograms have the engine's layout (HDR: ten bits below the leading one, so that a bucket is at
most 1/1024 of its value wide), which is the same everywhere; merging loses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fathom.stats._types import as_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from fathom.stats._types import FloatArray, Values

__all__ = ["Histograms", "QuantileEstimate"]

_SUB_BUCKET_BITS = 10
_INFINITE_FREEDOM = 1e9


@dataclass(frozen=True)
class QuantileEstimate:
    """A quantile of the merged histograms in nanoseconds, with its interval.

    ``between_runs`` tells that the interval comes from the differences between runs; if false there
    was one run, its I/Os were taken as independent, and the interval is likely too narrow.
    """

    quantile: float
    value_ns: float
    low_ns: float
    high_ns: float
    confidence: float
    between_runs: bool


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
        if not runs or any(sum(run.values()) == 0 for run in runs):
            raise ValueError("each run needs a histogram with at least one I/O")
        places = np.array(sorted({lower for run in runs for lower in run}), dtype=np.int64)
        self.lower_ns: npt.NDArray[np.int64] = places
        self.counts: FloatArray = np.zeros((len(runs), places.size))
        for row, run in enumerate(runs):
            index = np.searchsorted(places, np.fromiter(run.keys(), np.int64, len(run)))
            self.counts[row, index] = np.fromiter(run.values(), np.float64, len(run))

    @property
    def middle_ns(self) -> FloatArray:
        """The middle of each bucket in nanoseconds."""
        exponents = np.frexp(self.lower_ns.astype(np.float64))[1] - 1 - _SUB_BUCKET_BITS
        widths = np.exp2(np.maximum(exponents, 0))
        return np.asarray(self.lower_ns + np.floor((widths - 1) / 2))

    def shares(self) -> FloatArray:
        """Return, for each run, the share of I/Os up to and with each bucket."""
        sums = np.cumsum(self.counts, axis=1)
        return np.asarray(sums / sums[:, -1:])

    def quantile(self, quantile: float, *, confidence: float = 0.95) -> QuantileEstimate:
        """Return a quantile of all runs together, with its interval.

        Woodruff's method (JASA 47, 1952) over runs as clusters: how much the share of I/Os up to
        the quantile differs from run to run gives an interval of shares, which is read back through
        the merged distribution.

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
        error, freedom = self._share_error(place, quantile)
        half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
        low, high = (min(max(quantile + side * half, 0.0), 1.0) for side in (-1, 1))
        middle = self.middle_ns
        return QuantileEstimate(
            quantile=quantile,
            value_ns=float(middle[place]),
            low_ns=float(middle[_place(cumulated, low)]),
            high_ns=float(middle[_place(cumulated, high)]),
            confidence=confidence,
            between_runs=len(self.counts) > 1,
        )

    def _share_error(self, place: int, quantile: float) -> tuple[float, float]:
        """Return the standard error of the share of I/Os up to a bucket, and its freedom."""
        totals = self.counts.sum(axis=1)
        runs = totals.size
        if runs == 1:
            share = min(max(quantile, 0.0), 1.0)
            return math.sqrt(share * (1 - share) / totals[0]), _INFINITE_FREEDOM
        below = self.counts[:, : place + 1].sum(axis=1)
        # The variance of a ratio of sums over clusters (Cochran, Sampling Techniques, 1977, 6.3).
        residuals = below - below.sum() / totals.sum() * totals
        variance = float((residuals**2).sum()) * runs / (runs - 1)
        return math.sqrt(variance) / float(totals.sum()), runs - 1


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
