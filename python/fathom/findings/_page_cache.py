"""The page cache answered, and not the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._finding import Noticed, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings._observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it: it looked while it measured."""
    for warning in evidence.warnings("page_cache"):
        yield Noticed(warning.evidence, warning.remedy, "certain")


RULE = Rule(
    "page-cache",
    "The page cache was measured",
    "open(2), O_DIRECT; the engine's warning page_cache",
    _look,
)
