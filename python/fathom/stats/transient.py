"""The warm-up of a series: where it ends, found and not guessed.

MSER-5 (White, Cobb & Spratt 2000; White 1997): of the means of five values each, as many are left
out at the beginning as make the standard error of what stays least. By itself it cuts a stall just
as readily, with all that lies before it. So a cut counts only where the head is an approach: it
begins away from the level of the rest, comes nearer without turning back, and the rest never leaves
for where the head was. The engine's rule is the same (``measure/stationarity/transient.rs``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats.floats import as_values

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray, Values

__all__ = ["Transient", "find_transient"]

_BATCH = 5
_LEAST_BATCHES = 4
# A rest of fewer batches, or of a smaller part of them, may agree by chance.
_LEAST_REST = 5
_REST_PART = 4
# The deviation of a normal variable, by the median of its absolute values.
_MAD_TO_DEVIATION = 1.4826
# In deviations of a batch: where a head begins, and what is too far back or beyond.
_AWAY = 3.0
_TURNED_BACK = 4.0
# The rest comes back to the head if it leaves for this share of the head's distance.
_COME_BACK_SHARE = 0.5
_ROUNDING = 1e-9
# A cut in the second half counts if its error is less than this share of the best of the first
# half; small rests agree by chance.
_CLEARLY = 0.7


@dataclass(frozen=True)
class Transient:
    """So many values belong to the warm-up; ``is_over`` is false if its end is not in sight.

    The best cut then lies in the second half, or there are fewer than 25 values. ``mean`` is that
    of what is cut, None if nothing is.
    """

    count: int
    is_over: bool
    mean: float | None = None


def find_transient(values: Values) -> Transient:
    """Return how much of the beginning of a series to leave out.

    Raises
    ------
    ValueError
        If the series has fewer than 20 values.

    """
    series = as_values(values, least=_BATCH * _LEAST_BATCHES)
    batches = series[: series.size // _BATCH * _BATCH].reshape(-1, _BATCH).mean(axis=1)
    cut, is_over = _cut(batches)
    count = cut * _BATCH
    return Transient(count, is_over, float(series[:count].mean()) if count else None)


def _cut(batches: FloatArray) -> tuple[int, bool]:
    """Return the best cut at which the head is an approach, and whether it is in the first half."""
    if batches.size < _LEAST_REST:
        return 0, False
    centred = batches - batches[-1]
    # From here to the end: how many, their sum, and the sum of their squares.
    left = np.arange(centred.size, 0, -1)
    sums = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    errors = np.maximum(squares - sums**2 / left, 0.0) / left**2
    rest = max(_LEAST_REST, batches.size // _REST_PART)
    order = np.argsort(errors[: batches.size - rest + 1], kind="stable")
    half = batches.size // 2
    best = next(int(cut) for cut in order if cut <= half and _is_approach(batches, int(cut)))
    clearly = errors < _CLEARLY * errors[best]
    late = (int(cut) for cut in order if cut > half and clearly[cut])
    for cut in late:
        if _is_approach(batches, cut):
            return cut, False
    return best, True


def _is_approach(batches: FloatArray, cut: int) -> bool:
    """Whether the batches before a cut come nearer to the level behind it, which stays there."""
    if cut == 0:
        return True
    head, rest = batches[:cut], batches[cut:]
    # The greater of two middles, as the engine takes it.
    level = float(np.partition(rest, rest.size // 2)[rest.size // 2])
    apart = np.abs(rest - level)
    middle = float(np.partition(apart, apart.size // 2)[apart.size // 2])
    noise = max(_MAD_TO_DEVIATION * middle, _ROUNDING * abs(level))
    side = np.sign(head[0] - level)
    begins = float(side * (head[0] - level))
    if begins <= _AWAY * noise:
        return False
    distances = side * (head - level)
    scale = np.maximum(np.abs(head / level), 1.0) if level else np.ones_like(head)
    turned = _TURNED_BACK * noise * scale
    nearest = np.concatenate(([begins], np.minimum.accumulate(distances)[:-1]))
    steps = np.abs(np.diff(head))
    own = np.partition(steps, steps.size // 2)[steps.size // 2] if steps.size else 0.0
    back = np.maximum(turned, _TURNED_BACK * _MAD_TO_DEVIATION * own)
    if (distances > nearest + back).any() or (distances < -turned).any():
        return False
    limit = max(_COME_BACK_SHARE * begins, _TURNED_BACK * noise)
    return bool((side * (rest - level) < limit).all())
