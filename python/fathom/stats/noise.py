"""What kind of noise runs have, by named tests, before anything is believed of their mean.

All tests look at the order and the shape of the values alone, and not at how far they spread. Of
independent normal values the mean and the spread are independent of both (Basu, Sankhya 15, 1955),
so that Student's interval covers as it says whatever these tests decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from fathom.stats._contrast import Side, resemblance
from fathom.stats.doubt import permuted_p_values
from fathom.stats.floats import as_values
from fathom.stats.spread import find_outliers

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray, Values

__all__ = ["LEAST_RUNS", "Noise", "NoiseKind", "inflation", "recognise"]

LEAST_RUNS = 10
"""Fewer runs have too few orders and shapes to tell anything."""

NoiseKind = Literal["memory", "drift", "cliff", "two states", "heavy tail", "stalls"]

_DRAWS = 4000
# So often independent normal runs are taken for others, by each test. All together it is 1 in 12.
_LEVEL = 0.025
# Memory hides best in few runs: up to 12 are taken for such a process more readily, from 20 on as
# by the other tests. An interval of AR(1) runs is then wrong in 8 % at most (docs/statistics.md).
_MEMORY_LEVEL, _MEMORY_LEVEL_UP_TO, _LEVEL_FROM = 0.25, 12, 20
# The mean of skewed values is as good as normal from 25 times the square of their skewness on
# (Cochran, "Sampling Techniques", 1977, 2.15), and a state that was seen less than five times may
# come twice as often.
_COCHRAN = 25.0
_LEAST_SEEN = 5
# Runs that resemble their neighbours are to be worth as many independent ones.
_LEAST_EFFECTIVE = 8
_GREATEST_RESEMBLANCE = 0.95
# So skewed that no number of runs in practice is enough.
_MOST_NEEDED = 100_000


@dataclass(frozen=True)
class Noise:
    """What one test found.

    Attributes
    ----------
    kind
        ``memory`` (neighbours resemble each other), ``drift``, ``cliff`` (the level changes once),
        ``two states``, ``heavy tail`` or ``stalls`` (single values far off).
    test
        The name of the test.
    p_value
        The probability of the like of independent normal values.
    needed
        How many runs would tell the mean all the same; None if no number does.

    """

    kind: NoiseKind
    test: str
    p_value: float
    needed: int | None


def recognise(values: Values, *, memory_in: Values | None = None) -> tuple[Noise, ...]:
    """Return what speaks against independent normal runs, which are in the order of time.

    Fewer than 10 tell nothing. ``memory_in`` are other values of the same runs that show memory
    better: the body of the latencies where a tail is judged, which few I/Os blur.
    """
    series = as_values(values)
    if series.size < LEAST_RUNS or float(np.ptp(series)) <= 1e-12 * float(np.abs(series).max()):
        return ()
    if memory_in is None:
        return (*_order(series, _memory_level(series.size)), *_shape(series))
    order = _order(series, _LEVEL)
    body = as_values(memory_in)
    beside = [] if order else _memory(body, _memory_level(body.size))
    return (*order, *beside, *_shape(series))


def _order(series: FloatArray, memory_level: float) -> list[Noise]:
    """Return what the order of the values tells; one that moves once has no memory beside."""
    trend, change = permuted_p_values([series])
    if min(trend, change) < _LEVEL:
        if trend <= change:
            return [Noise("drift", "permutations of the slope", trend, None)]
        return [Noise("cliff", "permutation CUSUM", change, None)]
    return _memory(series, memory_level)


def _memory(series: FloatArray, level: float) -> list[Noise]:
    count = series.size
    alike = resemblance([Side(series[:, None])])
    by_chance = _reference(count)[0]
    p_value = _beyond(by_chance, alike)
    if p_value >= level:
        return []
    bounded = min(alike, _GREATEST_RESEMBLANCE)
    needed = math.ceil(_LEAST_EFFECTIVE * (1 + bounded) / (1 - bounded))
    return [Noise("memory", "lag-1 autocorrelation", p_value, max(needed, 2 * count))]


def _memory_level(count: int) -> float:
    near = (_LEVEL_FROM - count) / (_LEVEL_FROM - _MEMORY_LEVEL_UP_TO)
    return _LEVEL + (_MEMORY_LEVEL - _LEVEL) * min(max(near, 0.0), 1.0)


def _shape(series: FloatArray) -> list[Noise]:
    count = series.size
    _, of_skewness, of_split = _reference(count)
    skewness = float(_skewness(series[None])[0])
    needed = math.ceil(min(_COCHRAN * skewness**2, _MOST_NEEDED))
    found = []
    split, fewer = _split(np.sort(series)[None])
    p_split = _beyond(of_split, float(split[0]))
    if p_split < _LEVEL:
        seen = min(int(fewer[0]), count - int(fewer[0]))
        rare = math.ceil(_LEAST_SEEN * count / seen)
        kind: NoiseKind = "two states" if seen > 1 else "stalls"
        test = "greatest split of the variance"
        found.append(Noise(kind, test, p_split, max(needed, rare)))
    elif outliers := find_outliers(series, level=_LEVEL):
        rare = math.ceil(_LEAST_SEEN * count / len(outliers))
        found.append(Noise("stalls", "generalised ESD", _LEVEL, max(needed, rare)))
    p_skewed = _beyond(of_skewness, abs(skewness))
    if p_skewed < _LEVEL:
        found.append(Noise("heavy tail", "skewness", p_skewed, needed))
    return [one for one in found if (one.needed or 0) > count]


def inflation(values: Values) -> float:
    """Return by how much the interval of independent runs is to be wider, at least 1.

    The ratio of the deviations of a mean of runs that resemble each other (AR(1)) and of
    independent ones that spread as much. The coefficient is taken greater by one and a half of its
    standard errors, as it is known badly; where it is not above 0 nothing speaks for memory.
    """
    series = as_values(values)
    count = series.size
    if count < LEAST_RUNS:
        return 1.0
    alike = resemblance([Side(series[:, None])])
    if alike <= 0:
        return 1.0
    bounded = min(alike + 1.5 / math.sqrt(count), _GREATEST_RESEMBLANCE)
    lags = np.arange(1, count)
    of_mean = (1 + 2 * float(((1 - lags / count) * bounded**lags).sum())) / count
    of_spread = (1 - of_mean) * count / (count - 1)
    return max(math.sqrt(of_mean * count / of_spread), 1.0)


def _beyond(by_chance: FloatArray, found: float) -> float:
    return float((by_chance >= found - 1e-12).sum() + 1) / (by_chance.size + 1)


@lru_cache(maxsize=64)
def _reference(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what independent normal values show: resemblance, skewness, split of the variance."""
    drawn = np.random.default_rng(count).standard_normal((_DRAWS, count))
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    raw = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / (centred**2).sum(axis=1)
    split, _ = _split(np.sort(drawn, axis=1))
    return raw + (1 + 3 * raw) / count, np.abs(_skewness(drawn)), split


def _skewness(rows: FloatArray) -> FloatArray:
    centred = rows - rows.mean(axis=1, keepdims=True)
    squares = (centred**2).mean(axis=1)
    return np.asarray((centred**3).mean(axis=1) / squares**1.5)


def _split(ordered: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the greatest share of the variance that two groups explain, and the size of the lower.

    Engelman & Hartigan, "Percentage points of a test for clusters", JASA 64, 1969.
    """
    count = ordered.shape[1]
    centred = ordered - ordered.mean(axis=1, keepdims=True)
    lower = np.cumsum(centred, axis=1)[:, :-1]
    sizes = np.arange(1, count)
    between = lower**2 * count / (sizes * (count - sizes))
    best = between.argmax(axis=1)
    greatest = np.take_along_axis(between, best[:, None], axis=1)[:, 0]
    return np.asarray(greatest / (centred**2).sum(axis=1)), np.asarray(best + 1, np.float64)
