"""The sum stays while hosts are added: what they share is at its limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom.findings.causes import CORE_AT_ITS_LIMIT, DISTURBING, OF_EACH_HOST
from fathom.findings.finding import Noticed, Rule
from fathom.hosts import host_figures, is_shared_limit
from fathom.units import counted, rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Compare runs of one load, that keeps to no rate, from different numbers of hosts."""
    grouped: dict[object, dict[int, Observed]] = {}
    for one in evidence.observed:
        count = sum(host.lost is None for host in host_figures(one.result))
        if count and not one.load.is_paced:
            # Each host may have a part of the target for itself.
            load = replace(one.load, working_set_bytes=0, place="", hosts=1)
            grouped.setdefault(load, {})[count] = one
    for found in grouped.values():
        *fewer, most = sorted(found)
        if fewer and is_shared_limit((fewer[-1], found[fewer[-1]].iops), (most, found[most].iops)):
            yield _noticed(fewer[-1], most, found)


def _noticed(few: int, most: int, found: Mapping[int, Observed]) -> Noticed:
    before, now = found[few], found[most]
    return Noticed(
        f"{now.load.words()}, {now.load.outstanding} outstanding on each host: "
        f"{counted(few, 'host')} did {rate_words(before.iops)} IOPS, and {most} "
        f"{rate_words(now.iops)}.",
        f"{_shared(now)} More hosts bring nothing.",
        "likely",
        (before, now),
        most / few,
    )


def _shared(one: Observed) -> str:
    """Say what the hosts share; a server by the address of the target."""
    paths = [target.path for target in one.result.request.profile.time_spans[0].targets]
    served = next(filter(is_address, paths), None)
    if served is None:
        what = "What the hosts share is the limit: the server, the array, or the network to it"
    else:
        what = f"The server that the hosts share, {served}, or the network to it is the limit"
    if one.warned & CORE_AT_ITS_LIMIT:
        return f"{what}, or the CPUs, if hosts share them: a core was at its limit."
    return f"{what}."


RULE = Rule(
    "shared-limit",
    "What the hosts share is at its limit",
    "Gunther, Guerrilla Capacity Planning: the universal scalability law",
    _look,
    explained_by=DISTURBING | OF_EACH_HOST,
    fires_when=(
        "Of what more hosts would add to a linear sum, the same load, without a rate, gave less "
        "than a tenth, and nothing disturbed or answered either run."
    ),
    place=320,
)
