"""Stood still: nothing of the process ran for a part of the measured time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.finding import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom.findings.finding import Noticed
    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterable[Noticed]:
    """Take the engine's word for it: each time that it saw."""
    return evidence.warned("certain", "stood_still", unit="s")


RULE = Rule(
    "stood-still",
    "The measuring process stood still for a time",
    "signal(7), SIGSTOP and SIGCONT; the engine's warnings",
    _look,
    fires_when=(
        "The engine saw that nothing of it ran for half a second or longer, or for a tenth of a "
        "shorter measured time (0.2 s at least)."
    ),
    place=170,
)
