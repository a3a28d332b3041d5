"""The exit codes: those of ``diskspd``, three of limits and comparisons, and one of the store."""

from __future__ import annotations

__all__ = [
    "EXIT_BETTER",
    "EXIT_CANNOT_TELL",
    "EXIT_FAILED",
    "EXIT_FAULTY",
    "EXIT_INTERRUPTED",
    "EXIT_INVALID",
    "EXIT_NOT_SAVED",
    "EXIT_REFUSED",
    "EXIT_WORSE",
]

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_INVALID = 3
EXIT_FAULTY = 4
EXIT_WORSE = 5
EXIT_NOT_SAVED = 6
EXIT_CANNOT_TELL = 7
EXIT_BETTER = 8
EXIT_INTERRUPTED = 130
