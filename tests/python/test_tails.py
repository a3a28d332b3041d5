"""Percentiles of single runs: where their I/Os are too few, sweep, assess and report say so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fabricated import fabricated
from fathom._claims import ToldRuns
from fathom._tails import are_few, few_words, needed_ios, tails_words
from fathom.cli.views.sweep import _latency
from fathom.cli.views.tune import _row
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.sweep.claims import sweep_claims
from fathom.experiments.sweep.result import SweptCell
from fathom.experiments.tune.claims import tune_claims
from fathom.experiments.tune.result import TunedPoint
from fathom.report.collect._points import carried_tails_ns, run_of_result
from fathom.report.collect._runs import _run_numbers, _run_words
from fathom.runners import stored_figures
from fathom.stats import Histograms
from fathom.stats.histogram import from_values
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from pathlib import Path

    from fathom import Result
    from fathom.stats.floats import FloatArray

SECONDS = 5.0


def result_of(ios: int) -> Result:
    """Return a run of so many I/Os."""
    return fabricated(rates=ios / SECONDS, latency_ns=np.linspace(1e5, 2e5, ios))


@pytest.mark.parametrize("quantile", [0.5, 0.95, 0.99, 0.999])
def test_so_many_ios_as_are_asked_for_carry_an_interval_and_one_less_does_not(
    quantile: float,
) -> None:
    """The number is that of Histograms, by order statistics."""
    needed = needed_ios(quantile)
    assert are_few(quantile, needed - 1)
    assert not are_few(quantile, needed)
    assert not are_few(quantile, None)
    values = np.arange(1, needed) * 1000
    assert Histograms([from_values(values)]).quantile(quantile).ios_needed == needed


def test_few_words_tell_the_greatest_of_all_from_what_is_merely_few() -> None:
    assert few_words(0.99, 1000) == few_words(0.99, None) == ""
    assert few_words(0.99, 99) == "of 99 I/Os, the greatest of all: they carry no interval"
    assert few_words(0.99, 300) == "of 300 I/Os, fewer than 368: they carry no interval"


@pytest.mark.parametrize(("ios", "is_few"), [(300, True), (5000, False)])
def test_a_sweep_marks_percentiles_of_too_few_ios(ios: int, is_few: bool) -> None:  # noqa: FBT001
    figures = stored_figures(result_of(ios))
    assert figures.latency_ios == ios
    cell = SweptCell(parameters={"depth": "1"}, source="measured", figures=figures)
    assert _latency(cell, "latency_p99_ns").endswith("?") == is_few
    assert not _latency(cell, "latency_mean_ns").endswith("?")
    outcome: Any = {
        "cells": [
            {
                "parameters": {"depth": "1"},
                "source": "measured",
                "run_id": 1,
                "iops": figures.iops,
                "mib_per_s": figures.mib_per_s,
                "figures": {"latency_ios": figures.latency_ios},
            }
        ]
    }
    texts = {one.key: one.text for one in sweep_claims(outcome, ToldRuns())}
    assert ("tails" in texts) == is_few
    assert not is_few or texts["tails"].startswith("p99 of 1 cell (marked ?)")
    assert tails_words([None]) == ""


@pytest.mark.parametrize(("ios", "is_few"), [(300, True), (5000, False)])
def test_a_tuning_marks_percentiles_of_too_few_ios(ios: int, is_few: bool) -> None:  # noqa: FBT001
    figures = stored_figures(result_of(ios))
    point = TunedPoint(threads=1, depth=1, role="search", figures=figures, run_id=1, failure=None)
    *_, tail, role = _row(point)
    assert (tail.endswith("?"), role) == (is_few, "search")
    outcome: Any = {
        "threads": None,
        "depth": None,
        "points": [{"threads": 1, "depth": 1, "figures": {"latency_ios": ios, "iops": 1.0}}],
    }
    texts = [one.text for one in tune_claims(outcome, ToldRuns()) if one.key == "tails"]
    assert [one.startswith("p99 of 1 run (marked ?)") for one in texts] == [True] * is_few


@pytest.mark.parametrize(("ios", "is_few"), [(300, True), (5000, False)])
def test_a_report_of_a_run_says_so(ios: int, is_few: bool) -> None:  # noqa: FBT001 - Of pytest.
    run = run_of_result(result_of(ios), "x")
    assert ("of 300 I/Os, fewer than 368" in _run_words(run)) == is_few
    titles = [one.title for one in _run_numbers(run)]
    assert any("they carry no interval" in one for one in titles) == is_few


def test_the_least_percentile_of_a_report_is_not_that_of_too_few_ios() -> None:
    few, many = (run_of_result(result_of(ios), "x").point for ios in (300, 5000))
    few, many = replace(few, p99_ns=1.0), replace(many, p99_ns=2.0)
    assert carried_tails_ns([few, many]) == [2.0]
    assert carried_tails_ns([few]) == [1.0]


class Slow(SimulatedStorage):
    """Storage whose runs have 100 I/Os of a kind."""

    @staticmethod
    def _latencies(truth: Truth, mean_us: float) -> FloatArray:
        return SimulatedStorage._latencies(truth, mean_us)[::40]


@pytest.mark.parametrize("kind", [Slow, SimulatedStorage])
def test_an_assessment_says_so(kind: type[SimulatedStorage], tmp_path: Path) -> None:
    effort = replace(EFFORTS["quick"], size_bytes=64 << 20)
    with Store(tmp_path / "x.sqlite") as store:
        storage = kind(store, size_bytes=effort.size_bytes)
        own = tmp_path / "own"
        own.mkdir()
        verdict = assess(store, storage, [str(own)], effort).targets[0].verdict
    texts = {one.key: one.text for one in verdict.claims}
    for key in ("latency", "oltp"):
        assert ("they carry no interval" in texts[key]) == (kind is Slow), texts[key]
