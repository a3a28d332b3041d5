"""Not the device: memory, a cache or a layer above the device answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_NAMED = (
    "Memory and no device answered",
    "Memory and swap answered",
    "No storage was touched",
)
"""How the engine's sentence begins where it is known who answered: headlines name it."""


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it read the counters of every layer."""
    for one in evidence.warned("certain", "not_the_device"):
        known = (title for title in _NAMED if one.evidence.startswith(title))
        yield replace(one, title=next(known, ""))


RULE = Rule(
    "not-the-device",
    "Something else than the device answered",
    "Linux kernel documentation, I/O statistics fields; the engine's warning not_the_device",
    _look,
    explained_by=NOTHING,
    fires_when=(
        "The counters of the layers beneath the target saw less than nine tenths of the bytes, "
        "or it lies in memory."
    ),
    place=10,
)
