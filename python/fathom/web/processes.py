"""Runs as processes of their own, each with a folder that outlives this server.

What is known of one stands in its folder: ``request.json`` (what was requested, and by whom),
``processes.json`` (which processes they are), ``events.jsonl`` (what happened), ``output.txt`` and
``errors.txt``, and ``ended.json``. A server that is started again reads them, and has lost nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathom._events_file import ENDED, ENVIRONMENT
from fathom._files import read_text
from fathom._processes import is_gone
from fathom.errors import FathomError
from fathom.store.where import whole_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "NoProcessError",
    "Process",
    "ProcessError",
    "ProcessState",
    "Processes",
    "Wanted",
    "command",
]

ProcessState = Literal["running", "complete", "refused", "failed", "interrupted", "lost"]
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}")
_MOST_MIB = 16
_SHOWN_BYTES = 32 << 10
_MOST_KEPT = 200
# How long a keeper may take to say which process it has started.
_STARTING_S = 20.0
# By exit codes: a limit that is broken (5), cannot be told (7) or is exceeded for the better (8) is
# an outcome of a run that was complete.
_STATES: Mapping[int, ProcessState] = {
    0: "complete",
    2: "refused",
    5: "complete",
    7: "complete",
    8: "complete",
    130: "interrupted",
    -signal.SIGINT: "interrupted",
}


class ProcessError(FathomError):
    """A run cannot be started or stopped."""


class NoProcessError(ProcessError):
    """There is none of this name."""


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to run: the words behind ``fathom``, and what is allowed for this run."""

    verb: str
    arguments: tuple[str, ...]
    overwrite: bool = False
    allow_write: tuple[str, ...] = ()

    def words(self, *, dry: bool = False) -> list[str]:
        """Return what is typed behind ``fathom``."""
        permitted = ["--overwrite"] if self.overwrite else []
        permitted += [f"--allow-write={one}" for one in self.allow_write]
        return [self.verb, *(["--dry-run"] if dry else []), *permitted, *self.arguments]


@dataclass(frozen=True)
class Process:
    """A process as its folder tells it."""

    id: str
    verb: str
    command: str
    user: str
    started_at_unix_s: float
    state: ProcessState
    exit_code: int | None
    ended_at_unix_s: float | None
    folder: Path

    def output(self) -> str:
        """Return the end of what it printed."""
        return _end_of(self.folder / "output.txt")

    def errors(self) -> str:
        """Return the end of what it complained about."""
        # Behind them stands the room that was taken for them.
        return _end_of(self.folder / "errors.txt").rstrip(" ")


