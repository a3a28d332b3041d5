"""The engine's rule of ``--stop-confidence``, on the intervals of a simulated run.

It is that of ``measure/stationarity``: the transient is cut only where the head is an approach, and
a run ends once it has been seen for 2 s behind that, for five stalls if there is one, for four of
the slowest periods, at a level that stays, with as many independent intervals as their skewness
asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from fathom.stats import find_transient
from scipy.special import stdtrit

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray

__all__ = ["known", "stopped"]

_BATCHES = 20
_LEAST = 80
_LEAST_S = 2.0


def stopped(
    series: FloatArray, level: float, precision: float, interval_s: float = 0.01
) -> tuple[int, float, float | None]:
    """Return after how many intervals a run ends, its mean, and half of the mean's interval.

    Of a run that is not ended by the rule that is the whole time, all of it, and None.
    """
    looked = max(_LEAST, round(_LEAST_S / interval_s))
    least = _LEAST_S / interval_s
    while looked <= len(series):
        found = known(series[:looked], level, precision, least)
        if found is not None and found[1] <= precision:
            return looked, *found
        looked += looked // 2
    return len(series), float(series.mean()), None


def known(
    seen: FloatArray, level: float, precision: float, least: float = _LEAST_S / 0.01
) -> tuple[float, float] | None:
    """Return the mean and half of its interval as a share, of intervals that tell it.

    ``least`` is how many are to stand behind the transient.
    """
    found = find_transient(seen)
    rest = seen[found.count :]
    if not found.is_over or _few_episodes(rest, precision) or rest.size < _LEAST:
        return None
    r = min(max(_correlation(rest), 0.0), 0.99)
    if rest.size < int(_LEAST * (1 + r) / (1 - r)) or rest.size + 0.5 < least:
        return None
    size = rest.size // _BATCHES
    batches = rest[-size * _BATCHES :].reshape(_BATCHES, size).mean(axis=1)
    b = min(max(_correlation(batches), 0.0), 0.99)
    error2 = float(batches.var(ddof=1)) / _BATCHES * (1 + b) / (1 - b)
    effective = min(float(rest.var(ddof=1)) / error2 if error2 else rest.size, rest.size)
    deviation = np.sqrt((np.diff(batches) ** 2).mean() / 2)
    greatest = np.abs(np.cumsum(batches - batches.mean())).max()
    is_changed = greatest > 1.63 * deviation * np.sqrt(_BATCHES) and greatest > 1e-9 * rest.mean()
    scores = (rest - rest.mean()) / (rest.std(ddof=1) or 1.0)
    if rest.size < 16 * _crossing(rest) or is_changed:
        return None
    if effective < 25 * float((scores**3).mean()) ** 2:
        return None
    mean = float(rest.mean())
    return mean, float(stdtrit(_BATCHES - 1, (1 + level) / 2) * np.sqrt(error2) / mean)


def _few_episodes(rest: FloatArray, precision: float) -> bool:
    centre = float(np.partition(rest, rest.size // 2)[rest.size // 2])
    apart = np.abs(rest - centre)
    deviation = 1.4826 * float(np.partition(apart, apart.size // 2)[apart.size // 2])
    if deviation == 0:
        deviation = 1.2533 * float(apart.mean())
    (far,) = np.nonzero(apart > 6 * deviation)
    if not far.size or deviation == 0:
        return False
    count = 1 + int((np.diff(far) > 3).sum())
    share = abs(float((rest[far] - centre).sum())) / (centre * rest.size) / count
    return count < 5 and 5 * share > precision


def _crossing(rest: FloatArray) -> int:
    centred = rest - rest.mean()
    limit = 2 / np.sqrt(rest.size) * float((centred**2).sum())
    for lag in range(1, rest.size // 8):
        if float(centred[lag:] @ centred[:-lag]) <= limit:
            return lag
    return int(rest.size)


def _correlation(values: FloatArray) -> float:
    centred = values - values.mean()
    power = float((centred**2).sum())
    return float(centred[1:] @ centred[:-1]) / power + 1 / values.size if power else 0.0
