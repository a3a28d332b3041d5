"""What is to be measured again and again, and when."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom._permission import allows
from fathom._text import without_secrets
from fathom.errors import InvalidRequestError
from fathom.schedule.names import unit_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Schedule", "plan_schedule"]

_MOST_NAME = 64
# https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html
_MOST_UNIT = 255
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_LEAST_OF_DAY = 3
_WORDS = {
    "hourly": ("hourly", "0 * * * *"),
    "daily": ("daily", "0 0 * * *"),
    "weekly": ("weekly", "0 0 * * 1"),
    "monthly": ("monthly", "0 0 1 * *"),
}
_CLOCK = re.compile(r"(?:([a-z]+) +)?([01]?\d|2[0-3]):([0-5]\d)", re.ASCII | re.IGNORECASE)
_EVENTS = (*_WORDS, "minutely", "yearly", "annually", "quarterly", "semiannually")
_HOUR = re.compile(r"([01]?\d|2[0-3]):[0-5]?\d(:[0-5]?\d)?")
# The characters of systemd.time(7), "Calendar events"; what they mean is systemd's to check.
_CALENDAR = re.compile(r"[A-Za-z0-9 :.,*/~_+-]{1,200}")


@dataclass(frozen=True)
class Schedule:
    """A command with its times.

    Attributes
    ----------
    name
        As it was given; units have it escaped.
    calendar
        When, in systemd's words (``OnCalendar``).
    cron
        When, in cron's; None where only systemd can say it.
    command
        Program and arguments.
    folder
        Where it runs.
    environment
        Variables that it needs, such as ``FATHOM_STORE``.

    """

    name: str
    calendar: str
    cron: str | None
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


def plan_schedule(  # noqa: PLR0913 - All but the first three have names.
    name: str,
    when: str,
    command: Sequence[str],
    *,
    program: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Schedule:
    """Return a schedule of a command of Fathom's.

    Parameters
    ----------
    name
        Up to 64 characters.
    when
        ``hourly``, ``daily``, ``weekly``, ``monthly``, ``03:30``, ``mon 03:30``, or a calendar
        event of systemd's.
    command
        A verb and its arguments.
    program
        What starts Fathom.
    folder, environment
        Where the command runs, and the variables that it needs.

    Raises
    ------
    InvalidRequestError
        If one of them cannot be written safely, or the command allows what has to be typed by a
        person each time.

    """
    if not name.strip() or len(name) > _MOST_NAME:
        raise InvalidRequestError(f"a schedule's name has 1 to {_MOST_NAME} characters")
    variables = dict(environment or {})
    for words in (name, str(folder), *command, *variables.values()):
        _check_text(words)
    given = next((one for one in command if allows(one)), None)
    if given is not None:
        raise InvalidRequestError(
            f"{given} is typed for one run, and a schedule would say it each night: measure files "
            "that Fathom made, or only read"
        )
    calendar, cron = _times(when)
    if len(unit_name(name, "service")) > _MOST_UNIT:
        raise InvalidRequestError(f"{name!r} is too long for a unit of systemd: take a shorter one")
    return Schedule(name, calendar, cron, (*program, *command), folder, variables)


def _check_text(words: str) -> None:
    """Refuse what would begin a line of its own in a unit or a crontab, or is no text."""
    if any(ord(one) < ord(" ") or ord(one) == 0x7F for one in words):  # noqa: PLR2004 - DEL.
        raise InvalidRequestError(f"{words!r} has control characters, which no schedule can hold")
    try:
        words.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequestError(f"{words!r} is no UTF-8 text") from error
    if without_secrets(words) != words:
        raise InvalidRequestError(
            f"{without_secrets(words)} has a password, which a schedule would keep: "
            f"{_instead(words)}"
        )


def _instead(words: str) -> str:
    """Return what to do with a password in a word of a command."""
    if "postgres" in words.partition("://")[0]:
        return "put it into ~/.pgpass"
    if is_address(words):
        return "put it into a file with mode 0600, and name that with --credentials"
    return "leave it out"


def _is_no_event(text: str) -> bool:
    """Whether systemd would refuse it for certain: a word that it does not have, or no such hour.

    Who is told now need not look for a timer that never came.
    """
    first, *others = text.lower().split()
    if first.isalpha() and not any(first in (day, day[:_LEAST_OF_DAY]) for day in _DAYS):
        # Of a word for a time, only the time zone can follow.
        return first not in _EVENTS or any(":" in one or one.isdigit() for one in others)
    hours = [one for one in (first, *others) if re.fullmatch(r"\d+:\d+(:\d+)?", one)]
    return text.isdigit() or not all(map(_HOUR.fullmatch, hours))


def _day(word: str) -> int | None:
    """Return the number of a day of the week by its name or the start of it; None if none has."""
    found = (number for number, day in enumerate(_DAYS, 1) if day.startswith(word.lower()))
    return next(found, None) if len(word) >= _LEAST_OF_DAY else None


def _times(when: str) -> tuple[str, str | None]:
    text = when.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    found = _CLOCK.fullmatch(text)
    if found is not None:
        day, hour, minute = found.groups()
        number = None if day is None else _day(day)
        calendar, cron = f"*-*-* {int(hour):02}:{minute}:00", f"{int(minute)} {int(hour)} * *"
        if day is None:
            return calendar, f"{cron} *"
        if number is not None:
            short = _DAYS[number - 1][:_LEAST_OF_DAY].capitalize()
            return f"{short} {calendar}", f"{cron} {number}"
    if not text or not _CALENDAR.fullmatch(text) or _is_no_event(text):
        raise InvalidRequestError(
            f"{when!r} is no time: write daily, 03:30, 'mon 03:30', or a calendar event of systemd"
        )
    return text, None
