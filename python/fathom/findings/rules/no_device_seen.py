"""No device seen: what serves the target is out of sight, so that no counter tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: no block device lies beneath the target."""
    return evidence.warned("certain", "device_unseen")


RULE = Rule(
    "no-device-seen",
    "No device can be seen beneath the target",
    "fuse(4), mount(8); the engine's warning device_unseen",
    _look,
    fires_when="The target lies on FUSE, a network file system or an overlay of another namespace.",
    place=20,
)
