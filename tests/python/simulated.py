"""Seeded noise like that of storage: neighbours resemble each other, runs differ.

How often a test is wrong is judged over as many experiments as tell a wrong rate from a right one;
``make statistics`` judges it over FATHOM_EXPERIMENTS times as many.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import lfilter

if TYPE_CHECKING:
    from fathom.stats.floats import FloatArray

__all__ = ["autoregressive", "experiments", "figures_of", "many", "troubled"]

# So much of where heavy-tailed noise began is left when its first value is used.
_LEFT = 1e-4


def many(least: int) -> int:
    """Return how many experiments to make, of which so many are enough for each change."""
    return least * int(os.environ.get("FATHOM_EXPERIMENTS", "1"))


def autoregressive(
    random: np.random.Generator, coefficient: float, shape: tuple[int, ...]
) -> FloatArray:
    """Return AR(1) noise along the last axis, with mean 0 and variance 1."""
    fresh = random.standard_normal(shape)
    # The first value has the variance of all others, so that the noise begins as it goes on.
    fresh[..., 1:] *= np.sqrt(1 - coefficient**2)
    return np.asarray(lfilter([1.0], [1.0, -coefficient], fresh, axis=-1))


def figures_of(iops: FloatArray, random: np.random.Generator) -> dict[str, list[float]]:
    """Return the five figures that a comparison has by default, of runs with these IOPS."""
    own = random.standard_normal((2, iops.size))
    return {
        "iops": [*iops],
        "mib_per_s": [*(iops / 256)],
        "mean": [*(1e9 / iops)],
        "p99": [*(3e9 / iops * np.exp(0.03 * own[0]))],
        "p999": [*(9e9 / iops * np.exp(0.08 * own[1]))],
    }


def experiments(
    random: np.random.Generator, shape: tuple[int, int, int], noise: tuple[float, float, float]
) -> FloatArray:
    """Return IOPS of experiments, runs and seconds around 1000.

    ``noise`` is the relative deviation between runs, within them, and the coefficient of the
    latter.
    """
    between, within, coefficient = noise
    levels = 1 + between * random.standard_normal((*shape[:2], 1))
    return np.asarray(1000 * levels * (1 + within * autoregressive(random, coefficient, shape)))


def troubled(
    random: np.random.Generator, coefficient: float, shape: tuple[int, ...], deviation: float = 0.02
) -> FloatArray:
    """Return figures of runs around 1000 whose neighbours resemble each other, with heavy tails.

    What drives them is Student's with 3 degrees of freedom.
    """
    forgotten = int(np.ceil(np.log(_LEFT) / np.log(coefficient))) if coefficient else 0
    fresh = random.standard_t(3, (*shape[:-1], shape[-1] + forgotten)) / np.sqrt(3)
    noise: FloatArray = lfilter([1.0], [1.0, -coefficient], fresh, axis=-1)
    scaled = noise[..., forgotten:] * np.sqrt(1 - coefficient**2)
    return np.asarray(1000 * np.exp(deviation * scaled))
