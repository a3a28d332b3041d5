"""Stalled: threads waited for I/Os, and none came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._finding import Noticed, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings._observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it: the engine looks every 10 ms."""
    for warning in evidence.warnings("stalled"):
        yield Noticed(warning.evidence, warning.remedy, "certain")


RULE = Rule(
    "stalled",
    "The target stalled",
    "B. Gregg, Systems Performance (2020): latency outliers; the engine's warning stalled",
    _look,
)
