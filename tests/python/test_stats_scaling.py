"""The Universal Scalability Law, and the knee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fathom.stats import LoadPoint, find_knee, fit_scalability

LOADS = [1, 2, 4, 8, 16, 32, 64, 128]


def law(load: np.ndarray, rate: float, contention: float, coherence: float) -> np.ndarray:
    """Return throughput by the formula of the paper."""
    return np.asarray(rate * load / (1 + contention * (load - 1) + coherence * load * (load - 1)))


@pytest.mark.parametrize(
    ("rate", "contention", "coherence"),
    [(1000, 0.05, 1e-4), (250_000, 0.3, 1e-3), (40, 0.0, 5e-4), (1000, 0.1, 0.0), (7, 0.0, 0.0)],
)
def test_the_law_is_found_again(rate: float, contention: float, coherence: float) -> None:
    load = np.array(LOADS, float)
    found = fit_scalability(load, law(load, rate, contention, coherence))
    assert found.rate == pytest.approx(rate, rel=1e-3)
    assert found.contention == pytest.approx(contention, abs=1e-4)
    assert found.coherence == pytest.approx(coherence, abs=1e-6)
    assert found.relative_error < 1e-3
    if coherence > 1e-6:
        assert found.best_load == pytest.approx(np.sqrt((1 - contention) / coherence), rel=0.01)


def test_the_best_load_is_found_in_noise() -> None:
    random = np.random.default_rng(1)
    load = np.array(LOADS, float)
    truth = law(load, 1000, 0.05, 5e-4)
    found = [
        fit_scalability(load, truth * (1 + 0.02 * random.standard_normal(load.size)))
        for _ in range(50)
    ]
    best = np.sqrt(0.95 / 5e-4)
    assert np.median([one.best_load for one in found]) == pytest.approx(best, rel=0.05)
    limits = [one.limit for one in found]
    assert np.median(limits) == pytest.approx(law(np.array([best]), 1000, 0.05, 5e-4)[0], rel=0.03)


def test_a_law_that_does_not_describe_the_points_says_so() -> None:
    load = np.array(LOADS, float)
    random = np.random.default_rng(3)
    noise = 1 + 0.03 * random.standard_normal(load.size)
    followed = fit_scalability(load, law(load, 1000, 0.05, 5e-4) * noise)
    assert followed.is_fitting
    assert followed.r_squared > 0.95
    assert followed.greatest_load == 128
    # A constant throughput is described well, though it has no variance to explain.
    assert fit_scalability(load, np.full(load.size, 700.0) * noise).is_fitting
    # A limit that is reached without any queue before it bends more sharply than the law can.
    bent = fit_scalability(load, 100 * np.minimum(load, 16))
    assert not bent.is_fitting
    at = int(np.argmin(abs(load - bent.worst_load)))
    share = 100 * min(load[at], 16) / float(bent.throughput(load[at])[0]) - 1
    assert bent.worst_share == pytest.approx(share)
    # Two peaks are no law at all.
    assert not fit_scalability(load, [100, 300, 80, 500, 90, 600, 100, 400]).is_fitting


@pytest.mark.parametrize(
    "rates",
    [
        [1000, 800, 600, 400, 250],
        [1000, 700, 450, 270, 150],
        [1000, 980, 900, 700, 400],
        [1000, 1010, 1000, 990, 1000],
    ],
)
@pytest.mark.parametrize("least", [1, 4])
def test_a_peak_was_at_no_load_at_all(rates: list[float], least: int) -> None:
    """Of throughput that only falls the best load was 2.4e-08, outside its own interval."""
    found = fit_scalability([least * 2**n for n in range(5)], rates)
    assert found.best_load >= 1
    assert found.peak_low <= found.best_load <= found.peak_high
    assert math.isfinite(found.limit)
    assert found.limit >= float(found.throughput(least)[0]) * (1 - 1e-9)
    assert found.least_load == least
    if rates[1] < 0.9 * rates[0] and least == 1:
        assert found.only_falls


def test_what_rises_at_first_does_not_only_fall() -> None:
    assert not fit_scalability([1, 2, 4, 8, 16], [1000, 1700, 2000, 1500, 900]).only_falls
    assert not fit_scalability(LOADS, [1000.0] * 8).only_falls


def test_too_few_loads_are_told() -> None:
    with pytest.raises(ValueError, match="different loads"):
        fit_scalability([1, 2, 2, 4], [1, 2, 2, 3])
    with pytest.raises(ValueError, match="above 0"):
        fit_scalability([1, 2, 4, 8], [1, 2, 0, 3])


def test_the_knee_is_the_least_latency_near_the_greatest_throughput() -> None:
    points = [
        LoadPoint(1, 10_000, 100_000),
        LoadPoint(8, 79_000, 101_000),
        LoadPoint(16, 97_500, 164_000),
        LoadPoint(32, 100_000, 320_000),
        LoadPoint(64, 99_000, 640_000),
    ]
    assert find_knee(points).load == 16
    assert find_knee(points, share=0.01).load == 32
    assert find_knee(points, share=0.25).load == 8
    with pytest.raises(ValueError, match="at least one"):
        find_knee([])
