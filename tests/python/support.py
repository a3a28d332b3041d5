"""What several test files need."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.findings.causes import HOST_IN_THE_WAY, causes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.result import Result

# More reads than an interpreter makes by itself in a test.
READS_OF_A_RUN = 20_000
LOOKS = 6_000
_TRIES = 5


def diskspd() -> Path:
    """Return the command that ``DISKSPD`` names, such as one to be released; else cargo's last."""
    if named := os.environ.get("DISKSPD"):
        return Path(named).resolve(strict=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    built = [target / kind / "diskspd" for kind in ("debug", "release")]
    found = [path for path in built if path.exists()]
    if not found:
        raise FileNotFoundError("diskspd has not been built: run `cargo build` first")
    return max(found, key=lambda path: path.stat().st_mtime)


@contextmanager
def loop_device(device: Path, image: Path, *options: str) -> Iterator[None]:
    """Attach a loop device over a file; skip where that cannot be.

    Each file of tests has a device of its own, as files run at the same time.
    """
    losetup = shutil.which("losetup", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if losetup is None or os.geteuid() != 0:
        pytest.skip(f"{device} needs root and losetup")
    # The kernel makes the device if it is not there.
    attached = subprocess.run(
        [losetup, *options, device, image], check=False, capture_output=True, text=True
    )
    if attached.returncode:
        pytest.skip(f"{device} cannot be attached here: {attached.stderr}")
    try:
        yield
    finally:
        subprocess.run([losetup, "-d", device], check=True)


def begun(code: str, words: str, *args: str) -> subprocess.Popen[str]:
    """Start Python with this code, and return once its error output has a line with these words."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return heard(process, words)


def heard(process: subprocess.Popen[str], words: str) -> subprocess.Popen[str]:
    """Return a process once its error output has a line with these words."""
    assert process.stderr is not None
    told = []
    for line in process.stderr:
        told.append(line)
        if words in line:
            return process
    raise AssertionError(told)


def reads(pid: int) -> int:
    """Return how many read system calls all threads of a process have made."""
    counters = Path(f"/proc/{pid}/io").read_text()
    return int(counters.split("syscr:")[1].split()[0])


def wait_until_reading(pid: int) -> None:
    """Wait until a run with synchronous I/O is under way."""
    before = reads(pid)
    for _ in range(LOOKS):
        if reads(pid) - before > READS_OF_A_RUN:
            break
        time.sleep(0.01)


def interrupt_once_reading(pid: int) -> None:
    """Send SIGINT, as Ctrl-C does, once a run with synchronous I/O is under way."""
    wait_until_reading(pid)
    os.kill(pid, signal.SIGINT)


def undisturbed(
    measure: Callable[[], list[Result]], causes: frozenset[str] = HOST_IN_THE_WAY
) -> list[Result]:
    """Measure again where the host took the CPUs: no finding blames a device then."""
    for _ in range(_TRIES):
        results = measure()
        found = {cause for one in results for cause in causes_of(one) & causes}
        if not found:
            return results
    pytest.skip(f"the host was in the way each time: {', '.join(sorted(found))}")


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    """Have local times of this process be those of a zone."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TZ", name)
            time.tzset()
            yield
    finally:
        time.tzset()
