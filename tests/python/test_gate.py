"""``--fail-if`` decides against its limit; false failures and wrong passes are rare."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import typer
from fathom.cli.exit_codes import EXIT_BETTER, EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.comparison import judge
from fathom.experiments.compare._figures import ComparedFigures, SideFigures, compare_figures
from fathom.experiments.compare.comparison import RunComparison
from fathom.experiments.compare.gate import (
    Verdict,
    beside_limit_words,
    parse_condition,
    verdict,
)
from fathom.stats import compare_means
from simulated import autoregressive

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.stats.floats import FloatArray

    Noise = Callable[[np.random.Generator, int], FloatArray]

LIMIT, PAIRS, RUNS = -0.03, 100, 10
# Of so many draws, the share that is beyond 5 % by chance in 1 of 40.
MOST = 0.05 + 2 * np.sqrt(0.05 * 0.95 / PAIRS)


def _two_states(random: np.random.Generator, count: int) -> FloatArray:
    slow = np.where(random.random(count) < 0.3, -0.1, 0.0)
    return np.asarray(slow + 0.005 * random.standard_normal(count), np.float64)


NOISES: dict[str, Noise] = {
    "independent": lambda random, count: 0.01 * random.standard_normal(count),
    "lognormal": lambda random, count: np.exp(0.5 * random.standard_normal(count)) * 0.05,
    "memory": lambda random, count: 0.03 * autoregressive(random, 0.7, (count,)),
    "two states": _two_states,
    "drift": lambda random, count: (
        0.05 * np.linspace(0, 1, count) + 0.005 * random.standard_normal(count)
    ),
    "stalls": lambda random, count: np.asarray(-0.2 * (random.random(count) < 0.1), np.float64),
}


def decided(noise: str, change: float) -> list[str]:
    """Return what the gate says of drawn pairs whose true change is known."""
    random = np.random.default_rng(16)
    found: list[str] = []
    for _ in range(PAIRS):
        logs = NOISES[noise](random, 2 * RUNS).reshape(RUNS, 2)
        order = random.permuted(np.tile([0, 1], (RUNS, 1)), axis=1)
        a, b = np.take_along_axis(logs, order, axis=1).T
        values = {"a": np.exp(a), "b": np.exp(b) * (1 + change)}
        compared = compare_means([*values["a"]], [*values["b"]], in_turns=True, is_drawn=True)
        figures = ComparedFigures({"iops": compared}, {}, None)
        found.append(verdict(parse_condition("iops<-3%"), figures, 1).decision)
    return found


@pytest.mark.parametrize("noise", NOISES)
def test_defect_3_the_gate_tests_against_its_limit_and_not_against_zero(noise: str) -> None:
    # Half of a percent within the limit: where 0 was the limit, up to 21 % failed.
    assert decided(noise, -0.025).count("fails") / PAIRS <= MOST
    assert decided(noise, 2 * LIMIT).count("passes") / PAIRS <= MOST


def test_defect_3_the_gate_finds_and_passes_what_is_clear() -> None:
    assert decided("independent", 0.0).count("passes") / PAIRS > 0.95
    assert decided("independent", 2 * LIMIT).count("fails") / PAIRS > 0.95


def gated(a: list[float], b: list[float]) -> Any:  # noqa: ANN401 - Stands for a comparison.
    sides = (SideFigures({"iops": values}, None) for values in (a, b))
    compared = compare_figures(*sides)
    return SimpleNamespace(verdicts=[verdict(parse_condition("iops<-3%"), compared, 1)])


@pytest.mark.parametrize(
    ("a", "b", "code"),
    [
        ([1000.0, 1001, 999, 1000, 1002], [1001.0, 1000, 999, 1001, 1000], 0),
        ([1000.0, 1001, 999, 1000, 1002], [901.0, 900, 899, 901, 900], EXIT_WORSE),
        ([1000.0, 600, 1400, 800, 1200], [1300.0, 700, 900, 1100, 1000], EXIT_CANNOT_TELL),
    ],
)
def test_defect_3_the_exit_code_says_which_of_three(
    a: list[float], b: list[float], code: int
) -> None:
    if code == 0:
        judge(gated(a, b))
        return
    with pytest.raises(typer.Exit) as ended:
        judge(gated(a, b))
    assert ended.value.exit_code == code


CALM = [1000.0, 1001, 999, 1000, 1002]


@pytest.mark.parametrize(
    ("b", "word", "code"),
    [
        ([1001.0, 1000, 999, 1001, 1000], "equal", 0),
        ([901.0, 900, 899, 901, 900], "worse", EXIT_WORSE),
        ([1101.0, 1100, 1099, 1101, 1100], "better", EXIT_BETTER),
        ([1300.0, 700, 900, 1100, 1000], "cannot tell", EXIT_CANNOT_TELL),
    ],
)
def test_each_of_the_four_verdicts_has_its_exit_code(b: list[float], word: str, code: int) -> None:
    sides = (SideFigures({"iops": values}, None) for values in (CALM, b))
    compared = RunComparison(compare_figures(*sides).metrics, {"p99": "too few"}, None, ())
    assert compared.word("iops") == word
    # Without the option a comparison that was made ends well.
    judge(compared)
    ends = {"p99": EXIT_CANNOT_TELL, "mean": EXIT_INVALID} | ({"iops": code} if code else {})
    for figure, expected in ends.items():
        with pytest.raises(typer.Exit) as ended:
            judge(compared, figure)
        assert ended.value.exit_code == expected
    if not code:
        judge(compared, "iops")


def test_defect_6_a_drift_of_the_machine_is_no_failure_of_b() -> None:
    random = np.random.default_rng(5)
    alarms = told = 0
    for _ in range(100):
        values = 1000 * np.exp(0.05 * np.linspace(0, 1, 20) + 0.005 * random.standard_normal(20))
        sides = (SideFigures({"iops": [*one]}, None) for one in (values[10:], values[:10]))
        found = compare_figures(*sides).metrics["iops"]
        alarms += found.is_different
        told += bool(found.doubts)
    assert alarms <= 5
    assert told >= 95


def test_defect_6_an_outlier_is_named_and_does_not_blind_a_comparison() -> None:
    random = np.random.default_rng(6)
    a = 1000 * (1 + 0.01 * random.standard_normal(10))
    b = 900 * (1 + 0.01 * random.standard_normal(10))
    b[4] = 1900.0
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    assert [(side, index) for side, index, _ in found.outliers] == [("pair", 4)]
    assert found.outliers[0][2] == pytest.approx(-0.1, abs=0.02)
    assert found.is_different


def test_equal_is_shown_and_not_only_not_refuted() -> None:
    random = np.random.default_rng(7)
    calm = 1000 * (1 + 0.005 * random.standard_normal((2, 10)))
    loud = 1000 * (1 + 0.2 * random.standard_normal((2, 10)))
    assert compare_means([*calm[0]], [*calm[1]]).is_equal(0.03)
    assert not compare_means([*loud[0]], [*loud[1]]).is_equal(0.03)


@pytest.mark.parametrize(
    ("condition", "change", "words"),
    [
        ("iops<-5%", -0.05004, "-5.004"),
        ("iops<-5%", -0.05, "-5.00"),
        ("p99>+5%", 0.0512, "+5.12"),
        ("p99>+5%", 0.0500001, "+5.00001"),
    ],
)
def test_defect_24_a_change_is_not_rounded_to_its_limit(
    condition: str, change: float, words: str
) -> None:
    found = Verdict(condition, change, 0.01, is_met=True, why_not=None)
    assert beside_limit_words(found) == words
    assert str(parse_condition("iops<-5.1234567%")) == "iops<-5.1234567%"
