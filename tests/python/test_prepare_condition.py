"""Preconditioning: exact bytes, rounds and estimates on simulated devices, and real files."""

from __future__ import annotations

import json
import os
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from fathom import InvalidRequestError, RefusedError
from fathom._permission import Permission
from fathom.cli.commands import _prepare_do
from fathom.experiments.prepare import (
    Asked,
    Meter,
    estimate_settling,
    estimate_writing,
    fill,
    known_rate,
    plan_fill,
    plan_precondition,
    plan_settling,
    precondition,
    settle,
    target_facts,
)
from fathom.runners import NativeRunner, RunOutcome
from fathom.store import Store
from prepare_worker import MIB, Disk, Killed, command, figures
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.mark.parametrize("size", [4 * MIB, 7 * MIB + 4096 * 3, 5 * MIB + 513])
def test_wipc_writes_each_byte_twice_in_sequence_with_128_kib(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr("fathom.experiments.prepare._pieces._LEAST_PIECE_BYTES", 2 * MIB)
    path = tmp_path / "x.dat"
    path.touch()
    os.truncate(path, size)
    disk = Disk()
    found = precondition(sqlite, disk, plan_precondition(sqlite, path), Meter(disk.clock))
    assert found.session_bytes == sum(one for _, one, _ in disk.runs) == 2 * size
    # The first pass is over before the second begins, and each goes from the start to the end.
    half = len(disk.runs) // 2
    for one_pass in (disk.runs[:half], disk.runs[half:]):
        ends = [start + count for start, count, _ in one_pass]
        assert [start for start, _, _ in one_pass] == [0, *ends[:-1]]
        assert ends[-1] == size
    of_128_kib = sum(one for _, one, block in disk.runs if block == str(128 << 10))
    assert of_128_kib == 2 * (size // (128 << 10) * (128 << 10))
    # Random data, not the pattern that the engine writes otherwise.
    assert all("--compress=0" in one and "-w100" in one for one in disk.arguments)
    state = sqlite.experiments.get(found.experiment_id)
    assert state.outcome is not None
    assert (state.state, state.outcome["total_bytes"]) == ("complete", 2 * size)


def test_a_killed_wipc_goes_on_in_the_second_pass(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.experiments.prepare._pieces._LEAST_PIECE_BYTES", MIB)
    path, size = tmp_path / "x.dat", 8 * MIB
    path.touch()
    os.truncate(path, size)
    experiment, disk = plan_precondition(sqlite, path), Disk(dies_at=12)
    with pytest.raises(Killed):
        precondition(sqlite, disk, experiment, Meter(disk.clock))
    found = precondition(sqlite, disk, experiment, Meter(disk.clock))
    assert (len(disk.runs), disk.times_written(size)) == (16, {2})
    assert found.session_bytes == 5 * MIB


def test_wipc_spares_files_that_somebody_else_made(sqlite: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(random.Random(1).randbytes(MIB))  # noqa: S311 - No secret.
    with pytest.raises(RefusedError, match="neither diskspd nor fathom made"):
        plan_precondition(sqlite, path)
    assert sqlite.experiments.list() == []
    plan_precondition(sqlite, path, Permission(overwrite=True))
    with pytest.raises(InvalidRequestError, match="no such file"):
        plan_precondition(sqlite, tmp_path / "none")


def test_estimates_are_arithmetic_on_what_is_known_and_none_on_what_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.dat"
    path.touch()
    os.truncate(path, 512 * MIB)
    facts = target_facts(path)
    known = estimate_writing([facts], (256.0, "as given"), 100)
    assert (known.least_bytes, known.most_bytes) == (1 << 30, 1 << 30)
    assert known.most_s == 4.0
    assert known.endurance_share == pytest.approx((1 << 30) / 1e14)
    assert known.exceeds_capacity
    if facts.device_bytes:
        assert known.drive_writes == pytest.approx((1 << 30) / facts.device_bytes)
    unknown = estimate_writing([facts], None)
    assert unknown.most_bytes == 1 << 30
    assert (unknown.most_s, unknown.mib_per_s, unknown.endurance_share) == (None, None, None)
    loads = [["-d60", "-W5", "-w50", str(path)], ["-d60", "-W5", "-w0", str(path)]]
    rounds = estimate_settling([facts], loads, (100.0, "as given"))
    assert (rounds.least_s, rounds.most_s) == (5 * 130, 25 * 130)
    # Half of the I/Os of one of both loads, for 65 s a round.
    assert rounds.most_bytes == 25 * 65 * 100 * MIB // 2
    assert estimate_settling([facts], loads, None).most_bytes is None
    assert estimate_settling([facts], loads, None).exceeds_capacity
    reads = estimate_settling([facts], loads[1:], None)
    assert (reads.most_bytes, reads.exceeds_capacity) == (0, False)
    for rate, tbw in (((0.0, ""), None), (None, -1.0)):
        with pytest.raises(InvalidRequestError, match="greater than 0"):
            estimate_writing([facts], rate, tbw)


def test_the_rate_comes_from_a_saved_run_that_wrote_the_target_in_sequence(
    sqlite: Store, tmp_path: Path
) -> None:
    path = tmp_path / "x.dat"
    fill_it = plan_fill(sqlite, path, Asked(size_bytes=2 * MIB))
    assert known_rate(sqlite, str(path)) is None
    fill(sqlite, NativeRunner(sqlite), fill_it, Meter(time.monotonic))
    found = known_rate(sqlite, str(path))
    (run,) = sqlite.runs.list()
    assert found == (run.columns["total_mib_per_s"], f"run {run.id}")
    assert known_rate(sqlite, str(tmp_path / "y.dat")) is None
    NativeRunner(sqlite).run(["-b4K", "-r", "-w100", "-d1", "-W0", "--stop-ios=5", str(path)])
    assert known_rate(sqlite, str(path)) == found


@dataclass
class Drive:
    """A drive that falls from 3000 to 1000 IOPS, and dies in a run if it is asked to."""

    level: Sequence[float]
    dies_at: int = 0
    now_s: float = 0.0
    names: list[str] = field(default_factory=list)

    def clock(self) -> float:
        """Return its own clock."""
        return self.now_s

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run a round."""
        del label, experiment_id, step_id
        if len(self.names) + 1 == self.dies_at:
            self.dies_at = 0
            raise Killed
        iops = self.level[min(len(self.names), len(self.level) - 1)]
        self.names.append(arguments[-1])
        return RunOutcome(None, figures(iops, iops / 256, 60.0), None)


FALLING = [3000, 2600, 2000, 1500, 1200, 1050, 1010, 990, 1000, 1005, 995, 1000]


def test_rounds_end_with_the_first_steady_window(sqlite: Store) -> None:
    drive = Drive(FALLING)
    experiment = plan_settling(sqlite, [("", ["-w100", "x"])])
    told: list[int] = []
    found = settle(sqlite, drive, experiment, on_round=lambda number, _steady: told.append(number))
    # Rounds 5 to 9: 1200 is 14 % above the average, but the line through them falls too far; of
    # rounds 6 to 10 it does not.
    assert (found.rounds, len(drive.names), told) == (10, 10, [*range(1, 11)])
    assert found.steady is not None
    assert found.steady.is_steady
    state = sqlite.experiments.get(experiment)
    assert [step.state for step in state.steps] == ["done"] * 10 + ["skipped"] * 15
    assert state.outcome is not None
    assert state.outcome["values"]["iops"] == FALLING[:10]


def test_a_drive_that_never_settles_is_left_after_25_rounds(sqlite: Store) -> None:
    drive = Drive([1000 * 1.1**number for number in range(30)])
    found = settle(sqlite, drive, plan_settling(sqlite, [("", ["x"])]))
    assert (found.rounds, len(drive.names)) == (25, 25)
    assert found.steady is not None
    assert found.steady.is_exhausted
    assert not found.steady.is_steady


def test_all_loads_of_a_workload_have_to_be_steady(sqlite: Store) -> None:
    class Two(Drive):
        def run(self, arguments: Sequence[str], **more: object) -> RunOutcome:
            steady = arguments[-1] == "a"
            number = len(self.names) // 2
            self.names.append(arguments[-1])
            iops = 500.0 if steady else FALLING[min(number, len(FALLING) - 1)]
            del more
            return RunOutcome(None, figures(iops, 1.0, 60.0), None)

    drive = Two(FALLING)
    experiment = plan_settling(sqlite, [("steady", ["a"]), ("falling", ["b"])])
    found = settle(sqlite, drive, experiment)
    assert found.rounds == 10
    assert drive.names == ["a", "b"] * 10
    assert set(found.values) == {"steady iops", "falling iops"}


def test_a_figure_that_was_named_twice_ended_the_rounds_before_their_time(sqlite: Store) -> None:
    """Two values of each round made a window of two and a half rounds."""
    drive = Drive([3000, 2500, 1000])
    found = settle(sqlite, drive, plan_settling(sqlite, [("", ["x"])], ["iops", "iops"]))
    assert (found.rounds, len(drive.names)) == (7, 7)
    assert found.values == {"iops": [3000, 2500, *[1000] * 5]}
    with pytest.raises(InvalidRequestError, match="two loads are named 'a'"):
        plan_settling(sqlite, [("a", ["x"]), ("b", ["x"]), ("a", ["y"])])


def test_a_load_without_the_figure_is_a_failure_in_words(sqlite: Store) -> None:
    found = settle(sqlite, Drive(FALLING), plan_settling(sqlite, [("", ["x"])], ["p99"]))
    assert found.failure == "the run has no p99: latencies need -L, and rates need I/Os"
    with pytest.raises(InvalidRequestError, match="cannot be tracked"):
        plan_settling(sqlite, [("", ["x"])], ["p98"])


def test_killed_rounds_go_on_with_those_that_were_saved(sqlite: Store) -> None:
    class Saving(Drive):
        """Saves as the engine's runner does; all runs are the same."""

        def run(self, arguments: Sequence[str], **more: object) -> RunOutcome:
            if len(self.names) + 1 == self.dies_at:
                self.dies_at = 0
                raise Killed
            self.names.append(arguments[-1])
            ids = {name: more[name] for name in ("experiment_id", "step_id")}
            run_id = sqlite.runs.save(RESULT, arguments, **ids)  # type: ignore[arg-type]
            from fathom.runners import stored_figures  # noqa: PLC0415 - Of this alone.

            return RunOutcome(run_id, stored_figures(RESULT), None)

    drive = Saving([], dies_at=4)
    experiment = plan_settling(sqlite, [("", ["x"])])
    with pytest.raises(Killed):
        settle(sqlite, drive, experiment)
    told: list[int] = []
    found = settle(sqlite, drive, experiment, on_round=lambda number, _: told.append(number))
    # Three rounds before, two after; equals are steady as soon as there are five.
    assert (found.rounds, len(drive.names), told) == (5, 5, [4, 5])
    assert sqlite.experiments.get(experiment).run_count == 5


def test_the_command_asks_before_it_writes_more_than_the_capacity(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    assert command("prepare", "fill", str(path), "--size", "2M").returncode == 0
    before = path.read_bytes()
    dry = command("prepare", "condition", "--wipc", "--dry-run", "--tbw", "600", str(path))
    assert dry.returncode == 0
    assert "4 MiB are written" in dry.stdout
    assert "of the rated endurance" in dry.stdout
    asked = command("prepare", "condition", "--wipc", str(path))
    assert (asked.returncode, "--yes" in asked.stderr) == (3, True)
    assert path.read_bytes() == before
    done = command("prepare", "condition", "--wipc", "--yes", "--json", str(path))
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["estimates"]["wipc"]["most_bytes"] == found["done"][0]["total_bytes"] == 4 * MIB
    assert path.read_bytes() != before
    with Store(os.environ["FATHOM_STORE"]) as store:
        (last, *_) = store.experiments.list(verb="prepare")
        runs = store.runs.list(experiment_id=last.id)
        assert sum(run.columns["bytes"] for run in runs) == 4 * MIB


def test_the_command_runs_rounds_of_a_real_load(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    assert command("prepare", "fill", str(path), "--size", "1M").returncode == 0
    load = ("-b4K", "-r", "-w0", "-d1", "-W0", "--stop-ios=2", str(path))
    # What is only read needs no question. Rounds of two I/Os are noise, and may not get steady.
    done = command("prepare", "condition", "--wdpc", "--json", *load)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["estimates"]["wdpc"]["most_bytes"] == 0
    (settled,) = found["done"]
    assert 5 <= settled["rounds"] <= 25
    assert len(settled["values"]["iops"]) == settled["rounds"]
    assert command("prepare", "condition", str(path)).returncode == 3
    assert command("prepare", "condition", "--wipc", "-w100", str(path)).returncode == 3
    assert command("prepare", "condition", "--wdpc", "-w101", str(path)).returncode == 3


def test_the_load_behind_a_writing_that_was_interrupted_was_forgotten(
    sqlite: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_given: object, **_more: object) -> None:
        raise KeyboardInterrupt

    one, other = tmp_path / "x.dat", tmp_path / "y.dat"
    for path in (one, other):
        path.write_bytes(os.urandom(MIB))
    monkeypatch.setattr(_prepare_do, "run_writing", interrupted)
    asked = Permission(overwrite=True)
    doing = _prepare_do.Conditioning(sqlite, asked, ["iops"], as_json=False)
    doing.plan(["-b4K", "-r", "-w100", str(one), str(other)], wipc=True, wdpc=True)
    with pytest.raises(KeyboardInterrupt):
        doing.run()
    follows = [f"--wipc {other}", f"--wdpc -b4K -r -w100 {one} {other}"]
    told = capsys.readouterr().err.splitlines()
    assert told == [f"note: not begun yet: fathom prepare condition {words}" for words in follows]
