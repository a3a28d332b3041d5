"""Signals that end a command: the first one with what was measured until then, the second at once.

SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal has gone) are one and the same, as in
``diskspd``: the first one raises ``KeyboardInterrupt`` in the main thread, where the engine, the
experiments and the store take it as the wish to end in good order. What must not be torn apart,
such as saving a run, is done within ``held_back``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["children", "ending_in_good_order", "held_back", "let_through"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_INTERRUPTED = 130
# One request may come twice: timeout(1) sends its signal to the command and to its group, and a
# terminal's Ctrl-C may meet a supervisor's SIGTERM. A user's second Ctrl-C takes longer.
_SAME_REQUEST_S = 0.3
_WORDS = "interrupted"
_SHOW_CURSOR = b"\x1b[?25h"


@dataclass
class _Wish:
    """Whether the process was asked to end, and whether that has to wait."""

    asked_s: float | None = None
    holds: int = 0
    is_due: bool = False
    children: set[int] = field(default_factory=set)

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self.asked_s is None:
            self.asked_s = now_s
            if self.holds:
                self.is_due = True
            else:
                raise KeyboardInterrupt(_WORDS)
        elif now_s - self.asked_s > _SAME_REQUEST_S:
            _leave(self.children)

    def raise_if_due(self) -> None:
        if self.is_due and not self.holds:
            self.is_due = False
            raise KeyboardInterrupt(_WORDS)


_wish = _Wish()
children = _wish.children
"""Process groups that must not outlive this process."""


def _leave(groups: set[int]) -> None:
    """End the process at once; other programs' processes that do I/O for it end with it."""
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    # A bar of progress hides the cursor, which nobody else would show again.
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(2, _SHOW_CURSOR)
    os._exit(_EXIT_INTERRUPTED)


@contextmanager
def ending_in_good_order() -> Iterator[None]:
    """Take these signals so in this process; what it was told to ignore, it still ignores.

    What was held back until somebody takes it, as by the keeper of a run of the web, comes now.
    """
    # Only the main thread may set handlers, and only it gets signals.
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in _SIGNALS if is_main}
    _wish.asked_s, _wish.is_due = None, False
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _wish.on_signal)
    try:
        if is_main:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[None]:
    """Let the first signal wait until the end of this; the second one ends the process even so.

    Where an error ends this, it goes first. Without ``ending_in_good_order``, as in other people's
    programs, signals are theirs.
    """
    _wish.holds += 1
    try:
        yield
    finally:
        _wish.holds -= 1
    _wish.raise_if_due()


@contextmanager
def let_through() -> Iterator[None]:
    """Take signals at once, within what holds them back: around what knows how to end by them."""
    holds, _wish.holds = _wish.holds, 0
    try:
        _wish.raise_if_due()
        yield
    finally:
        _wish.holds = holds
