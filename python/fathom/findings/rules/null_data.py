"""NULL bytes: blocks that hold zeros or were never written need not touch the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings._weights import weighed
from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Take the engine's word for it: it looked while it measured; zeros first."""
    for kind in ("all_zero_data", "unwritten_extents"):
        # Of shares that are alike the first run tells most: those that write leave less of it.
        yield from weighed(evidence, "certain", kind)


RULE = Rule(
    "null-data",
    "The data are zeros or were never written",
    "ioctl_fiemap(2); DiskSpd, -Z: devices may compress zeros; the engine's warnings",
    _look,
    explained_by=NOTHING,
    fires_when="The engine found blocks of zeros, or blocks that were never written.",
    place=110,
)
