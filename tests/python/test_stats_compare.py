"""Comparing sets of runs: few false alarms, and what is there is found."""

from __future__ import annotations

import numpy as np
import pytest
from fathom.stats import compare_means, planned_count
from simulated import autoregressive, experiments

EXPERIMENTS = 1_000
SECONDS = 10
PILOT, MOST = 10, 30
HALF_WIDTH = 0.01
# Deviation between runs and within them, and how much a second resembles the one before.
NOISES = [(0.01, 0.03, 0.5), (0.005, 0.02, 0.5), (0.02, 0.03, 0.7), (0.01, 0.01, 0.0)]


def effort(runs: np.ndarray) -> int:
    """Return the number of runs that ``fathom repeat`` makes by default."""
    pilot = runs.mean(axis=-1)[:PILOT]
    return min(planned_count(pilot, relative_half_width=HALF_WIDTH), MOST)


@pytest.mark.parametrize("noise", NOISES)
def test_equals_seldom_differ_at_the_default_effort(noise: tuple[float, float, float]) -> None:
    random = np.random.default_rng(int(sum(noise) * 1_000))
    a, b = experiments(random, (2 * EXPERIMENTS, MOST, SECONDS), noise).reshape(
        2, EXPERIMENTS, MOST, SECONDS
    )
    alarms = [
        compare_means(
            [*x[: effort(x)]], [*y[: effort(y)]], a_pilot=PILOT, b_pilot=PILOT
        ).is_different
        for x, y in zip(a, b, strict=True)
    ]
    assert np.mean(alarms) <= 0.05


@pytest.mark.parametrize("noise", NOISES)
def test_a_slowdown_of_3_percent_is_found_at_the_default_effort(
    noise: tuple[float, float, float],
) -> None:
    random = np.random.default_rng(int(sum(noise) * 1_000) + 1)
    a, b = experiments(random, (2 * EXPERIMENTS, MOST, SECONDS), noise).reshape(
        2, EXPERIMENTS, MOST, SECONDS
    )
    b *= 0.97
    found = 0
    for x, y in zip(a, b, strict=True):
        result = compare_means([*x[: effort(x)]], [*y[: effort(y)]], a_pilot=PILOT, b_pilot=PILOT)
        found += result.is_different and result.high < 0
    assert found / EXPERIMENTS >= 0.90


@pytest.mark.parametrize("runs", [2, 3, 5, 10])
def test_equals_seldom_differ_at_a_fixed_number_of_runs(runs: int) -> None:
    random = np.random.default_rng(runs)
    sides = experiments(random, (2 * EXPERIMENTS, runs, SECONDS), NOISES[0])
    pairs = zip(sides[:EXPERIMENTS], sides[EXPERIMENTS:], strict=True)
    alarms = [compare_means([*x], [*y]).is_different for x, y in pairs]
    # Nominally 5 %, from which chance may move it by two of its deviations.
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / EXPERIMENTS)


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.8])
def test_single_runs_are_compared_by_their_seconds(coefficient: float) -> None:
    random = np.random.default_rng(int(coefficient * 10))
    series = 1000 * (1 + 0.03 * autoregressive(random, coefficient, (2 * EXPERIMENTS, 60)))
    pairs = list(zip(series[:EXPERIMENTS], series[EXPERIMENTS:], strict=True))
    results = [compare_means([x], [y]) for x, y in pairs]
    # Nominally 5 %, from which chance may move it by two of its deviations.
    chance = 2 * np.sqrt(0.05 * 0.95 / EXPERIMENTS)
    assert np.mean([one.is_different for one in results]) <= 0.05 + chance
    # It says what it could not see.
    assert not any(one.between_runs for one in results)
    assert results[0].effect_size is None
    naive = [abs(x.mean() - y.mean()) > 1.96 * np.sqrt((x.var() + y.var()) / 60) for x, y in pairs]
    if coefficient:
        assert np.mean(naive) > 0.2


def test_the_change_is_a_ratio_with_its_interval() -> None:
    a = [100.0, 102, 98, 101, 99]
    result = compare_means(a, [value * 1.5 for value in a])
    assert result.change == pytest.approx(0.5)
    assert result.low < 0.5 < result.high
    # Seen from the other side it is the same.
    mirrored = compare_means([value * 1.5 for value in a], a)
    assert (1 + mirrored.change) * (1 + result.change) == pytest.approx(1)
    assert (1 + mirrored.low) * (1 + result.high) == pytest.approx(1)
    assert mirrored.p_value == pytest.approx(result.p_value)
    assert result.is_different
    assert result.effect_size is not None
    assert result.effect_size > 10
    assert (result.a_runs, result.b_runs, result.between_runs) == (5, 5, True)


def test_what_cannot_be_compared_is_told() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        compare_means([], [1.0, 2.0])
    with pytest.raises(ValueError, match="repeat it"):
        compare_means([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="above 0"):
        compare_means([0.0, 0.0], [1.0, 2.0])
