"""Comparing: runs of the store (``saved``), or A and B measured interleaved (``interleaved``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.experiments.compare.interleaved import (
        TurnsComparison,
        TurnsPlan,
        compare_in_turns,
        compared_in_turns,
        resume_in_turns,
    )
    from fathom.experiments.compare.saved import DEFAULT_METRICS, compare_runs, parse_condition

__all__ = [
    "DEFAULT_METRICS",
    "TurnsComparison",
    "TurnsPlan",
    "compare_in_turns",
    "compare_runs",
    "compared_in_turns",
    "parse_condition",
    "resume_in_turns",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
