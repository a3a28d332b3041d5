"""Provisioned limit: the same rate whatever the depth and the block."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.units import rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE", "at_a_limit"]

_FLAT = 0.03
# What a run is off by chance: what was in flight at either edge of a short one, up to this.
_EDGES = 0.1
_LEAST_RUNS = 3
# So much more outstanding, and so much larger blocks, would change the rate of any device.
_DEPTHS = 4
_BLOCKS = 2
_BLOCKS_OF_A_LIMIT = 4
# One of so many runs may be over the level, by so much: limits let short bursts pass.
_RUNS_OF_A_BURST = 8
_BURST = 1.25
# So few outstanding are no more than what any device does at once.
_FEW = 4
# What a disk with heads gives of its own, too: it seeks for 4 ms or longer and transfers 280 MB/s,
# so that blocks that differ by this much in a second change its rate by less than 6 %.
_OF_HEADS_IOPS = 250
_OF_HEADS_BYTES_PER_S = 16 << 20
_ALL = 100
_KINDS = {0.0: "reads", 100.0: "writes"}
_REMEDY = (
    "Compare it with what the provider sold (IOPS and MiB/s of the volume and of the instance); "
    "without a provider, with the link and the controller. Beyond a limit more load only waits: "
    "judge the storage by its latency below it."
)


def at_a_limit(evidence: TargetEvidence) -> list[Observed]:
    """Return the runs that this rule finds to be at a limit, among those that it may look at."""
    shown = evidence.without(RULE.explained_by)
    return [run for noticed in _look(shown) for run in noticed.runs]


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Look for a plateau that neither depth nor block moves."""
    free = [one for one in evidence.observed if _is_free(one)]
    rates: tuple[tuple[str, Callable[[Observed], float], bool], ...] = (
        ("IOPS", _iops, False),
        ("MiB/s", lambda one: one.result.total.mib_per_s, True),
    )
    together: list[Observed] = []
    for unit, rate, is_throughput in rates:
        is_a_limit = partial(_is_a_limit, is_throughput=is_throughput)
        for flat, over in _plateau(free, rate, is_a_limit):
            together += flat
            yield _noticed((flat, over, free), unit, rate)
    yield from _of_one_kind(free, together)


def _of_one_kind(free: Sequence[Observed], together: Sequence[Observed]) -> Iterator[Noticed]:
    """Look for limits that a provider sets for reads and for writes, beside those found together.

    Only of IOPS: what a device writes in a second may be the same for all that is large enough.
    """
    for percent in _KINDS:
        own = [one for one in free if one.load.write_percent == percent]
        is_known = any(one.load.write_percent == percent for one in together)
        if is_known or len(own) == len(free):
            continue
        for flat, over in _plateau(own, _iops, _is_a_limit_of_one_kind):
            yield _noticed((flat, over, free), "IOPS", _iops)


def _iops(one: Observed) -> float:
    return one.iops


def _plateau(
    free: Sequence[Observed],
    rate: Callable[[Observed], float],
    is_a_limit: Callable[[Sequence[Observed]], bool],
) -> Iterator[tuple[list[Observed], list[Observed]]]:
    """Give the runs that are at a limit, if there is one, and those few that a burst helped."""
    ordered = sorted(free, key=rate)
    for count in range(len(ordered) // _RUNS_OF_A_BURST + 1):
        rest, over = ordered[: len(ordered) - count], ordered[len(ordered) - count :]
        flat = _flat(rest, rate)
        if is_a_limit(flat) and all(rate(one) <= _BURST * rate(flat[-1]) for one in over):
            yield flat, over
            return


def _flat(ordered: Sequence[Observed], rate: Callable[[Observed], float]) -> list[Observed]:
    """Return the runs that gave the same rate, by the rate, if none gave more."""
    most = rate(ordered[-1]) if ordered else 0.0
    near = [one for one in ordered if rate(one) >= (1 - _EDGES) * most]
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


def _is_a_limit_of_one_kind(flat: Sequence[Observed]) -> bool:
    """Whether few outstanding met it: what needs many may be all that a device does at once."""
    is_early = any(one.load.outstanding <= _FEW for one in flat)
    return _is_a_limit(flat, is_throughput=False) and is_early and _carries_all_alike(flat)


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
    runs: tuple[Sequence[Observed], Sequence[Observed], Sequence[Observed]],
    unit: str,
    rate: Callable[[Observed], float],
) -> Noticed:
    """Say what is flat, what was over it, and of what all that is."""
    flat, over, free = runs
    blocks = [one.load.block_bytes for one in flat]
    depths = [one.load.outstanding for one in flat]
    may_be_heads = _may_be_heads(flat)
    is_clear = _reach(blocks) >= _BLOCKS_OF_A_LIMIT and not over and not may_be_heads
    words = (
        f"{len(flat)} loads{_kind_words(flat, free)} with {min(depths)} to {max(depths)} "
        f"outstanding and blocks of {size_words(min(blocks))} to {size_words(max(blocks))} "
        f"all gave {_span_words(list(map(rate, flat)))} {unit}"
    )
    if over:
        words += f"; {len(over)} more gave {_span_words(list(map(rate, over)))}, as in a burst"
    if may_be_heads:
        words += "; a disk that seeks for each of them, one after the other, does the same"
    return Noticed(f"{words}.", _REMEDY, "likely" if is_clear else "possible", flat)


def _may_be_heads(flat: Sequence[Observed]) -> bool:
    """Whether a device that does one I/O at a time, and seeks for each, would do the same."""
    blocks = [one.load.block_bytes for one in flat]
    most = max(map(_iops, flat))
    differ_bytes_per_s = most * (max(blocks) - min(blocks))
    is_random = all(one.load.random_percent == _ALL for one in flat)
    return is_random and most <= _OF_HEADS_IOPS and differ_bytes_per_s < _OF_HEADS_BYTES_PER_S


def _span_words(rates: Sequence[float]) -> str:
    least, most = rate_words(min(rates)), rate_words(max(rates))
    return least if least == most else f"{least} to {most}"


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
        "with 4 times the block. Reads that writes exceed, and writes that reads exceed: IOPS "
        "alone, random and sequential, with 4 times both, some with at most 4 outstanding. One of "
        "eight may be over it by up to a quarter. *Likely* if blocks differ by 4 times, none is "
        "over it, and no disk that seeks for each would do the same (random ones alone, up to 250 "
        "IOPS, blocks that differ by less than 16 MiB in a second), else *possible*."
    ),
    place=40,
)
