"""Commands with a terminal of their own, which answers their questions."""

from __future__ import annotations

import os
import pty
import select
import termios
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["at_a_terminal"]

_ENOUGH_S = 60
_REACTION_S = 0.1


def at_a_terminal(
    words: Sequence[str],
    answers: Sequence[tuple[bytes, bytes]],
    environment: Mapping[str, str] | None = None,
) -> tuple[int, str, bool]:
    """Run a command; return its exit code, what it said, and whether the terminal shows input then.

    Each answer is typed once what was said ends with the words before it. A command that a signal
    has ended has the exit code that a shell would give it.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(words[0], list(words), {**os.environ, **(environment or {})})  # noqa: S606
    said, left = b"", list(answers)
    while select.select([terminal], [], [], _ENOUGH_S)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            break
        said += more
        if left and said.endswith(left[0][0]):
            # As a person would: a program that has just asked is about to read.
            time.sleep(_REACTION_S)
            os.write(terminal, left.pop(0)[1])
    shows = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return (code if code >= 0 else 128 - code), said.decode(), shows
