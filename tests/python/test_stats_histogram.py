"""Percentiles of merged histograms, and whole distributions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fathom import Latency, Result
from fathom.stats import Histograms, compare_distributions
from fathom.stats.histogram import from_values
from scipy.special import ndtri
from scipy.stats import permutation_test
from simulated import autoregressive, many

RESULT = Result.from_json((Path(__file__).parent / "fixtures/result.json").read_text())
IOS = 500
# Twice the 5 % in which equals may differ would be found in 95 of 100 tests of so many.
EXPERIMENTS = many(300)
# Two deviations of a share of 5 % of the experiments.
CHANCE = 2 * np.sqrt(0.05 * 0.95 / EXPERIMENTS)
# Of intervals of which 85 % hold and not 95 %, so many find it in 98 of 100 tests.
INTERVALS = many(200)


def runs_of(
    random: np.random.Generator, count: int, *, between: float, factor: float = 1.0, ios: int = IOS
) -> list[dict[int, int]]:
    """Return histograms of log-normal latencies around 100 us, in runs that differ."""
    levels = factor * np.exp(between * random.standard_normal((count, 1)))
    return [from_values(1e5 * one) for one in levels * random.lognormal(0, 0.5, (count, ios))]


def test_buckets_are_those_of_the_engine() -> None:
    latency = RESULT.total.latency
    assert latency is not None
    lower = np.array([*latency.buckets])
    # A value at the beginning of each bucket falls into it, and so does the one in its middle.
    assert [*from_values(lower)] == [*latency.buckets]
    assert [*from_values(Histograms([latency.buckets]).middle_ns)] == [*latency.buckets]


def test_quantiles_are_those_of_the_result() -> None:
    latency = RESULT.total.latency
    assert latency is not None
    histograms = Histograms([latency.buckets])
    for quantile in (0.1, 0.5, 0.9, 0.99, 0.999):
        value = histograms.quantile(quantile).value_ns
        assert min(max(value, latency.min_ns), latency.max_ns) == latency.quantile_ns(quantile)


def test_merging_is_the_same_as_one_run() -> None:
    random = np.random.default_rng(1)
    values = random.lognormal(11, 0.5, (4, IOS))
    merged = Histograms([from_values(one) for one in values])
    whole = Histograms([from_values(values.reshape(-1))])
    for quantile in (0.5, 0.99):
        assert merged.quantile(quantile).value_ns == whole.quantile(quantile).value_ns
    assert merged.counts.sum() == values.size


# Of 12 independent runs one in four and more is not told, as memory hides in so few.
@pytest.mark.parametrize(("runs", "least"), [(12, 0.58), (20, 0.83)])
@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99])
def test_the_interval_of_a_percentile_covers(quantile: float, runs: int, least: float) -> None:
    random = np.random.default_rng(int(quantile * 100))
    between = 0.05
    # The true quantile over all runs that there could be.
    truth = 1e5 * float(np.exp(ndtri(quantile) * np.hypot(0.5, between)))
    covered = given = 0
    for _ in range(INTERVALS):
        found = Histograms(runs_of(random, runs, between=between)).quantile(quantile)
        assert found.between_runs
        if found.low_ns is None or found.high_ns is None:
            continue
        given += 1
        low_ns, high_ns = found.low_ns * (1 - 1 / 1024), found.high_ns * (1 + 1 / 1024)
        covered += bool(low_ns <= truth <= high_ns)
    assert covered / given >= 0.92
    assert given / INTERVALS >= least


def test_one_run_alone_says_that_it_knows_only_itself() -> None:
    (run,) = runs_of(np.random.default_rng(2), 1, between=0)
    found = Histograms([run]).quantile(0.5)
    assert not found.between_runs
    assert found.low_ns is not None
    assert found.high_ns is not None
    assert found.low_ns < found.value_ns < found.high_ns
    assert Histograms([run]).quantile(1.0).value_ns == Histograms([run]).middle_ns[-1]


def p_of(a: list[dict[int, int]], b: list[dict[int, int]], *, in_turns: bool = False) -> float:
    """Return the probability that two sets of runs differ so by chance."""
    found = compare_distributions(a, b, in_turns=in_turns).p_value
    assert found is not None
    return found


@pytest.mark.parametrize("coefficient", [0.0, 0.5])
def test_runs_of_one_kind_seldom_differ_in_distribution(coefficient: float) -> None:
    # Also where a run resembles the one before, as on a machine that does something else.
    random = np.random.default_rng(3)
    levels = np.exp(0.1 * autoregressive(random, coefficient, (EXPERIMENTS, 20)))
    latencies = 1e5 * random.lognormal(0, 0.5, (EXPERIMENTS, 20, 60)) * levels[..., None]
    alarms, permuted, shares = [], [], []
    for experiment in latencies:
        runs = [from_values(one) for one in experiment]
        result = compare_distributions(runs[:10], runs[10:])
        assert result.p_value is not None
        alarms.append(result.p_value < 0.05)
        shares.append(result.slower_share)
        # A permutation of the runs' medians, which takes them as exchangeable.
        medians = np.median(experiment, axis=1)
        permuted.append(
            permutation_test(
                (medians[:10], medians[10:]),
                lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
                n_resamples=199,
                rng=np.random.default_rng(1),
                vectorized=True,
            ).pvalue
            < 0.05
        )
    assert np.mean(alarms) <= 0.05 + CHANCE
    assert np.mean(shares) == pytest.approx(0.5, abs=0.01)
    # The test can fail.
    assert (np.mean(permuted) > 0.12) == (coefficient > 0)


def test_a_slower_distribution_is_found_and_measured() -> None:
    random = np.random.default_rng(4)
    a, b = runs_of(random, 5, between=0.02), runs_of(random, 5, between=0.02, factor=1.2)
    result = compare_distributions(a, b)
    assert result.p_value is not None
    assert result.p_value < 0.01
    assert result.log_shift == pytest.approx(np.log(1.2), rel=0.15)
    assert result.quantile_ratios[0.5] == pytest.approx(1.2, rel=0.05)
    assert result.slower_share > 0.55
    swapped = compare_distributions(b, a)
    assert swapped.slower_share == pytest.approx(1 - result.slower_share)


def test_a_tail_is_found_where_the_means_are_alike() -> None:
    # One I/O of 200 stalls in B, the others are a little faster.
    random = np.random.default_rng(5)
    a = [from_values(random.normal(1e5, 5e3, IOS)) for _ in range(6)]
    stalls = [np.where(np.arange(IOS) % 200 == 0, 3e6, 8.5e4) for _ in range(6)]
    b = [from_values(one + random.normal(0, 5e3, IOS)) for one in stalls]
    result = compare_distributions(a, b)
    assert result.quantile_ratios[0.999] > 20
    assert result.quantile_ratios[0.5] < 0.9
    assert result.p_value is not None
    assert result.p_value < 0.01


def test_two_runs_are_too_few_for_a_test() -> None:
    random = np.random.default_rng(6)
    a, b = runs_of(random, 1, between=0), runs_of(random, 1, between=0, factor=9)
    result = compare_distributions(a, b)
    assert result.p_value is None
    assert result.greatest_gap > 0.9
    with pytest.raises(ValueError, match="at least one run"):
        compare_distributions(a, [])
    with pytest.raises(ValueError, match="at least one I/O"):
        Histograms([{}])


def test_a_slow_change_is_no_difference_of_runs_interleaved() -> None:
    # Latencies rise by half while A and B are interleaved, and B is 5 % slower.
    random = np.random.default_rng(7)
    rise = np.exp(np.linspace(0, 0.4, 20))
    runs = [from_values(random.lognormal(np.log(1e5 * one), 0.1, IOS)) for one in rise]
    assert p_of(runs[::2], runs[1::2]) > 0.05
    slower = [from_values(random.lognormal(np.log(1.05e5 * one), 0.1, IOS)) for one in rise]
    assert p_of(runs[::2], slower[::2]) > 0.05
    assert p_of(runs[::2], slower[::2], in_turns=True) < 0.05


def test_a_stored_histogram_is_read() -> None:
    raw = json.loads(json.dumps(dict(RESULT.raw)))
    latency = Result.from_json(json.dumps(raw)).total.latency
    assert isinstance(latency, Latency)
    assert Histograms([latency.buckets]).counts.sum() == latency.count
