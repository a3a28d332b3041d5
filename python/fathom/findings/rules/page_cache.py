"""The page cache answered, and not the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it looked while it measured."""
    return evidence.warned("certain", "page_cache")


RULE = Rule(
    "page-cache",
    "The page cache was measured",
    "open(2), O_DIRECT; the engine's warning page_cache",
    _look,
    fires_when="The engine saw reads or writes go through the page cache.",
    place=100,
)
