"""What speaks against taking the runs of two sides as two samples.

They drift, or change level: both are found by permutations of the runs within their side (Good,
"Permutation, Parametric and Bootstrap Tests of Hypotheses", 2005), which hold their level whatever
the distribution is: the trend by the slope over all sides, a change of level by the greatest
cumulated sum (Page, Biometrika 41, 1954). Fewer than five runs show nothing of it. Few runs that
resemble their neighbours may move without showing it, too: memory is known by the lag-1
autocorrelation of both sides, against that of independent normal runs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats._contrast import Side, resemblance, unbiased_lag_1

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from fathom.stats.floats import FloatArray

__all__ = ["doubts", "permuted_p_values"]

_DRAWS = 399
_DRAWN_SETS = 1000
_LEVEL = 0.05
# Fewer runs of a side have too few orders to tell anything: where a machine drifts by a tenth, 3 of
# A and then 3 of B differed in half of the simulated comparisons of equals.
_LEAST_RUNS = 5
# With fewer, the test of the means is wrong too often where neighbours resemble each other: in 9 to
# 13 % with 5 runs. So many comparisons of independent runs cannot tell for it, with 5, from 6 and
# from 8 runs on; more often than in 5 % equals differed with less (docs/statistics.md).
_LEAST_FOR_MEMORY = 12
_MEMORY_LEVELS = {5: 0.6, 6: 0.45, 7: 0.45}
_MEMORY_LEVEL = 0.2


def permuted_p_values(sides: Sequence[FloatArray]) -> tuple[float, float]:
    """Return the chance of a trend, and of a change of level, as great as within these sides."""
    trend = np.zeros(_DRAWS + 1)
    change = np.zeros(_DRAWS + 1)
    for side, order in zip(sides, _orders(*(one.size for one in sides)), strict=True):
        centred = side - side.mean()
        rows = centred[order]
        places = np.arange(side.size) - (side.size - 1) / 2
        trend += rows @ places / np.linalg.norm(places)
        spread = np.sqrt(float((centred**2).sum()) * side.size) or 1.0
        change = np.maximum(change, np.abs(np.cumsum(rows, axis=1)).max(axis=1) / spread)
    found = [
        float((np.abs(one) >= abs(one[0]) - 1e-12).sum()) / (_DRAWS + 1) for one in (trend, change)
    ]
    return found[0], found[1]


@lru_cache(maxsize=4)
def _orders(*counts: int) -> tuple[npt.NDArray[np.intp], ...]:
    """Return the drawn orders of each side's runs; the first is that in which they were made."""
    random = np.random.default_rng(0)
    made = [np.arange(count) for count in counts]
    return tuple(
        np.vstack((one, random.permuted(np.tile(one, (_DRAWS, 1)), axis=1))) for one in made
    )


def doubts(sides: Sequence[FloatArray]) -> tuple[str, ...]:
    """Return in words what is wrong with runs that were made one side after the other."""
    few = min(side.size for side in sides)
    if few == 1:
        return ()
    if few < _LEAST_RUNS:
        return (f"fewer than {_LEAST_RUNS} runs of a side show neither drift nor steps",)
    trend, change = permuted_p_values(sides)
    if trend < _LEVEL / 2:
        return (f"the runs of each side drift (permutations of their order, p = {trend:.3f})",)
    if change < _LEVEL / 2:
        return (f"the runs of a side change level (permutation CUSUM, p = {change:.3f})",)
    memory = _memory_p_value(sides) if few < _LEAST_FOR_MEMORY else 1.0
    if memory < _MEMORY_LEVELS.get(few, _MEMORY_LEVEL):
        words = (
            f"the order of fewer than {_LEAST_FOR_MEMORY} runs of a side tells too little of that"
        )
        return (f"neighbouring runs are alike (lag-1 autocorrelation, p = {memory:.3f}; {words})",)
    return ()


def _memory_p_value(sides: Sequence[FloatArray]) -> float:
    """Return the chance that neighbours among independent normal runs resemble each other so."""
    if any(float(np.ptp(side)) == 0 for side in sides):
        return 1.0
    alike = resemblance([Side(side[:, None]) for side in sides])
    return float((_drawn_resemblance(*(side.size for side in sides)) >= alike).mean())


@lru_cache(maxsize=64)
def _drawn_resemblance(*counts: int) -> FloatArray:
    drawn = np.random.default_rng(sum(counts)).standard_normal((_DRAWN_SETS, sum(counts)))
    sides = np.split(drawn, np.cumsum(counts)[:-1], axis=1)
    # Of each set what ``resemblance`` says of its sides.
    return np.asarray(np.average([unbiased_lag_1(one) for one in sides], axis=0, weights=counts))
