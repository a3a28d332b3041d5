"""How long tuning still takes: a range, since what it finds decides what it must run.

How much runs differ is not known before loads are run again, at the end, and decides whether a
confirmation takes 6 runs or 18. One number would be wrong by half as often as not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.experiments.tune._confirm import LEAST_ROUNDS, MOST_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.tune._confirm import Confirming
    from fathom.experiments.tune.knee_search import KneeSearch

__all__ = ["ExpectedRuns", "runs_of_confirmation", "runs_of_search", "seconds_left"]

# So many loads beyond those of the design are measured at most times, of 3,200 simulated tunings
# (docs/lab.md), and at least so many more once these are done.
_MORE = 10
_STILL_MORE = 3
_LEAST_LOADS = 2
_MOST_LOADS = 3
_DEVIATIONS = 2.0


@dataclass(frozen=True)
class ExpectedRuns:
    """How many runs there will be in the end, in nine of ten cases."""

    low: float = 0.0
    high: float = 0.0


def runs_of_search(search: KneeSearch, tried: int, confirming: int) -> ExpectedRuns:
    """Return how many there will be while the search goes on; ``confirming`` have been."""
    design, loads = len(search.design()), len(search.loads)
    low = min(max(design, tried), loads)
    high = min(max(design + _MORE, tried + _STILL_MORE), loads)
    return ExpectedRuns(
        low + confirming + _LEAST_LOADS * LEAST_ROUNDS,
        high + confirming + _MOST_LOADS * MOST_ROUNDS,
    )


def runs_of_confirmation(confirming: Confirming, before: int) -> ExpectedRuns:
    """Return how many there will be if no other search follows."""
    loads = len(confirming.loads)
    return ExpectedRuns(before + loads * confirming.rounds, before + loads * MOST_ROUNDS)


def seconds_left(
    durations_s: Sequence[float], done: int, expected: ExpectedRuns
) -> tuple[float, float]:
    """Return between what the remaining time is, given how long each run took so far."""
    taken = np.asarray(durations_s, float)
    mean = float(taken.mean())
    deviation = float(taken.std(ddof=1)) if taken.size > 1 else mean / 2

    def off(runs: float) -> float:
        """Return by how much the sum of so many runs may differ from what those so far tell."""
        return _DEVIATIONS * deviation * math.sqrt(runs + runs**2 / taken.size)

    low, high = (max(runs - done, 0.0) for runs in (expected.low, expected.high))
    return max(low * mean - off(low), low * mean / 2), high * mean + off(high)
