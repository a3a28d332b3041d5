"""An outlier among runs that are all equal: its side and its words, and JSON that is JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from fathom._finite import finite
from fathom.cli.commands.repeat import _sentences
from fathom.experiments.repeat import RepeatPolicy, repeat
from fathom.report import gather
from fathom.runners import measure as _measure
from fathom.stats import find_outliers
from fathom.store import Store
from reported import called
from test_repeat import result_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import fathom


class Capped:
    """Stands for the engine on storage whose rate is capped: one run alone has another."""

    def __init__(self, other: float, at: int = 5) -> None:
        """Let run ``at`` have so many times the rate of all others."""
        self._other, self._at, self._runs = other, at, 0

    def run(self, _arguments: Sequence[str], **_more: object) -> fathom.Result:
        """Return the next result."""
        self._runs += 1
        return result_with(self._other if self._runs == self._at else 1.0)


def no_constant(word: str) -> object:
    raise AssertionError(f"{word} is no JSON")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = str(tmp_path / "store.sqlite")
    monkeypatch.setenv("FATHOM_STORE", name)
    return name


@pytest.mark.parametrize(("other", "side"), [(2.0, "above"), (0.5, "below")])
def test_an_outlier_of_equal_runs_was_nan_deviations_below_them(
    place: str, monkeypatch: pytest.MonkeyPatch, other: float, side: str
) -> None:
    """Nine runs at a limit of the rate and one at twice that: "nan deviations below"."""
    monkeypatch.setattr(_measure, "run_kept", Capped(other).run)
    with Store(place) as store:
        found = repeat(store, ["x.dat"], RepeatPolicy(most=10))
        outcome = store.experiments.get(found.experiment_id).outcome
    (outlier,) = found.metrics["iops"].outliers
    assert outlier.deviations is None
    (words,) = [one for one in _sentences(found, RepeatPolicy()) if "outlier of iops" in one]
    assert f"IOPS, {side} all the others, which are " in words
    assert "nan" not in words
    # What is shown and what is kept is JSON that all programs read.
    text = json.dumps(asdict(found), allow_nan=False)
    assert json.loads(text)["metrics"]["iops"]["outliers"][0]["deviations"] is None
    assert outcome is not None
    assert outcome["metrics"]["iops"]["outliers"][0]["deviations"] is None


def test_an_outlier_of_a_later_repetition_was_a_run_of_an_earlier_one(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page counted runs from 1, and named the others beside it by their numbers."""
    with Store(place) as store:
        for _ in range(2):
            monkeypatch.setattr(_measure, "run_kept", Capped(2.0).run)
            found = repeat(store, ["x.dat"], RepeatPolicy(most=10))
        name = f"e{found.experiment_id}"
        assert found.run_ids[4] == 15
        (side,) = gather(store, [name]).sides
        assert side.verdict is not None
        assert "Far from the others: run 15." in side.verdict.sentences
        assert any(one.startswith("Run 15 is an") for one in _sentences(found, RepeatPolicy()))
        # A round of the rule is no run of this number.
        steady = [one for one in _sentences(found, RepeatPolicy()) if "SNIA" in one]
        assert ["rounds " in one and "runs 1" not in one for one in steady] == [True]
        store.runs.delete([11])
        (side,) = gather(store, [name]).sides
        assert side.verdict is not None
        told = "Far from the others: run 5 of the 10 that were made."
        assert told in side.verdict.sentences


def test_the_command_wrote_nan_into_its_json(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_measure, "run_kept", Capped(2.0).run)
    assert called(monkeypatch, "repeat", "--json", "--most", "10", "-c1M", place + ".dat") == 0
    json.loads(capsys.readouterr().out, parse_constant=no_constant)


def test_equal_runs_whose_mean_is_rounded_have_no_deviation_of_their_own() -> None:
    (found,) = find_outliers([0.1] * 9 + [0.2])
    assert found.deviations is None
    (known,) = find_outliers([1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 2.0])
    assert known.deviations is not None
    assert known.deviations > 10


def test_the_store_keeps_no_number_that_json_lacks(place: str) -> None:
    hostile = {"metrics": {"iops": [math.nan, math.inf, 1.0, {"low": -math.inf}], "runs": (1, 2)}}
    assert finite(hostile) == {
        "metrics": {"iops": [None, None, 1.0, {"low": None}], "runs": [1, 2]}
    }
    with Store(place) as store:
        experiment_id = store.experiments.begin("repeat", "repeat", {"arguments": ["x"]})
        store.experiments.finish(experiment_id, "complete", outcome=hostile)
        kept = store.experiments.get(experiment_id).outcome
    assert kept == finite(hostile)
