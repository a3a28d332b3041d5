"""How far an experiment is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """How far an experiment is; counts are of its runs, times in seconds.

    ``remaining_low_s`` and ``remaining_high_s`` are between what the remaining time is in nine of
    ten cases, where that is not well known; else None.
    """

    done: int
    expected: float
    failed: int
    elapsed_s: float
    remaining_s: float
    label: str
    failure: str | None
    remaining_low_s: float | None = None
    remaining_high_s: float | None = None
