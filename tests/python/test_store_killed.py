"""An experiment whose process was killed is distinguished from one that still runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from commands import COMMAND, command
from fathom._processes import is_gone, this_process
from fathom.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPEAT = ["repeat", "--pilot", "40", "--most", "40", "-d1", "-W0", "-b4K", "-r", "-L"]


def state_of(listed: str) -> str:
    """Return the state of the one experiment in a list."""
    return listed.splitlines()[-1].split()[-2]


def test_a_killed_experiment_is_told_and_one_that_runs_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(os.urandom(1 << 20))
    with subprocess.Popen(
        [*COMMAND, *REPEAT, str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None:
            with Store(os.environ["FATHOM_STORE"]) as store:
                if store.runs.list():
                    break
            time.sleep(0.05)
        assert state_of(command("list", "--experiments").stdout) == "running"
        resumed = command("repeat", "--resume", "last")
        assert resumed.returncode == 1
        assert f"still run by process {process.pid}" in resumed.stderr
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert state_of(command("list", "--experiments").stdout) == "killed"
    shown = command("show", "e1").stdout
    assert "its process is gone" in shown
    assert '"process"' not in shown
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert store.experiments.get(1).is_abandoned
        # It can be taken up, and is then this process's.
        store.experiments.finish(1, "running")
        assert not store.experiments.get(1).is_abandoned
        store.experiments.finish(1, "complete")
        assert not store.experiments.list()[0].is_abandoned


def test_only_one_process_goes_on_with_an_experiment(address: str) -> None:
    with Store(address) as store:
        one = store.experiments.begin("sweep", "mine", {"cells": 3})
        store.experiments.finish(one, "running")
        code = f"""
from fathom.store import Store
Store({address!r}).experiments.finish({one}, "running")
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert f"still run by process {os.getpid()}" in done.stderr
        assert "StoreInUseError" in done.stderr
        assert store.experiments.get(one).plan == {"cells": 3}
        store.experiments.finish(one, "interrupted")
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({}, False),
        ({"start_ticks": 1}, True),
        ({"pid": 1 << 22}, True),
        ({"boot_id": "of last week"}, True),
        # Whatever cannot be seen from here may be there.
        ({"host_name": "elsewhere"}, None),
        ({"pid_namespace": "pid:[1]"}, None),
        ({"boot_id": ""}, None),
        ({"pid": "nonsense"}, None),
        ({"start_ticks": None}, None),
    ],
)
def test_a_process_is_gone_only_where_that_is_known(
    change: dict[str, object], gone: object
) -> None:
    assert is_gone({**this_process(), **change}) is gone


@pytest.mark.parametrize("noted", [None, 7, "words", [], {}])
def test_what_was_never_noted_is_not_known(noted: object) -> None:
    assert is_gone(noted) is None
