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


def main(folder: Path) -> int:
    """Run what ``request.json`` of a folder says, and write ``ended.json`` at its end."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What ends the server is not meant for what it has started.
        signal.signal(number, lambda *_: None)
    with (
        Path(os.devnull).open("rb") as nothing,
        (folder / "output.txt").open("wb") as output,
        (folder / "errors.txt").open("wb") as errors,
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
            _write(folder, "ended.json", {"exit_code": 1, "ended_at_unix_s": time.time()})
            return 1
        known: dict[str, object] = {"keeper": this_process(), "child": this_process(pid=child.pid)}
        _write(folder, "processes.json", known)
        code = child.wait()
    _write(folder, "ended.json", {"exit_code": code, "ended_at_unix_s": time.time()})
    return 0


def _write(folder: Path, name: str, content: dict[str, object]) -> None:
    """Write a file that appears once it is whole, and stays after a power cut."""
    unfinished = folder / f"{name}.unfinished"
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / name)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
