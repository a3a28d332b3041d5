"""Percentiles of single runs: where their I/Os are too few, that is said.

The I/Os of one run resemble their neighbours, so that no interval of a percentile comes from one
run alone; ``fathom repeat`` gives one. Below the number by which independent I/Os would carry an
interval (order statistics), not even that is known whether the percentile is more than chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FEW", "are_few", "few_words", "independent_ios", "needed_ios", "tails_words"]

FEW = "?"
"""The mark of a percentile in a table whose I/Os are too few."""

_CONFIDENCE = 0.95


def independent_ios(rare: float, confidence: float) -> float:
    """Return how many independent I/Os have an interval of a percentile, by their order.

    ``rare`` is the share of I/Os beyond the percentile, on its rarer side.
    """
    return math.log((1 - confidence) / 2) / math.log1p(-rare)


def needed_ios(quantile: float) -> int:
    """Return how many independent I/Os carry an interval of a percentile at least."""
    return math.ceil(independent_ios(min(quantile, 1 - quantile), _CONFIDENCE))


def are_few(quantile: float, ios: float | None) -> bool:
    """Whether so many I/Os carry no interval; of an unknown number nothing is said."""
    return ios is not None and ios < needed_ios(quantile)


def few_words(quantile: float, ios: int | None) -> str:
    """Return what stands behind a percentile of too few I/Os; nothing if they are enough."""
    if ios is None or not are_few(quantile, ios):
        return ""
    what = (
        "the greatest of all"
        if math.ceil(quantile * ios * (1 - 1e-12)) >= ios
        else f"fewer than {needed_ios(quantile)}"
    )
    if ios == 1:
        return "of 1 I/O, which carries no interval"
    return f"of {ios:,} I/Os, {what}: they carry no interval"


def tails_words(latency_ios: Iterable[float | None], *, of: str = "cell") -> str:
    """Say for how many runs with so many I/Os the 99th percentile rests on too few of them."""
    few = sum(are_few(0.99, one) for one in latency_ios)
    if not few:
        return ""
    return (
        f"p99 of {counted(few, of)} (marked {FEW}) is of fewer than {needed_ios(0.99)} I/Os, "
        "which carry no interval: allow more time (--longest), or repeat these loads."
    )
