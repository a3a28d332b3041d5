"""Running a tool once, and what that showed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource
    from collections.abc import Callable

LEG_TIMEOUT_S = 120


class LegError(Exception):
    """A tool failed, or said nothing that can be read."""


@dataclass(frozen=True)
class Leg:
    """What one run of one tool showed."""

    ios: int
    iops: float
    wall_s: float
    """From start to end of the process."""
    cpu_s: float
    """CPU time of the process, its children, and the kernel's workers of its rings.

    These workers are threads of the process (made with CLONE_THREAD), so getrusage has them.
    """
    peak_bytes: int
    """Greatest resident size of the process."""

    @property
    def cores(self) -> float:
        """Cores that were busy for the tool, the kernel's workers included, on average."""
        return self.cpu_s / self.wall_s

    @property
    def cpu_ns_per_io(self) -> float:
        """CPU time per I/O, start and end of the process included."""
        return self.cpu_s * 1e9 / self.ios if self.ios else float("inf")


@dataclass(frozen=True)
class Tool:
    """A command, and how to read what it prints: the number of I/Os, and I/Os a second."""

    name: str
    command: tuple[str, ...]
    read: Callable[[str], tuple[int, float]]


def run(tool: Tool) -> Leg:
    """Run a tool once.

    Raises:
        LegError: if it fails, or shows no I/O.

    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        process = subprocess.Popen(tool.command, stdout=out, stderr=err, text=True)  # noqa: S603 - Ours.
        status, usage = _await(process)
        wall_s = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        if status != 0:
            last = (err.read().strip() or "no message").splitlines()[-1]
            raise LegError(f"{tool.name} failed ({status}): {last}")
        ios, iops = _read(tool, out.read())
    return Leg(ios, iops, wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def _await(process: subprocess.Popen[str]) -> tuple[int, resource.struct_rusage]:
    """Wait for the end of a process with wait4, which tells what it used."""
    watchdog = threading.Timer(LEG_TIMEOUT_S, process.kill)
    watchdog.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        watchdog.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def _read(tool: Tool, output: str) -> tuple[int, float]:
    try:
        ios, iops = tool.read(output)
    except (ValueError, KeyError, IndexError) as error:
        raise LegError(f"what {tool.name} printed cannot be read: {error!r}") from error
    if ios <= 0:
        raise LegError(f"{tool.name} completed no I/O")
    return ios, iops


def read_diskspd(output: str) -> tuple[int, float]:
    """Read I/Os and IOPS of all threads and targets."""
    span = json.loads(output)["time_spans"][0]
    ios = 0
    for thread in span["threads"]:
        for target in thread["targets"]:
            ios += int(target["read"]["ios"]) + int(target["write"]["ios"])
    return ios, ios * 1e9 / int(span["measured_ns"])


def read_fio(output: str) -> tuple[int, float]:
    """Read I/Os and IOPS of all jobs; fio may print notes before its JSON."""
    jobs = json.loads(output[output.index("{") :])["jobs"]
    reads = [job["read"] for job in jobs]
    return sum(int(read["total_ios"]) for read in reads), sum(float(read["iops"]) for read in reads)


def read_bare(output: str) -> tuple[int, float]:
    """Read the one line of a bare loop."""
    told = json.loads(output)
    return int(told["ios"]), float(told["iops"])
