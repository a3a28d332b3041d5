"""Tests of pairs that ask for no distribution: signs, and signed ranks.

Both are exact where chance drew which of a pair came first: each difference of equals then has its
sign by the toss of a coin, whatever its size (Fisher, "The Design of Experiments", 1935).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtr, ndtr

if TYPE_CHECKING:
    from fathom.stats._types import FloatArray

__all__ = ["LEAST_FOR_RANKS", "sign_p_value", "signed_rank_p_value"]

LEAST_FOR_RANKS = 16
"""From so many pairs on, one outlier, which has the greatest rank, does not hide the others."""

# Beyond, the distribution is normal as far as anybody looks.
_MOST_EXACT = 100


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
    ranks = _doubled_ranks(np.abs(tossed))
    fewer = min(int(ranks[tossed > 0].sum()), int(ranks[tossed < 0].sum()))
    if tossed.size > _MOST_EXACT:
        apart = fewer - ranks.sum() / 2
        return min(2 * float(ndtr(apart / np.sqrt(float((ranks**2).sum()) / 4))), 1.0)
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks.tolist():
        chances[rank:] = (chances[rank:] + chances[: chances.size - rank]) / 2
        chances[:rank] /= 2
    return min(2 * float(chances[: fewer + 1].sum()), 1.0)


def _doubled_ranks(sizes: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return twice the rank of each size, which is whole also where sizes are equal."""
    ordered = np.sort(sizes)
    first = np.searchsorted(ordered, sizes, side="left")
    last = np.searchsorted(ordered, sizes, side="right")
    return np.asarray(first + last + 1, np.int64)
