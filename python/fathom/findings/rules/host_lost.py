"""A host of a fleet was lost: the sum lacks what it would have added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures, lost_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell each host that was lost, and how many were left."""
    for one in evidence.observed:
        hosts = host_figures(one.result)
        lost = [host for host in hosts if host.lost is not None]
        for host in lost:
            yield Noticed(
                lost_sentence(host, hosts),
                "Mend or leave out that host (--hosts), and measure again.",
                "certain",
                (one,),
                len(lost),
            )


RULE = Rule(
    "host-lost",
    "A host of the fleet was lost",
    "Fathom: the heartbeat of its fleets",
    _look,
    # It is about the hosts, whatever explains the figures.
    explained_by=NOTHING,
    fires_when="A host of a fleet did not answer, or its result made no sense.",
    place=290,
)
