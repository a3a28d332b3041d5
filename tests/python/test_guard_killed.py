"""What a run leaves that is killed while it writes to a file that it has made is still ours."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from support import diskspd

if TYPE_CHECKING:
    from pathlib import Path

_REFUSED = 2
_PATIENCE_S = 30.0
# What is written so long after the last byte was made is written by the run.
_MAKING_S = 0.15
# On a busy machine it takes so long until what is left is in pieces as short as those of a table.
_MIXING_S = 1.0


def _is_made(path: Path) -> bool:
    """Whether the file has its data, which are made from its first byte to its last."""
    return path.exists() and any(path.read_bytes()[-16:])


def _kill_in_mid_run(folder: Path, words: list[str], written_s: float = _MAKING_S) -> None:
    path, command = folder / "t.dat", [str(diskspd()), "-w100", "-W0", "-d60", *words, "t.dat"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet) as process:
        end, made = time.monotonic() + _PATIENCE_S, None
        while time.monotonic() < end:
            time.sleep(0.01)
            written = path.stat().st_mtime if _is_made(path) else None
            made = made or written
            if made and written and written - made > written_s:
                break
        process.kill()
    assert process.returncode < 0
    assert made
    assert path.stat().st_mtime - made > written_s


def _kill_a_mapped_run(folder: Path, words: list[str]) -> None:
    """Kill a run that counts; writes through a mapping leave no time."""
    path, command = folder / "t.dat", [str(diskspd()), "-w100", "-W0", "-d60", *words, "t.dat"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet) as process:
        end = time.monotonic() + _PATIENCE_S
        while not (path.exists() and bytes(range(256)) in path.read_bytes()):
            assert time.monotonic() < end
            time.sleep(0.01)
        process.kill()
    assert process.returncode < 0


def _next_run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    words = ["-w100", "-W0", "-d1", "-b4K", "--stop-ios=8", *more, "t.dat"]
    return subprocess.run(
        [str(diskspd()), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["-c128K", "-b4K", "-r16", "-Z64K,feed"],
        ["-c256K", "-b4K", "-r", "--engine=aio"],
        ["-c256K", "-b512", "-r", "-t2"],
        ["-c100000", "-b48", "-r16", "--compress=25", "--dedupe=20"],
    ],
    ids=["fed", "counting", "two threads", "compressed"],
)
def test_a_file_that_a_killed_run_had_made_is_still_ours(tmp_path: Path, words: list[str]) -> None:
    """The mark must tell what is to come before the first write, also to a file that it makes."""
    (tmp_path / "feed").write_bytes(random.Random(5).randbytes(64 << 10))  # noqa: S311
    _kill_in_mid_run(tmp_path, words)
    if "user.fathom.made" not in os.listxattr(tmp_path / "t.dat"):
        pytest.skip("this file system keeps no attributes")
    done = _next_run(tmp_path)
    assert done.returncode != _REFUSED, done.stderr
    (tmp_path / "t.dat").touch()
    with (tmp_path / "t.dat").open("r+b") as file:
        file.seek(5000)
        file.write(b"theirs, not a byte of it ours")
    assert _next_run(tmp_path).returncode == _REFUSED


@pytest.mark.parametrize(
    "words",
    [
        ["-c256K", "-b528", "-r16", "--engine=aio"],
        ["-c256K", "-b4K", "-r16", "-t2"],
        ["-c256K", "-b4K", "-r", "-Sm"],
    ],
    ids=["small steps", "two threads", "mapped"],
)
def test_what_a_killed_run_left_that_may_be_a_table_is_refused_and_says_why(
    tmp_path: Path, words: list[str]
) -> None:
    """It counts in pieces as short as a table of characters, which nothing tells from one."""
    path = tmp_path / "t.dat"
    if "-Sm" in words:
        _kill_a_mapped_run(tmp_path, words)
    else:
        _kill_in_mid_run(tmp_path, words, _MIXING_S)
    before = path.read_bytes()
    done = _next_run(tmp_path)
    assert done.returncode == _REFUSED
    assert "nothing proves any more whose they are" in done.stderr
    assert "a run was killed that wrote to it" in done.stderr
    for remedy in ("name another file", "--overwrite", "fathom prepare adopt"):
        assert remedy in done.stderr
    assert path.read_bytes() == before
    assert _next_run(tmp_path, "--overwrite", "-c256K").returncode == 0
    assert _next_run(tmp_path).returncode == 0


def _mark(path: Path) -> bytes:
    return os.getxattr(path, "user.fathom.made")


@pytest.mark.parametrize("words", [[], ["-c64K"]], ids=["there", "kept"])
def test_what_is_written_behind_the_first_mark_of_a_killed_run_is_somebodys(
    tmp_path: Path, words: list[str]
) -> None:
    """Within the time that setting a mark may take, and with the old time given back."""
    path = tmp_path / "t.dat"
    quick = ["-w100", "-W0", "-d1", "-b4K", "--stop-ios=8"]
    made = [str(diskspd()), *quick, "-c64K", "t.dat"]
    subprocess.run(made, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    if "user.fathom.made" not in os.listxattr(path):
        pytest.skip("this file system keeps no attributes")
    time.sleep(0.1)
    left, before = _mark(path), path.stat()
    # It marks the file, and then waits for somebody to start it.
    command = [str(diskspd()), *quick, *words, f"-yrgo{os.getpid()}", "t.dat"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=tmp_path, stdout=quiet, stderr=quiet) as process:
        end = time.monotonic() + _PATIENCE_S
        while (first := _mark(path)) == left and time.monotonic() < end:
            pass
        assert first != left
        with path.open("r+b") as file:
            file.seek(5000)
            file.write(b"theirs, not a byte of it ours")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        time.sleep(0.3)
        process.kill()
    # On a busy machine it may not have come to its wait, and have seen the change by itself.
    assert process.returncode in (-signal.SIGKILL, 1)
    assert _next_run(tmp_path).returncode == _REFUSED


def test_a_run_that_is_killed_before_its_first_write_leaves_our_file_ours(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    quick = ["-w100", "-W0", "-d1", "-b4K", "-r16", "--stop-ios=8"]
    made = [str(diskspd()), *quick, "-c64K", "t.dat"]
    subprocess.run(made, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    command = [str(diskspd()), *quick, f"-yrgo{os.getpid()}", "t.dat"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=tmp_path, stdout=quiet, stderr=quiet) as process:
        time.sleep(0.5)
        process.kill()
    assert process.returncode < 0
    assert _next_run(tmp_path).returncode != _REFUSED
    assert path.stat().st_size == 64 << 10


def test_a_file_full_of_short_pieces_of_random_data_is_ours(tmp_path: Path) -> None:
    """Of thousands of pieces some begin with what by chance would have come next before them."""
    many = ["-c128K", "-w100", "-W0", "-d5", "-b48", "-r16", "-Zr", "--stop-ios=20000", "t.dat"]
    subprocess.run([str(diskspd()), *many], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "t.dat").touch()
    assert _next_run(tmp_path).returncode != _REFUSED


def test_a_kill_before_the_old_data_went_left_a_file_that_nothing_proved(tmp_path: Path) -> None:
    """The mark that knows what fed the writes went first."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("there is no strace")
    (tmp_path / "feed").write_bytes(random.Random(5).randbytes(64 << 10))  # noqa: S311
    load = ["-w100", "-b4K", "-W0", "-d1", "--stop-ios=9", "-Z64K,feed", "t.dat"]
    subprocess.run([str(diskspd()), "-c256K", *load], cwd=tmp_path, check=True, capture_output=True)
    held = (tmp_path / "t.dat").read_bytes()
    killing = [strace, "-f", "-e", "trace=ftruncate", "-e", "inject=ftruncate:signal=SIGKILL"]
    killed = subprocess.run(
        [*killing, str(diskspd()), "-c128K", *load],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    if "ptrace" in killed.stderr and "ftruncate" not in killed.stderr:
        pytest.skip("strace may not trace here")
    assert (tmp_path / "t.dat").read_bytes() == held
    assert killed.returncode
    assert "killed by SIGKILL" in killed.stderr
    assert _next_run(tmp_path, "-Z64K,feed").returncode == 0
