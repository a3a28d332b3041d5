"""The noises that storage has, as what lets runs, or the intervals of a run, deviate.

Part of claims.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import lfilter

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int], FloatArray]

__all__ = ["NOISES", "Noise", "intervals"]

SLOW_SHARE = 0.3
_PERIODS_S = {"stalls every 0.5 s": 0.5, "stalls every 2 s": 2.0, "stalls every 10 s": 10.0}
# Intervals of 10 ms.
_STALL = 20


@dataclass(frozen=True)
class Noise:
    """Relative deviations of runs in the order of time, and their mean in the long run.

    A noise without a level of its own (a drift, an approach) has the mean over the runs; only
    ``cannot tell`` is right of a mean that is none, but an interval that holds it is not wrong.
    """

    name: str
    draw: Draw
    mean: float | None = 0.0


def memory(coefficient: float) -> Draw:
    """Return AR(1) noise of 2 %."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        fresh = random.standard_normal(count + 100)
        found = lfilter([1.0], [1.0, -coefficient], fresh)[100:]
        return np.asarray(0.02 * math.sqrt(1 - coefficient**2) * found)

    return draw


def lognormal(random: np.random.Generator, count: int) -> FloatArray:
    """Return what is skewed to the fast side."""
    return np.asarray(np.exp(random.standard_normal(count)) * 0.1)


def two_states(random: np.random.Generator, count: int) -> FloatArray:
    """Return runs of which three in ten are 30 % slower."""
    slow = random.random(count) < SLOW_SHARE
    return np.asarray(-0.3 * slow + 0.01 * random.standard_normal(count))


def stalls(every_s: float) -> Draw:
    """Return runs of 3 s in which storage stands still for 0.2 s every so often."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        phase = random.random(count) * every_s
        hits = np.floor((3.0 - phase) / every_s) + 1
        return np.asarray(-0.2 / 3 * np.maximum(hits, 0) + 0.005 * random.standard_normal(count))

    return draw


def course(shape: Callable[[FloatArray], FloatArray]) -> Draw:
    """Return runs that follow a course over their time from 0 to 1, with noise of 1 %."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        at = (np.arange(count) + 0.5) / count
        return np.asarray(shape(at) + 0.01 * random.standard_normal(count))

    return draw


def sawtooth(random: np.random.Generator, count: int) -> FloatArray:
    """Return runs that fall by a tenth over 6 runs, and recover."""
    at = (np.arange(count) + random.integers(6)) % 6
    return np.asarray(0.1 * (2.5 - at) / 6 + 0.01 * random.standard_normal(count))


def cliff(share: float) -> Draw:
    """Return runs that fall by 30 % when so much of their time is over."""
    return course(lambda at: np.where(at < share, 0.0, -0.3))


NOISES = (
    Noise("independent", lambda random, count: 0.02 * random.standard_normal(count)),
    Noise("lognormal", lognormal, 0.1 * math.exp(0.5)),
    Noise("memory 0.3", memory(0.3)),
    Noise("memory 0.7", memory(0.7)),
    Noise("memory 0.9", memory(0.9)),
    Noise("two states", two_states, -0.09),
    Noise("stalls every 0.5 s", stalls(0.5), -0.4),
    Noise("stalls every 2 s", stalls(2.0), -0.1),
    Noise("stalls every 10 s", stalls(10.0), -0.02),
    Noise("drift", course(lambda at: 0.1 * at), None),
    Noise("cliff at 30 %", cliff(0.3), None),
    Noise("cliff at 70 %", cliff(0.7), None),
    Noise("cliff at 95 %", cliff(0.95), None),
    Noise("sawtooth", sawtooth),
    Noise("approach", course(lambda at: 0.5 * np.exp(-4 * at)), None),
)


def intervals(
    noise: Noise, count: int, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the rates of intervals of 10 ms of a run with a noise, and their true means.

    What comes in periods takes its seconds: a stall 0.2 s, a sawtooth 1 s. Where there is no level,
    the true means are those of the course.
    """
    at = np.arange(count) + random.integers(1000)
    fresh = 0.03 * random.standard_normal(count)
    level = np.ones(count)
    if noise.name in _PERIODS_S:
        every = round(100 * _PERIODS_S[noise.name])
        lost = 0.95 * (at % every < _STALL)
        return np.asarray((1 - lost) * (1 + fresh)), level * (1 - 0.95 * _STALL / every)
    if noise.name == "sawtooth":
        return np.asarray(1 + 0.1 * (0.495 - at % 100 / 100) + fresh), level
    values = 1 + noise.draw(random, count)
    if noise.mean is None:
        return values, _true_course(noise, count)
    return values, level * (1 + noise.mean)


@cache
def _true_course(noise: Noise, count: int) -> FloatArray:
    still = np.random.default_rng(0)
    return np.asarray(1 + np.mean([noise.draw(still, count) for _ in range(4000)], axis=0))
