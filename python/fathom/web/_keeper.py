"""Keeps one process: starts it, waits for its end, and writes down how it ended.

It is a program of its own, so that the server may end or be killed while a run goes on: whoever
looks into the run's folder later finds what became of it. It loads nothing but what it needs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fathom._processes import this_process

__all__ = ["main"]

_PROCESSES, _ENDED = "processes.json", "ended.json"
_ROOM_BYTES = 4096


def main(folder: Path) -> int:
    """Run what ``request.json`` of a folder says, and write ``ended.json`` at its end."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    # A command that nobody can find, or whose end nobody learns, is not started. Its errors say
    # where a run is kept that a full store does not take.
    for name in (f"{_PROCESSES}.unfinished", f"{_ENDED}.unfinished", "errors.txt"):
        _reserve(folder / name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What ends the server is not meant for what it has started.
        signal.signal(number, lambda *_: None)
    # Whoever stops a run while Python starts, would end it with Python's own words: the command
    # lets it through once it knows how to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    with (
        Path(os.devnull).open("rb") as nothing,
        (folder / "output.txt").open("wb") as output,
        (folder / "errors.txt").open("r+b", buffering=0) as errors,
    ):
        try:
            child = subprocess.Popen(  # noqa: S603 - The server made the command.
                request["command"],
                stdin=nothing,
                stdout=output,
                stderr=errors,
                cwd=request["cwd"],
                env={**os.environ, **request["environment"]},
            )
        except OSError as error:
            errors.write(f"error: {error}\n".encode())
            _write(folder, _ENDED, {"exit_code": 1, "ended_at_unix_s": time.time()})
            return 1
        known: dict[str, object] = {"keeper": this_process(), "child": this_process(pid=child.pid)}
        _write(folder, _PROCESSES, known)
        code = child.wait()
        # It has written through the same descriptor.
        errors.truncate()
    _write(folder, _ENDED, {"exit_code": code, "ended_at_unix_s": time.time()})
    return 0


def _reserve(path: Path) -> None:
    """Take the room of a file before it is needed, on a disk that may become full meanwhile."""
    with path.open("wb") as file:
        file.write(b" " * _ROOM_BYTES)
        file.flush()
        os.fsync(file.fileno())


def _write(folder: Path, name: str, content: dict[str, object]) -> None:
    """Write a file that appears once it is whole, and stays after a power cut."""
    unfinished = folder / f"{name}.unfinished"
    with unfinished.open("r+b") as file:
        file.write(json.dumps(content).encode())
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / name)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
