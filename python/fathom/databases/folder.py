"""The folder of all that one command makes, and what a killed command has left of such folders.

A folder has a mark that tells which process made it. Its processes are those that work in it, so
none is missed that was started a moment before its maker was killed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._proc import PROC, process_ids
from fathom._processes import is_gone, this_process
from fathom.errors import FathomError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.databases.account import Account

__all__ = [
    "end_left",
    "end_processes",
    "keep_folder",
    "made_folder",
    "processes_in",
    "remove_folder",
]

_PREFIX = "fathom-density-"
_MARK = "made-by.json"
_KEPT = "kept"
ENVIRONMENT = "FATHOM_DATABASES"
"""The variable that all programs have which are started in such a folder."""
# PostgreSQL leaves its shared memory behind where it is killed, and not where it ends itself.
_SIGNALS = ((signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0))
_STEP_S = 0.02


def made_folder(place: Path, account: Account) -> Path:
    """Make a folder for databases, which belongs to the account, and note who made it.

    Raises
    ------
    RefusedError
        If it cannot be made.

    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        (folder / _MARK).write_text(json.dumps({"maker": this_process()}))
        if account.uid != os.geteuid():
            os.chown(folder, account.uid, account.gid)
    except OSError as error:
        words = f"{place} cannot hold databases: {error.strerror or error}"
        raise RefusedError(f"{words}; name another folder") from error
    return folder


def keep_folder(folder: Path) -> None:
    """Note that the folder stays, so that no later command takes it for one that was left."""
    with suppress(OSError):
        (folder / _MARK).write_text(json.dumps({_KEPT: True}))


def end_left(place: Path, tell: Callable[[Path, int], None] = lambda _folder, _ended: None) -> None:
    """End and remove what commands that were killed have left in a folder.

    ``tell`` gets each, with how many processes were ended.

    Raises
    ------
    RefusedError
        If a command that is still running works there.
    FathomError
        If something cannot be ended or removed.

    """
    for folder, maker in _marked(place):
        gone = is_gone(maker)
        if gone is None:
            raise RefusedError(
                f"{folder} was made on another machine or in another container, which may still "
                "use it: name another folder, or remove it there"
            )
        if not gone:
            pid = maker.get("pid") if isinstance(maker, dict) else "?"
            raise RefusedError(
                f"process {pid} measures databases in {place}: wait for it, or name another folder"
            )
        ended = end_processes(folder)
        remove_folder(folder)
        tell(folder, ended)


def _marked(place: Path) -> Iterator[tuple[Path, object]]:
    """Return the folders that a command made here and did not mean to keep, each with its maker."""
    with suppress(OSError):
        for folder in sorted(place.glob(f"{_PREFIX}*")):
            if folder.is_symlink() or not folder.is_dir():
                continue
            noted: object = None
            with suppress(OSError, ValueError):
                noted = json.loads((folder / _MARK).read_text())
            if isinstance(noted, dict) and not noted.get(_KEPT) and "maker" in noted:
                yield folder, noted["maker"]


def processes_in(folder: Path) -> list[int]:
    """Return the processes that were started for a folder and work in it or beneath it.

    A server writes its title over its environment, and is known by its program; a person's shell
    that happens to be there is none of them.
    """
    whole = f"{folder.resolve()}/"
    found = []
    for pid in process_ids():
        entry = PROC / str(pid)
        if pid != os.getpid():
            with suppress(OSError):
                # It may lead to no file.
                here = os.readlink(entry / "cwd").removesuffix(" (deleted)")  # noqa: PTH115
                if f"{here}/".startswith(whole) and _is_ours(entry):
                    found.append(pid)
    return found


def _is_ours(entry: Path) -> bool:
    program = os.readlink(entry / "exe").removesuffix(" (deleted)")  # noqa: PTH115 - As above.
    if Path(program).name == "postgres":
        return True
    return f"{ENVIRONMENT}=".encode() in (entry / "environ").read_bytes()


def end_processes(folder: Path) -> int:
    """End all processes that work in a folder, and return how many there were.

    Raises
    ------
    FathomError
        If some do not end.

    """
    first = processes_in(folder)
    for number, patience_s in _SIGNALS:
        until_s = time.monotonic() + patience_s
        for pid in processes_in(folder):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        while time.monotonic() < until_s:
            if not processes_in(folder):
                return len(first)
            time.sleep(_STEP_S)
    left = processes_in(folder)
    raise FathomError(f"processes of {folder} do not end: {', '.join(map(str, left))}")


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it.

    Raises
    ------
    FathomError
        If something of it stays.

    """
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        words = f"{folder} cannot be removed: {error.strerror or error}"
        raise FathomError(f"{words}; remove it by hand") from error
