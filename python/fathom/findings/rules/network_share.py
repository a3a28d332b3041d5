"""Network share: a great part of the latency is the way to the server and back."""

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
    """Take the engine's word for it: it measured the round trip before the load."""
    return weighed(evidence, "certain", "network_share")


RULE = Rule(
    "network-share",
    "A great part of the latency is the network's",
    "docs/targets/network.md; the engine's warning network_share",
    _look,
    explained_by=NOTHING,
    fires_when="The shortest round trip took at least a fifth of the mean latency.",
    place=22,
)
