"""Filling: exact bytes on a simulated disk, and asked against measured data on real files."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from fathom import FathomError, InvalidRequestError, RefusedError
from fathom._permission import Permission
from fathom.experiments.prepare import Asked, Meter, Progress, fill, look, plan_fill
from fathom.experiments.prepare._pieces import Piece, cut, missing_spans, piece_bytes
from fathom.runners import NativeRunner
from fathom.store import Store
from our_data import our_data
from prepare_worker import MIB, SMALL_PIECES, Disk, Killed, command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def filled(store: Store, path: Path, asked: Asked) -> tuple[float, float]:
    """Fill for real, and return the measured ratios."""
    experiment = plan_fill(store, path, asked)
    runner = NativeRunner(store, permission=asked.permission)
    found = fill(store, runner, experiment, Meter(time.monotonic))
    assert found.failure is None
    assert found.check is not None
    assert found.check.is_whole
    assert found.check.zero_share.value == 0
    assert found.check.compress_ratio is not None
    assert found.check.dedupe_ratio is not None
    return found.check.compress_ratio.value, found.check.dedupe_ratio


def noise(size: int, seed: int = 1) -> bytes:
    """Return data that do not compress."""
    return our_data(size, seed)


@pytest.mark.parametrize("size", [1, 511, 4096, 65_536 + 77, 5 * MIB, 7 * MIB + 12_288 + 1])
@pytest.mark.parametrize("start", [0, 8192])
def test_pieces_cover_each_byte_once(size: int, start: int) -> None:
    pieces = cut([(start, start + size)], MIB, 2 * MIB)
    place = start
    for piece in pieces:
        assert piece.offset == place
        assert piece.bytes % piece.block_bytes == 0
        place += piece.bytes
    assert place == start + size
    # Only what is less than 4 KiB at the end goes through the page cache.
    assert all(piece.is_aligned for piece in pieces[:-1])


def test_pieces_are_few_and_those_that_repeat_are_small() -> None:
    assert piece_bytes(10 * MIB) == 256 * MIB
    assert piece_bytes(1 << 40) == 4 << 30
    assert piece_bytes(1 << 40, repeating=True) == 1 << 30
    assert len(cut([(0, 1 << 40)], MIB, piece_bytes(1 << 40))) == 256


def test_a_new_file_is_written_once_and_progress_tells_the_rate(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.experiments.prepare._pieces._LEAST_PIECE_BYTES", 16 * MIB)
    path, size = tmp_path / "x.dat", 201 * MIB + 100
    experiment = plan_fill(sqlite, path, Asked(size_bytes=size))
    disk, told = Disk(), list[Progress]()
    meter = Meter(disk.clock, told.append)
    monkeypatch.setattr("fathom.experiments.prepare.filling._checked", lambda *_: None)
    found = fill(sqlite, disk, experiment, meter)
    assert (found.total_bytes, found.session_bytes) == (size, size)
    assert sum(one for _, one, _ in disk.runs) == size
    assert disk.times_written(size) == {1}
    assert found.mib_per_s == pytest.approx(100)
    assert path.stat().st_size == size
    # 100 MiB/s: after half of it, the other half is still to come.
    middle = next(one for one in told if one.done_bytes >= size / 2)
    assert middle.remaining_s == pytest.approx((size - middle.done_bytes) / MIB / 100, rel=0.01)
    assert told[-1].done_bytes == size
    state = sqlite.experiments.get(experiment)
    assert state.state == "complete"
    assert {step.state for step in state.steps} == {"done"}


def test_a_killed_filling_goes_on_and_writes_each_byte_once(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.experiments.prepare._pieces._LEAST_PIECE_BYTES", MIB)
    monkeypatch.setattr("fathom.experiments.prepare.filling._checked", lambda *_: None)
    path, size = tmp_path / "x.dat", 20 * MIB
    experiment = plan_fill(sqlite, path, Asked(size_bytes=size))
    disk, told = Disk(dies_at=8), list[Progress]()
    with pytest.raises(Killed):
        fill(sqlite, disk, experiment, Meter(disk.clock))
    assert sqlite.experiments.get(experiment).state == "running"
    found = fill(sqlite, disk, experiment, Meter(disk.clock, told.append))
    assert (len(disk.runs), disk.times_written(size)) == (20, {1})
    assert found.session_bytes == 13 * MIB
    # What was done before is done, but does not make this session look faster.
    assert told[0].done_bytes == 8 * MIB
    assert found.mib_per_s == pytest.approx(100)
    with pytest.raises(InvalidRequestError, match="is complete"):
        fill(sqlite, disk, experiment, Meter(disk.clock))


def test_a_piece_that_was_not_written_whole_is_a_failure_and_is_written_again(
    sqlite: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.experiments.prepare._pieces._LEAST_PIECE_BYTES", MIB)
    monkeypatch.setattr("fathom.experiments.prepare.filling._checked", lambda *_: None)
    experiment = plan_fill(sqlite, tmp_path / "x.dat", Asked(size_bytes=4 * MIB))
    disk = Disk(short_at=2)
    found = fill(sqlite, disk, experiment, Meter(disk.clock))
    assert found.failure == f"{MIB // 2} of {MIB} bytes from {MIB} on were written"
    assert sqlite.experiments.get(experiment).state == "failed"
    assert fill(sqlite, disk, experiment, Meter(disk.clock)).failure is None
    starts = [start // MIB for start, _, _ in disk.runs]
    assert starts == [0, 1, 1, 2, 3]


def test_another_file_of_the_same_name_is_not_gone_on_with(sqlite: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    experiment = plan_fill(sqlite, path, Asked(size_bytes=MIB))
    kept = path.rename(tmp_path / "y.dat")
    path.write_bytes(noise(MIB))
    with pytest.raises(InvalidRequestError, match="is not what it was"):
        fill(sqlite, Disk(), experiment, Meter(time.monotonic))
    kept.rename(path)
    os.truncate(path, 2 * MIB)
    with pytest.raises(InvalidRequestError, match="is not what it was"):
        fill(sqlite, Disk(), experiment, Meter(time.monotonic))


@pytest.mark.parametrize(
    ("compress", "dedupe", "true"),
    [(1.0, 1.0, (1.0, 1.0)), (2.0, 1.5, (2.0, 100 / 67)), (4.0, 1.0, (4.0, 1.0))],
)
def test_real_data_have_the_ratios_that_were_asked_for(
    sqlite: Store, tmp_path: Path, compress: float, dedupe: float, true: tuple[float, float]
) -> None:
    asked = Asked(size_bytes=16 * MIB + 5000, compress_ratio=compress, dedupe_ratio=dedupe)
    found = filled(sqlite, tmp_path / "x.dat", asked)
    # zlib costs a few bytes of each 512.
    assert found[0] == pytest.approx(true[0], rel=0.06)
    assert found[1] == pytest.approx(true[1], rel=0.01)


def test_only_what_is_missing_is_filled_and_all_else_stays(sqlite: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    kept = {MIB: noise(MIB), 3 * MIB + 8192: noise(4096, 2), 5 * MIB: noise(100, 3)}
    with path.open("wb") as file:
        for place, data in kept.items():
            file.seek(place)
            file.write(data)
        file.seek(6 * MIB)
        file.write(bytes(MIB))
        file.truncate(8 * MIB + 77)
    before = path.read_bytes()
    filled(sqlite, path, Asked(only_missing=True))
    after = path.read_bytes()
    assert len(after) == len(before)
    for place, data in kept.items():
        assert after[place : place + len(data)] == data
    changed = [at for at in range(0, len(after), 4096) if after[at] != before[at] or after[at + 1]]
    assert len(changed) > 1700
    found = look(path)
    # Of the block with 100 bytes of data, the rest is that file's.
    assert (found.empty_share.value, found.layout.hole_bytes) == (0, 0)
    again = plan_fill(sqlite, path, Asked(only_missing=True))
    assert sqlite.experiments.get(again).steps == ()


def test_gaps_that_are_too_many_are_left_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes((noise(4096) + bytes(4096)) * 10 + bytes(256 << 10))
    monkeypatch.setattr("fathom.experiments.prepare._pieces._MOST_SMALL_SPANS", 5)
    layout = look(path).layout
    found = missing_spans(str(path), layout, path.stat().st_size)
    assert found.left_bytes == 9 * 4096
    assert found.spans == [(19 * 4096, path.stat().st_size)]


def test_data_that_fathom_has_not_made_are_never_written_over(
    sqlite: Store, tmp_path: Path
) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(random.Random(1).randbytes(MIB))  # noqa: S311 - No secret.
    digest = hashlib.sha256(path.read_bytes()).digest()
    with pytest.raises(RefusedError, match="neither diskspd nor fathom made"):
        plan_fill(sqlite, path, Asked())
    # What the engine recognises, it refuses even where only zeros would be written.
    text = tmp_path / "text"
    text.write_text("a line of text that somebody wrote\n" * 1000)
    os.truncate(text, 256 << 10)
    experiment = plan_fill(sqlite, text, Asked(only_missing=True))
    with pytest.raises(RefusedError, match="looks like"):
        fill(sqlite, NativeRunner(sqlite), experiment, Meter(time.monotonic))
    assert sqlite.experiments.get(experiment).state == "failed"
    assert text.read_bytes()[:6] == b"a line"
    assert hashlib.sha256(path.read_bytes()).digest() == digest
    filled(sqlite, path, Asked(permission=Permission(overwrite=True)))
    assert hashlib.sha256(path.read_bytes()).digest() != digest


def test_files_that_fathom_made_are_filled_again(sqlite: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    filled(sqlite, path, Asked(size_bytes=MIB))
    if not os.listxattr(path):
        pytest.skip("this file system keeps no user attributes")
    assert filled(sqlite, path, Asked(compress_ratio=2))[0] == pytest.approx(2, rel=0.06)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"compress_ratio": 0}, "--compress is a ratio"),
        ({"dedupe_ratio": 0.5}, "--dedupe is a ratio"),
        ({"compress_ratio": 1000}, "--compress is a ratio"),
        ({"size_bytes": 0}, "greater than 0"),
    ],
)
def test_what_cannot_be_asked_is_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        Asked(**wrong)  # type: ignore[arg-type]


def test_wrong_targets_are_refused_and_nothing_is_left_behind(
    sqlite: Store, tmp_path: Path
) -> None:
    new, small = tmp_path / "new", tmp_path / "small"
    small.write_bytes(noise(4096))
    for path, asked, words in (
        (new, Asked(), "how large"),
        (new, Asked(size_bytes=1 << 60), "bytes are needed"),
        (tmp_path / "no" / "x", Asked(size_bytes=MIB), "there is no folder"),
        (tmp_path, Asked(), "is a directory"),
        (small, Asked(size_bytes=MIB), "less than"),
    ):
        with pytest.raises(FathomError, match=words):
            plan_fill(sqlite, path, asked)
    assert not new.exists()
    assert sqlite.experiments.list() == []


def test_what_is_allowed_stands_in_no_plan(sqlite: Store, tmp_path: Path) -> None:
    leave = Permission(overwrite=True, allow_write=("serial-7",))
    experiment = plan_fill(sqlite, tmp_path / "x", Asked(size_bytes=4096, permission=leave))
    disk = Disk()
    fill(sqlite, disk, experiment, Meter(disk.clock))
    assert not {"--overwrite", "--allow-write=serial-7"} & {*disk.arguments[0]}
    assert "serial-7" not in str(sqlite.experiments.get(experiment).plan)
    assert Piece(0, 77, 77).is_aligned is False


def test_kill_9_in_the_middle_of_filling_and_the_command_completes_it(tmp_path: Path) -> None:
    path, size = tmp_path / "x.dat", 16 * MIB
    begun = subprocess.Popen(
        [sys.executable, "-c", SMALL_PIECES, "prepare", "fill", str(path), "--size", "16M"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert begun.stderr is not None
    # The first tenth is done once it is reported.
    assert "filling: " in begun.stderr.readline()
    os.kill(begun.pid, signal.SIGKILL)
    assert begun.wait() == -signal.SIGKILL
    begun.stderr.close()
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list(verb="prepare")
        states = [step.state for step in store.experiments.get(experiment.id).steps]
        done = states.count("done")
        assert experiment.state == "running"
        assert 0 < done < len(states)
    resumed = command("prepare", "fill", "--resume", "last", "--json")
    assert (resumed.returncode, resumed.stderr) == (0, "")
    found = json.loads(resumed.stdout)
    assert (found["total_bytes"], found["session_bytes"]) == (
        size,
        size // len(states) * (len(states) - done),
    )
    assert found["check"]["zero_share"]["value"] == 0
    assert command("prepare", "fill", "--resume", "last").returncode == 3


def test_the_command_tells_asked_and_measured(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    asked = ("--size", "8M", "--compress", "2", "--dedupe", "1.5")
    done = command("prepare", "fill", str(path), *asked)
    assert done.returncode == 0
    assert "asked 2.00" in done.stdout
    assert "asked 1.49" in done.stdout
    assert command("prepare", "fill", str(path), "--size", "8Q").returncode == 3
    assert command("prepare", "fill").returncode == 3
    assert command("prepare", "fill", "--resume", "e99").returncode == 3
    other = tmp_path / "other"
    other.write_bytes(random.Random(1).randbytes(MIB))  # noqa: S311 - No secret.
    assert command("prepare", "fill", str(other)).returncode == 2
