"""How far an experiment is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progress"]


@dataclass(frozen=True)
class Progress:
    """How far an experiment is; counts are of its runs, times in seconds."""

    done: int
    expected: float
    failed: int
    elapsed_s: float
    remaining_s: float
    label: str
    failure: str | None
