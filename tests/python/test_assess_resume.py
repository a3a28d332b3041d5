"""An assessment as a session: resumed, foreseen, told while it lasts, and partial in words."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from commands import command
from fathom.cli import main
from fathom.cli.views import heartbeat as beating
from fathom.cli.views.heartbeat import Heartbeat, heartbeat
from fathom.errors import InvalidRequestError
from fathom.experiments.assess import (
    EFFORTS,
    AssessmentInterrupted,
    TargetError,
    assess,
    foresee,
    outcome_of,
    resume_assess,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.progress import Progress
    from simulated_storage import SimulatedStorage

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


def fathom(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    """Run ``fathom assess`` here, where storage is simulated, and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["fathom", "assess", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def interrupted(device: SimulatedStorage, own: Path, at: int, steady: int = 0) -> int:
    """Begin an assessment that Ctrl-C ends in its run of this number; return its experiment."""
    device.interrupted_at = at
    assert device.store is not None
    with pytest.raises(AssessmentInterrupted) as ended:
        assess(device.store, device, [str(own)], QUICK, steady_seconds=steady)
    device.interrupted_at = 0
    return ended.value.assessment.experiment_id


@pytest.mark.parametrize("at", [1, 2, 9, 16])
def test_what_was_interrupted_goes_on_to_what_it_would_have_been(
    at: int, device: SimulatedStorage, own: Path
) -> None:
    store = device.store
    assert store is not None
    whole = assess(store, device, [str(own)], QUICK)
    count = len(device.asked)
    number = interrupted(device, own, count + at)
    began = len(device.asked)
    found = resume_assess(store, number, device)
    assert (found.experiment_id, found.state) == (number, "complete")
    # What is whole in the store is not run again.
    assert len(device.asked) - began == count - at
    expected: Any = outcome_of(whole)
    outcome: Any = outcome_of(found)
    keys = ("key", "state", "label", "part", "role")
    for mine, theirs in zip(
        outcome["targets"][0]["cells"], expected["targets"][0]["cells"], strict=True
    ):
        assert {key: mine[key] for key in keys} == {key: theirs[key] for key in keys}
        if theirs["figures"]:
            assert mine["figures"]["iops"] == pytest.approx(theirs["figures"]["iops"], rel=0.01)
    assert outcome["verdicts"][0]["headline"] == expected["verdicts"][0]["headline"]
    assert outcome["partial"] is None
    # The scratch file was made again, of the same size, by the first run of the session.
    created = [asked["create_bytes"] for asked in device.asked[began:]]
    assert created == [64 * MIB] + [None] * (len(created) - 1)
    kept = store.experiments.get(number)
    assert kept.state == "complete"
    assert {step.state for step in kept.steps} <= {"done", "skipped"}
    assert [*own.iterdir()] == []


def test_only_cells_that_failed_are_tried_again(device: SimulatedStorage, own: Path) -> None:
    store = device.store
    assert store is not None
    device.fails_at = 3
    first = assess(store, device, [str(own)], QUICK)
    device.fails_at = 0
    began = len(device.asked)
    found = resume_assess(store, first.experiment_id, device)
    assert (first.state, found.state, len(device.asked) - began) == ("failed", "complete", 1)
    with pytest.raises(InvalidRequestError, match="nothing of it failed"):
        resume_assess(store, first.experiment_id, device)


def test_a_steady_state_that_was_cut_begins_again(device: SimulatedStorage, own: Path) -> None:
    store = device.store
    assert store is not None
    whole = assess(store, device, [str(own)], QUICK, steady_seconds=30)
    count = len(device.asked)
    # Within the rounds: those and the preconditioning are made on the new scratch file.
    rounds = sum(
        one.cell.role in ("steady_round", "preconditioning") for one in whole.targets[0].plan.done()
    )
    number = interrupted(device, own, 2 * count - 4, steady=30)
    began = len(device.asked)
    found = resume_assess(store, number, device)
    assert found.state == "complete"
    # And what stands behind them: the baseline again.
    assert len(device.asked) - began == rounds + 1
    assert device.asked[began]["create_bytes"] == 64 * MIB


def test_what_is_not_the_same_any_more_is_not_gone_on_with(
    device: SimulatedStorage, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = device.store
    assert store is not None
    number = interrupted(device, own, 3)
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    with pytest.raises(InvalidRequestError, match="are not those for which it was planned"):
        resume_assess(store, number, device)
    assert store.experiments.get(number).state == "interrupted"
    with pytest.raises(InvalidRequestError, match="is a prepare, no assessment"):
        resume_assess(store, store.experiments.begin("prepare", "x", {}, []), device)
    old = store.experiments.begin("assess", "x", {"targets": [], "effort": {}}, [])
    with pytest.raises(InvalidRequestError, match="assess again"):
        resume_assess(store, old, device)


def test_the_command_resumes_the_last_one(
    device: SimulatedStorage,
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    device.interrupted_at = 4
    assert fathom(monkeypatch, "--quick", "--size", "64M", "--label", "mine", own) == 130
    shown = capsys.readouterr()
    assert "fathom assess --resume last" in shown.err
    assert "Findings: none" not in shown.out
    assert "  not measured" not in shown.out
    device.interrupted_at = 0
    assert fathom(monkeypatch, "--resume", "last") == 0
    assert "This verdict is partial" not in capsys.readouterr().out
    assert device.store is not None
    (kept,) = device.store.experiments.list(verb="assess")
    assert (kept.name, kept.state) == ("mine", "complete")
    for words in (["--resume", "last", own], ["--resume", "last", "--steady", "60"], []):
        assert fathom(monkeypatch, *words) == 3


def test_what_ended_in_its_first_step_claims_nothing(
    device: SimulatedStorage,
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    device.interrupted_at = 1
    assert fathom(monkeypatch, "--quick", "--size", "64M", own, own) == 130
    shown = " ".join(capsys.readouterr().out.split())
    assert "0 measurements were made" in shown
    assert "Too little was measured for a verdict." in shown
    for words in ("Findings", "not measured", "IOPS", "Side by side", "Measurements of"):
        assert words not in shown


def test_a_dry_run_says_what_it_would_do_and_makes_nothing(own: Path) -> None:
    os.truncate(_made(own / "mine.dat"), 8 * MIB)
    before = sorted(own.rglob("*"))
    done = command("assess", "--quick", "--size", "64M", "--dry-run", own, own / "mine.dat")
    assert (done.returncode, done.stderr) == (0, "")
    assert "measurements at most, about 0:" in done.stdout
    assert "a scratch file of 64 MiB is made" in done.stdout
    assert "8 MiB, only read" in done.stdout
    done = command(
        "assess", "--quick", "--size", "64M", "--dry-run", "--json", own, own / "mine.dat"
    )
    told = json.loads(done.stdout)
    assert 0 < told["least_s"] <= told["seconds"] <= told["most_s"] <= 62
    scratch, mine = told["targets"]
    assert any(one["writes"] for one in scratch["cells"])
    assert not any(one["writes"] for one in mine["cells"])
    assert sorted(own.rglob("*")) == before
    # Not even a store.
    assert not os.path.exists(os.environ["FATHOM_STORE"])  # noqa: PTH110 - A word of the environment.


def _made(path: Path) -> Path:
    path.touch()
    return path


def test_all_targets_that_cannot_be_assessed_are_named(own: Path, tmp_path: Path) -> None:
    empty = _made(tmp_path / "empty.dat")
    for words in ([], ["--dry-run"]):
        done = command("assess", *words, own, empty, "/dev/fathom-none")
        # As every experiment that cannot begin.
        assert done.returncode == 3
        assert f"{empty} has 0 bytes" in done.stderr
        assert "/dev/fathom-none: there is no such device" in done.stderr
    assert [*own.iterdir()] == []
    with pytest.raises(TargetError, match="no such device"):
        foresee(["/dev/fathom-none"], QUICK)


@pytest.mark.parametrize("steady", [0, 20, 40, 375])
@pytest.mark.parametrize("seconds", [10.0, 30.0, 120.0])
def test_the_time_that_was_predicted_is_the_time_that_it_takes(
    seconds: float, steady: int, device: SimulatedStorage, own: Path
) -> None:
    """On a clock of its own: what is said first holds, and so does each later limit."""
    effort = replace(QUICK, seconds=seconds)
    told: list[Progress] = []
    assert device.store is not None
    assess(device.store, device, [str(own)], effort, steady_seconds=steady, on_progress=told.append)
    took_s = device.now_s
    seen = foresee([str(own)], effort, steady_seconds=steady)
    assert seen.least_s * 0.7 <= took_s <= seen.most_s
    assert seen.seconds == pytest.approx(told[0].remaining_s)
    # How soon twice the size is written is not known before.
    assert steady or seen.seconds == pytest.approx(took_s, rel=0.6)
    # The case said 2:19 and took 1:00.
    assert seen.most_s <= 1.35 * (seconds + steady) + 30
    for one in told:
        assert one.remaining_low_s is not None
        assert one.remaining_high_s is not None
        assert one.remaining_low_s <= one.remaining_s + 1e-9 <= one.remaining_high_s + 1e-6


def test_a_steady_state_of_too_little_time_is_refused(own: Path) -> None:
    done = command("assess", "--steady", "5s", own)
    assert (done.returncode, "(--steady) takes at least 20s" in done.stderr) == (3, True)


def test_through_a_pipe_something_is_said_while_a_measurement_lasts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert beating._EVERY_S <= 10
    monkeypatch.setattr(beating, "_EVERY_S", 0.02)
    with heartbeat(quiet=True) as nobody:
        assert nobody is None
    beat = Heartbeat(0.02)
    beat.start()
    beat.say("[1/9] 0:40 left: reading", "[1/9] reading")
    end_s = time.monotonic() + 10
    told = ""
    while told.count("\n  for 0:") < 2 and time.monotonic() < end_s:
        time.sleep(0.01)
        told += capsys.readouterr().err
    beat.stop()
    assert re.match(r"\[1/9\] 0:40 left: reading\n  for 0:\d\d: \[1/9\] reading\n", told)
    assert not beat._thread.is_alive()
