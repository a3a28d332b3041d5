"""What repetitions, comparisons and gates claim, tried on simulated runs.

Part of claims.py: each function is one experiment with noise of one kind.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from fathom.experiments.compare._figures import ComparedFigures, SideFigures, compare_figures
from fathom.experiments.compare.comparison import RunComparison
from fathom.experiments.compare.gate import parse_condition, verdict
from fathom.stats import Histograms, compare_means, runs_mean, runs_percentile
from fathom.stats.histogram import from_values

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from simulated import figures_of

if TYPE_CHECKING:
    import numpy.typing as npt
    from claims_noises import Noise

    FloatArray = npt.NDArray[np.float64]
    Outcome = Literal["right", "wrong", "cannot tell"]

SLOWDOWN = 0.05
"""Of what is to be found: more than the margin of equals."""


def _covers(low: float | None, high: float | None, truth: float) -> Outcome:
    if low is None or high is None:
        return "cannot tell"
    return "right" if low <= truth <= high else "wrong"


def mean_of_runs(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try the interval of ``fathom repeat``."""
    values = 1 + noise.draw(random, runs)
    found = runs_mean(1000 * values)
    truth = 1 + noise.mean if noise.mean is not None else course_mean(noise, runs)
    return _covers(found.low, found.high, 1000 * truth)


@cache
def course_mean(noise: Noise, runs: int) -> float:
    """Return the mean of so many runs with a noise that has no level of its own."""
    still = np.random.default_rng(0)
    return 1 + float(np.mean([noise.draw(still, runs).mean() for _ in range(1000)]))


def percentile_of_runs(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try the interval of the 99th percentile of all I/Os; levels of runs have the noise."""
    levels = 1e5 * np.exp(-noise.draw(random, runs))
    latencies = levels[:, None] * random.lognormal(0, 0.3, (runs, 1000))
    found = runs_percentile(Histograms([from_values(one) for one in latencies]), 0.99)
    truth = _true_percentile(noise, runs)
    low = None if found.low is None else found.low * (1 - 1 / 1024)
    high = None if found.high is None else found.high * (1 + 1 / 1024)
    return _covers(low, high, truth)


_KNOWN: dict[tuple[str, int], float] = {}


def _true_percentile(noise: Noise, runs: int) -> float:
    """Return the percentile of all I/Os that there could be; over the runs, if it has no level."""
    key = noise.name, runs if noise.mean is None else 0
    if key not in _KNOWN:
        random = np.random.default_rng(1)
        length = runs if noise.mean is None else 1000
        draws = [noise.draw(random, length) for _ in range(200_000 // length)]
        levels = np.exp(-np.concatenate(draws))
        pooled = levels * random.lognormal(0, 0.3, levels.size)
        _KNOWN[key] = 1e5 * float(np.quantile(pooled, 0.99))
    return _KNOWN[key]


def equals_one_after_the_other(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether ``fathom compare`` finds a difference between A and what follows it."""
    values = 1000 * (1 + noise.draw(random, 2 * runs))
    sides = (SideFigures({"iops": [*one]}, None) for one in (values[:runs], values[runs:]))
    found = compare_figures(*sides).metrics["iops"]
    if found.is_different:
        return "wrong"
    return "right" if found.can_tell and found.is_equal(0.03) else "cannot tell"


def _drawn(
    noise: Noise, runs: int, random: np.random.Generator, change: float
) -> tuple[FloatArray, FloatArray]:
    values = (1 + noise.draw(random, 2 * runs)).reshape(runs, 2)
    order = random.permuted(np.tile([0, 1], (runs, 1)), axis=1)
    a, b = np.take_along_axis(values, order, axis=1).T
    return 1000 * a, 1000 * (1 + change) * b


def equals_interleaved(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether ``fathom compare --run`` finds a difference between equals."""
    a, b = _drawn(noise, runs, random, 0.0)
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    if found.is_different:
        return "wrong"
    return "right" if found.can_tell and found.is_equal(0.03) else "cannot tell"


def _gated(noise: Noise, runs: int, random: np.random.Generator, change: float) -> str:
    a, b = _drawn(noise, runs, random, change)
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    figures = ComparedFigures({"iops": found}, {}, None)
    return verdict(parse_condition("iops<-3%"), figures, 1).decision


def gate_within_its_limit(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether the gate fails though the change is within its limit."""
    decision = _gated(noise, runs, random, -0.025)
    return "wrong" if decision == "fails" else "right" if decision == "passes" else "cannot tell"


def gate_at_twice_its_limit(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether the gate passes though the change is twice its limit."""
    decision = _gated(noise, runs, random, -0.06)
    return "wrong" if decision == "passes" else "right" if decision == "fails" else "cannot tell"


def slowdown_one_after_the_other(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether the table says that 5 % less, behind A, is worse; five figures are a family."""
    values = 1000 * (1 + noise.draw(random, 2 * runs))
    values[runs:] *= 1 - SLOWDOWN
    halves = (values[:runs], values[runs:])
    sides = (SideFigures(figures_of(one, random), None) for one in halves)
    found = compare_figures(*sides)
    return _judged(RunComparison(found.metrics, {}, None, ()).word("iops"))


def slowdown_interleaved(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether 5 % less is worse when interleaved, by its own test."""
    a, b = _drawn(noise, runs, random, -SLOWDOWN)
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    return _judged(RunComparison({"iops": found}, {}, None, ()).word("iops"))


def _judged(word: str) -> Outcome:
    return "right" if word == "worse" else "cannot tell" if word == "cannot tell" else "wrong"