class Processes:
    """The processes of a server's folder."""

    def __init__(self, folder: Path, store: str | None) -> None:
        """Keep them there; what they measure goes to this store."""
        self._folder = folder / "runs"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._store = store
        self._lock = threading.Lock()

    def start(self, wanted: Wanted, user: str) -> Process:
        """Start a process, which goes on whatever happens to this one.

        Raises
        ------
        ProcessError
            If another one is under way, which would disturb it, or if it cannot be started.

        """
        with self._lock:
            return self._start(wanted, user)

    def _start(self, wanted: Wanted, user: str) -> Process:
        for other in self.list(limit=_MOST_KEPT):
            if other.state == "running":
                raise ProcessError(
                    f"{other.command} is under way, and both would disturb each other: wait for "
                    "its end, or stop it"
                )
        self._tidy()
        # Names stand in the order of time: a clock at the wall has one hour twice a year.
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"
        folder = self._folder / name
        try:
            folder.mkdir(mode=0o700)
            self._write_request(folder, wanted, user)
            keeper = _kept(folder)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise ProcessError(
                f"the run cannot be started: {error.filename or folder}: "
                f"{error.strerror or error}; make room for it, and start it again"
            ) from error
        self._await_start(folder, keeper)
        return self.get(name)

    def _write_request(self, folder: Path, wanted: Wanted, user: str) -> None:
        environment = {ENVIRONMENT: str(folder / "events.jsonl"), "NO_COLOR": "1"}
        if self._store:
            environment["FATHOM_STORE"] = whole_name(self._store)
        request = {
            "verb": wanted.verb,
            "shown": shlex.join(["fathom", *wanted.words()]),
            "user": user,
            "started_at_unix_s": time.time(),
            "command": [*command(), *wanted.words()],
            "environment": environment,
            # Names without a folder are those of the folder where the server was started.
            "cwd": str(Path.cwd()),
        }
        place = folder / "request.json"
        place.touch(mode=0o600)
        place.write_text(json.dumps(request), encoding="utf-8")

    @staticmethod
    def _await_start(folder: Path, keeper: subprocess.Popen[bytes]) -> None:
        ends_s = time.monotonic() + _STARTING_S
        while time.monotonic() < ends_s:
            if (folder / "processes.json").exists() or (folder / "ended.json").exists():
                return
            if keeper.poll() is not None:
                # It has started nothing, and is not to be taken for what is under way.
                shutil.rmtree(folder, ignore_errors=True)
                break
            time.sleep(0.02)
        keeper.kill()
        raise ProcessError(
            f"the run did not start: see whether {folder} has room, and start it again"
        )

    def list(self, *, limit: int) -> list[Process]:
        """Return processes, the newest first."""
        names = sorted((one.name for one in self._folder.iterdir()), reverse=True)
        found = []
        for name in names[:limit]:
            with contextlib.suppress(ProcessError):
                found.append(self.get(name))
        return found

    def get(self, name: str) -> Process:
        """Return one.

        Raises
        ------
        NoProcessError
            If there is none of this name.

        """
        folder = self._folder / name
        if not _ID.fullmatch(name) or not folder.is_dir():
            raise NoProcessError(f"there is no process {name!a}")
        request = _read(folder / "request.json")
        if request is None:
            raise ProcessError(f"what is known of process {name} is damaged")
        state, ended = _state(folder)
        code = None if ended is None else int(str(ended["exit_code"]))
        return Process(
            id=name,
            verb=str(request["verb"]),
            command=str(request["shown"]),
            user=str(request["user"]),
            started_at_unix_s=float(str(request["started_at_unix_s"])),
            state=state,
            exit_code=code,
            ended_at_unix_s=None if ended is None else float(str(ended["ended_at_unix_s"])),
            folder=folder,
        )

    def stop(self, name: str) -> None:
        """End a run as Ctrl-C does: what was measured until then is saved.

        Raises
        ------
        ProcessError
            If there is none, or it has ended.

        """
        found = self.get(name)
        noted = (_read(found.folder / "processes.json") or {}).get("child")
        if found.state != "running" or not isinstance(noted, dict):
            raise ProcessError(f"process {name} has ended already")
        # The descriptor is of one process: it is looked at before it is sent anything.
        try:
            handle = os.pidfd_open(int(noted["pid"]))
        except ProcessLookupError:
            raise ProcessError(f"process {name} has ended already") from None
        try:
            if is_gone(noted) is not False:
                raise ProcessError(f"process {name} has ended already")
            signal.pidfd_send_signal(handle, signal.SIGINT)
        finally:
            os.close(handle)

    def _tidy(self) -> None:
        """Remove what is known of old processes; their runs stay in the store."""
        names = sorted((one.name for one in self._folder.iterdir()), reverse=True)
        for name in names[_MOST_KEPT:]:
            folder = self._folder / name
            if _ID.fullmatch(name) and (folder / "ended.json").exists():
                shutil.rmtree(folder, ignore_errors=True)


def command() -> list[str]:
    """Return what starts this Fathom."""
    return [sys.executable, "-m", "fathom"]


def _kept(folder: Path) -> subprocess.Popen[bytes]:
    """Start the keeper of a process."""
    return subprocess.Popen(  # noqa: S603 - Ours.
        [sys.executable, "-m", "fathom.web._keeper", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=folder,
    )


def _state(folder: Path) -> tuple[ProcessState, Mapping[str, object] | None]:
    """Return the state of a process, and how it ended, if that is known."""
    ended = _read(folder / "ended.json")
    if ended is None:
        noted = _read(folder / "processes.json")
        if noted is None:
            # Between its folder and its first word; a machine may have stopped there.
            age_s = time.time() - folder.stat().st_mtime
            return ("running" if age_s < _STARTING_S else "lost"), None
        if any(is_gone(noted.get(one)) is False for one in ("keeper", "child")):
            return "running", None
        # Between two looks it may have ended well. Where its keeper was killed, as by a kernel that
        # needs memory, its own last event tells its end.
        ended = _read(folder / "ended.json") or _own_end(folder)
    if ended is None:
        return "lost", None
    return _STATES.get(int(str(ended["exit_code"])), "failed"), ended


def _own_end(folder: Path) -> dict[str, object] | None:
    """Return what a process has written of its end; None of one that was killed."""
    last = _end_of(folder / "events.jsonl").rstrip("\n").rpartition("\n")[2]
    with contextlib.suppress(ValueError):
        found = json.loads(last)
        if isinstance(found, dict) and found.get("event") == ENDED:
            return {name: found[name] for name in ("exit_code", "ended_at_unix_s")}
    return None


def _read(path: Path) -> dict[str, object] | None:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(read_text(path, most_mib=_MOST_MIB))
        return found if isinstance(found, dict) else None
    return None


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _SHOWN_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
