"""Which process runs something, such as an experiment, and whether it is still there.

A process that is killed (SIGKILL, a power cut, memory that ran out) notes nothing any more: its
experiment stays ``running`` in the store. So each one keeps what tells its process from others.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from fathom._proc import PROC, boot_id, process_stat

__all__ = ["current_folder", "folder_here", "is_gone", "this_folder", "this_process"]

# Fields of proc(5), /proc/pid/stat, counted behind the name in brackets.
_STATE, _START_TICKS = 0, 19
_ENDED = ("Z", "X")


def this_process(proc: Path = PROC, pid: int | None = None) -> dict[str, object]:
    """Return what tells this process from all others, also after a restart of the machine.

    ``pid`` is another's, such as of one that this process has started.
    """
    number = os.getpid() if pid is None else pid
    return {
        "pid": number,
        "start_ticks": _start_ticks(proc, number),
        "boot_id": boot_id(proc),
        "pid_namespace": _namespace(proc),
        "host_name": platform.node(),
    }


def current_folder() -> str | None:
    """Return the folder that relative names are of; None if it is gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def this_folder() -> dict[str, object]:
    """Return the folder that relative names are of, with its host, to be kept."""
    return {"path": current_folder(), "host_name": platform.node()}


def folder_here(noted: object) -> str | None:
    """Return the folder that was noted, if it is one of this host."""
    if not isinstance(noted, dict) or noted.get("host_name") != platform.node():
        return None
    path = noted.get("path")
    return path if isinstance(path, str) else None


def is_gone(noted: object, proc: Path = PROC) -> bool | None:
    """Tell whether a process has ended; None if that cannot be told here.

    That of another machine or of another container may well be there, unseen.
    """
    if not isinstance(noted, dict) or noted.get("host_name") != platform.node():
        return None
    if not noted.get("boot_id"):
        return None
    if noted["boot_id"] != boot_id(proc):
        # The same machine, started again since.
        return True
    if noted.get("pid_namespace") != _namespace(proc):
        return None
    pid, start_ticks = noted.get("pid"), noted.get("start_ticks")
    if not isinstance(pid, int) or not isinstance(start_ticks, int):
        return None
    # Another process may have got its number since.
    return _start_ticks(proc, pid) != start_ticks


def _start_ticks(proc: Path, pid: int) -> int | None:
    """Return when a process began, in ticks since the machine started; None if it has ended."""
    words = process_stat(pid, proc)
    if len(words) <= _START_TICKS or words[_STATE] in _ENDED:
        return None
    return int(words[_START_TICKS])


def _namespace(proc: Path) -> str | None:
    """Return the namespace in which process numbers are counted (pid_namespaces(7))."""
    try:
        return os.readlink(proc / "self/ns/pid")  # noqa: PTH115 - It leads to no file.
    except OSError:
        return None
