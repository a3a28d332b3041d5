"""Provisioned limit: the same rate whatever the depth and the block."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom.findings.finding import Confidence
    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

_FLAT = 0.03
# What a run is off by chance: what was in flight at either edge of a short one, up to this.
_EDGES = 0.1
_LEAST_RUNS = 3
# So much more outstanding, and so much larger blocks, would change the rate of any device.
_DEPTHS = 4
_BLOCKS = 2
_BLOCKS_OF_A_LIMIT = 4
_REMEDY = (
    "Compare it with what the provider sold (IOPS and MiB/s of the volume and of the instance); "
    "without a provider, with the link and the controller. Beyond a limit more load only waits: "
    "judge the storage by its latency below it."
)


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Look for a plateau that neither depth nor block moves."""
    free = [one for one in evidence.observed if _is_free(one)]
    rates: tuple[tuple[str, Callable[[Observed], float], bool], ...] = (
        ("IOPS", lambda one: one.iops, False),
        ("MiB/s", lambda one: one.result.total.mib_per_s, True),
    )
    for unit, rate, is_throughput in rates:
        flat = _plateau(free, rate)
        if _is_a_limit(flat, is_throughput=is_throughput):
            yield _noticed(flat, unit, rate)


def _plateau(free: Sequence[Observed], rate: Callable[[Observed], float]) -> list[Observed]:
    """Return the runs that gave the same rate, if none gave more."""
    most = max(map(rate, free), default=0.0)
    near = [one for one in free if rate(one) >= (1 - _EDGES) * most]
    if not near or most <= 0:
        return []
    level = median(map(rate, near))
    if any(rate(one) > (1 + _off(one)) * level for one in near):
        return []
    return [one for one in near if rate(one) >= (1 - _off(one)) * level]


def _off(one: Observed) -> float:
    """Return by what share a run may miss its rate."""
    return max(_FLAT, min(_EDGES, one.load.outstanding / one.result.total.ios))


def _is_free(one: Observed) -> bool:
    return one.load.is_direct and not one.load.is_paced


def _is_a_limit(flat: Sequence[Observed], *, is_throughput: bool) -> bool:
    if len(flat) < _LEAST_RUNS:
        return False
    if _reach([one.load.outstanding for one in flat]) < _DEPTHS:
        return False
    if _reach([one.load.block_bytes for one in flat]) < _BLOCKS:
        return False
    # A device may carry no more of one kind; what carries all kinds alike is a limit above it.
    places = {one.load.random_percent for one in flat}
    blocks = _reach([one.load.block_bytes for one in flat])
    return not is_throughput or (len(places) > 1 and blocks >= _BLOCKS_OF_A_LIMIT)


def _reach(values: Sequence[int]) -> float:
    return max(values) / max(min(values), 1)


def _noticed(flat: Sequence[Observed], unit: str, rate: Callable[[Observed], float]) -> Noticed:
    rates = [rate(one) for one in flat]
    blocks = [one.load.block_bytes for one in flat]
    depths = [one.load.outstanding for one in flat]
    sure: Confidence = "likely" if _reach(blocks) >= _BLOCKS_OF_A_LIMIT else "possible"
    words = (
        f"{len(flat)} loads with {min(depths)} to {max(depths)} outstanding and blocks of "
        f"{size_words(min(blocks))} to {size_words(max(blocks))} all gave "
        f"{rate_words(min(rates))} to {rate_words(max(rates))} {unit}."
    )
    return Noticed(words, _REMEDY, sure, flat)


RULE = Rule(
    "provisioned-limit",
    "A limit was reached, not the device's own",
    "AWS, Amazon EBS volume types: provisioned IOPS and throughput; Azure, disk performance tiers",
    _look,
    explained_by=EXPLAINED,
    fires_when=(
        "At least three loads that are not paced and past the page cache, within 3 % of one "
        "rate that none exceeds (short runs: as much as was in flight, up to 10 %), be it IOPS "
        "with 4 times the outstanding and twice the block, or MiB/s, random and sequential, "
        "with 4 times the block. *Likely* if blocks differ by 4 times, else *possible*."
    ),
    place=40,
)
