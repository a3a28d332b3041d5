"""Looks at targets that may hang: by a thread that is left alone if the kernel does not come back.

The engine supervises its own looks. Those of Python would block the main thread, which no signal
reaches then: what asks for a target first asks here whether it answers at all.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from fathom._addresses import is_address
from fathom._own_stores import is_own_store
from fathom.errors import FathomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["LIMIT_S", "LOOK_S", "HangingError", "must_answer", "within"]

_Found = TypeVar("_Found")
LIMIT_S = 120.0
"""How long a target may take to be opened and looked at, as the engine waits (--io-timeout)."""
LOOK_S = 5.0
"""How long a target may take to answer a look by the way, such as at what lies beneath it."""
_STEP_S = 0.5


class HangingError(FathomError):
    """A target does not answer."""


def within(limit_s: float, doing: str, look: Callable[[], _Found]) -> _Found:
    """Return what a look finds, or raise what it raises. Ctrl-C ends the wait.

    Parameters
    ----------
    limit_s
        After so many seconds the look is left alone.
    doing
        What it does, as a clause such as ``look at '/a/b'``.
    look
        The look. It must change nothing, as it may go on after it was left alone.

    Raises
    ------
    HangingError
        If the kernel does not come back from it in time.

    """
    found: list[_Found] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(look())
        except BaseException as error:  # noqa: BLE001 - It is raised again by whoever waits.
            raised.append(error)

    # A daemon is not waited for at the end of the process.
    thread = threading.Thread(target=run, name="look", daemon=True)
    thread.start()
    end_s = time.monotonic() + limit_s
    while thread.is_alive() and (left_s := end_s - time.monotonic()) > 0:
        # A signal that comes just before a wait begins does not end it.
        thread.join(min(left_s, _STEP_S))
    if raised:
        raise raised[0]
    if not found:
        raise HangingError(
            f"cannot {doing}: the kernel has not come back from it for {limit_s:.0f} s; look at "
            "the kernel's log"
        )
    return found[0]


def must_answer(targets: Iterable[str | os.PathLike[str]]) -> None:
    """Look whether each of these targets answers and opens; whether it is there is not asked.

    What another host serves is asked by the engine, which supervises its own looks.

    Raises
    ------
    HangingError
        If one of them hangs.

    """
    for target in (one for one in targets if not is_address(one)):

        def look(path: str | os.PathLike[str] = target) -> None:
            # A path that is none is reported by who opens it.
            with suppress(OSError, ValueError):
                _look(path)

        within(LIMIT_S, f"look at '{os.fspath(target)}'", look)


def _look(path: str | os.PathLike[str]) -> None:
    kind = os.stat(path).st_mode  # noqa: PTH116 - What is given may be no path.
    # Opening a pipe, or a tape, may itself have effects.
    if (stat.S_ISREG(kind) or stat.S_ISBLK(kind)) and not is_own_store(path):
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
