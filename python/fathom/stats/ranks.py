"""Tests of pairs that ask for no distribution: signs, signed ranks, and flipped differences.

All are exact where chance drew which of a pair came first: each difference of equals then has its
sign by the toss of a coin, whatever its size (Fisher, "The Design of Experiments", 1935).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, ndtr

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray

__all__ = [
    "LEAST_FOR_RANKS",
    "flip_p_value",
    "least_p_value",
    "pairs_needed",
    "sign_p_value",
    "signed_rank_p_value",
]

LEAST_FOR_RANKS = 16
"""From so many pairs on, one outlier, which has the greatest rank, does not hide the others."""
# Beyond, the distribution is normal as far as anybody looks.
_MOST_EXACT = 100
# Differences are counted in steps of which all together have so many: signs of rounded ones are
# tossed just as well, so that rounding costs power and no error.
_STEPS = 16_384


def sign_p_value(pairs: FloatArray) -> float:
    """Return the chance of so uneven signs of differences of equals (two-sided)."""
    tossed = pairs[pairs != 0]
    fewer = min(int((tossed > 0).sum()), int((tossed < 0).sum()))
    return min(2 * float(bdtr(fewer, tossed.size, 0.5)), 1.0) if tossed.size else 1.0


def signed_rank_p_value(pairs: FloatArray) -> float:
    """Return the chance of so uneven sums of ranks of differences of equals (two-sided).

    Wilcoxon, Biometrics Bulletin 1, 1945; differences of 0 are left out, equal sizes have the mean
    of their ranks.
    """
    tossed = pairs[pairs != 0]
    if not tossed.size:
        return 1.0
    return _chance(_doubled_ranks(np.abs(tossed)), tossed > 0)


def flip_p_value(pairs: FloatArray) -> float:
    """Return the chance of so great a mean of differences of equals (two-sided).

    Fisher's own test: the mean among those with all other signs that the coin could have given.
    """
    total = float(np.abs(pairs).sum())
    if not total > 0:
        return 1.0
    steps = np.rint(np.abs(pairs) * (_STEPS / total)).astype(np.int64)
    return _chance(steps, pairs > 0)


def least_p_value(pairs: int) -> float:
    """Return the least chance that signs of so many pairs can have: that of all alike."""
    return float(2.0 ** (1 - pairs))


def pairs_needed(figures: int, level: float = 0.05) -> int:
    """Return how many drawn pairs can tell a difference of one of so many figures."""
    return math.floor(1 + math.log2(figures / level)) + 1


def _chance(
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]],
    is_above: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> float:
    """Return the chance that tossed signs part sizes at least so unevenly."""
    fewer = min(int(sizes[is_above].sum()), int(sizes[~is_above].sum()))
    if sizes.size > _MOST_EXACT:
        apart = fewer - sizes.sum() / 2
        return min(2 * float(ndtr(apart / np.sqrt(float((sizes**2).sum()) / 4))), 1.0)
    # Those of greater sums count for nothing, and no sum becomes smaller by one more size.
    chances = np.zeros(fewer + 1)
    chances[0] = 1.0
    for size in sizes.tolist():
        chances /= 2
        if size <= fewer:
            chances[size:] += chances[: chances.size - size].copy()
    return min(2 * float(chances.sum()), 1.0)


def _doubled_ranks(sizes: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return twice the rank of each size, which is whole also where sizes are equal."""
    ordered = np.sort(sizes)
    first = np.searchsorted(ordered, sizes, side="left")
    last = np.searchsorted(ordered, sizes, side="right")
    return np.asarray(first + last + 1, np.int64)
