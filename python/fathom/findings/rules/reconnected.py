"""Reconnected: a connection was lost and made again while it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._weights import weighed
from fathom.findings.causes import NOTHING
from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: it made the connection again."""
    return weighed(evidence, "certain", "reconnected")


RULE = Rule(
    "reconnected",
    "A connection was lost and made again",
    "docs/targets/network.md; the engine's warning reconnected",
    _look,
    explained_by=NOTHING,
    fires_when="With `--reconnect`, at least one connection was lost and made again.",
    place=28,
)
