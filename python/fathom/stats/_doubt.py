"""What speaks against taking the runs of two sides as two samples: they drift, or change level.

Both are told by permutations of the runs within their side (Good, "Permutation, Parametric and
Bootstrap Tests of Hypotheses", 2005), which hold their level whatever the distribution is: the
trend by the slope over all sides, a change of level by the greatest cumulated sum (Page,
Biometrika 41, 1954).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats._types import FloatArray

__all__ = ["doubts", "permuted_p_values"]

_DRAWS = 399
_LEVEL = 0.05
# Fewer runs of a side have too few orders to tell anything.
_LEAST_RUNS = 4


def permuted_p_values(sides: Sequence[FloatArray], *, seed: int = 0) -> tuple[float, float]:
    """Return the chance of a trend, and of a change of level, as great as within these sides."""
    random = np.random.default_rng(seed)
    trend = np.zeros(_DRAWS + 1)
    change = np.zeros(_DRAWS + 1)
    for side in sides:
        centred = side - side.mean()
        # The first row is the order in which the runs were made.
        rows = np.vstack((centred, random.permuted(np.tile(centred, (_DRAWS, 1)), axis=1)))
        places = np.arange(side.size) - (side.size - 1) / 2
        trend += rows @ places / np.linalg.norm(places)
        spread = np.sqrt(float((centred**2).sum()) * side.size) or 1.0
        change = np.maximum(change, np.abs(np.cumsum(rows, axis=1)).max(axis=1) / spread)
    found = [
        float((np.abs(one) >= abs(one[0]) - 1e-12).sum()) / (_DRAWS + 1) for one in (trend, change)
    ]
    return found[0], found[1]


def doubts(sides: Sequence[FloatArray]) -> tuple[str, ...]:
    """Return in words what is wrong with runs that were made one side after the other."""
    if min(side.size for side in sides) < _LEAST_RUNS:
        return ()
    trend, change = permuted_p_values(sides)
    if trend < _LEVEL / 2:
        return (f"the runs of each side drift (permutations of their order, p = {trend:.3f})",)
    if change < _LEVEL / 2:
        return (f"the runs of a side change level (permutation CUSUM, p = {change:.3f})",)
    return ()
