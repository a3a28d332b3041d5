"""Comparing sets of runs: few false alarms, and what is there is found."""

from __future__ import annotations

import numpy as np
import pytest
from fathom.experiments.compare._figures import ComparedFigures, SideFigures, compare_figures
from fathom.experiments.repeat import RepeatPolicy
from fathom.stats import compare_means, planned_count
from fathom.stats.family import family_p_values
from scipy.stats import ttest_ind
from simulated import autoregressive, experiments, many, troubled

# Where equals may differ in 5 %, twice as many would be found in 996 of 1,000 tests with so many
# experiments, and 8 % in 9 of 10; with two deviations of chance on top, 10 % in 97 of 100.
EXPERIMENTS = many(400)
# Of what is to be found in 90 %, and is in 80 %, so many miss it in each of 1,000 tests.
FOUND = many(200)
SECONDS = 10
POLICY = RepeatPolicy()
PILOT, MOST = POLICY.pilot, POLICY.most
# Deviation between runs and within them, and how much a second resembles the one before.
NOISES = [(0.01, 0.03, 0.5), (0.005, 0.02, 0.5), (0.02, 0.03, 0.7), (0.01, 0.01, 0.0)]


def effort(runs: np.ndarray) -> int:
    """Return the number of runs that ``fathom repeat`` makes by default."""
    pilot = runs.mean(axis=-1)[:PILOT]
    return min(planned_count(pilot, relative_half_width=POLICY.relative_half_width), MOST)


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
    a, b = experiments(random, (2 * FOUND, MOST, SECONDS), noise).reshape(2, FOUND, MOST, SECONDS)
    b *= 0.97
    found = 0
    for x, y in zip(a, b, strict=True):
        result = compare_means([*x[: effort(x)]], [*y[: effort(y)]], a_pilot=PILOT, b_pilot=PILOT)
        found += result.is_different and result.high < 0
    assert found / FOUND >= 0.90


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


# Noise of a machine that does something else, too: heavy tails, and runs that resemble the one
# before by so much.
@pytest.mark.parametrize(("coefficient", "runs"), [(0.3, 10), (0.5, 10), (0.5, 30), (0.7, 30)])
def test_equals_seldom_differ_where_neighbouring_runs_resemble_each_other(
    coefficient: float, runs: int
) -> None:
    random = np.random.default_rng([int(coefficient * 10), runs])
    series = troubled(random, coefficient, (EXPERIMENTS, 2 * runs))
    pairs = [(one[:runs], one[runs:]) for one in series]
    alarms = float(np.mean([compare_means([*a], [*b]).is_different for a, b in pairs]))
    assert alarms <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / EXPERIMENTS)
    # Welch's test, which takes runs as independent, would not do.
    welch = np.mean([ttest_ind(a, b, equal_var=False).pvalue < 0.05 for a, b in pairs])
    assert welch > 2 * max(alarms, 0.05)


def test_a_drift_is_no_difference_of_runs_interleaved() -> None:
    # The machine slows down by 5 % while A and B are measured, with 0.5 % of noise.
    random = np.random.default_rng(11)
    series = troubled(random, 0.3, (EXPERIMENTS, 24), 0.005) * np.linspace(1, 0.95, 24)
    results = [compare_means([*one[::2]], [*one[1::2]], in_turns=True) for one in series]
    # A is one run earlier each time, which is 0.2 % faster.
    assert np.mean([one.low <= np.expm1(-0.0022) <= one.high for one in results]) >= 0.93
    slower = series.copy()
    slower[:, 1::2] *= 0.97
    pairs = [([*one[::2]], [*one[1::2]]) for one in slower]
    found = [compare_means(a, b, in_turns=True).is_different for a, b in pairs]
    assert np.mean(found) >= 0.90
    # Without the pairs the drift hides it.
    assert np.mean([compare_means(a, b).is_different for a, b in pairs]) < 0.5
    with pytest.raises(ValueError, match="as many of A as of B"):
        compare_means([1.0, 2.0], [1.0, 2.0, 3.0], in_turns=True)


def figures_of(runs: np.ndarray) -> SideFigures:
    """Return a side whose runs (rows) have a rate, and latencies that go with it in part."""
    rates, tails = runs[:, 0], runs[:, 1:]
    values = {"iops": rates, "mib_per_s": rates / 256, "mean": 1 / rates}
    parts = {f"p{number}": one / rates for number, one in enumerate(tails.T)}
    return SideFigures({name: [*one] for name, one in {**values, **parts}.items()}, None)


def whole(rows: np.ndarray, factor: float = 1.0) -> ComparedFigures:
    """Compare the first half of the rows with the second, whose rates are so many times higher."""
    half = len(rows) // 2
    b = rows[half:] * np.array([factor, 1, 1])
    return compare_figures(figures_of(rows[:half]), figures_of(b))


def test_of_many_figures_none_differs_falsely_in_95_percent_of_the_comparisons() -> None:
    random = np.random.default_rng(12)
    runs = 1000 * np.exp(0.01 * random.standard_normal((many(1_000), 24, 3)))
    results = [whole(one).metrics.values() for one in runs[:EXPERIMENTS]]
    together = np.mean([any(one.is_different for one in each) for each in results])
    alone = np.mean([any(one.p_value < 0.05 for one in each) for each in results])
    assert together <= 0.05
    # Each figure has a false alarm of its own else.
    assert alone > 1.5 * together
    found = np.mean([whole(one, 0.97).metrics["iops"].is_different for one in runs[::4]])
    assert found >= 0.90


def test_figures_that_tell_the_same_are_not_paid_for_twice() -> None:
    random = np.random.default_rng(13)
    one = random.standard_normal((20, 1))
    same = family_p_values([0.03] * 5, np.repeat(one, 5, axis=1))
    assert same == pytest.approx([0.03] * 5, abs=0.004)
    apart = family_p_values([0.03] * 5, random.standard_normal((4, 5)))
    assert apart[0] == pytest.approx(1 - 0.97**5, abs=0.01)
    # The most certain one pays for all, the least certain one for itself.
    steps = family_p_values([0.001, 0.2, 0.01], random.standard_normal((4, 3)))
    assert steps[0] == pytest.approx(0.003, abs=0.0015)
    assert steps[1] == pytest.approx(0.2, abs=0.001)
    assert steps[2] == pytest.approx(0.02, abs=0.004)
    assert family_p_values([0.04], np.zeros((0, 1))) == [0.04]
