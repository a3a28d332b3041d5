"""CPU contended: other processes used CPUs that the load waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._finding import Noticed, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings._observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it: the kernel counts how long threads waited."""
    for warning in evidence.warnings("cpu_contended"):
        yield Noticed(warning.evidence, warning.remedy, "certain")


RULE = Rule(
    "cpu-contended",
    "Other processes took the CPUs",
    "Linux kernel documentation, scheduler statistics; the engine's warning cpu_contended",
    _look,
)
