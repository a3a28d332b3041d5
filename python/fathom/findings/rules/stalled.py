"""Stalled: threads waited for I/Os, and none came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the engine looks every 10 ms."""
    return evidence.warned("certain", "stalled", unit="s")


RULE = Rule(
    "stalled",
    "The target stalled",
    "B. Gregg, Systems Performance (2020): latency outliers; the engine's warning stalled",
    _look,
    fires_when=(
        "A thread waited for half a second or longer, or for a tenth of a shorter measured time "
        "(0.2 s at least), and at least 20 times as long as for an I/O on average."
    ),
    place=80,
)
