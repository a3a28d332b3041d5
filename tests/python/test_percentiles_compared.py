"""Percentiles of two sides come from merged histograms, with intervals that hold their change."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
from fabricated import fabricated
from fathom.cli.exit_codes import EXIT_CANNOT_TELL
from fathom.cli.views.comparison import judge
from fathom.experiments.compare._figures import SideFigures, compare_figures
from fathom.experiments.compare.claims import _neighbour_sentences
from fathom.experiments.compare.gate import verdict
from fathom.experiments.compare.saved import compare_runs, parse_condition
from fathom.experiments.noise_words import estimate_sentences
from fathom.runners.saving import save_run
from fathom.stats import Histograms, compare_means
from fathom.stats.histogram import from_values
from fathom.stats.percentiles import TooFewIos, percentile_of_each_run
from fathom.stats.ranks import (
    flip_p_value,
    least_p_value,
    pairs_needed,
    sign_p_value,
    signed_rank_p_value,
)
from fathom.stats.runs import runs_percentile
from simulated import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.stats.floats import FloatArray
    from fathom.store import Store


def sides(random: np.random.Generator, runs: int, ios: int) -> list[FloatArray]:
    """Return what the runs of two equal sides say of their 99th percentile."""
    found = []
    for _ in "AB":
        levels = 1e5 * np.exp(0.05 * random.standard_normal((runs, 1)))
        rows = levels * random.lognormal(0, 0.4, (runs, ios))
        one = percentile_of_each_run(Histograms([from_values(row) for row in rows]), 0.99)
        assert not isinstance(one, TooFewIos)
        found.append(one)
    return found


def test_defect_2_equals_differ_in_no_percentile_more_often_than_said() -> None:
    random = np.random.default_rng(1)
    wrong = held = 0
    for _ in range(150):
        a, b = sides(random, 10, 1000)
        apart = compare_means([*a], [*b])
        wrong += apart.is_different
        held += apart.low <= 0 <= apart.high
    assert wrong / 150 <= 0.05 + 2 * 0.018
    assert held / 150 >= 0.93 - 2 * 0.018


def saved(store: Store, rows: Sequence[FloatArray]) -> str:
    ids = [save_run(store, fabricated(latency_ns=row), ["-b4K", "x.dat"]) for row in rows]
    return ",".join(str(one) for one in ids)


def test_defect_2_compare_shows_the_percentile_of_all_ios_and_not_the_mean_of_those_of_runs(
    store: Store,
) -> None:
    random = np.random.default_rng(2)
    # Some runs of A are slow: in these lies most of what is beyond the 99th percentile of all.
    rows = [1e5 * random.lognormal(0, 0.2, 4000) for _ in range(24)]
    for at in (3, 5, 8, 10):
        rows[at] = rows[at] * 1.3
    found = compare_runs(store, saved(store, rows[:12]), saved(store, rows[12:]), metrics=["p99"])
    one = found.metrics["p99"]
    pooled = [float(np.quantile(np.concatenate(side), 0.99)) for side in (rows[:12], rows[12:])]
    assert [one.a_mean, one.b_mean] == pytest.approx(pooled, rel=0.002)
    averaged = float(np.exp(np.mean([np.log(np.quantile(row, 0.99)) for row in rows[:12]])))
    assert one.a_mean > 1.04 * averaged
    assert one.change == pytest.approx(pooled[1] / pooled[0] - 1, abs=0.005)
    assert not found.notes


def test_defect_2_a_percentile_that_the_ios_do_not_carry_is_not_compared(store: Store) -> None:
    random = np.random.default_rng(3)
    rows = [1e5 * random.lognormal(0, 0.3, 30) for _ in range(20)]
    found = compare_runs(
        store,
        saved(store, rows[:10]),
        saved(store, rows[10:]),
        metrics=["p50", "p999"],
        conditions=[parse_condition("p999>+5%")],
    )
    assert [*found.metrics] == ["p50"]
    sentence = next(one for one in [one.text for one in found.claims] if one.startswith("p999"))
    assert "A has 300 I/Os and needs more than 5,118" in sentence
    assert "is the greatest of all latencies" in sentence
    with pytest.raises(typer.Exit) as ended:
        judge(found)
    assert ended.value.exit_code == EXIT_CANNOT_TELL


def test_one_run_has_no_change_of_a_percentile_and_says_why(store: Store) -> None:
    row = 1e5 * np.random.default_rng(4).lognormal(0, 0.3, 4000)
    found = compare_runs(store, saved(store, [row]), saved(store, [row]), metrics=["p99"])
    assert not found.metrics
    assert "one run tells nothing of how a percentile differs" in found.missing["p99"]


def test_latencies_that_are_all_alike_differ_by_no_bucket() -> None:
    runs = [{1024: 500, 1025: 500 + at} for at in range(6)]
    found = percentile_of_each_run(Histograms(runs), 0.5)
    assert not isinstance(found, TooFewIos)
    one = compare_means([*found[:3]], [*found[3:]])
    assert abs(one.change) < 0.001
    same = [percentile_of_each_run(Histograms([{1024: 1000}] * 5), 0.99) for _ in "AB"]
    assert not isinstance(same[0], TooFewIos)
    assert not isinstance(same[1], TooFewIos)
    assert not compare_means([*same[0]], [*same[1]]).is_different


def test_a_gate_on_too_few_ios_cannot_tell_whatever_the_other_side_has() -> None:
    few = TooFewIos(0.999, 1.2e6, 300, 5118, is_greatest=True)
    figures = compare_figures(
        SideFigures({"p999": few}, None), SideFigures({"p999": [1.0, 2.0, 3.0]}, None)
    )
    found = verdict(parse_condition("p999>+5%"), figures, 1)
    assert (found.decision, found.why_not) == ("cannot tell", None)
    judged: Any = SimpleNamespace(verdicts=[found])
    with pytest.raises(typer.Exit) as ended:
        judge(judged)
    assert ended.value.exit_code == EXIT_CANNOT_TELL


def test_signed_ranks_stand_beside_t_for_pairs_and_are_exact() -> None:
    pairs = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, -10])
    # W = 10 of 10 pairs: 43 of 1024 sums are as small (Wilcoxon 1945).
    assert signed_rank_p_value(pairs) == pytest.approx(2 * 43 / 1024)
    assert sign_p_value(pairs) == pytest.approx(2 * 11 / 1024)
    assert signed_rank_p_value(np.zeros(5)) == 1
    random = np.random.default_rng(5)
    found = [signed_rank_p_value(random.standard_t(2, 12)) for _ in range(2000)]
    assert np.mean([one < 0.05 for one in found]) <= 0.05 + 0.015
    # Beyond 100 pairs by the normal distribution, which joins.
    long = random.standard_normal(100) + 0.2
    assert signed_rank_p_value(long) == pytest.approx(
        signed_rank_p_value(np.append(long, [9e-9])), rel=0.15
    )
    one = compare_means([100.0, 101, 99], [103.0, 104, 101.5], in_turns=True, is_drawn=True)
    assert one.signed_rank_p_value == pytest.approx(0.25)
    # Student's test alone would tell a difference (p = 0.003), as it does of any steep drift.
    assert one.p_value == one.flip_p_value == pytest.approx(0.25)


def test_flipped_differences_are_those_of_all_signs() -> None:
    random = np.random.default_rng(4)
    for pairs in (3, 5, 8, 11):
        apart = random.standard_normal(pairs) + 0.4
        signs = np.array([*itertools.product([1, -1], repeat=pairs)])
        all_of_them = np.abs(signs @ apart) >= abs(apart.sum()) - 1e-9
        assert flip_p_value(apart) == pytest.approx(all_of_them.mean()), pairs
        assert least_p_value(pairs) == 2 / 2**pairs <= flip_p_value(apart)
    assert flip_p_value(np.zeros(5)) == 1
    assert [pairs_needed(figures) for figures in (1, 2, 6)] == [6, 7, 8]
    long = random.standard_normal(100) + 0.2
    assert flip_p_value(long) == pytest.approx(flip_p_value(np.append(long, 0.0)), rel=0.15)


@pytest.mark.parametrize("pairs", [3, 4, 5, 6, 8, 10, 16])
def test_equals_interleaved_on_a_steep_drift_differ_no_more_often_than_said(pairs: int) -> None:
    # By Student's test alone three pairs differed falsely in 25 %, five in 6 %.
    random = np.random.default_rng(9)
    # Twice the 5 % would be found in 95 of 100 tests, and 25 % in each.
    wrong, count = 0, many(400)
    for _ in range(count):
        falling = (1 - 0.04 * np.arange(2 * pairs) / pairs).reshape(pairs, 2)
        falling *= 1 + 1e-4 * random.standard_normal((pairs, 2))
        a, b = random.permuted(falling, axis=1).T
        found = compare_means([*(1000 * a)], [*(1000 * b)], in_turns=True, is_drawn=True)
        wrong += found.is_different
    assert wrong / count <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / count)
    assert wrong == 0 or pairs >= pairs_needed(1)


def test_that_few_pairs_tell_no_difference_is_said() -> None:
    few = [[*(1000.0 + np.arange(5))], [*(900.0 + np.arange(5))]]
    one = compare_means(*few, in_turns=True, is_drawn=True)
    assert not one.is_different
    assert any(
        "5 pairs are too few to tell a difference" in said for said in _neighbour_sentences([one])
    )
    more = [[*side, side[-1] + 1] for side in few]
    one = compare_means(*more, in_turns=True, is_drawn=True)
    assert one.is_different
    assert not any("too few" in said for said in _neighbour_sentences([one]))


def test_pairs_of_equals_with_outliers_differ_no_more_often_than_said() -> None:
    random = np.random.default_rng(6)
    # The better one of two tests found a difference in 7.5 % and more.
    for pairs in (10, 30):
        wrong = 0
        for _ in range(600):
            logs = 0.02 * random.standard_t(2, (pairs, 2))
            a, b = np.exp(logs).T
            found = compare_means([*(1000 * a)], [*(1000 * b)], in_turns=True, is_drawn=True)
            wrong += found.is_different
        assert wrong / 600 <= 0.05 + 2 * 0.009


def unlike(random: np.random.Generator, runs: int, ios: int) -> Histograms:
    """Return runs whose shares of slow I/Os are half a per cent and one and a half by turns."""
    slow = [0.005 + 0.010 * (at % 2) for at in range(runs)]
    rows = [
        1e5 * random.lognormal(0, 0.3, ios) * np.where(random.random(ios) < share, 20, 1)
        for share in slow
    ]
    return Histograms([from_values(row) for row in rows])


def test_few_runs_that_differ_lack_runs_and_no_number_of_ios_makes_up_for_them() -> None:
    """Of 2 runs it said *A has 1,086,760 I/Os and needs more than 2,173,520*, and so on."""
    random = np.random.default_rng(8)
    for ios in (40_000, 400_000):
        few = percentile_of_each_run(unlike(random, 2, ios), 0.99)
        assert isinstance(few, TooFewIos)
        assert (few.needed, few.runs) == (None, 2)
        assert few.runs_needed is not None
        # As many do, with no more I/Os than before.
        enough = percentile_of_each_run(unlike(random, few.runs_needed + 2, ios // 10), 0.99)
        assert not isinstance(enough, TooFewIos)
        figures = compare_figures(SideFigures({"p99": few}, None), SideFigures({"p99": few}, None))
        told = f"A has 2 runs, which differ too much in it, and needs about {few.runs_needed}"
        assert told in figures.missing["p99"]
        assert "p99" in figures.too_few


def test_a_percentile_of_runs_that_differ_much_lacks_runs_and_not_ios() -> None:
    random = np.random.default_rng(12)
    few = unlike(random, 2, 40_000).quantile(0.99)
    assert (few.low_ns, few.ios_needed) == (None, None)
    assert few.runs_needed is not None
    assert unlike(random, few.runs_needed + 2, 4_000).quantile(0.99).low_ns is not None
    told = estimate_sentences(
        {"p99": replace(runs_percentile(unlike(random, 12, 4_000), 0.99), low=None, runs_needed=14)}
    )
    assert told == [
        "p99 has no interval, as the runs differ too much in it: it needs about 14 runs."
    ]
    # The bucket that holds it has all I/Os of each run up to it: they do not differ there.
    alike = Histograms([{1000: 100_000, 9000: one} for one in (100, 500, 900)]).quantile(0.998)
    assert (alike.low_ns, alike.high_ns, alike.runs_needed) == (1000, 9003, None)
