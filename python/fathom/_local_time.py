"""Instants in this machine's time zone; also those that no calendar of a computer has."""

from __future__ import annotations

from datetime import datetime

__all__ = ["DAY", "SECOND", "local_words"]

DAY = "%Y-%m-%d"
SECOND = f"{DAY} %H:%M:%S"


def local_words(unix_s: float, form: str = SECOND) -> str:
    """Return an instant, in seconds since 1970, by a form of ``strftime``.

    What a calendar does not have, such as a time stamp in other units, is named in words.
    """
    try:
        return datetime.fromtimestamp(unix_s).astimezone().strftime(form)
    except (OverflowError, ValueError, OSError):
        return "behind the year 9999" if unix_s > 0 else "before the year 1"
