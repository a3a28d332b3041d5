"""Steady state of repetitions and rounds: by which figures, in which runs, with their units."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated, latencies_ns
from fathom import Result
from fathom.cli.commands.repeat import _sentences
from fathom.cli.views.prepare import show_settled
from fathom.cli.views.stop import stop_sentences
from fathom.experiments.figure_words import figure_words
from fathom.experiments.prepare.settling import Settled, plan_settling, settle
from fathom.experiments.repeat import RepeatPolicy, repeat, summarise
from fathom.experiments.steady_words import steady_words
from fathom.report import gather
from fathom.runners import measure as _measure
from fathom.stats import find_steadiness, find_steady_state
from fathom.store import Store
from reported import figures, saved_repetition
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import fathom

RATES = (1000.0, 1002.0, 999.0, 1001.0, 1000.0, 1003.0, 998.0, 1000.0, 1001.0, 999.0)
SLOW_US = (100.0, 150.0, 100.0, 140.0, 90.0, 160.0, 100.0, 150.0, 100.0, 130.0)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def said(
    store: Store, monkeypatch: pytest.MonkeyPatch, made: Callable[[int], fathom.Result]
) -> tuple[str, str]:
    """Return what the terminal and the page say of steady state of ten runs."""
    numbers = iter(range(10))
    monkeypatch.setattr(_measure, "run_kept", lambda *_any, **_more: made(next(numbers)))
    found = repeat(store, ["x.dat"], RepeatPolicy(most=10))
    (side,) = gather(store, [f"e{found.experiment_id}"]).sides
    assert side.verdict is not None
    page = " ".join(one for one in side.verdict.sentences if "rules" in one)
    (terminal,) = [one for one in _sentences(found, RepeatPolicy()) if "SNIA" in one]
    return terminal, page


def test_a_steady_rate_was_called_unsteady_for_the_99th_percentile(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page said "The rate was not steady" beside a figure "The SNIA's rule is kept"."""
    usual = latencies_ns(50.0)

    def made(number: int) -> fathom.Result:
        slow = np.arange(usual.size) % 20 == 0
        return fabricated(
            rates=RATES[number], latency_ns=np.where(slow, 1e4 * SLOW_US[number], usual)
        )

    terminal, page = said(kept, monkeypatch, made)
    for words in (terminal, page):
        assert "not reached in 10 runs. In the last window, rounds 6 to 10, 99th" in words
        assert "99th percentile: range" in words
        assert "IOPS: range" not in words
    assert "The rate alone (IOPS) keeps the rules in rounds 1 to 5." in page
    assert "The rate was not steady" not in page


