"""Constant data: devices may compress them, or store them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the engine looked before it read."""
    return evidence.warned("possible", "constant_data")


RULE = Rule(
    "constant-data",
    "The data repeat one pattern",
    "DiskSpd, -Z: the pattern that it writes by itself; the engine's warning constant_data",
    _look,
    fires_when=(
        "At least one of 20 places that were looked at repeats a pattern of at most 256 bytes, or "
        "holds the same as another of them."
    ),
    place=120,
)
