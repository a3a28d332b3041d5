"""I/O limited: a limit of a control group was measured in place of the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the kernel counts what the group did."""
    return evidence.warned("certain", "io_limited")


RULE = Rule(
    "io-limited",
    "A limit of I/O was measured",
    "Linux kernel documentation, Control Group v2, io.max; the engine's warning io_limited",
    _look,
    fires_when="The rate of the control group was at least nine tenths of its limit.",
    place=30,
)
