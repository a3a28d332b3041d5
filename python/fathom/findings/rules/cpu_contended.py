"""CPU contended: other processes used CPUs that the load waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the kernel counts how long threads waited."""
    return evidence.warned("certain", "cpu_contended", unit="%")


RULE = Rule(
    "cpu-contended",
    "Other processes took the CPUs",
    "Linux kernel documentation, scheduler statistics; the engine's warning cpu_contended",
    _look,
    fires_when=(
        "Threads of load waited for a CPU for a tenth of their time, while others used at least"
        " 0.2 CPUs."
    ),
    place=70,
)
