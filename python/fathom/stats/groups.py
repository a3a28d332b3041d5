"""Several groups of values whose spread is the same, such as runs at two loads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import Values

__all__ = ["PooledSpread", "pooled_spread"]


@dataclass(frozen=True)
class PooledSpread:
    """The standard deviation of values around the mean of their group.

    Kept from a pilot, it gives intervals that cover whatever number of values it decides for
    (Stein's two stages, see ``planned_count``).
    """

    deviation: float
    freedom: int

    def half_width(self, *counts: int, confidence: float = 0.95) -> float:
        """Return half of the interval of a mean, or of a difference of two, of so many values."""
        student = float(stdtrit(self.freedom, (1 + confidence) / 2))
        return student * self.deviation * math.sqrt(sum(1 / count for count in counts))

    def count_for(self, half_width: float, means: int, *, confidence: float = 0.95) -> int:
        """Return how many values of each of so many means give an interval this narrow."""
        one = self.half_width(*([1] * means), confidence=confidence)
        return max(math.ceil((one / half_width) ** 2), 1)


def pooled_spread(groups: Sequence[Values]) -> PooledSpread:
    """Return the common spread of groups.

    Raises
    ------
    ValueError
        If no group has more than one value.

    """
    values = [as_values(group) for group in groups]
    freedom = sum(one.size - 1 for one in values)
    if freedom < 1:
        raise ValueError("a spread needs a group of at least 2 values")
    squares = sum(float(((one - one.mean()) ** 2).sum()) for one in values)
    return PooledSpread(float(np.sqrt(squares / freedom)), freedom)
