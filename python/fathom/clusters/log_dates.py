"""Dates of a log's lines, which have no year and no zone: the order of the lines tells both."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

__all__ = ["LogDate", "LogDates"]

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NUMBERS = {name: number for number, name in enumerate(_MONTHS)}
_HALF_A_YEAR = 6
# What daemons write past each other is less; an hour is repeated where summer time ends.
_LEAST_BACK, _MOST_BACK = timedelta(minutes=1), timedelta(hours=1)


class LogDate(NamedTuple):
    """The date of a line, with what the lines before it tell of it.

    ``new_years`` were passed since the first line. ``back_to`` is the date to which the clock had
    gone back on that day, as it does where summer time ends; empty if it had not.
    """

    text: str
    new_years: int
    back_to: str


class LogDates:
    """Looks at every line, in order, and then says when each was."""

    def __init__(self) -> None:
        """Begin before the first line."""
        self._month: int | None = None
        self._new_years = 0
        self._day, self._time = "", ""
        self._back_to = ""

    def look(self, line: str) -> None:
        """Look at the next line, whatever it says."""
        month = _NUMBERS.get(line[:3])
        if month is None or line[9:10] != ":":
            return
        step = 0 if self._month is None else month - self._month
        # January follows December; logs that were joined go back to it.
        self._new_years += (step <= -_HALF_A_YEAR) - (step >= _HALF_A_YEAR)
        self._month = month
        day, time = line[:6], line[7:15]
        if day != self._day:
            self._back_to = ""
        elif time < self._time:
            self._go_back(time)
        self._day, self._time = day, time

    def _go_back(self, time: str) -> None:
        try:
            before, now = (
                datetime.fromisoformat(f"2000-01-01T{one}") for one in (self._time, time)
            )
        except ValueError:
            return
        if before - now > _MOST_BACK:
            # Here the next of several logs begins.
            self._back_to = ""
        elif before - now >= _LEAST_BACK:
            self._back_to = f"{self._day} {time}"

    def of(self, text: str) -> LogDate:
        """Return the date of the line that was looked at last."""
        return LogDate(text, self._new_years, self._back_to)

    def unix_s(self, date: LogDate, newest: datetime) -> float | None:
        """Return when a line was that all have been looked at behind; None if it has no date.

        ``newest`` is when the log was last written.
        """
        last = _local(f"{self._day} {self._time}", newest.year, newest)
        year = (last or newest).year - self._new_years + date.new_years
        found = _local(date.text, year, newest)
        if found is None:
            return None
        back_to = _local(date.back_to, found.year, newest) if date.back_to else None
        if back_to is not None and back_to < _again(back_to):
            found = _again(found)
        return found.timestamp()


def _local(text: str, latest_year: int, newest: datetime) -> datetime | None:
    """Return a date in this year, or in the one before where it would be to come."""
    form = "%Y %b %d %H:%M:%S.%f" if "." in text else "%Y %b %d %H:%M:%S"
    for year in (latest_year, latest_year - 1):
        try:
            found = datetime.strptime(f"{year} {text}", form).astimezone()
        except ValueError:
            continue
        if found <= newest + timedelta(days=1):
            return found
    return None


def _again(local: datetime) -> datetime:
    """Return when a clock shows this the second time, as it does where summer time ends."""
    return local.replace(tzinfo=None, fold=1).astimezone()
