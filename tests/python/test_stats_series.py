"""Warm-up, steady state, outliers and drift."""

from __future__ import annotations

import numpy as np
import pytest
from fathom.stats import (
    coefficient_of_variation,
    find_drift,
    find_outliers,
    find_steady_state,
    find_transient,
)
from simulated import autoregressive

STEADY = [100.0, 101, 99, 100, 100]


@pytest.mark.parametrize("warm_up", [10, 25, 40])
@pytest.mark.parametrize("coefficient", [0.0, 0.5])
def test_a_warm_up_is_found_where_it_is(warm_up: int, coefficient: float) -> None:
    random = np.random.default_rng([warm_up, int(coefficient * 10)])
    series = 100 + autoregressive(random, coefficient, (200, 120))
    series[:, :warm_up] -= np.linspace(30, 10, warm_up)
    found = [find_transient(one) for one in series]
    assert min(one.count for one in found) >= warm_up - 5
    # It is not cut off at the price of half of the data.
    assert np.median([one.count for one in found]) == warm_up
    assert np.mean([one.is_over for one in found]) > 0.9


def test_a_series_without_a_warm_up_keeps_nearly_all() -> None:
    series = 100 + autoregressive(np.random.default_rng(1), 0.5, (200, 120))
    found = [find_transient(one) for one in series]
    assert np.median([one.count for one in found]) == 0
    assert find_transient([5.0] * 40).count == 0


def test_a_warm_up_that_does_not_end_is_told() -> None:
    noise = autoregressive(np.random.default_rng(2), 0.5, (100, 120))
    rising = 100 * (1 - np.exp(-np.arange(120) / 80)) + noise
    assert not any(find_transient(one).is_over for one in rising)


def test_steady_state_by_the_specification() -> None:
    found = find_steady_state({"iops": STEADY})
    assert (found.is_steady, found.rounds, found.is_exhausted) == (True, 5, False)
    check = found.checks["iops"]
    assert check.average == pytest.approx(100)
    assert check.range_share == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("values", "is_steady"),
    [
        # The range may be 20 % of the average in all, not to each side.
        ([90, 110, 90, 110, 100], True),
        ([89.9, 110.1, 90, 110, 100], False),
        # 15 % above and 5 % below are within it too.
        ([95, 115, 95, 95, 100], True),
        # The fit may rise by 10 % over the window, which is four steps of 2.5 %.
        ([95, 97.5, 100, 102.5, 105], True),
        ([94.9, 97.4, 100, 102.6, 105.1], False),
        ([105.1, 102.6, 100, 97.4, 94.9], False),
    ],
)
def test_the_limits_of_steady_state(values: list[float], *, is_steady: bool) -> None:
    assert find_steady_state({"iops": values}).is_steady is is_steady


def test_all_figures_are_steady_in_the_same_window() -> None:
    wild = [50.0, 100, 150, 100, 50]
    early_then_wild = STEADY + wild
    wild_then_early = wild + STEADY
    assert not find_steady_state({"iops": early_then_wild, "p99": wild_then_early}).is_steady
    both = {"iops": wild + STEADY, "p99": wild + STEADY, "mib_per_s": STEADY + STEADY}
    found = find_steady_state(both)
    assert (found.is_steady, found.rounds) == (True, 10)
    assert set(found.checks) == set(both)


def test_after_25_rounds_it_was_not_reached() -> None:
    falling = [1000 * 0.9**number for number in range(25)]
    found = find_steady_state({"iops": falling})
    assert (found.is_steady, found.rounds, found.is_exhausted) == (False, 25, True)
    # What comes later no longer counts.
    assert not find_steady_state({"iops": falling + STEADY}).is_steady
    assert not find_steady_state({"iops": falling[:24]}).is_exhausted
    assert find_steady_state({"iops": [1.0]}).checks == {}
    with pytest.raises(ValueError, match="same number"):
        find_steady_state({"iops": [1.0], "p99": [1.0, 2.0]})


def test_values_of_one_kind_seldom_have_an_outlier() -> None:
    random = np.random.default_rng(3)
    for count in (6, 10, 15, 30):
        alarms = [bool(find_outliers(random.standard_normal(count))) for _ in range(1_000)]
        # The level is 5 %; chance moves it by 0.7 %.
        assert np.mean(alarms) < 0.075


def test_outliers_are_named_even_where_they_hide_each_other() -> None:
    values = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100, 60, 61]
    found = find_outliers(values)
    assert [(one.index, one.value) for one in found] == [(10, 60.0), (11, 61.0)]
    assert all(one.deviations is not None and one.deviations < -20 for one in found)
    assert find_outliers([1.0, 1.0, 9.0]) == []
    assert find_outliers([5.0] * 20) == []


@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.8])
def test_drift_is_seldom_seen_where_there_is_none(coefficient: float) -> None:
    random = np.random.default_rng(int(coefficient * 10))
    series = 100 + autoregressive(random, coefficient, (1_000, 120))
    # The level is 5 %; chance moves it by 0.7 %.
    assert np.mean([find_drift(one).is_drifting for one in series]) < 0.075


def test_drift_is_seen_where_there_is_one() -> None:
    noise = autoregressive(np.random.default_rng(5), 0.5, (200, 120))
    falling = 100 + noise - np.linspace(0, 5, 120)
    found = [find_drift(one) for one in falling]
    assert np.mean([one.is_drifting for one in found]) > 0.95
    assert np.median([one.share for one in found]) == pytest.approx(-0.05, rel=0.15)
    assert find_drift([3.0] * 10).p_value == 1


def test_the_coefficient_of_variation() -> None:
    assert coefficient_of_variation([9.0, 10, 11]) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="mean of 0"):
        coefficient_of_variation([-1.0, 1.0])
