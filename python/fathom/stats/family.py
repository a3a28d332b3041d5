"""Several figures compared at once: the chance that any of them differs falsely.

IOPS, bandwidth and mean latency of the same runs tell nearly the same, and a tail tells something
else: a plain division of the level by the number of figures (Bonferroni, Holm) would give away
power. Here the figures' own correlation decides how much there is to pay (free step-down
procedure of the greatest statistic: Westfall & Young, "Resampling-based multiple testing", 1993;
Hothorn, Bretz & Westfall, "Simultaneous inference in general parametric models", Biometrical
Journal 50, 2008).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["family_p_values"]

_DRAWS = 20_000
# Fewer runs tell nothing of how figures go together.
_LEAST_ROWS = 8
_LEAST_P = 1e-300


def family_p_values(p_values: Sequence[float], deviations: FloatArray) -> list[float]:
    """Return for each figure the probability that it or any less certain one is so by chance.

    Parameters
    ----------
    p_values
        Of each figure alone.
    deviations
        What each run (row) deviates from the mean of its side, for each figure (column).

    """
    count = len(p_values)
    if count < 2:  # noqa: PLR2004 - One figure is no family.
        return [*p_values]
    order = np.argsort(p_values, kind="stable")
    alone = np.asarray(p_values)[order]
    scores = -ndtri(np.maximum(alone, _LEAST_P) / 2)
    drawn = np.abs(_correlated(deviations, count)[order])
    # The greatest of a figure and of all that are less certain than it.
    greatest = np.maximum.accumulate(drawn[::-1], axis=0)[::-1]
    beyond = np.count_nonzero(greatest >= scores[:, None], axis=1)
    by_chance = (beyond + 1) / (_DRAWS + 1)
    # Between what the figure says alone and Holm's bound, which hold for every correlation.
    bounded = np.clip(by_chance, alone, np.minimum(alone * np.arange(count, 0, -1), 1.0))
    found = np.empty(count)
    found[order] = np.maximum.accumulate(bounded)
    return [float(one) for one in found]


def _correlated(deviations: FloatArray, count: int) -> FloatArray:
    """Return a row for each figure: standard normal variables that go together as they do."""
    drawn = _independent(count)
    if len(deviations) < _LEAST_ROWS:
        return drawn
    lengths = np.linalg.norm(deviations, axis=0)
    unit = np.divide(deviations, lengths, out=np.zeros_like(deviations), where=lengths > 0)
    # A figure that never varies goes with no other.
    correlation = unit.T @ unit
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ drawn)


@lru_cache(maxsize=8)
def _independent(count: int) -> FloatArray:
    """Return a row of standard normal variables for each figure, which many families need."""
    drawn = np.ascontiguousarray(np.random.default_rng(0).standard_normal((_DRAWS, count)).T)
    drawn.flags.writeable = False
    return drawn
