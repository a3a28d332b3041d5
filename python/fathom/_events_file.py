"""The events of whatever this process measures, as lines of JSON in a file that others follow.

A process that was started for somebody else, such as for ``fathom serve``, has the file's name in
``FATHOM_EVENTS_FILE``. Each line is written by one call, so that who follows it sees whole lines.
What cannot be written is lost: nobody's measurement ends because nobody can look.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ENDED", "ENVIRONMENT", "listen", "note", "note_end", "tapped"]

ENVIRONMENT = "FATHOM_EVENTS_FILE"
ENDED = "command_ended"
"""The last event of a command, with its ``exit_code`` and ``ended_at_unix_s``."""
_listeners: list[Callable[[str, Mapping[str, object]], None]] = []


def listen(
    listener: Callable[[str, Mapping[str, object]], None] | None,
) -> Callable[[], None]:
    """Let a function of this process have all events, too; return what ends that."""
    if listener is None:
        return lambda: None
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def note(name: str, fields: Mapping[str, object]) -> None:
    """Hand an event to whoever follows this process."""
    for listener in _listeners:
        listener(name, fields)
    path = os.environ.get(ENVIRONMENT)
    if not path:
        return
    line = json.dumps({"event": name, "at_unix_s": time.time(), **fields}) + "\n"
    with suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)


def note_end(code: int | str | None) -> None:
    """Hand over how this command ends, to whoever follows it and did not start it."""
    number = code if isinstance(code, int) else int(code is not None)
    note(ENDED, {"exit_code": number, "ended_at_unix_s": time.time()})


def tapped(
    on_event: Callable[[str, dict[str, object]], None] | None,
) -> Callable[[str, dict[str, object]], None] | None:
    """Return a callback for the events of a run that notes them, too; the same if nobody looks."""
    if not _listeners and not os.environ.get(ENVIRONMENT):
        return on_event

    def both(name: str, fields: dict[str, object]) -> None:
        note(name, fields)
        if on_event is not None:
            on_event(name, fields)

    return both
