"""Assessing one target: on simulated storage, and on real files."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom import runners
from fathom.cli import main
from fathom.experiments import assess as package
from fathom.experiments.assess import (
    EFFORTS,
    AssessmentInterrupted,
    TargetError,
    assess,
    opened_target,
    plan_cells,
)
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.assess import Assessment, Effort

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
SERVERS = 16


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with a file of the user's."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.txt").write_bytes(b"mine" * MIB)
    return folder


def assessed(
    device: SimulatedStorage,
    *names: Path | str,
    effort: Effort = QUICK,
    **more: Any,  # noqa: ANN401 - Of assess.
) -> Assessment:
    assert device.store is not None
    return assess(device.store, device, [str(one) for one in names], effort, **more)


def command(monkeypatch: pytest.MonkeyPatch, *arguments: Path | str) -> int:
    """Run ``fathom assess`` quickly and return its exit code."""
    words = ["fathom", "assess", "--quick", "--size-mib", "64", *map(str, arguments)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_folder_is_assessed_with_a_scratch_file_that_is_removed(
    own: Path, device: SimulatedStorage
) -> None:
    told: list[tuple[str, int, int, float]] = []
    found = assessed(device, own, on_cell=lambda *one: told.append(one))
    assert device.store is not None
    experiment = device.store.experiments.get(found.experiment_id)
    runs = device.store.runs.list(experiment_id=found.experiment_id)
    assert [one.name for one in own.iterdir()] == ["mine.txt"]
    assert (experiment.verb, experiment.state) == ("assess", "complete")
    done = [step for step in experiment.steps if step.state == "done"]
    assert len(done) == len(runs) == len(device.asked) == len(told)
    assert all(run.step_id is not None for run in runs)
    # Filled once, by the first run, and always the same file.
    created = [target["create_bytes"] for target in device.asked]
    assert created == [64 * MIB] + [None] * (len(created) - 1)
    assert len({str(target["path"]) for target in device.asked}) == 1
    assert [number for _, number, _, _ in told] == sorted(number for _, number, _, _ in told)


def test_every_part_is_measured_at_the_knee_of_the_device(
    own: Path, device: SimulatedStorage
) -> None:
    (target,) = assessed(device, own).targets
    parts = list(dict.fromkeys(one.cell.part for one in target.plan.cells))
    assert parts == [
        "baseline latency",
        "random saturation",
        "sequential saturation",
        "thread scaling",
        "read/write mixes",
        "cache effects",
        "workloads",
        "baseline again",
    ]
    done = target.plan.done()
    by_key = {one.cell.key: asked for one, asked in zip(done, device.asked, strict=True)}
    assert by_key["random-write"]["outstanding"] == by_key["mix-30"]["outstanding"] == SERVERS
    assert by_key["sequential-write"]["outstanding"] == SERVERS
    assert by_key["read-1"]["caching"] == "unbuffered"
    assert by_key["cached"]["caching"] == "cached"
    # Cells end by the rule of confidence, and keep latency and intervals.
    for arguments in device.arguments:
        assert "--stop-confidence=95:3" in arguments
        assert "-L" in arguments
        assert any(one.startswith("-D") for one in arguments)


def test_the_verdict_is_in_words_with_the_true_numbers(own: Path, device: SimulatedStorage) -> None:
    device.truths = {"": Truth(read_us=200.0, durable_us=400.0, mib_per_s=8_000.0)}
    (verdict,) = assessed(device, own).verdicts
    text = " ".join(verdict.sentences)
    assert "in the class of flash (NVMe or SATA)" in verdict.headline
    assert "A random read of 4 KiB takes 200 us on average" in text
    assert (
        "at most 80,000 random reads of 4 KiB a second (depth 16, unbuffered), and 40,000 writes "
        "(depth 16, unbuffered, write-through)" in text
    )
    assert "For a transaction database it is well suited" in text
    assert "For a database's log it is very well suited" in text
    assert "A backup reads 8,000 MiB/s: 1 TiB takes 2 minutes" in text
    assert (verdict.left_out, verdict.partial) == ([], None)


def test_the_time_that_is_left_is_never_more_than_what_was_given(
    own: Path, device: SimulatedStorage
) -> None:
    """Filling the scratch file takes long, and tells nothing of the runs behind it."""

    def fill(number: int) -> None:
        device.now_s += 8.0 if number == 1 else 0.0

    device.before_run = fill
    told: list[tuple[str, int, int, float]] = []
    assessed(device, own, on_cell=lambda *one: told.append(one))
    left = [left_s for _, _, _, left_s in told]
    assert max(left) <= QUICK.seconds
    assert left[-1] < left[1]


def test_a_scratch_file_that_takes_longer_to_fill_than_to_measure_is_foreseen(
    own: Path, device: SimulatedStorage
) -> None:
    """6 GiB and 30 s: *0:31 left* was told, and it took 1:19."""
    size_bytes = 6 << 30

    def fill(number: int) -> None:
        device.now_s += size_bytes / (400 * MIB) if number == 1 else 0.0

    device.before_run = fill
    told: list[tuple[float, float]] = []
    large = replace(QUICK, seconds=10, size_bytes=size_bytes)
    assessed(device, own, effort=large, on_cell=lambda *one: told.append((device.now_s, one[3])))
    (began_s, first_s), (second_s, next_s) = told[0], told[1]
    assert first_s == pytest.approx(device.now_s - began_s, rel=0.25)
    # Once it is made, it is no part of what is left.
    assert next_s == pytest.approx(device.now_s - second_s, rel=0.25)


def test_defect_7_the_time_that_is_left_learns_what_runs_take_besides_their_measured_time(
    own: Path, device: SimulatedStorage
) -> None:
    """Each run of 1 s took 24 s, as places were looked at before; "0:01 left" was told for 0:20."""

    def look(_number: int) -> None:
        device.now_s += 24.0

    device.before_run = look
    told: list[tuple[float, float]] = []
    assessed(device, own / "mine.txt", on_cell=lambda *one: told.append((device.now_s, one[3])))
    ended_s = device.now_s
    assert len(told) > 5
    for at_s, left_s in told[3:]:
        # Some that are planned turn out to be needless.
        assert 0.75 * (ended_s - at_s) <= left_s <= 1.6 * (ended_s - at_s)
    assert told[-1][1] > 20


def test_what_exists_is_only_read_and_the_verdict_says_so(
    own: Path, device: SimulatedStorage
) -> None:
    (verdict,) = assessed(device, own / "mine.txt").verdicts
    assert len(device.asked) > 5
    assert all(target["write_percent"] == 0 for target in device.asked)
    assert all(target["create_bytes"] is None for target in device.asked)
    assert "Nothing was written" in " ".join(verdict.sentences)
    assert "SQL Server OLTP, 70 % reads of 8K" in verdict.left_out
    before = len(device.asked)
    assessed(device, own / "mine.txt", writes=True, overwrite=True)
    asked, allowed = device.asked[before:], device.permissions[before:]
    # The first run writes, so that the guard speaks before anything is measured.
    assert asked[0]["write_percent"] == 100
    for target, permission in zip(asked, allowed, strict=True):
        assert permission.overwrite == (target["write_percent"] != 0)
    assert not any("--overwrite" in words for words in device.arguments)


def test_what_cannot_grow_any_more_is_skipped(own: Path, device: SimulatedStorage) -> None:
    deep = replace(EFFORTS["thorough"], size_bytes=64 * MIB)
    found = assessed(device, own, effort=deep)
    cells = found.targets[0].plan.cells
    skipped = [one.cell.label for one in cells if one.state == "skipped"]
    assert skipped == ["4K random read, depth 128", "4K random read, depth 256"]
    assert len(device.asked) == len(cells) - len(skipped)
    assert "past-the-knee" in [one.rule for one in found.findings]


def test_ctrl_c_gives_a_partial_verdict_and_removes_the_scratch_file(
    own: Path,
    device: SimulatedStorage,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    device.interrupted_at = 4
    assert command(monkeypatch, own) == 130
    shown = capsys.readouterr()
    assert "This verdict is partial: 3 measurements were made" in " ".join(shown.out.split())
    assert "was interrupted" in shown.err
    assert device.store is not None
    (experiment,) = device.store.experiments.list(verb="assess")
    assert (experiment.state, experiment.run_count) == ("interrupted", 4)
    assert experiment.outcome is not None
    (target,) = experiment.outcome["targets"]
    assert experiment.outcome["state"] == "interrupted"
    assert [one["state"] for one in target["cells"]].count("done") == 3
    assert target["key_figures"][0]["value"] == pytest.approx(100e3, rel=0.001)
    assert target["key_figures"][2]["value"] == 10_000
    assert target["key_figures"][3]["value"] is None
    assert [one.name for one in own.iterdir()] == ["mine.txt"]


def test_ctrl_c_between_two_runs_is_partial_too(own: Path, device: SimulatedStorage) -> None:
    def interrupt(number: int) -> None:
        if number == 3:
            raise KeyboardInterrupt

    device.before_run = interrupt
    with pytest.raises(AssessmentInterrupted) as ended:
        assessed(device, own)
    (verdict,) = ended.value.assessment.verdicts
    assert verdict.partial is not None
    assert "2 measurements" in verdict.partial


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(
    own: Path,
    device: SimulatedStorage,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    device.fails_at = 3
    assert command(monkeypatch, own) == 1
    shown = capsys.readouterr()
    assert "the disk is gone" in shown.err
    assert "measurements were made, and 1 failed." in " ".join(shown.out.split())
    assert device.store is not None
    (experiment,) = device.store.experiments.list(verb="assess")
    steps = device.store.experiments.get(experiment.id).steps
    assert [step.state for step in steps].count("failed") == 1
    assert experiment.state == "failed"


def test_a_target_that_vanishes_half_way_is_given_up(
    own: Path, device: SimulatedStorage, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = own / "mine.txt"

    def vanish(number: int) -> None:
        if number == 5:
            mine.unlink()
            raise fathom.InvalidRequestError("mine.txt: no such file")

    device.before_run = vanish
    found = assessed(device, mine)
    assert len(device.asked) == 5
    (target,) = found.targets
    assert target.plan.lost == f"{mine} is gone: No such file or directory"
    assert target.verdict.partial is not None
    assert "4 measurements were made, then" in target.verdict.partial
    assert found.state == "failed"
    states = [one.state for one in target.plan.cells if one.state != "left_out"]
    assert states[:5] == ["done"] * 4 + ["failed"]
    assert set(states[5:]) == {"skipped"}
    assert not capsys.readouterr().out


def test_a_file_system_that_runs_full_ends_the_writes_and_not_the_reads(
    own: Path, device: SimulatedStorage
) -> None:
    # The third cell is the first that writes: past the page cache, behind a write-through one.
    device.fails_at, device.failure = 3, {"kind": "no_space", "code": "ENOSPC"}
    found = assessed(device, own)
    (target,) = found.targets
    cells = [one for one in target.plan.cells if one.state != "failed"]
    behind = [one for one in cells if one.cell.writes and one.state != "done"]
    assert len(behind) > 3
    why = "there is no room left to write; make room where the target lies"
    assert {(one.state, one.reason) for one in behind} == {("skipped", why)}
    assert all(one.state in ("done", "skipped") for one in cells)
    assert target.plan.lost is None
    assert target.verdict.partial == (
        f"This verdict is partial: {len(target.plan.done())} measurements were made, 1 failed, and "
        "nothing was written from then on, as there is no room left to write: make room where the "
        "target lies, then go on with fathom assess --resume last."
    )
    assert found.state == "failed"


def test_a_scratch_file_that_finds_no_room_at_all_is_not_tried_again(
    own: Path, device: SimulatedStorage
) -> None:
    device.fails_at, device.failure = 1, {"kind": "no_space", "code": "ENOSPC"}
    found = assessed(device, own)
    (target,) = found.targets
    assert len(device.asked) == 1
    assert target.plan.lost is not None
    assert "no room left to write; make room" in target.plan.lost


def test_json_and_the_store_have_everything(
    own: Path,
    device: SimulatedStorage,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(monkeypatch, own, "--json", "--steady", "375") == 0
    whole = json.loads(capsys.readouterr().out)
    assert device.store is not None
    experiment = device.store.experiments.get(whole.pop("experiment_id"))
    assert experiment.outcome == whole
    (target,) = whole["targets"]
    assert [len(target["key_figures"]), target["kind"], whole["state"]] == [
        5,
        "scratch",
        "complete",
    ]
    roles = list(dict.fromkeys(one["role"] for one in target["cells"]))
    assert roles == [
        "baseline",
        "saturation",
        "thread_scaling",
        "mix",
        "cache_step",
        "workload",
        "preconditioning",
        "steady_round",
        "baseline_again",
    ]
    for one in target["cells"]:
        if one["state"] != "done":
            continue
        run = device.store.runs.get(one["run_id"])
        assert list(run.arguments) == one["arguments"]
        assert one["figures"]["iops"] == pytest.approx(run.result.total.iops)
        assert one["parameters"]["threads"] >= 1
        # Not in cells whose figures are compared: it takes time.
        assert ("--interval-latency" in one["arguments"]) == (one["role"] == "workload")
    for finding in target["findings"]:
        assert all(finding[part] for part in ("source", "evidence", "confidence", "remedy"))
    assert target["knees"] == {"random": SERVERS, "sequential": SERVERS}


def test_what_cannot_be_assessed_is_refused_before_anything_is_made(own: Path) -> None:
    (own / "small.dat").write_bytes(b"x")
    for wrong, words in (
        ("/dev/there-is-none", "no such device"),
        ("/dev/null", "no file, folder or block device"),
        (str(own / "none/x.dat"), "No such file"),
        (str(own / "small.dat"), "at least 1 MiB"),
    ):
        with pytest.raises(TargetError, match=words), opened_target(wrong, 64 * MIB, writes=False):
            pass
    with (
        pytest.raises(TargetError, match="too small"),
        opened_target(str(own), MIB, writes=False),
    ):
        pass
    assert sorted(one.name for one in own.iterdir()) == ["mine.txt", "small.dat"]


@pytest.mark.parametrize(
    "wrong", [["--quick", "--thorough"], ["--seconds", "1"], ["--overwrite"], ["--no-such"]]
)
def test_wrong_options_are_told(
    wrong: list[str], own: Path, device: SimulatedStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fathom", "assess", *wrong, str(own)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert device.asked == []


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_cell_is_a_command_line_that_the_engine_takes(effort: str, own: Path) -> None:
    with opened_target(str(own), 64 * MIB, writes=False) as target:
        cells, left_out = plan_cells(target, EFFORTS[effort], steady_seconds=60)
    assert left_out == []
    assert len({cell.key for cell in cells}) == len(cells)
    for cell in cells:
        plain = [
            one.replace("{knee}", "4").replace("{sequential_knee}", "4") for one in cell.arguments
        ]
        profile = fathom.parse([*plain, "x.dat"])
        (asked,) = profile["time_spans"][0]["targets"]
        assert cell.writes == bool(asked["write_percent"])


def test_what_an_assessment_wrote_itself_was_told_as_data_that_repeat(own: Path) -> None:
    with opened_target(str(own), 64 * MIB, writes=False) as target:
        cells, _ = plan_cells(target, EFFORTS["default"], steady_seconds=60)
    writing = [cell for cell in cells if cell.writes and cell.role != "workload"]
    assert len(writing) > 5
    for cell in writing:
        # Of a MiB, 256 blocks of 4 KiB were written over and over, and read by the cells behind.
        assert {"-Zr", "-Z64M"} & {*cell.arguments}, cell.key


def test_a_real_file_is_assessed_and_stays_as_it_is(own: Path) -> None:
    little = replace(QUICK, seconds=5, depths=(4,), sequential_depths=(1,), working_sets=())
    before = (own / "mine.txt").stat()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = runners.NativeRunner(store)
        found = assess(store, runner, [str(own / "mine.txt")], little)
    after = (own / "mine.txt").stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert (own / "mine.txt").read_bytes() == b"mine" * MIB
    assert found.failures == {}
    (target,) = found.targets
    assert all(one.figures is not None for one in target.plan.done())
    # Where something else than the device answered, that is the reason, and the cause of both.
    rules = {one.rule for one in found.findings}
    assert rules & {"working-set-small", "not-the-device"}


def test_the_public_names_are_these() -> None:
    assert sorted(package.__all__) == sorted(set(package.__all__))
    assert all(hasattr(package, name) for name in package.__all__)
