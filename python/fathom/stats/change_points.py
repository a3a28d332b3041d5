"""Where a long series of runs changes its level.

Candidates are the ends of the levels that describe the series best for a price of each (optimal
partitioning: Jackson and others, "An algorithm for optimal partitioning of data on an interval",
IEEE Signal Processing Letters 12, 2005; the price is that of Schwarz' criterion). Each candidate is
then tested between its neighbours, and the least certain one is dropped until all are certain: the
greatest gain of any split (Page, Biometrika 41, 1954) is compared with that of permuted runs, which
holds whatever their distribution is, and with that of simulated runs that resemble their neighbours
as these do, since what else a machine does lasts longer than one run. Both count.

All of it is done on normal scores of the ranks (van der Waerden, Indagationes Mathematicae 14,
1952), so that a run that stands far apart hides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from fathom.stats._contrast import Side, resemblance
from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray, Values

__all__ = ["LEAST_LEVEL", "ChangePoint", "find_change_points"]

LEAST_LEVEL = 5
"""Fewer runs are no level: two of them may be alike by chance."""

_DRAWS = 999
_LEVEL = 0.005
# Such a price for each level of n runs, in log(n): one for where it ends, and one for its mean.
_PRICE = 2.0
_MOST_MEMORY = 0.9
# So great a share of the steps between neighbours may be changes of the level.
_GREATEST = 0.02


@dataclass(frozen=True)
class ChangePoint:
    """A change of the level.

    Attributes
    ----------
    index
        Of the first run of the new level, from 0.
    p_value
        The probability of such a change by chance, between the changes before and behind it.

    """

    index: int
    p_value: float


def find_change_points(
    values: Values, *, least: int = LEAST_LEVEL, seed: int = 0
) -> tuple[ChangePoint, ...]:
    """Return where a series of figures above 0 changes its level, in the order of time.

    Levels have at least ``least`` values. Changes are ratios: the logarithms are looked at.

    Raises
    ------
    ValueError
        If a value is not a number above 0.

    """
    series = as_values(values)
    if series.size < 2 * least:
        return ()
    if series.min() <= 0:
        raise ValueError("figures of a trend are above 0")
    scores = _scores(series)
    if not float(np.ptp(scores)):
        return ()
    ends = _candidates(scores, least)
    found = dict.fromkeys(ends, math.nan)
    while found:
        untested = [end for end, p_value in found.items() if math.isnan(p_value)]
        found |= {end: _p_value(scores, [*found], end, least, seed) for end in untested}
        worst = max(found, key=lambda end: found[end])
        if found[worst] < _LEVEL:
            break
        # Its neighbours now have longer levels beside them.
        for end in _neighbours([*found], worst):
            found[end] = math.nan
        del found[worst]
    return tuple(ChangePoint(end, p_value) for end, p_value in found.items())


def _scores(series: FloatArray) -> FloatArray:
    """Return the normal scores of the ranks of a series; equal values have equal scores."""
    _values, which, counts = np.unique(series, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(ndtri((middle / (series.size + 1))[which]))


def _memory(series: FloatArray) -> float:
    """Return how much of a run's deviation the next one repeats, whatever levels there are.

    Of differences, which know a level only where it ends: those of values that repeat a share of
    the one before have the coefficient (share - 1) / 2 with their neighbours.
    """
    steps = _usual_steps(series)
    power = float((steps**2).mean())
    if not power:
        return 0.0
    return min(max(1 + 2 * float((steps[1:] * steps[:-1]).mean()) / power, 0.0), _MOST_MEMORY)


def _usual_steps(series: FloatArray) -> FloatArray:
    """Return the differences of neighbours, in which the greatest, the changes, are none."""
    steps = np.diff(series)
    kept = np.quantile(np.abs(steps), 1 - _GREATEST, method="lower")
    return np.asarray(np.where(np.abs(steps) > kept, 0.0, steps))


def _slow_variance(series: FloatArray) -> float:
    """Return the variance of the mean of many values, times their number."""
    memory = _memory(series)
    variance = float((_usual_steps(series) ** 2).mean()) / 2 / (1 - memory)
    return max(variance * (1 + memory) / (1 - memory), 1e-18)


def _candidates(series: FloatArray, least: int) -> list[int]:
    """Return the ends of the levels of the cheapest partition."""
    count = series.size
    price = _PRICE * _slow_variance(series) * math.log(count)
    sums = np.concatenate(([0.0], np.cumsum(series - series.mean())))
    squares = np.concatenate(([0.0], np.cumsum((series - series.mean()) ** 2)))
    best = np.full(count + 1, np.inf)
    best[0] = -price
    before = np.zeros(count + 1, int)
    for end in range(least, count + 1):
        starts = np.arange(end - least + 1)
        length = end - starts
        cost = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / length
        total = best[starts] + cost + price
        before[end] = int(np.argmin(total))
        best[end] = total[before[end]]
    ends: list[int] = []
    at = int(before[count])
    while at > 0:
        ends.insert(0, at)
        at = int(before[at])
    return ends


def _neighbours(ends: Sequence[int], end: int) -> list[int]:
    at = ends.index(end)
    return [*ends[max(at - 1, 0) : at], *ends[at + 1 : at + 2]]


def _p_value(series: FloatArray, ends: Sequence[int], end: int, least: int, seed: int) -> float:
    """Return the chance of a split as good as this candidate's, between its neighbours."""
    at = ends.index(end)
    first = ends[at - 1] if at else 0
    last = ends[at + 1] if at + 1 < len(ends) else series.size
    window = series[first:last]
    random = np.random.default_rng([seed, first, last])
    observed = _gain_at(window, end - first)
    permuted = random.permuted(np.tile(window, (_DRAWS, 1)), axis=1)
    by_chance = _share(_greatest(permuted, least), observed)
    sides = [Side(one[:, None]) for one in (window[: end - first], window[end - first :])]
    # The coefficient of few runs is uncertain: half of its standard error is added.
    memory = max(resemblance(sides) + 0.5 / math.sqrt(window.size), _memory(series))
    drawn = _autoregressive(random, min(memory, _MOST_MEMORY), window.size)
    return max(by_chance, _share(_greatest(drawn, least), observed))


def _share(drawn: FloatArray, observed: float) -> float:
    return (float((drawn >= observed * (1 - 1e-12)).sum()) + 1) / (_DRAWS + 1)


def _gain_at(window: FloatArray, end: int) -> float:
    centred = window - window.mean()
    total = float((centred**2).sum())
    gain = float(centred[:end].sum()) ** 2 * window.size / end / (window.size - end)
    return gain / max(total - gain, 1e-300)


def _greatest(rows: FloatArray, least: int) -> FloatArray:
    """Return of each row the greatest gain of a split, as a share of what stays unexplained."""
    count = rows.shape[1]
    centred = rows - rows.mean(axis=1, keepdims=True)
    lengths = np.arange(least, count - least + 1)
    sums = np.cumsum(centred, axis=1)[:, lengths - 1]
    gain = (sums**2 * (count / lengths / (count - lengths))).max(axis=1)
    return np.asarray(gain / np.maximum((centred**2).sum(axis=1) - gain, 1e-300))


def _autoregressive(random: np.random.Generator, memory: float, count: int) -> FloatArray:
    """Return rows of normal values of which each repeats so much of the one before."""
    rows = random.standard_normal((_DRAWS, count))
    fresh = math.sqrt(1 - memory**2)
    for at in range(1, count):
        rows[:, at] = memory * rows[:, at - 1] + fresh * rows[:, at]
    return rows
