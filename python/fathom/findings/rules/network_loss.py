"""Network loss: segments on the way to the server had to be sent again."""

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
    """Take the engine's word for it: the kernel counts what it sends again."""
    return weighed(evidence, "certain", "retransmits")


RULE = Rule(
    "network-loss",
    "The network lost data, or seemed to",
    "tcp(7), TCP_INFO; the engine's warning retransmits",
    _look,
    explained_by=NOTHING,
    fires_when="At least one TCP segment in 1,000 I/Os was sent again.",
    place=24,
)
