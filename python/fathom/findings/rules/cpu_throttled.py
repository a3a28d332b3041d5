"""CPU throttled: a quota of a control group stopped the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the kernel counts the periods."""
    return evidence.warned("certain", "cpu_throttled", unit="%")


RULE = Rule(
    "cpu-throttled",
    "A CPU quota was measured",
    "Linux kernel documentation, CFS bandwidth control; the engine's warning cpu_throttled",
    _look,
    fires_when="A quota stopped the process in at least 5 % of its periods.",
    place=60,
)
