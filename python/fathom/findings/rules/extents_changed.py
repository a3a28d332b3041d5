"""Extents changed: a file lost blocks while it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: the file system tells its blocks."""
    return evidence.warned("certain", "extents_changed")


RULE = Rule(
    "extents-changed",
    "The file lost blocks while it was measured",
    "fallocate(2), FALLOC_FL_PUNCH_HOLE; the engine's warning extents_changed",
    _look,
    fires_when="A file that was only read held fewer blocks after the run.",
    place=90,
)
