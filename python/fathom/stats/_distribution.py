"""Comparing whole distributions of latency, not only a percentile of each.

I/Os of one run are not independent, so tests that count I/Os find a difference between any two
runs. What is exchangeable are runs: the test here permutes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats._histogram import Histograms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats._types import FloatArray

__all__ = ["DistributionComparison", "compare_distributions"]

# All ways to deal the runs into two sets are tried up to this number; beyond, so many are drawn.
_PERMUTATIONS = 2_000
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)


@dataclass(frozen=True)
class DistributionComparison:
    """How the latencies of two sets of runs differ.

    Attributes
    ----------
    slower_share
        The probability that an I/O of B takes longer than one of A, ties counted half; 0.5 if
        neither is slower. (Mann-Whitney's effect size; Cliff's delta is twice this minus 1.)
    greatest_gap
        The greatest difference between the shares of I/Os up to some latency (Kolmogorov-Smirnov).
    log_shift
        The mean distance of the distributions on a logarithmic scale (Wasserstein): 0.01 is 1 %.
    quantile_ratios
        For each quantile, that of B divided by that of A.
    p_value
        The probability of a distance so great if the runs of both were of one kind; 1 if the runs
        are too few to deal them otherwise.
    least_p_value
        No distance between so few runs could have had a smaller one.

    """

    slower_share: float
    greatest_gap: float
    log_shift: float
    quantile_ratios: Mapping[float, float]
    p_value: float
    least_p_value: float


def compare_distributions(
    a_runs: Sequence[Mapping[int, int]], b_runs: Sequence[Mapping[int, int]], *, seed: int = 0
) -> DistributionComparison:
    """Compare the histograms of the runs of A with those of B.

    Each run counts alike, however many I/Os it made.

    Raises
    ------
    ValueError
        If one of both has no run, or a run has no I/O.

    """
    if not a_runs or not b_runs:
        raise ValueError("both sides need at least one run")
    histograms = Histograms([*a_runs, *b_runs])
    shares = histograms.shares()
    middle = histograms.middle_ns
    steps = np.diff(np.log(np.maximum(middle, 1.0)))
    a_count = len(a_runs)
    a_share, b_share = shares[:a_count].mean(axis=0), shares[a_count:].mean(axis=0)
    p_value, least = _permutation_test(shares, a_count, steps, seed)
    ratios = {
        quantile: float(middle[_first(b_share, quantile)] / middle[_first(a_share, quantile)])
        for quantile in _QUANTILES
    }
    return DistributionComparison(
        slower_share=_slower(a_share, b_share),
        greatest_gap=float(np.abs(a_share - b_share).max()),
        log_shift=_distance(a_share - b_share, steps),
        quantile_ratios=ratios,
        p_value=p_value,
        least_p_value=least,
    )


def _first(shares: FloatArray, quantile: float) -> int:
    place = int(np.searchsorted(shares, quantile * (1 - 1e-12)))
    return min(place, shares.size - 1)


def _slower(a_share: FloatArray, b_share: FloatArray) -> float:
    a_below = np.concatenate(([0.0], a_share[:-1]))
    b_parts = np.diff(b_share, prepend=0.0)
    return float((b_parts * (a_below + a_share) / 2).sum())


def _distance(difference: FloatArray, steps: FloatArray) -> float:
    return float(np.abs(difference[..., :-1]) @ steps)


def _permutation_test(
    shares: FloatArray, a_count: int, steps: FloatArray, seed: int
) -> tuple[float, float]:
    """Return the p-value, and the least that there can be."""
    count = len(shares)
    b_count = count - a_count
    chosen, is_complete = _dealings(count, a_count, seed)
    total = shares.sum(axis=0)
    sums = chosen @ shares
    differences = sums / a_count - (total - sums) / b_count
    distances = np.abs(differences[:, :-1]) @ steps
    observed = distances[0]
    # Equal ones differ in the last place only, by the order of the sums.
    beyond = int((distances >= observed * (1 - 1e-9)).sum())
    twins = 2 if a_count == b_count else 1
    if is_complete:
        return beyond / len(chosen), min(twins / len(chosen), 1.0)
    return beyond / len(chosen), 1 / len(chosen)


def _dealings(count: int, a_count: int, seed: int) -> tuple[FloatArray, bool]:
    """Return ways to choose A's runs, the true one first, and whether they are all there are."""
    ways = math.comb(count, a_count)
    is_complete = ways <= _PERMUTATIONS
    if is_complete:
        members = np.array(list(combinations(range(count), a_count)))
    else:
        generator = np.random.default_rng(seed)
        order = generator.random((_PERMUTATIONS - 1, count)).argsort(axis=1)
        members = np.vstack((np.arange(a_count), order[:, :a_count]))
    chosen = np.zeros((len(members), count))
    np.put_along_axis(chosen, members, 1.0, axis=1)
    return chosen, is_complete
