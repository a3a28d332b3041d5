"""Means with intervals, which hold the true value as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from fathom.stats import independent_mean, long_run, planned_count, series_mean
from scipy.special import stdtrit
from simulated import autoregressive, experiments

EXPERIMENTS = 1_000
# What the requirement allows for a nominal 95 %; of 1,000 experiments, chance alone moves it by 0.7
# %.
COVERAGE = (0.93, 0.97)


@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("seconds", [60, 120, 300, 1_000])
def test_a_nominal_95_percent_covers_93_to_97(seconds: int, coefficient: float) -> None:
    random = np.random.default_rng([seconds, int(coefficient * 10)])
    series = autoregressive(random, coefficient, (EXPERIMENTS, seconds))
    found = long_run(series)
    half = stdtrit(found.freedom, 0.975) * np.sqrt(found.variance / seconds)
    covered = float((np.abs(series.mean(axis=-1)) <= half).mean())
    assert COVERAGE[0] <= covered <= COVERAGE[1]


def test_the_textbook_interval_would_not_cover() -> None:
    # The test above can fail: independent seconds are the wrong assumption.
    random = np.random.default_rng(1)
    series = autoregressive(random, 0.7, (EXPERIMENTS, 120))
    estimates = [independent_mean(one) for one in series]
    covered = np.mean([estimate.low <= 0 <= estimate.high for estimate in estimates])
    assert covered < 0.70


def test_a_series_estimate_is_that_of_the_long_run() -> None:
    random = np.random.default_rng(2)
    series = 500 + autoregressive(random, 0.5, (120,))
    found, estimate = long_run(series), series_mean(series)
    half = stdtrit(found.freedom, 0.975) * np.sqrt(found.variance / 120)
    assert estimate.mean == pytest.approx(series.mean())
    assert (estimate.high - estimate.low) / 2 == pytest.approx(half)
    assert estimate.relative_half_width == pytest.approx(half / series.mean())


def test_the_effective_count_is_that_of_theory() -> None:
    # For AR(1): n (1 - phi) / (1 + phi).
    random = np.random.default_rng(3)
    for coefficient in (0.0, 0.5, 0.8):
        counts = [
            series_mean(one).effective_count
            for one in autoregressive(random, coefficient, (200, 1_000))
        ]
        theory = 1_000 * (1 - coefficient) / (1 + coefficient)
        assert np.median(counts) == pytest.approx(theory, rel=0.15)


def test_more_confidence_is_a_wider_interval() -> None:
    series = 500 + autoregressive(np.random.default_rng(4), 0.5, (120,))
    widths = [series_mean(series, confidence=one).relative_half_width for one in (0.8, 0.95, 0.99)]
    assert widths == sorted(widths)


def test_a_constant_series_is_known_exactly() -> None:
    estimate = series_mean([7.0] * 20)
    assert (estimate.low, estimate.mean, estimate.high) == (7.0, 7.0, 7.0)


def test_stopping_by_a_pilot_covers_nominally() -> None:
    random = np.random.default_rng(5)
    runs = experiments(random, (EXPERIMENTS, 40, 10), (0.01, 0.03, 0.5)).mean(axis=-1)
    covered = 0
    for one in runs:
        count = min(planned_count(one[:10], relative_half_width=0.01), one.size)
        estimate = independent_mean(one[:count], pilot=10)
        covered += estimate.low <= 1000 <= estimate.high
        assert count == one.size or estimate.relative_half_width < 0.0105
    assert COVERAGE[0] <= covered / EXPERIMENTS <= COVERAGE[1]


@pytest.mark.parametrize("values", [[], [1.0] * 7, [1.0] * 9 + [float("nan")], 5.0])
def test_too_little_is_told(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values"):
        series_mean(values)
    with pytest.raises(ValueError, match="between 0 and 1"):
        series_mean([1.0] * 10, confidence=95)
