"""Another tool as a process of its own: started without a shell, watched, and ended."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from fathom._proc import cpu_ticks
from fathom._signals import children, let_through
from fathom.errors import FathomError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["CpuSample", "ToolRun", "cpu_rows", "run_tool", "told_by"]

_LOOK_S = 0.1
# A program says its version in milliseconds, in a few words; from a share that wakes up, later.
_TELLING_S = 10.0
_TOLD_BYTES = 1 << 20
_PATIENCE_S = 10.0
_PERCENT = 100


@dataclass(frozen=True)
class CpuSample:
    """What each CPU has done until an instant, in ticks: user, kernel, idle and stolen."""

    at_s: float
    ticks: dict[int, tuple[int, int, int, int]]


@dataclass
class ToolRun:
    """A process that has ended.

    ``interrupted`` tells that Ctrl-C ended it, and ``overdue`` that it went on for too long;
    ``samples`` are of the CPUs while it ran, the last at its end; ``session`` is the one of its own
    that it had.
    """

    return_code: int
    errors: str
    session: int = 0
    interrupted: bool = False
    overdue: bool = False
    samples: list[CpuSample] = field(default_factory=list)


def told_by(path: str, question: str) -> tuple[str, str]:
    """Return what a program says to a question such as ``--version``: its output, and its errors.

    It gets 10 s and nothing to read. What it has started ends with it.

    Raises
    ------
    InvalidRequestError
        If it cannot be started, does not end, ends by a signal, or says more than 1 MiB.

    """
    asked = f"{path} {question}"
    try:
        process = subprocess.Popen(  # noqa: S603 - A list of arguments, without a shell.
            [path, question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be started: {error.strerror}") from error
    with process:
        try:
            said = _said(process, asked)
        finally:
            _kill_session(process)
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise InvalidRequestError(f"{asked} was ended by the signal {name}: it cannot be used here")
    return said


def _said(process: subprocess.Popen[bytes], asked: str) -> tuple[str, str]:
    """Return what both streams say until the process ends; what it has started may hold them."""
    end_s = time.monotonic() + _TELLING_S
    said = {one: b"" for one in (process.stdout, process.stderr) if one is not None}
    with selectors.DefaultSelector() as waiting:
        for stream in said:
            waiting.register(stream, selectors.EVENT_READ)
        while process.poll() is None or waiting.select(0):
            _read_more(waiting, said)
            if sum(map(len, said.values())) > _TOLD_BYTES:
                raise InvalidRequestError(f"{asked} does not stop talking: it cannot be used here")
            if time.monotonic() > end_s:
                raise InvalidRequestError(
                    f"{asked} has not ended within {_TELLING_S:g} s: it cannot be used here"
                )
    out, errors = (one.decode("utf-8", "replace") for one in said.values())
    return out, errors


def _read_more(waiting: selectors.BaseSelector, said: dict[IO[bytes], bytes]) -> None:
    """Read what is there now; a stream that has ended is waited for no more."""
    found = waiting.select(_LOOK_S) if waiting.get_map() else []
    if not found:
        time.sleep(_LOOK_S if not waiting.get_map() else 0)
    for key, _events in found:
        stream: Any = key.fileobj
        data = os.read(stream.fileno(), _TOLD_BYTES)
        said[stream] += data
        if not data:
            waiting.unregister(stream)


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started and left in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    process.wait()


def run_tool(command: Sequence[str], folder: Path, limit_s: float) -> ToolRun:
    """Run a command in a folder, where its standard output goes to the file ``stdout``.

    The process has a session of its own, so that the terminal's Ctrl-C reaches this process alone,
    which then asks it to end as Ctrl-C would, and ends it after 10 s if it does not.

    Raises
    ------
    FathomError
        If it cannot be started.

    """
    with (folder / "stdout").open("wb") as output, (folder / "stderr").open("wb") as errors:
        try:
            process = subprocess.Popen(  # noqa: S603 - A list of arguments, without a shell.
                [*command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            words = error.strerror or error
            raise FathomError(f"{command[0]} cannot be started: {words}") from error
        found = _watched(process, limit_s)
    found.errors = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
    return found


def _watched(process: subprocess.Popen[bytes], limit_s: float) -> ToolRun:
    run = ToolRun(0, "", process.pid, samples=[_sample()])
    end_s = time.monotonic() + limit_s
    children.add(process.pid)
    try:
        while process.poll() is None:
            try:
                with let_through():
                    process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                run.samples.append(_sample())
            except KeyboardInterrupt:
                run.interrupted = True
                _end(process)
            if time.monotonic() > end_s and process.poll() is None:
                run.overdue = True
                _end(process)
    except BaseException:
        # Whatever else happens here, no process is left behind that does I/O.
        _kill(process)
        raise
    finally:
        children.discard(process.pid)
    run.samples.append(_sample())
    run.return_code = process.returncode
    return run


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end as Ctrl-C does; a second Ctrl-C, or 10 s without an end, kills it."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(_PATIENCE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _sample() -> CpuSample:
    """Read the times of each CPU (proc(5), /proc/stat); empty where there are none."""
    ticks = {}
    for cpu, spent in cpu_ticks().items():
        user, nice, system, idle, wait, hard, soft, steal = spent[:8]
        ticks[cpu] = (user + nice, system + hard + soft, idle + wait, steal)
    return CpuSample(time.monotonic(), ticks)


def cpu_rows(samples: Sequence[CpuSample], measured_s: float) -> list[dict[str, Any]]:
    """Return the use of each CPU in the last ``measured_s`` seconds, to a tenth of a second.

    One that was offline at the first or at the last look is left out.
    """
    last = samples[-1]
    first = min(samples[:-1], key=lambda one: abs(last.at_s - measured_s - one.at_s))
    rows = []
    for os_id, after in last.ticks.items():
        before = first.ticks.get(os_id)
        if before is None:
            continue
        # The time that waits for I/O may go back (proc(5)).
        spent = [max(end - start, 0) for start, end in zip(before, after, strict=True)]
        whole = sum(spent)
        shares = [_PERCENT * one / whole if whole else 0.0 for one in spent]
        names = ("user_percent", "kernel_percent", "idle_percent", "steal_percent")
        rows.append({"os_id": os_id, **dict(zip(names, shares, strict=True))})
    return rows
