"""Not the device: memory, a cache or a layer above the device answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it read the counters of every layer."""
    return evidence.warned("certain", "not_the_device")


RULE = Rule(
    "not-the-device",
    "Something else than the device answered",
    "Linux kernel documentation, I/O statistics fields; the engine's warning not_the_device",
    _look,
    fires_when=(
        "The counters of the layers beneath the target saw less than nine tenths of the bytes, "
        "or it lies in memory."
    ),
    place=10,
)
