"""I/O limited: a limit of a control group was measured in place of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._finding import Noticed, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings._observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it: the kernel counts what the group did."""
    for warning in evidence.warnings("io_limited"):
        yield Noticed(warning.evidence, warning.remedy, "certain")


RULE = Rule(
    "io-limited",
    "A limit of I/O was measured",
    "Linux kernel documentation, Control Group v2, io.max; the engine's warning io_limited",
    _look,
)