def test_a_cliff_behind_the_window_was_called_steady(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six runs at 1,000 and four at 500 IOPS: "The rate was steady"."""
    terminal, page = said(
        kept, monkeypatch, lambda number: fabricated(rates=1000.0 if number < 6 else 500.0)
    )
    for words in (terminal, page):
        assert "reached in round 5, as IOPS, throughput and 99th percentile keep them" in words
        assert "in rounds 1 to 5; of the rounds after these they say nothing." in words


def test_a_window_behind_the_last_round_of_the_rule_was_kept_on_the_page_alone(
    kept: Store,
) -> None:
    """40 runs, quiet from the 26th on: "not reached in 25 runs", and a figure "is kept"."""
    rates = [1000.0, 1300.0] * 12 + [1000.0] * 16
    rates[24] = 1300.0
    experiment_id = saved_repetition(kept, rates)
    ids = kept.runs.list(experiment_id=experiment_id)
    _, steady = summarise([*reversed(ids)])
    assert steady is not None
    assert "not reached in the first 25 runs, which are all" in steady_words(steady, len(rates))
    caption = figures(gather(kept, [f"e{experiment_id}"]))["steady-state"].caption
    assert "The SNIA's rule is not kept: over rounds 21 to 25" in caption


def test_an_outcome_of_an_older_version_names_no_single_figure(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(kept, monkeypatch, lambda number: fabricated(rates=RATES[number]))
    old = dict(kept.experiments.get(1).outcome or {})
    del old["steady"]
    kept.experiments.finish(1, "complete", outcome=old)
    (side,) = gather(kept, ["e1"]).sides
    assert side.verdict is not None
    (words,) = [one for one in side.verdict.sentences if "SNIA" in one]
    assert words.endswith("reached by IOPS, throughput and 99th percentile together.")


def test_averages_of_rounds_were_nanoseconds_without_a_unit(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--wdpc --metric mean`` printed "mean: average 812,669.0, range 0.5 %"."""
    load = ("", ["-b4K", "-r", "-w100", "-d1", "-W0", "-L", "x.dat"])
    experiment_id = plan_settling(kept, [load], ["iops", "mib_per_s", "mean", "p99"])
    storage = SimulatedStorage(kept, {"": Truth(write_us=800.0, noise=0.001)})
    found = settle(kept, storage, experiment_id)
    show_settled(found, kept.name)
    shown = capsys.readouterr().out
    (side,) = gather(kept, [f"e{experiment_id}"]).sides
    assert side.verdict is not None
    page = " ".join(side.verdict.sentences)
    assert found.steady is not None
    for name, one in found.steady.checks.items():
        assert f"{name}: average {figure_words(name, one.average)}, range" in shown
        assert f"{name}: average {figure_words(name, one.average, micro='µs')}, range" in page


def test_rounds_that_are_not_steady_say_which_figure_is_not(
    kept: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"iops": [1000.0 * 1.1**number for number in range(25)]}
    steady = find_steady_state(values)
    assert asdict(steady)["is_exhausted"]
    show_settled(Settled(1, 25, steady, values, None), kept.name)
    shown = capsys.readouterr().out
    assert "is not kept after 25 rounds:\n  iops: average" in shown
    assert "IOPS, range 38.0 % (at most 20)" in shown


@pytest.mark.parametrize(
    ("metric", "value", "words"),
    [
        ("iops", 1000.0, "1,000 IOPS"),
        ("read.iops", 7.25, "7.25 IOPS"),
        ("log mib_per_s", 39.0625, "39.1 MiB/s"),
        ("p99", 812_669.0, "813 us"),
        ("log mean", 1_906_000.0, "1.91 ms"),
    ],
)
def test_a_figure_has_its_unit(metric: str, value: float, words: str) -> None:
    assert figure_words(metric, value) == words


def stopped(rates: Sequence[float], judged: int, range_percent: float) -> fathom.Result:
    """Return a run of intervals of 100 ms, of which so many were judged by windows of five."""
    raw = json.loads(json.dumps(dict(fabricated(rates=rates).raw)))
    window = {
        "window_intervals": 5,
        "iops_mean": 1000.0,
        "range_percent": range_percent,
        "range_percent_limit": 20.0,
        "slope_percent": 0.0,
        "slope_percent_limit": 10.0,
    }
    raw["time_spans"][0]["stop"] = {
        "cause": "steady" if range_percent <= 20.0 else "duration",
        "interval_ns": 100_000_000,
        "intervals": judged,
        "steady": window,
        "confidence": None,
        "awaited": None,
    }
    return Result.from_json(json.dumps(raw))


def test_intervals_behind_the_last_one_judged_were_its_window(kept: Store) -> None:
    """A run that ended as steady: "The SNIA's rule is not kept" by what completed meanwhile."""
    quiet, wild = [1000.0] * 10, [400.0, 1900.0, 100.0, 1500.0]
    run_id = kept.runs.save(stopped([*quiet, *wild], 10, 0.0), ["x.dat"])
    figure = figures(gather(kept, [str(run_id)]))["steady-state"]
    assert "The SNIA's rule is kept: over rounds 6 to 10" in figure.caption
    assert len(figure.table.rows) == 10


def test_a_range_just_beyond_its_limit_was_told_as_the_limit() -> None:
    (span,) = stopped([1000.0] * 20, 20, 20.004).time_spans
    _ended, window = stop_sentences(span)
    assert "a range of 20.004 % of it (steady: at most 20 %) and a slope of 0.00 %" in window


def test_rounds_that_began_with_nothing_changed_by_an_infinite_share() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = find_steadiness([0.0, *[1000.0] * 9])
    assert found.words == (
        "not steady (rounds differ by up to 111 % of their mean, and there was nothing until the "
        "end of round 1)"
    )
