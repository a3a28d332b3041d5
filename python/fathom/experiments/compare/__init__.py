"""Comparing: runs of the store (``saved``), or A and B measured interleaved (``interleaved``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.compare._words import differing
    from fathom.experiments.compare.interleaved import (
        TurnsComparison,
        TurnsPlan,
        compare_interleaved,
        compared_interleaved,
        resume_interleaved,
    )
    from fathom.experiments.compare.saved import DEFAULT_METRICS, compare_runs, parse_condition

__all__ = [
    "DEFAULT_METRICS",
    "TurnsComparison",
    "TurnsPlan",
    "compare_interleaved",
    "compare_runs",
    "compared_interleaved",
    "differing",
    "parse_condition",
    "resume_interleaved",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
