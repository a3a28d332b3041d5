"""RAID write penalty absent: random writes on parity RAID are as fast as reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

# I/Os on the disks for each small random write.
_PENALTIES = {"raid4": 4, "raid5": 4, "raid6": 6, "raid10": 2, "raid1": 2}
# The share of reads' rate beyond which the penalty is not there: twice what it would leave.
_TWICE = 2
# What is larger may fill a whole stripe, which costs no reads: chunks of md are rarely smaller.
_SMALL_BYTES = 64 << 10
_ALL_PERCENT = 100


def _is_small_and_random(one: Observed) -> bool:
    """Whether each write of a load costs the penalty, and nothing but the array limits it."""
    load = one.load
    is_random = load.random_percent == _ALL_PERCENT and load.is_direct
    return is_random and not load.is_paced and load.block_bytes <= _SMALL_BYTES


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    penalty = _PENALTIES.get(evidence.raid or "")
    if penalty is None:
        return
    for family in evidence.families("write_percent", "is_write_through"):
        loads = [one for one in family if _is_small_and_random(one)]
        reads = [one for one in loads if one.load.write_percent == 0]
        writes = [one for one in loads if one.load.write_percent == _ALL_PERCENT]
        if not reads or not writes or reads[0].load.outstanding < penalty:
            continue
        read, write = (max(one.iops for one in some) for some in (reads, writes))
        if write >= min(_TWICE / penalty, 0.9) * read:
            yield Noticed(
                f"On {evidence.raid} a small random write costs {penalty} I/Os, yet writes gave "
                f"{rate_words(write)} IOPS and reads {rate_words(read)}, "
                f"{write / read:.0%} of them.",
                "A write-back cache absorbs the writes: write for longer, over more than the "
                "cache holds, to see what the disks sustain.",
                "likely",
                (*reads, *writes),
            )
            return


RULE = Rule(
    "raid-penalty-absent",
    "The write penalty of RAID does not show",
    "Patterson, Gibson, Katz, A Case for RAID (1988): four accesses for a small write",
    _look,
    explained_by=EXPLAINED,
    fires_when=(
        "On an array of the kernel (md), random writes of at most 64 KiB exceed twice what the "
        "penalty leaves of the reads, and no rate or burst was requested."
    ),
    place=230,
)
