"""Cached by the device: so little was read so often that its cache may hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import OTHERS_ANSWERED, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it knows what it read."""
    return evidence.warned("possible", "small_working_set")


RULE = Rule(
    "cached-by-device",
    "A cache of the device may hold all of it",
    "SNIA SSS PTS 2.0.2: ActiveRange; the engine's warning small_working_set",
    _look,
    explained_by=OTHERS_ANSWERED,
    fires_when="At most 64 MiB were read at least 16 times over.",
    place=130,
)
