"""Server window: the server takes fewer I/Os at once than were requested."""

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
    """Take the engine's word for it: the server says how many it takes."""
    return weighed(evidence, "certain", "server_window")


RULE = Rule(
    "server-window",
    "The server limits what is outstanding",
    "RFC 7143, MaxCmdSN; NBD, NBD_FLAG_CAN_MULTI_CONN; the engine's warning server_window",
    _look,
    explained_by=NOTHING,
    fires_when="More I/Os per connection were requested than the server takes at once.",
    place=26,
)
