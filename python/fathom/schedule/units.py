"""A schedule as units of systemd and as a line of cron, with all of its words quoted."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from fathom.schedule.plan import Schedule

__all__ = ["MADE", "cron_line", "service_text", "timer_text"]

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+@-]+")
MADE = "# Made by Fathom: fathom schedule"


def timer_text(schedule: Schedule) -> str:
    """Return the timer unit (systemd.timer(5)); a time that was missed is made up for."""
    return (
        f"{MADE}\n[Unit]\nDescription=When to run {_percents(schedule.name)} (fathom)\n\n"
        f"[Timer]\nOnCalendar={schedule.calendar}\nAccuracySec=1s\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )


def service_text(schedule: Schedule) -> str:
    """Return the service unit (systemd.service(5)); 5 and 7 are findings of a gate, and failures.

    Whatever is to be told of a failure hangs on it by ``OnFailure=``.
    """
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}', dollars=False)}\n"
        for name, value in schedule.environment.items()
    )
    # Of the program's own path, systemd takes no variable, and so has no dollar sign escaped.
    words = " ".join(
        _quoted(one, dollars=number > 0) for number, one in enumerate(schedule.command)
    )
    # A backslash at the end would take the next line with it, and a space be lost.
    end = "/" if str(schedule.folder).endswith(("\\", " ")) else ""
    return (
        f"{MADE}\n[Unit]\nDescription=Run {_percents(schedule.name)} (fathom)\n\n"
        f"[Service]\nType=oneshot\nWorkingDirectory={_percents(str(schedule.folder))}{end}\n"
        f"{variables}ExecStart={words}\n"
    )


def cron_line(schedule: Schedule) -> str:
    """Return the line of a crontab(5).

    Raises
    ------
    InvalidRequestError
        If cron cannot say when.

    """
    if schedule.cron is None:
        raise InvalidRequestError(
            f"cron has no words for {schedule.calendar!r}: write daily, 03:30 or 'mon 03:30'"
        )
    variables = [f"{name}={shlex.quote(one)}" for name, one in schedule.environment.items()]
    words = " ".join([*variables, *map(shlex.quote, schedule.command)])
    line = f"cd {shlex.quote(str(schedule.folder))} && {words}"
    # A percent sign would end the command, quoted or not. A backslash before it, or before another
    # (some crons make one of two), has to stand alone: it is in quotes, which are closed behind it.
    line = line.replace("\\", "\\''").replace("%", "\\%")
    return f"{schedule.cron} {line}"


def _percents(text: str) -> str:
    """Return text in which nothing is a specifier of systemd's."""
    return text.replace("%", "%%")


def _quoted(word: str, *, dollars: bool = True) -> str:
    """Return one word of a command line of systemd's (systemd.service(5), "Command lines")."""
    found = _percents(word)
    if dollars:
        found = found.replace("$", "$$")
    if _PLAIN.fullmatch(word):
        return found
    escaped = found.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
