"""Stalls on the real engine: no stop rule throws one away, or ends before it knows their share."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom import Result
from stalling_fs import stalling_fs
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom import TimeSpan

RULE = ["-W0", "-b4K", "--stop-interval=10", "--stop-confidence=95:2", "-Rjson"]
CPU = Path("/sys/fs/cgroup/cpu")
SECOND_NS = 1_000_000_000


def started(*arguments: str, enter: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [diskspd(), *RULE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=enter,  # noqa: PLW1509 - It does no more than write to a file.
    )


def span_of(process: subprocess.Popen[str]) -> TimeSpan:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    (span,) = Result.from_json(out).time_spans
    return span


def nothing_is_hidden(span: TimeSpan, stalled_from_ns: int) -> None:
    """No mean is given that leaves out a time that a stall was in."""
    assert span.stop is not None
    known = span.stop.confidence
    if known is None:
        assert span.stop.awaited is not None
    else:
        assert known.transient_ns <= stalled_from_ns, known
        low, high = 0.98 * known.iops_low, 1.02 * known.iops_high
        assert known.transient_ns or low <= span.total.iops <= high, (known, span.total.iops)


def test_defect_1_a_process_that_was_stopped_for_200_ms_does_not_lose_them() -> None:
    process = started("--engine=null", "-d5", "x.dat")
    # Begun, but not measured for the 800 ms after which the rule once ended the run.
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGCONT)
    span = span_of(process)
    nothing_is_hidden(span, SECOND_NS // 2)
    assert span.stop is not None
    # One stall does not tell how often they come; on a busy machine there are others.
    assert span.stop.cause == "duration" or span.measured_ns >= 2 * SECOND_NS


def test_defect_1_a_file_system_that_stalls_every_two_seconds_is_not_reported_without_its_stalls(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "stalling"
    folder.mkdir()
    with stalling_fs(folder, every_s=2.0, stall_s=0.2) as file:
        span = span_of(started("-d5", "-o1", "-r", "-w0", str(file)))
    nothing_is_hidden(span, SECOND_NS)
    assert span.stop is not None
    assert span.stop.cause == "duration"


def test_defect_1_a_limit_of_cpu_time_is_part_of_the_mean() -> None:
    group = CPU / f"fathom-stalls-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made below {CPU}: {error}")
    try:
        (group / "cpu.cfs_period_us").write_text("1000000")
        (group / "cpu.cfs_quota_us").write_text("300000")

        def enter() -> None:
            (group / "tasks").write_text("0")

        # 0.3 s of each second; the run is seen from its first to its fifth.
        span = span_of(started("--engine=null", "-d5", "x.dat", enter=enter))
    finally:
        group.rmdir()
    nothing_is_hidden(span, SECOND_NS)
    assert span.stop is not None
    assert span.stop.cause == "duration" or span.measured_ns >= 3 * SECOND_NS
