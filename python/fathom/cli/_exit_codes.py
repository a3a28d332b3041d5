"""The exit codes: those of ``diskspd``, and one of ``fathom compare``."""

from __future__ import annotations

__all__ = [
    "EXIT_FAILED",
    "EXIT_FAULTY",
    "EXIT_INTERRUPTED",
    "EXIT_INVALID",
    "EXIT_REFUSED",
    "EXIT_WORSE",
]

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_INVALID = 3
EXIT_FAULTY = 4
EXIT_WORSE = 5
EXIT_INTERRUPTED = 130
