"""A rate was asked for and not reached."""

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
    return evidence.warned("certain", "rate_not_reached")


RULE = Rule(
    "rate-not-reached",
    "The rate that was asked for was not reached",
    "DiskSpd, -g; the engine's warning rate_not_reached",
    _look,
    fires_when="The engine delivered less than `-g` asked for.",
    place=190,
)
