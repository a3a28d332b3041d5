"""Comparing whole distributions of latency, not only a percentile of each.

I/Os of one run are not independent, so tests that count I/Os find a difference between any two
runs. Neighbouring runs are not exchangeable either, so that permutations of them find differences
between equals. Here each run is one curve: its quantiles on a logarithmic scale, between which the
mean square distance is that of Wasserstein. How far the mean curves of both sides are apart is
judged by how much the runs' curves move from run to run (``_contrast``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats._contrast import Side, contrast
from fathom.stats.histogram import Histograms
from fathom.stats.ranks import least_p_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["DistributionComparison", "compare_distributions", "distribution_deviations"]

# So many quantiles, evenly over all I/Os, are a run's curve.
_POINTS = 256
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
        The probability of curves so far apart by chance; None where one side has a single run.
    family_p_value
        The same among all figures that are compared together; None if there are no others.

    """

    slower_share: float
    greatest_gap: float
    log_shift: float
    quantile_ratios: Mapping[float, float]
    p_value: float | None
    family_p_value: float | None = None


def compare_distributions(  # noqa: PLR0913 - All but the first two have defaults and names.
    a_runs: Sequence[Mapping[int, int]],
    b_runs: Sequence[Mapping[int, int]],
    *,
    a_pilot: int | None = None,
    b_pilot: int | None = None,
    in_turns: bool = False,
    is_drawn: bool = False,
) -> DistributionComparison:
    """Compare the histograms of the runs of A with those of B, each in the order of time.

    Each run counts alike, however many I/Os it made. Pilots, turns and pairs that are
    drawn are those of ``compare_means``.

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
    curves = _log_quantiles(histograms)
    a_curves, b_curves = curves[:a_count], curves[a_count:]
    if min(len(a_curves), len(b_curves)) < 2:  # noqa: PLR2004 - One run has no spread.
        sides: list[Side] = []
    elif in_turns:
        pilot = a_pilot if is_drawn else None
        sides = [Side(b_curves - a_curves, pilot, is_drawn=is_drawn)]
    else:
        sides = [Side(a_curves, a_pilot), Side(b_curves, b_pilot)]
    ratios = {
        quantile: float(middle[_first(b_share, quantile)] / middle[_first(a_share, quantile)])
        for quantile in _QUANTILES
    }
    return DistributionComparison(
        slower_share=_slower(a_share, b_share),
        greatest_gap=float(np.abs(a_share - b_share).max()),
        log_shift=_distance(a_share - b_share, steps),
        quantile_ratios=ratios,
        p_value=_p_value(sides),
    )


def _p_value(sides: list[Side]) -> float | None:
    """Return that of the curves; of drawn pairs no less than their signs could give."""
    if not sides:
        return None
    found = contrast(sides).p_value
    drawn = [one for one in sides if one.is_drawn]
    return max([found, *(least_p_value(len(one.values)) for one in drawn)])


def distribution_deviations(
    a_runs: Sequence[Mapping[int, int]],
    b_runs: Sequence[Mapping[int, int]],
    *,
    is_drawn: bool = False,
) -> FloatArray:
    """Return by how much each run is off its side, in the direction in which the sides differ.

    Of pairs that were drawn, by how much each difference is off their mean.
    """
    curves = _log_quantiles(Histograms([*a_runs, *b_runs]))
    a, b = curves[: len(a_runs)], curves[len(a_runs) :]
    direction = b.mean(axis=0) - a.mean(axis=0)
    sides = [b - a] if is_drawn else [a, b]
    return np.concatenate([(side - side.mean(axis=0)) @ direction for side in sides])


def _log_quantiles(histograms: Histograms) -> FloatArray:
    """Return the curve of each run, so scaled that its length is the root of its mean square."""
    logs = np.log(np.maximum(histograms.middle_ns, 1.0))
    wanted = (np.arange(_POINTS) + 0.5) / _POINTS
    places = np.array([np.searchsorted(row, wanted) for row in histograms.shares()])
    return np.asarray(logs[np.minimum(places, logs.size - 1)] / np.sqrt(_POINTS))


def _first(shares: FloatArray, quantile: float) -> int:
    place = int(np.searchsorted(shares, quantile * (1 - 1e-12)))
    return min(place, shares.size - 1)


def _slower(a_share: FloatArray, b_share: FloatArray) -> float:
    a_below = np.concatenate(([0.0], a_share[:-1]))
    b_parts = np.diff(b_share, prepend=0.0)
    return float((b_parts * (a_below + a_share) / 2).sum())


def _distance(difference: FloatArray, steps: FloatArray) -> float:
    return float(np.abs(difference[..., :-1]) @ steps)
