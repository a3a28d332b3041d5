"""What is made for a run is removed again, and nothing that somebody put there meanwhile."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess.scratch import remove_abandoned, scratch_file
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MIB = 1 << 20
_WORDS = b"my diary, of which there is no other copy\n"
_PATIENCE_S = 20


def _within(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(5000)
        file.write(_WORDS)


def _behind(path: Path) -> None:
    with path.open("ab") as file:
        file.write(_WORDS)


def _run_with(path: Path, deed: Callable[[Path], None] | None, *words: str) -> tuple[int, str]:
    """Run with --remove-created, and do something to the file once it is whole."""
    command: list[str | Path] = [
        diskspd(),
        "-c1M",
        "-d1",
        "-W0",
        "-b4K",
        "--remove-created",
        *words,
        path,
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and not _is_whole(path):
        time.sleep(0.01)
    # The load begins behind that.
    time.sleep(0.35)
    if deed is not None:
        deed(path)
    told = process.communicate(timeout=60)[1].decode()
    return process.returncode, told


def _is_whole(path: Path) -> bool:
    return path.exists() and path.stat().st_blocks * 512 >= _MIB


def _interrupted(path: Path, deed: Callable[[Path], None] | None) -> str:
    """Interrupt a run while it makes its file, after doing something to what is written so far."""
    command: list[str | Path] = [diskspd(), "-c3G", "-w100", "-d1", path]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and not (path.exists() and _is_written(path)):
        time.sleep(0.005)
    if deed is not None:
        deed(path)
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, told
    return told


def _is_written(path: Path) -> bool:
    """Tell whether the place has its data where somebody will write."""
    with path.open("rb") as file:
        file.seek(5000)
        return file.read(len(_WORDS)).strip(b"\0") != b""


def test_what_somebody_wrote_into_a_file_that_was_being_made_went_with_ctrl_c(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.dat"
    told = _interrupted(path, _within)
    assert "was not removed, since somebody else may have written to it" in told
    # The file is as long as it was to be: gigabytes.
    with path.open("rb") as file:
        assert _WORDS in file.read(1_000_000)
    path.unlink()
    assert "removed" not in _interrupted(path, None)
    assert not path.exists()


@pytest.mark.parametrize("load", ["-w0", "-w100 -Zr --rate=20"])
@pytest.mark.parametrize("deed", [_within, _behind])
def test_a_file_to_which_somebody_has_written_was_removed(
    deed: Callable[[Path], None], load: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.dat"
    code, told = _run_with(path, deed, *load.split())
    assert (code, "was not removed: it holds data that the run did not write" in told) == (1, True)
    assert _WORDS in path.read_bytes()


@pytest.mark.parametrize("load", ["-w0", "-w100 -b1000 -Z64K"])
def test_a_file_to_which_nobody_else_has_written_goes(load: str, tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    assert _run_with(path, None, *load.split()) == (0, "")
    assert not path.exists()


def test_what_somebody_put_beside_a_scratch_file_was_removed(tmp_path: Path) -> None:
    with scratch_file("t", tmp_path) as path:
        path.write_bytes(b"ours")
        (path.parent / "diary").write_bytes(_WORDS)
    assert not path.exists()
    assert (path.parent / "diary").read_bytes() == _WORDS
    assert remove_abandoned(str(tmp_path)) == []
    with scratch_file("t", tmp_path) as path:
        path.write_bytes(b"ours")
    assert not path.parent.exists()
