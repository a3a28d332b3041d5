"""The units of a schedule on this machine: written, listed, and taken away again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fathom._files import nothing, read_text, replacing
from fathom.errors import FathomError, InvalidRequestError
from fathom.schedule.names import unit_name
from fathom.schedule.units import MADE, service_text, timer_text

if TYPE_CHECKING:
    from fathom.schedule.plan import Schedule

__all__ = [
    "Written",
    "check_calendar",
    "remove_schedule",
    "unit_folder",
    "write_schedule",
    "written_schedules",
]

_MOST_MIB = 1
_WAIT_S = 10.0
# As it stands in a unit, where a word may have quotes, with backslashes before what is special.
_WEBHOOK = re.compile(
    r"""(?P<host>--notify(?:=|"?\s+"?)https?://[^\s"/?\#\\]*)(?:\\.|[^\s"\\])+""", re.IGNORECASE
)


class Written(NamedTuple):
    """A schedule whose units are there.

    Of a webhook, the command has the host alone: the whole address is a secret of many.
    """

    timer: Path
    calendar: str
    command: str


def unit_folder() -> Path:
    """Return where units of this user are; those of root are the system's (systemd.unit(5)).

    Raises
    ------
    InvalidRequestError
        If this user has no home folder.

    """
    if os.geteuid() == 0:
        return Path("/etc/systemd/system")
    if base := os.environ.get("XDG_CONFIG_HOME"):
        return Path(base) / "systemd/user"
    try:
        return Path.home() / ".config/systemd/user"
    except RuntimeError as error:
        # As in a container, whose users stand in no list.
        raise InvalidRequestError(
            "this user has no home folder: name the folder of the units with --folder"
        ) from error


def check_calendar(calendar: str) -> None:
    """Refuse times that systemd does not read, or that never come; nothing where it is not.

    Raises
    ------
    InvalidRequestError
        If it says so: such a timer would be enabled and never run, or not be enabled at all.

    """
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    try:
        done = subprocess.run(  # noqa: S603 - The calendar is one word of known characters.
            [program, "calendar", "--", calendar],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},
            timeout=_WAIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if "Next elapse: never" in done.stdout:
        raise InvalidRequestError(f"{calendar!r} never comes: name a time that is yet to come")
    # Whatever else keeps it from an answer is no fault of what was given.
    if done.returncode and "Failed to parse calendar" in done.stderr:
        raise InvalidRequestError(
            f"systemd does not read {calendar!r} as a time: see systemd-analyze calendar"
        )


def write_schedule(schedule: Schedule, folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the service and then the timer, and return both; neither is enabled.

    Raises
    ------
    InvalidRequestError
        If a unit of this name is there that ``fathom schedule`` did not make, or one that it made
        and ``overwrite`` is false.
    FathomError
        If they cannot be written.

    """
    texts = {
        folder / unit_name(schedule.name, "service"): service_text(schedule),
        folder / unit_name(schedule.name, "timer"): timer_text(schedule),
    }
    for path in texts:
        if path.is_symlink() or path.exists():
            _check_ours(path)
            if not overwrite:
                raise InvalidRequestError(f"{path} is there: add --overwrite to replace it")
    may_go = _is_ours if overwrite else nothing
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Both are written before the service, and then the timer, get their names.
        with ExitStack() as both:
            for path, text in reversed(texts.items()):
                unfinished = both.enter_context(replacing(path, may_go=may_go))
                unfinished.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FathomError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return [*texts]


def remove_schedule(name: str, folder: Path) -> list[Path]:
    """Remove the units of a schedule, and return what was removed.

    Raises
    ------
    InvalidRequestError
        If there are none, or others than ours.
    FathomError
        If they cannot be removed.

    """
    paths = [folder / unit_name(name, kind) for kind in ("timer", "service")]
    found = [one for one in paths if one.is_symlink() or one.exists()]
    if not found:
        raise InvalidRequestError(f"there is no schedule {name} in {folder}")
    for path in found:
        _check_ours(path)
    try:
        for path in found:
            path.unlink()
    except OSError as error:
        raise FathomError(f"{folder}: cannot be removed: {error.strerror or error}") from error
    return found


def written_schedules(folder: Path) -> list[Written]:
    """Return the schedules of a folder, by name."""
    found = []
    for timer in sorted(folder.glob("fathom-*.timer")):
        if _is_ours(timer):
            calendar = _value(timer, "OnCalendar=")
            command = _value(timer.with_suffix(".service"), "ExecStart=")
            found.append(Written(timer, calendar, _WEBHOOK.sub(r"\g<host>/***", command)))
    return found


def _check_ours(path: Path) -> None:
    if not _is_ours(path):
        raise InvalidRequestError(f"{path} was not made by fathom schedule, and is left alone")


def _is_ours(path: Path) -> bool:
    return not path.is_symlink() and _text(path).startswith(f"{MADE}\n")


def _value(path: Path, key: str) -> str:
    # Of the characters at which Python would end a line, systemd knows this one.
    lines = (one for one in _text(path).split("\n") if one.startswith(key))
    return next(lines, key).removeprefix(key)


def _text(path: Path) -> str:
    try:
        return read_text(path, most_mib=_MOST_MIB)
    except (OSError, UnicodeDecodeError):
        return ""
