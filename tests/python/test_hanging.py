"""Targets that hang: every command ends, says which one, and keeps what there is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import COMMAND
from fathom._hanging import HangingError, must_answer, within
from fathom.errors import TargetError
from fathom.experiments.first_look import look_at
from fathom.store import Store
from fathom.store import summary as _summary
from fathom.store.summary import target_rows
from hanging_fs import LOOKUP, OPEN, hanging_fs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hanging_fs import HangingFs

# A fleet waits twelve of them for hosts that do not end.
WAIT_S = 40


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[HangingFs]:
    folder = tmp_path / "hung"
    folder.mkdir()
    with hanging_fs(folder) as system:
        yield system


def started(*args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], system: HangingFs) -> tuple[str, str]:
    """Return what a command wrote, once its first thread has ended.

    The process itself stays as long as the kernel does not give up the look of another thread.
    """
    status = Path(f"/proc/{process.pid}/status")
    for _ in range(WAIT_S * 20):
        if "State:\tZ" in status.read_text():
            break
        time.sleep(0.05)
    else:
        process.kill()
        system.release()
        pytest.fail("it does not end")
    system.release()
    return process.communicate(timeout=WAIT_S)


def test_a_look_that_hangs_is_left_alone_and_told() -> None:
    held = threading.Event()
    try:
        with pytest.raises(HangingError, match="cannot look at 'a': the kernel has not come back"):
            within(0.05, "look at 'a'", held.wait)
    finally:
        held.set()


def test_a_look_that_comes_back_gives_what_it_found_or_raised(tmp_path: Path) -> None:
    assert within(WAIT_S, "count", lambda: 7) == 7
    with pytest.raises(FileNotFoundError):
        within(WAIT_S, "open", (tmp_path / "none").read_bytes)
    # Whether it is there is the question of whoever opens it.
    must_answer([tmp_path, tmp_path / "none", "a\0b"])


def test_a_run_in_this_process_ends_and_the_process_goes_on(hung: HangingFs) -> None:
    target = str(hung.folder / "x.dat")
    with pytest.raises(fathom.RunFailedError, match=f"cannot look at '{target}'") as caught:
        fathom.run(["-W0", "-d600", "--io-timeout=1", target])
    (span,) = caught.value.result.raw["time_spans"]
    assert target in span["outcome"]["failed"]
    assert hung.asked.is_set()


def test_a_run_that_hangs_is_saved_with_its_failure(hung: HangingFs) -> None:
    target = str(hung.folder / "x.dat")
    with started("run", "-W0", "-d600", "--io-timeout=1", target) as process:
        _, told = ended(process, hung)
    assert process.returncode == 1, told
    assert f"cannot look at '{target}'" in told
    assert "Traceback" not in told
    with Store(os.environ["FATHOM_STORE"]) as store:
        (run,) = store.runs.list()
        assert run.outcome == "failed"


LOAD = ["-b4K", "-r", "--io-timeout=1"]
# What looks at a load before it is run, where there is no store yet.
LOOKING = {
    "repeat": ["-W0", "-d600"],
    "sweep": ["--depth", "1,2"],
    "tune": ["--longest", "1s"],
    "scale": ["--fleet", "local:2"],
}


@pytest.mark.parametrize("verb", LOOKING)
def test_a_look_before_the_first_run_took_no_notice_of_io_timeout(
    hung: HangingFs, verb: str
) -> None:
    """It waited for as long as the kernel did not come back, and no signal ended it."""
    target = str(hung.folder / "x.dat")
    with started(verb, *LOOKING[verb], *LOAD, target) as process:
        _, told = ended(process, hung)
    assert process.returncode == 3, told
    assert f"cannot look at '{target}'" in told
    assert "--io-timeout" in told
    assert "Traceback" not in told
    assert not Path(os.environ["FATHOM_STORE"]).exists()


def test_each_load_of_a_sweep_was_looked_at_on_a_target_that_hangs(hung: HangingFs) -> None:
    target = str(hung.folder / "x.dat")
    looked: list[Sequence[str]] = []

    def told(load: Sequence[str]) -> list[Any]:
        looked.append(load)
        return [fathom.explain(load)]

    look = look_at([["-d1", f"-o{depth}", *LOAD, target] for depth in (1, 2, 4)], told)
    assert len(looked) == 1
    (wrong,) = look.wrong
    assert isinstance(wrong, TargetError)
    assert f"cannot look at '{target}'" in str(wrong)


# The process has functions of C to run at its end, as others may have, which take a while.
ENDING = """
import ctypes, sys, threading, time, fathom
look = getattr(fathom, sys.argv[1])
threading.Thread(target=look, args=[["-W0", *sys.argv[2:]]], daemon=True).start()
time.sleep(0.5)
libc = ctypes.CDLL(None)
libc.__cxa_atexit(libc.sleep, ctypes.c_void_p(2), None)
"""


@pytest.mark.parametrize(
    "words",
    [["explain", "-d1"], ["explain", "-d1", "--io-timeout=1"], ["run", "-d1"], ["run", "-d60"]],
    ids=["it hangs", "it times out", "it is done", "it measures"],
)
def test_a_thread_that_was_left_alone_ended_the_process_by_force(
    hung: HangingFs, tmp_path: Path, words: list[str]
) -> None:
    """Whoever asks for Python once it has ended: *exception not rethrown*, exit code -6."""
    target = hung.folder / "x.dat" if words[0] == "explain" else tmp_path / "x.dat"
    (tmp_path / "x.dat").write_bytes(bytes(1 << 20))
    command = [sys.executable, "-c", ENDING, *words, str(target)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=-1, text=True) as process:
        _, told = ended(process, hung)
    assert (process.returncode, told) == (0, "")


def test_what_would_be_run_on_a_target_that_hangs_is_an_error(hung: HangingFs) -> None:
    target = str(hung.folder / "x.dat")
    with pytest.raises(fathom.InvalidRequestError, match=f"cannot look at '{target}'"):
        fathom.explain(["-d1", "--io-timeout=1", target])


@pytest.mark.parametrize(
    "command",
    [
        ["run", "-W0", "-d600"],
        ["assess"],
        ["sweep", "--depth", "1,2"],
        ["repeat", "-b4K", "-d600"],
        ["prepare", "look"],
        ["prepare", "adopt", "--lose", "x.dat"],
        ["prepare", "fill", "--size", "2M"],
    ],
)
@pytest.mark.parametrize("hangs_at", [LOOKUP, OPEN])
def test_ctrl_c_ends_a_command_whose_target_hangs(
    hung: HangingFs, command: list[str], hangs_at: int
) -> None:
    hung.hangs_at = hangs_at
    with started(*command, str(hung.folder / "x.dat")) as process:
        assert hung.asked.wait(WAIT_S), "it did not look at its target"
        process.send_signal(signal.SIGINT)
        _, told = ended(process, hung)
    assert process.returncode == 130, told
    assert "Traceback" not in told, told


def test_what_lies_beneath_a_target_that_hangs_is_unknown(
    hung: HangingFs, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Found:
        raw = {  # noqa: RUF012 - It stands for a result.
            "time_spans": [
                {"targets": [{"path": str(hung.folder / "x"), "kind": "file", "size_bytes": 1}]}
            ]
        }

    monkeypatch.setattr(_summary, "LOOK_S", 0.05)
    (row,) = target_rows(Found())  # type: ignore[arg-type]
    assert (row["size_bytes"], row["file_system"]) == (1, None)
