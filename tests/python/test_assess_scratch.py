"""The scratch file of an assessment: what a killed one left is removed, and nothing else."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom.experiments.assess import EFFORTS, TargetError, foresee, opened_target
from fathom.experiments.assess.scratch import remove_abandoned
from fathom.experiments.prepare.target import target_facts
from fathom.store import Store
from support import loop_device

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP = Path("/dev/loop16")
MIB = 1 << 20
FATHOM = Path(sys.executable).with_name("fathom")
COMMAND = [str(FATHOM), "assess", "--quick", "--seconds", "10", "--size-mib", "64"]


def abandoned(folder: Path) -> Path:
    """Make what a killed assessment leaves."""
    left = folder / "fathom-assess-killed"
    left.mkdir()
    (left / "lock").touch()
    (left / "scratch.dat").write_bytes(b"x" * MIB)
    return left


def test_what_a_killed_assessment_left_is_removed_and_told(tmp_path: Path) -> None:
    left = abandoned(tmp_path)
    (tmp_path / "mine.txt").touch()
    assert remove_abandoned(str(tmp_path)) == [(left, MIB)]
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]
    assert remove_abandoned(str(tmp_path)) == []


def test_what_is_in_use_or_has_other_files_stays(tmp_path: Path) -> None:
    left = abandoned(tmp_path)
    with (left / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_abandoned(str(tmp_path)) == []
    (left / "mine.txt").touch()
    assert remove_abandoned(str(tmp_path)) == []
    assert (left / "scratch.dat").exists()
    with opened_target(str(tmp_path), 64 * MIB, writes=False) as target:
        # Another assessment in the same folder leaves a running one alone.
        assert remove_abandoned(str(tmp_path)) == []
        path = Path(target.path)
        assert path.exists()
    assert not path.parent.exists()


@pytest.mark.parametrize("name", ["new.dat", "mountt", "mountt/", "none/x.dat"])
def test_a_name_that_nothing_has_is_refused_and_stays_free(tmp_path: Path, name: str) -> None:
    """The folder above it was measured: with a misspelt mount point, that is another disk."""
    wrong = f"{tmp_path}/{name}"
    with (
        pytest.raises(TargetError, match=f"{wrong}: No such file or folder"),
        opened_target(wrong, 64 * MIB, writes=False),
    ):
        pass
    with pytest.raises(TargetError, match="No such file or folder"):
        foresee([wrong], EFFORTS["quick"])
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(TargetError, match="No such file or folder"),
    ):
        fathom.assess(wrong, store=store, effort="quick")
    assert [one.name for one in tmp_path.iterdir()] == ["store.sqlite"]


def test_a_target_that_cannot_be_written_is_told_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    """A program that runs cannot be written, not even by root (ETXTBSY)."""
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o700)
    if program.stat().st_size < MIB:
        with program.open("ab") as opened:
            opened.truncate(MIB)
    with subprocess.Popen([program, "60"]) as running:
        try:
            with (
                pytest.raises(TargetError, match="cannot be written: Text file busy"),
                opened_target(str(program), 64 * MIB, writes=True),
            ):
                pass
            with opened_target(str(program), 64 * MIB, writes=False) as target:
                assert not target.writes
        finally:
            running.kill()


def started(folder: Path, cells: int) -> subprocess.Popen[str]:
    """Start an assessment, and return once it has begun its cell of this number."""
    process = subprocess.Popen(
        [*COMMAND, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job ignores it, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(f"[{cells}/"):
            return process
    raise AssertionError(process.communicate())


def test_a_killed_assessment_loses_no_run_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    with started(tmp_path, 4) as process:
        process.kill()
    (left,) = tmp_path.iterdir()
    assert (left / "scratch.dat").stat().st_size == 64 * MIB
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list(verb="assess")
        assert experiment.run_count >= 3
        assert all(run.outcome == "complete" for run in store.runs.list())
    with started(tmp_path, 2) as process:
        names = [one.name for one in tmp_path.iterdir()]
        assert left.name not in names
        assert len(names) == 1
        process.kill()


def test_ctrl_c_half_way_gives_a_partial_verdict_of_real_runs(tmp_path: Path) -> None:
    process = started(tmp_path, 5)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    shown, told = process.communicate()
    assert process.returncode == 130, told
    assert "This verdict is partial: 4 measurements were made" in " ".join(shown.split())
    assert "was interrupted" in told
    assert list(tmp_path.iterdir()) == []


@contextmanager
def on_ext4(folder: Path, features: list[str], options: str) -> Iterator[Path]:
    """Mount a new ext4; skip where that cannot be."""
    image, place = folder / "image", folder / "place"
    image.touch()
    os.truncate(image, 256 * MIB)
    place.mkdir()
    with loop_device(LOOP, image):
        made = subprocess.run(["/usr/sbin/mkfs.ext4", "-qF", *features, LOOP], check=False)
        words: list[str | Path] = ["mount", "-o", options, LOOP, place]
        if made.returncode or subprocess.run(words, check=False).returncode:
            pytest.skip("ext4 cannot be made or mounted here")
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True)  # noqa: S607


@pytest.mark.parametrize(
    ("features", "options", "is_direct"),
    [([], "data=journal", False), (["-O", "inline_data", "-I", "1024"], "noatime", True)],
)
def test_ext4_that_journals_data_failed_in_all_loads_as_it_takes_the_flag_of_direct_io(
    tmp_path: Path, features: list[str], options: str, *, is_direct: bool
) -> None:
    """An empty file may lie in its inode, from where there is none either, until it grows."""
    with on_ext4(tmp_path, features, options) as place:
        with opened_target(str(place), 64 * MIB, writes=False) as target:
            assert target.is_direct == is_direct
            assert Path(target.path).stat().st_size == 0
        (place / "own.dat").write_bytes(b"x" * (64 * MIB))
        with opened_target(str(place / "own.dat"), 0, writes=False) as target:
            assert target.is_direct == is_direct
        assert target_facts(place / "own.dat").is_direct == is_direct
