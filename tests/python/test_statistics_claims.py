"""The tables of docs/statistics.md are what was simulated, and a share of it is simulated again."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
import pytest
from fabricated import fabricated
from fathom.cli.views.stop import stop_sentences
from fathom.experiments.compare.claims import _neighbour_sentences
from fathom.experiments.noise_words import estimate_sentences
from fathom.experiments.sweep.claims import _checked_words, _interpolated_words
from fathom.stats import compare_means, runs_mean
from fathom.stats.noise import LEAST_RUNS

if TYPE_CHECKING:
    from types import ModuleType

    from fathom.experiments.sweep.result import SweepOutcome

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    """Return scripts/claims.py."""
    spec = importlib.util.spec_from_file_location("claims", ROOT / "scripts/claims.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["claims"] = found
    spec.loader.exec_module(found)
    return found


CLAIMS = script()
STORED = json.loads(CLAIMS.RESULTS.read_text())
RESULTS = {name: rows for name, rows in STORED.items() if name not in ("costs", "tunings")}
AGAIN = [
    ("mean", "independent", 10),
    ("mean", "memory 0.7", 20),
    ("mean", "stalls every 2 s", 8),
    ("stop", "memory 0.7", 10),
    ("stop", "cliff at 30 %", 3),
    ("one after the other", "two states", 10),
    ("one after the other", "memory 0.9", 5),
    ("interleaved", "independent", 10),
    ("gate within", "lognormal", 10),
    ("gate beyond", "memory 0.9", 10),
]


def test_the_page_shows_what_was_simulated() -> None:
    text = CLAIMS.PAGE.read_text()
    assert CLAIMS.whole_page(text, STORED) == text
    tried = {one.name: [str(runs) for runs in one.runs] for one in CLAIMS.CLAIMS}
    assert {name: [*rows["independent"]] for name, rows in RESULTS.items()} == tried
    for one in CLAIMS.CLAIMS:
        for rows in RESULTS[one.name].values():
            assert all(cell["experiments"] >= one.experiments for cell in rows.values()), one.name


@pytest.mark.parametrize(("name", "noise", "runs"), AGAIN)
def test_a_share_is_simulated_again(name: str, noise: str, runs: int) -> None:
    (claim,) = (one for one in CLAIMS.CLAIMS if one.name == name)
    (kind,) = (one for one in CLAIMS.NOISES if one.name == noise)
    told = RESULTS[name][noise][str(runs)]
    found = CLAIMS.simulated(claim, kind, runs, min(claim.experiments, 150))
    # Other versions of NumPy may draw others: three deviations of the share, and one experiment.
    share = max(told["wrong"] / told["experiments"], 0.01)
    most = share + 3 * (share / found["experiments"]) ** 0.5 + 1 / found["experiments"]
    assert found["wrong"] / found["experiments"] <= most


def test_no_claim_is_wrong_more_often_than_it_says_under_any_noise() -> None:
    outside = [
        (claim.name, noise, runs)
        for claim in CLAIMS.CLAIMS
        for noise, rows in RESULTS[claim.name].items()
        for runs, cell in rows.items()
        if noise not in claim.unseen and not CLAIMS.is_within(claim, cell)
    ]
    assert outside == []
    # What is excepted is said in the output.
    assert all(claim.note for claim in CLAIMS.CLAIMS if claim.unseen)


def test_no_cell_is_beyond_its_limit_without_a_sentence_in_the_output() -> None:
    for claim in CLAIMS.CLAIMS:
        for noise, rows in RESULTS[claim.name].items():
            for runs, cell in rows.items():
                is_marked = CLAIMS.mark(claim, cell) == " ¹"
                # Tests without a note are beyond 5 % by chance alone.
                is_chance = not claim.is_interval and CLAIMS.is_within(claim, cell)
                assert not is_marked or claim.note or is_chance, (claim.name, noise, runs)


def test_the_documented_shares_of_tunings_are_those_that_were_simulated() -> None:
    words = " ".join((ROOT / "docs/lab.md").read_text().split())
    few, some, much = (
        (round(100 * one["right"] / one["tunings"]), round(100 * one["confirmed"] / one["tunings"]))
        for one in STORED["tunings"].values()
    )
    assert few == (100, 100)
    assert f"with 2 % {some[0]} % are right and {some[1]} % confirmed" in words
    assert f"with 6 % {much[0]} % are right and none is confirmed" in words
    assert much[1] == 0


def test_no_tuning_that_is_confirmed_is_wrong() -> None:
    for noise, one in STORED["tunings"].items():
        assert one["tunings"] >= 100, noise
        assert one["wrong"] <= 0.02 * one["tunings"], noise


def test_a_sweep_takes_a_tenth_of_what_fixed_durations_take() -> None:
    for name, one in STORED["costs"].items():
        most = {"sweep": 0.1, "tune": 0.2}.get(name.partition(",")[0], 0.8)
        assert one["now"] <= most * one["fixed"], name


def test_independent_runs_have_intervals_that_cover() -> None:
    for runs, cell in RESULTS["mean"]["independent"].items():
        told = cell["right"] + cell["wrong"]
        if int(runs) < LEAST_RUNS:
            assert not told, runs
            continue
        assert told / cell["experiments"] >= (0.65 if int(runs) <= 12 else 0.85), runs
        assert 0.93 - 0.02 <= cell["right"] / told <= 0.97 + 0.015, runs


def test_what_is_taken_for_granted_is_said_in_the_output() -> None:
    notes = {one.name: one.note for one in CLAIMS.CLAIMS}
    random = np.random.default_rng(2)
    calm = 1000 + random.standard_normal(20)
    said = " ".join(estimate_sentences({"iops": runs_mean(calm[:10])}))
    for claim in CLAIMS.CLAIMS[:2]:
        assert f"{claim.note} {claim.more}" in said
        assert claim.wider in said
    few = " ".join(estimate_sentences({"iops": runs_mean(calm[:5])}))
    assert "5 runs are too few to see what noise they have" in few
    compared = compare_means([*calm[:6]], [*calm[6:]])
    (sentence,) = _neighbour_sentences([compared])
    assert notes["one after the other"] in sentence
    known = fathom.KnownMean(95.0, 1000.0, 990.0, 1010.0, 1.0, 2.0, 12.34, 3, 300_000_000)
    stop = fathom.Stop("confidence", 100_000_000, 43, None, known)
    span = replace(fabricated().time_spans[0], stop=stop)
    ended = " ".join(stop_sentences(span))
    assert notes["stop"] in ended
    wider = {one.name: one.wider for one in CLAIMS.CLAIMS}
    assert wider["stop"] in ended
    # With and without latencies.
    latency = {"latency_p99_ns": {"value_ns": 100.0, "low_ns": 90.0, "high_ns": 120.0}}
    cells: list[Any] = [{}, {"estimated_latency": latency}]
    for cell in cells:
        assert wider["sweep"] in _interpolated_words([cell])
    checks: SweepOutcome = {"checked": 10, "within": 9, "most_beyond": 0.4}
    assert notes["sweep"] in _checked_words(checks)


def test_no_interval_that_holds_too_often_is_without_its_sentence_in_the_output() -> None:
    for claim in CLAIMS.CLAIMS:
        marks = {
            CLAIMS.mark(claim, cell)
            for rows in RESULTS[claim.name].values()
            for cell in rows.values()
        }
        assert " ²" not in marks or claim.wider, claim.name
