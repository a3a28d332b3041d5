"""CPU taken away: threads were moved off their CPU, or a CPU was offline for a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: each thing that it saw once, whatever the number of runs."""
    return evidence.warned("certain", "affinity_changed", "cpu_offline")


RULE = Rule(
    "cpu-taken-away",
    "CPUs were taken away during the run",
    "Linux kernel documentation, CPU hotplug: tasks move to other CPUs; the engine's warnings",
    _look,
    fires_when=(
        "The engine saw a pinned thread that could run elsewhere at its end, or a CPU that was "
        "offline."
    ),
    place=160,
)
