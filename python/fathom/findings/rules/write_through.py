"""Write-through not honoured: durable writes are as quick as those that need not be durable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_SAME = 1.15
# A write that reaches the medium is not much quicker than a read that comes from it.
_QUICKER_THAN_READS = 0.6


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    reads_ns = _reads_ns(evidence)
    for family in evidence.families("is_write_through"):
        single = [one for one in family if one.load.outstanding == 1]
        durable = [one.mean_ns for one in single if one.load.is_write_through and one.mean_ns]
        quick = [one.mean_ns for one in single if not one.load.is_write_through and one.mean_ns]
        read_ns = reads_ns.get(family[0].load.block_bytes)
        if not durable or not quick or read_ns is None:
            continue
        if family[0].load.write_percent != 100:  # noqa: PLR2004 - All.
            continue
        if max(durable) <= min(_SAME * min(quick), _QUICKER_THAN_READS * read_ns):
            yield Noticed(
                f"Write-through takes {time_words(max(durable))}, writes without it "
                f"{time_words(min(quick))}, and a random read {time_words(read_ns)}: "
                "something beneath answers before the data are on the medium.",
                "Make sure that drive or controller has power-loss protection, or turn its write "
                "cache off; without either, an outage loses acknowledged writes.",
                "possible",
                single,
            )


def _reads_ns(evidence: TargetEvidence) -> dict[int, float]:
    """Return the slowest mean of single random reads, by the size of their blocks."""
    found: dict[int, float] = {}
    for one in evidence.observed:
        load = one.load
        is_read = not load.write_percent and load.random_percent and load.is_direct
        if is_read and load.outstanding == 1 and one.mean_ns:
            found[load.block_bytes] = max(found.get(load.block_bytes, 0.0), one.mean_ns)
    return found


RULE = Rule(
    "write-through-not-honoured",
    "Write-through is answered by a cache",
    "Linux kernel documentation, Explicit volatile write back cache control (FUA, flush)",
    _look,
    # Writes that fill a core are answered by a cache all the more.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT,
    fires_when=(
        "Write-through at depth 1 is within 15 % of plain writes, and takes at most 0.6 of a "
        "random read of the same block."
    ),
    place=220,
)
