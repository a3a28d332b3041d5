"""Which of so many I/Os, in the order of their latency, a percentile is."""

from __future__ import annotations

import math

__all__ = ["rank_of"]

_ERROR = 1e-9


def rank_of(quantile: float, count: int) -> int:
    """Return ceil(quantile * count) without the error of a product a hair above a whole number."""
    exact = quantile * count
    nearest = round(exact)
    return nearest if abs(exact - nearest) < _ERROR * max(exact, 1) else math.ceil(exact)
