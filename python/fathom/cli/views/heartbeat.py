"""A line at least each 10 s where the error output is a pipe, while something lasts."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from fathom.units import clock_words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Heartbeat", "heartbeat"]

_EVERY_S = 10.0


class Heartbeat:
    """Says what is under way, and says it again each time that nothing was said for 10 s."""

    def __init__(self, every_s: float = _EVERY_S) -> None:
        """Begin with nothing under way."""
        self._every_s = every_s
        self._changed = threading.Condition()
        self._words = ""
        self._began_s = 0.0
        self._is_ended = False
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def say(self, words: str, about: str) -> None:
        """Say something now; ``about`` is what lasts from now on."""
        with self._changed:
            typer.echo(words, err=True)
            self._words, self._began_s = about, time.monotonic()
            self._changed.notify()

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Say nothing any more."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()
        self._thread.join()

    def _beat(self) -> None:
        with self._changed:
            while not self._is_ended:
                # What was said meanwhile begins the time again.
                is_said = self._changed.wait(self._every_s)
                if is_said or not self._words:
                    continue
                took = clock_words(time.monotonic() - self._began_s)
                try:
                    typer.echo(f"  for {took}: {self._words}", err=True)
                except OSError:
                    # Nobody reads it any more; what is measured goes on.
                    return


@contextmanager
def heartbeat(*, quiet: bool) -> Iterator[Heartbeat | None]:
    """Return what says that something lasts; None where a terminal shows it, or if ``quiet``."""
    if quiet or sys.stderr.isatty():
        yield None
        return
    found = Heartbeat()
    found.start()
    try:
        yield found
    finally:
        found.stop()
