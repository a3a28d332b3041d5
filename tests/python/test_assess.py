"""Assessing: on a simulated device, and on real files."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import fathom
import pytest
from fabricated import fabricated
from fathom import assess as package
from fathom.assess import EFFORTS, TargetError, assess, opened_target, plan_cells
from fathom.cli import main
from fathom.experiments import _measure
from fathom.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fathom import Result

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
SERVERS = 16
SERVICE_US = 100.0


class Device:
    """Stands for the engine: so many I/Os at once, each in the same time; the others wait."""

    def __init__(self) -> None:
        """Begin without runs."""
        self.asked: list[dict[str, object]] = []
        self.arguments: list[list[str]] = []
        self.fails_at = self.interrupted_at = 0

    def run(self, arguments: Sequence[str], **_more: object) -> Result:
        """Return the next result."""
        profile = fathom.parse(list(arguments))["time_spans"][0]
        (target,) = profile["targets"]
        self.asked.append(target)
        self.arguments.append(list(arguments))
        outstanding = target["outstanding"] * target["threads"]
        result = fabricated(
            rates=min(outstanding, SERVERS) * 1e6 / SERVICE_US,
            latency_ns=SERVICE_US * max(outstanding / SERVERS, 1),
            path=target["path"],
            block_bytes=target["block_bytes"],
            random=target["access"].get("random_percent", 0),
            write=target["write_percent"],
            threads=target["threads"],
            depth=target["outstanding"],
            caching=target["caching"],
            write_through=target["write_through"],
            limit=target["limit_bytes"],
        )
        if len(self.asked) == self.fails_at:
            raise fathom.RunFailedError("the disk is gone", result)
        if len(self.asked) == self.interrupted_at:
            raise fathom.RunInterrupted(result)
        return result


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    made = Device()
    monkeypatch.setattr(_measure, "run", made.run)
    return made


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Return a folder with a file of the user's."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mine.txt").write_bytes(b"mine" * MIB)
    return folder


def opened() -> Store:
    return Store(os.environ["FATHOM_STORE"])


def test_a_folder_is_assessed_with_a_scratch_file_that_is_removed(
    own: Path, device: Device
) -> None:
    told: list[tuple[str, int, int, float]] = []
    with opened() as store:
        found = assess(store, [str(own)], QUICK, on_cell=lambda *one: told.append(one))
        experiment = store.experiments.get(found.experiment_id)
        runs = store.runs.list(experiment_id=found.experiment_id)
    assert [one.name for one in own.iterdir()] == ["mine.txt"]
    assert (experiment.verb, experiment.state) == ("assess", "complete")
    done = [step for step in experiment.steps if step.state == "done"]
    assert len(done) == len(runs) == len(device.asked) == len(told)
    assert all(run.step_id is not None for run in runs)
    assert experiment.outcome is not None
    assert experiment.outcome["verdicts"][0]["sentences"] == found.verdicts[0].sentences
    # Filled once, by the first run, and always the same file.
    created = [target["create_bytes"] for target in device.asked]
    assert created == [64 * MIB] + [None] * (len(created) - 1)
    assert len({str(target["path"]) for target in device.asked}) == 1
    assert [number for _, number, _, _ in told] == sorted(number for _, number, _, _ in told)


def test_every_part_is_measured_at_the_knee_of_the_device(own: Path, device: Device) -> None:
    with opened() as store:
        found = assess(store, [str(own)], QUICK)
    parts = list(dict.fromkeys(done.cell.part for done in found.cells[0]))
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
    by_key = {
        done.cell.key: target for done, target in zip(found.cells[0], device.asked, strict=True)
    }
    assert by_key["random-write"]["outstanding"] == by_key["mix-30"]["outstanding"] == SERVERS
    assert by_key["sequential-write"]["outstanding"] == SERVERS
    assert by_key["read-1"]["caching"] == "unbuffered"
    assert by_key["cached"]["caching"] == "cached"
    # Cells end by the rule of confidence, and keep latency and intervals.
    for arguments in device.arguments:
        assert "--stop-confidence=95:3" in arguments
        assert "-L" in arguments
        assert any(one.startswith("-D") for one in arguments)


def test_the_verdict_is_in_words_with_the_numbers(own: Path, device: Device) -> None:
    with opened() as store:
        (verdict,) = assess(store, [str(own)], QUICK).verdicts
    assert device.asked
    text = " ".join(verdict.sentences)
    assert "in the class of flash (NVMe or SATA): a random read of 4 KiB takes 102 us" in text
    assert "at most 160,000 random reads of 4 KiB a second, and 160,000 writes" in text
    assert "For a transaction database it is well suited" in text
    assert "For a database's log it is very well suited" in text
    assert "1 TiB takes 13 s" in text
    assert verdict.left_out == []


def test_what_exists_is_only_read_and_the_verdict_says_so(own: Path, device: Device) -> None:
    with opened() as store:
        found = assess(store, [str(own / "mine.txt")], QUICK)
    assert len(device.asked) > 5
    assert all(target["write_percent"] == 0 for target in device.asked)
    assert all(target["create_bytes"] is None for target in device.asked)
    (verdict,) = found.verdicts
    assert "Nothing was written" in " ".join(verdict.sentences)
    assert "SQL Server OLTP, 70 % reads of 8K" in verdict.left_out
    device.asked.clear()
    with opened() as store:
        assess(store, [str(own / "mine.txt")], QUICK, writes=True, overwrite=True)
    assert any(target["write_percent"] == 100 for target in device.asked)
    for target, arguments in zip(device.asked, device.arguments[-len(device.asked) :], strict=True):
        assert ("--overwrite" in arguments) == (target["write_percent"] != 0)


def test_what_cannot_grow_any_more_is_skipped(own: Path, device: Device) -> None:
    deep = replace(EFFORTS["thorough"], size_bytes=64 * MIB)
    with opened() as store:
        found = assess(store, [str(own)], deep)
        experiment = store.experiments.get(found.experiment_id)
    skipped = [step.label for step in experiment.steps if step.state == "skipped"]
    assert [label.rpartition(": ")[2] for label in skipped] == [
        "4K random read, depth 128",
        "4K random read, depth 256",
    ]
    assert len(device.asked) == len(experiment.steps) - len(skipped)
    assert "past-the-knee" in [one.rule for one in found.findings]


def test_ctrl_c_keeps_what_is_done_and_removes_the_scratch_file(own: Path, device: Device) -> None:
    device.interrupted_at = 4
    with opened() as store:
        with pytest.raises(fathom.RunInterrupted):
            assess(store, [str(own), str(own / "new.dat")], QUICK)
        (experiment,) = store.experiments.list(verb="assess")
    assert (experiment.state, experiment.run_count) == ("interrupted", 4)
    assert [one.name for one in own.iterdir()] == ["mine.txt"]


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(
    own: Path, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    device.fails_at = 3
    monkeypatch.setattr(sys, "argv", ["fathom", "assess", "--quick", "--size-mib", "64", str(own)])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 1
    assert "the disk is gone" in shown.err
    assert "Verdict on" in shown.out
    with opened() as store:
        (experiment,) = store.experiments.list(verb="assess")
        steps = store.experiments.get(experiment.id).steps
    assert [step.state for step in steps].count("failed") == 1
    assert experiment.state == "failed"


def test_several_targets_stand_side_by_side_in_one_experiment(
    own: Path, device: Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [str(own), str(own / "mine.txt")]
    arguments = ["fathom", "assess", "--quick", "--size-mib", "64", "--json", *names]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    whole = json.loads(capsys.readouterr().out)
    assert [one["target"] for one in whole["verdicts"]] == names
    assert {one["target"] for one in whole["cells"]} == set(names)
    assert len(whole["cells"]) == len(device.asked)
    assert all(one["run_id"] for one in whole["cells"])


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
    wrong: list[str], own: Path, device: Device, monkeypatch: pytest.MonkeyPatch
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


def test_a_real_file_is_assessed_and_stays_as_it_is(own: Path) -> None:
    little = replace(QUICK, seconds=5, depths=(4,), sequential_depths=(1,), working_sets=())
    before = (own / "mine.txt").stat()
    with opened() as store:
        found = assess(store, [str(own / "mine.txt")], little)
    after = (own / "mine.txt").stat()
    assert (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
    assert (own / "mine.txt").read_bytes() == b"mine" * MIB
    assert found.failures == {}
    assert all(done.result.total.ios for done in found.cells[0])
    assert "working-set-small" in [one.rule for one in found.findings]


def test_the_public_names_are_these() -> None:
    assert sorted(package.__all__) == sorted(set(package.__all__))
    assert all(hasattr(package, name) for name in package.__all__)
