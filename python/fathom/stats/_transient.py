"""The warm-up of a series: where it ends, found and not guessed.

MSER-5 (White, Cobb & Spratt 2000; White 1997): of the means of five values each, as many are left
out at the beginning as make the standard error of what stays least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats._types import as_values

if TYPE_CHECKING:
    from fathom.stats._types import Values

__all__ = ["Transient", "find_transient"]

_BATCH = 5
_LEAST_BATCHES = 4


@dataclass(frozen=True)
class Transient:
    """So many values belong to the warm-up; ``is_over`` is false if its end is not in sight."""

    count: int
    is_over: bool


def find_transient(values: Values) -> Transient:
    """Return how much of the beginning of a series to leave out.

    Raises
    ------
    ValueError
        If the series has fewer than 20 values.

    """
    series = as_values(values, least=_BATCH * _LEAST_BATCHES)
    batches = series[: series.size // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
    centred = batches - batches.mean()
    # From here to the end: how many, their sum, and the sum of their squares.
    left = np.arange(centred.size, 0, -1)
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    spread = np.maximum(squares - sums**2 / left, 0.0)
    # Only the first half is searched: at the end, few batches may be alike by chance.
    last = centred.size // 2
    first = int(np.argmin((spread / left**2)[: last + 1]))
    return Transient(count=first * _BATCH, is_over=first < last)
