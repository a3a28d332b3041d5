"""The tables of docs/statistics.md are what was simulated, and a share of it is simulated again."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fathom.experiments._compare_claims import _neighbour_sentences
from fathom.experiments._noise_words import estimate_sentences
from fathom.stats import compare_means, runs_mean
from fathom.stats._noise import LEAST_RUNS

if TYPE_CHECKING:
    from types import ModuleType

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
RESULTS = json.loads(CLAIMS.RESULTS.read_text())
AGAIN = [
    ("mean", "independent", 10),
    ("mean", "memory 0.7", 20),
    ("mean", "stalls every 2 s", 8),
    ("one after the other", "two states", 10),
    ("gate within", "lognormal", 10),
    ("gate beyond", "memory 0.9", 10),
]


def test_the_page_shows_what_was_simulated() -> None:
    text = CLAIMS.PAGE.read_text()
    assert CLAIMS.page(text, CLAIMS.rendered(RESULTS)) == text
    tried = {one.name: [str(runs) for runs in one.runs] for one in CLAIMS.CLAIMS}
    assert {name: [*rows["independent"]] for name, rows in RESULTS.items()} == tried


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
        if not CLAIMS.is_within(claim, cell)
    ]
    assert outside == []


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
    assert notes["mean"] in " ".join(estimate_sentences({"iops": runs_mean(calm)}))
    few = " ".join(estimate_sentences({"iops": runs_mean(calm[:5])}))
    assert "5 runs are too few to see what noise they have" in few
    compared = compare_means([*calm[:6]], [*calm[6:]])
    (sentence,) = _neighbour_sentences([compared])
    assert notes["one after the other"] in sentence
