"""The scratch file of an assessment: what a killed one left is removed, and nothing else."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fathom
import pytest
from fathom.experiments.assess import EFFORTS, TargetError, foresee, opened_target
from fathom.experiments.assess.scratch import remove_abandoned
from fathom.store import Store

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
