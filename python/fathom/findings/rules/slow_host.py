"""One host of a fleet does much less than the others: the sum is not what the target can do."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fathom.findings.causes import NOTHING, disturbance_of
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_LESS = 0.8
_REMEDY = (
    "Compare its path, CPUs and settings with those of the others, or measure without it (--hosts)."
)
_DISTURBED = "Remove what the other findings name, measure again, and compare then."


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell the slowest host of each run, if it is far behind the others."""
    for one in evidence.observed:
        rates = {
            host.name: host.total.iops
            for host in host_figures(one.result)
            if host.total is not None and host.lost is None
        }
        if len(rates) < 2:  # noqa: PLR2004 - One host has no others.
            continue
        slowest = min(rates, key=lambda name: rates[name])
        others = median(rate for name, rate in rates.items() if name != slowest)
        if rates[slowest] < _LESS * others:
            yield Noticed(
                f"{one.load.words()}, {one.load.outstanding} outstanding: host {slowest} did "
                f"{rate_words(rates[slowest])} IOPS, where the others did {rate_words(others)}.",
                _DISTURBED if disturbance_of(one.result) else _REMEDY,
                "likely",
                (one,),
                others / max(rates[slowest], 1.0),
            )


RULE = Rule(
    "slow-host",
    "One host is slower than the others",
    "Microsoft, VM Fleet: figures by host",
    _look,
    # It is about the hosts, whatever explains the figures.
    explained_by=NOTHING,
    fires_when="A host of a fleet did less than 80 % of what the others did (median).",
    place=300,
)
