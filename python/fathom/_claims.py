"""Sentences with numbers, each with what it rests on.

Verdicts, headlines and findings are made of claims, and whatever shows them (text, page, JSON,
Markdown) shows the same sentence. So a sentence can be computed again from the store, and what
speaks against its numbers stands beside it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FORBIDDING", "MARKS", "WEAKENING", "Claim", "Evidence", "Unit", "doubts_of", "mark_of"]

Unit = Literal["ns", "IOPS", "MiB/s"]

FORBIDDING = (
    "not-the-device",
    "no-device-seen",
    "page-cache",
    "null-data",
    "cached-by-device",
    "io-limited",
    "cpu-throttled",
    "too-good",
)
"""Findings which say that the numbers are not the device's: nothing may be concluded of it."""

WEAKENING = (
    "constant-data",
    "stalled",
    "extents-changed",
    "cpu-contended",
    "cpu-taken-away",
    "core-bound",
    "stood-still",
    "noisy-neighbour",
    "not-steady",
    "burst-credits",
    "provisioned-limit",
)
"""Findings which say that the numbers may differ another time, or are a limit's."""

MARKS = {
    **dict(zip(FORBIDDING, "ABCDEFGH", strict=True)),
    **dict(zip(WEAKENING, "abcdefghijk", strict=True)),
}
"""A letter for each rule, the same in all tables: a capital where it forbids a judgement."""

_NO_NUMBER = re.compile(r"\b(nan|inf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """A figure on which a claim rests.

    Attributes
    ----------
    run_id
        In the store; None where runs are not saved.
    name
        Such as ``iops``, ``mib_per_s`` or ``latency_mean_ns``: that of the store's column.
    value, unit
        As measured.
    threads, depth, caching
        Under which conditions; None where nobody knows.

    """

    run_id: int | None
    name: str
    value: float
    unit: Unit
    threads: int | None = None
    depth: int | None = None
    caching: str | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence, and what it rests on.

    ``weakened_by`` and ``forbidden_by`` are the rules of findings that speak against it; what is
    forbidden by one makes no judgement in its text.
    """

    key: str
    text: str
    evidence: tuple[Evidence, ...] = ()
    weakened_by: tuple[str, ...] = ()
    forbidden_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        wrong = [one for one in self.evidence if not math.isfinite(one.value)]
        if wrong or _NO_NUMBER.search(self.text):
            raise ValueError(f"a claim of what is not known: {self.text} {wrong}")


def mark_of(rules: Iterable[str]) -> str:
    """Return the letters of the rules that speak against figures, such as ``Ad``."""
    found = {*rules}
    return "".join(mark for rule, mark in MARKS.items() if rule in found)


def doubts_of(rules: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of these rules weaken a claim, and which forbid it."""
    found = tuple(dict.fromkeys(rules))
    return (
        tuple(one for one in found if one in WEAKENING),
        tuple(one for one in found if one in FORBIDDING),
    )
