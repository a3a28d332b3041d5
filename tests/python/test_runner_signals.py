"""Experiments with another tool: the first signal ends it in good order, the second at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import COMMAND
from fathom.store import Store
from fio_traces import needs_fio
from our_data import our_data

EXPERIMENTS = {
    "sweep": ["--depth", "1,2", "--duration", "60", "--warm-up", "0", "-b4K", "-r", "-L", "-g500i"],
    "tune": ["--depth", "1,2", "--longest", "60", "-b4K", "-r", "-g500i"],
    "compare": ["--run", "-o1", "-o2", "-d60", "-W0", "-b4K", "-r", "-L", "-g500i"],
    "repeat": ["-d60", "-W0", "-b4K", "-r", "-L", "-g500i"],
}
# It says that it is fio, and then neither ends nor takes signals.
STUBBORN = """#!/bin/sh
case "$*" in *--version*) echo fio-3.33; exit;; esac
trap '' INT TERM
echo $$ > {folder}/pid.new
mv {folder}/pid.new {folder}/pid
exec sleep 600
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "x.dat"
    path.write_bytes(our_data(1 << 20))
    return path


def started(verb: str, runner: str, target: Path) -> subprocess.Popen[str]:
    """Start an experiment with another tool."""
    return subprocess.Popen(
        [*COMMAND, verb, "--runner", runner, *EXPERIMENTS[verb], str(target)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_gone(pid: int) -> None:
    """Wait until a process that was killed has ended, whoever takes note of it."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} goes on")


@pytest.mark.parametrize("verb", EXPERIMENTS)
def test_the_second_signal_ends_the_tool_and_the_command_at_once(
    verb: str, target: Path, tmp_path: Path
) -> None:
    tool, told = tmp_path / "fio", tmp_path / "pid"
    tool.write_text(STUBBORN.format(folder=tmp_path))
    tool.chmod(0o755)
    with started(verb, str(tool), target) as process:
        while not told.exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        # The tool was asked to end, and is waited for.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.6)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    wait_until_gone(int(told.read_text()))
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list(verb=verb)
        # Nothing was saved in good order, as it is after the first signal: it can be resumed.
        assert (experiment.state, experiment.is_abandoned) == ("running", True)
        assert store.runs.list(experiment_id=experiment.id) == []
    again = subprocess.run(
        [*COMMAND, verb, "--resume", "last"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 3
    assert f"add --runner {tool}" in again.stderr


@needs_fio
@pytest.mark.parametrize("verb", ["sweep", "tune", "compare"])
def test_the_first_signal_ends_fio_and_keeps_what_it_measured(verb: str, target: Path) -> None:
    with started(verb, "fio", target) as process:
        child = fio_of(process)
        # A busy machine may need seconds to start its jobs; tune warms up for five.
        time.sleep(10 if verb == "tune" else 4)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    wait_until_gone(child)
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list(verb=verb)
        (run,) = store.runs.list(experiment_id=experiment.id)
        read = store.runs.get(run.id).result.read
    assert experiment.state == "interrupted"
    assert experiment.plan["runner"] == "fio"
    assert run.outcome == "interrupted"
    assert read.ios > 0


def fio_of(process: subprocess.Popen[str]) -> int:
    """Return fio's process once it runs, not that which is asked for its version."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        for one in children.read_text().split():
            line = Path(f"/proc/{one}/cmdline")
            if line.exists() and b"--output=report.json" in line.read_bytes():
                return int(one)
        time.sleep(0.05)
    raise AssertionError(process.communicate())
