"""What repeats an experiment has all that was asked, and sentences have words instead of fields."""

from __future__ import annotations

import math
import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fathom._p_values import p_equation, p_text
from fathom.cli import main
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.compare._words import setting, term
from fathom.experiments.compare.claims import _apart_words
from fathom.experiments.repeat import RepeatPolicy, begin_repeat
from fathom.report.collect._again import again
from fathom.store import Store
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.mark.parametrize(
    ("effort", "more", "words"),
    [
        (EFFORTS["default"], {}, "fathom assess FILE"),
        (EFFORTS["quick"], {"writes": True}, "fathom assess --quick --write FILE"),
        (
            replace(EFFORTS["thorough"], seconds=90, size_bytes=64 << 20),
            {"steady_seconds": 20},
            "fathom assess --thorough --time 90s --size 64M --steady 20 FILE",
        ),
    ],
)
def test_an_assessment_is_repeated_with_its_effort(
    kept: Store, tmp_path: Path, effort: object, more: dict[str, int], words: str
) -> None:
    file = tmp_path / "x.dat"
    file.write_bytes(b"\1" * (64 << 20))
    runner = SimulatedStorage(kept, size_bytes=64 << 20)
    found = assess(kept, runner, [str(file)], effort, overwrite=True, **more)  # type: ignore[arg-type]
    told = again(kept.experiments.get(found.experiment_id))
    assert told == words.replace("FILE", shlex.quote(str(file)))


def test_a_repetition_is_repeated_with_its_policy(kept: Store) -> None:
    policy = RepeatPolicy("p99", 0.02, 0.9, 5, 20)
    number = begin_repeat(kept, ["-b4K", "-d1", "-L", "x y.dat"], policy, label="night")
    assert again(kept.experiments.get(number)) == (
        "fathom repeat --metric p99 --precision 2 --confidence 90 --pilot 5 --most 20 "
        "--label night -b4K -d1 -L 'x y.dat'"
    )


@pytest.mark.parametrize("verb", ["run", "repeat"])
def test_a_workload_that_does_not_exist_is_an_error_before_anything_is_saved(
    verb: str, kept: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["fathom", verb, "sql-oltp-7", "x.dat"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    shown = " ".join(capsys.readouterr().err.split())
    assert "sql-oltp-7 is neither a workload" in shown
    assert "sql-oltp-70" in shown
    assert kept.runs.list() == []
    assert kept.experiments.list() == []


@pytest.mark.parametrize(
    ("p_value", "text", "equation"),
    [
        (0.03125, "0.0312", "= 0.0312"),
        (1e-9, "< 0.0001", "< 0.0001"),
        (0.0, "< 0.0001", "< 0.0001"),
        (math.nan, "-", "= -"),
        (None, "-", "= -"),
    ],
)
def test_no_p_value_is_zero(p_value: float | None, text: str, equation: str) -> None:
    assert p_text(p_value) == text
    assert p_equation(p_value) == equation


def test_what_lies_far_apart_is_told_as_a_factor() -> None:
    assert _apart_words(0.0196) == "2.0 %"
    assert _apart_words(1.247) == "a factor of 3.48"


def test_settings_have_words_and_units() -> None:
    assert term("device_serial") == "serial number"
    # -O is of each thread, over all its targets (the engine's profile says the same).
    assert term("request_count") == "outstanding I/Os of each thread over all its targets (-O)"
    assert term("stop.confidence.precision_milli") == "precision of the mean (%)"
    assert setting("stop.confidence.precision_milli", 2_500) == "2.5"
    assert term("stop.confidence.level_milli") == "confidence of the mean (%)"
    assert setting("stop.confidence.level_milli", 95_000) == "95"
    assert term("time_spans[0].targets[0].some_new_bytes") == "some new (bytes)"
    assert "_" not in term("stop.rule.any_thing_at_all")
    assert setting("x", None) == "not given"
