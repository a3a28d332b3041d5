"""The sum stays while hosts are added: what they share is at its limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom.findings.causes import DISTURBING
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

_GAIN = 1.1


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Compare runs of one load from different numbers of hosts."""
    grouped: dict[object, dict[int, Observed]] = {}
    for one in evidence.observed:
        count = sum(host.lost is None for host in host_figures(one.result))
        if count:
            # Each host may have a part of the target for itself.
            load = replace(one.load, working_set_bytes=0)
            grouped.setdefault(load, {})[count] = one
    for found in grouped.values():
        *fewer, most = sorted(found)
        if fewer and found[most].iops < _GAIN * found[fewer[-1]].iops:
            before, now = found[fewer[-1]], found[most]
            few = f"{fewer[-1]} host{'s' * (fewer[-1] > 1)}"
            yield Noticed(
                f"{now.load.words()}, {now.load.outstanding} outstanding on each host: {few} did "
                f"{rate_words(before.iops)} IOPS, and {most} {rate_words(now.iops)}.",
                f"{_shared(now)} More hosts bring nothing.",
                "likely",
                (before, now),
                most / fewer[-1],
            )


def _shared(one: Observed) -> str:
    """Say what the hosts share; a server by the address of the target."""
    paths = [target.path for target in one.result.request.profile.time_spans[0].targets]
    served = next(filter(is_address, paths), None)
    if served is None:
        return "What the hosts share is the limit: the server, the array, or the network to it."
    return f"The server that the hosts share, {served}, or the network to it is the limit."


RULE = Rule(
    "shared-limit",
    "What the hosts share is at its limit",
    "Gunther, Guerrilla Capacity Planning: the universal scalability law",
    _look,
    explained_by=DISTURBING,
    fires_when=(
        "The same load from more hosts gave less than 10 % more IOPS in sum, and neither run was "
        "disturbed."
    ),
    place=320,
)
