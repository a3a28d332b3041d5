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
_KINDS = {0.0: "reads", 100.0: "writes"}
_REMEDY = (
    "Compare it with what the provider sold (IOPS and MiB/s of the volume and of the instance); "
    "without a provider, with the link and the controller. Beyond a limit more load only waits: "
    "judge the storage by its latency below it."
)


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Look for a plateau that neither depth nor block moves."""
    free = [one for one in evidence.observed if _is_free(one)]
    rates: tuple[tuple[str, Callable[[Observed], float], bool], ...] = (
        ("IOPS", _iops, False),
        ("MiB/s", lambda one: one.result.total.mib_per_s, True),
    )
    together: list[Observed] = []
    for unit, rate, is_throughput in rates:
        flat = _plateau(free, rate)
        if _is_a_limit(flat, is_throughput=is_throughput):
            together += flat
            yield _noticed(flat, free, unit, rate)
    yield from _of_one_kind(free, together)


def _of_one_kind(free: Sequence[Observed], together: Sequence[Observed]) -> Iterator[Noticed]:
    """Look for limits that a provider sets for reads and for writes, beside those found together.

    Only of IOPS: what a device writes in a second may be the same for all that is large enough.
    """
    for percent in _KINDS:
        own = [one for one in free if one.load.write_percent == percent]
        is_known = any(one.load.write_percent == percent for one in together)
        flat = [] if is_known or len(own) == len(free) else _plateau(own, _iops)
        if _is_a_limit(flat, is_throughput=False) and _carries_all_alike(flat):
            yield _noticed(flat, free, "IOPS", _iops)


def _iops(one: Observed) -> float:
    return one.iops


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
    return not is_throughput or _carries_all_alike(flat)


def _carries_all_alike(flat: Sequence[Observed]) -> bool:
    """Whether random and sequential I/O of any block do the same, as no device does by itself."""
    places = {one.load.random_percent for one in flat}
    blocks = _reach([one.load.block_bytes for one in flat])
    return len(places) > 1 and blocks >= _BLOCKS_OF_A_LIMIT


def _reach(values: Sequence[int]) -> float:
    return max(values) / max(min(values), 1)


def _kind_words(flat: Sequence[Observed], free: Sequence[Observed]) -> str:
    """Say of which kind all of them are, if others are not."""
    kinds, measured = ({one.load.write_percent for one in runs} for runs in (flat, free))
    kind = _KINDS.get(min(kinds))
    return f" of {kind} alone" if len(kinds) == 1 < len(measured) and kind else ""


def _noticed(
    flat: Sequence[Observed],
    free: Sequence[Observed],
    unit: str,
    rate: Callable[[Observed], float],
) -> Noticed:
    rates = [rate(one) for one in flat]
    blocks = [one.load.block_bytes for one in flat]
    depths = [one.load.outstanding for one in flat]
    sure: Confidence = "likely" if _reach(blocks) >= _BLOCKS_OF_A_LIMIT else "possible"
    words = (
        f"{len(flat)} loads{_kind_words(flat, free)} with {min(depths)} to {max(depths)} "
        f"outstanding and blocks of {size_words(min(blocks))} to {size_words(max(blocks))} "
        f"all gave {rate_words(min(rates))} to {rate_words(max(rates))} {unit}."
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
        "with 4 times the block; of reads or of writes alone only IOPS, random and sequential, "
        "with 4 times both. *Likely* if blocks differ by 4 times, else *possible*."
    ),
    place=40,
)
