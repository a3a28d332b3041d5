"""Several figures as one: jobs of a group, or reads and writes together.

Only what follows from the parts is reported: percentiles of a sum need the parts' histograms.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from fathom._ranks import rank_of
from fathom.imported.model import ImportedDirection, ImportedLatency

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["known_percentile_ns", "merged", "percentile_ns"]

_Number = TypeVar("_Number", int, float)


def merged(
    parts: Iterable[ImportedDirection | None], percents: Sequence[float] = ()
) -> ImportedDirection | None:
    """Return the sum of directions that ran at the same time; None of none.

    ``percents`` are the percentiles to read off the merged histogram.
    """
    known = [part for part in parts if part is not None]
    busy = [part for part in known if part.ios or part.bytes] or known[:1]
    if not busy:
        return None
    if len(busy) == 1:
        return busy[0]
    return ImportedDirection(
        ios=_sum([part.ios for part in busy]),
        bytes=_sum([part.bytes for part in busy]),
        iops=_sum([part.iops for part in busy]),
        mib_per_s=_sum([part.mib_per_s for part in busy]),
        latency=_latency([part.latency for part in busy], percents),
    )


def _sum(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _latency(
    parts: Sequence[ImportedLatency | None], percents: Sequence[float]
) -> ImportedLatency | None:
    known = [part for part in parts if part is not None]
    counts = [part.count for part in known if part.count]
    if len(counts) < len(parts):
        return None
    count = sum(counts)
    mean_ns = _weighted(known, counts, lambda part: part.mean_ns)
    histogram = _histogram(known)
    return ImportedLatency(
        what=", ".join(dict.fromkeys(part.what for part in known)),
        count=count,
        mean_ns=mean_ns,
        std_ns=_std_ns(known, counts, mean_ns),
        min_ns=_extreme(min, [part.min_ns for part in known]),
        max_ns=_extreme(max, [part.max_ns for part in known]),
        percentiles_ns={}
        if histogram is None
        else {percent: percentile_ns(histogram, percent) for percent in percents},
        histogram=histogram,
    )


def _weighted(
    parts: Sequence[ImportedLatency],
    counts: Sequence[int],
    look: Callable[[ImportedLatency], float | None],
) -> float | None:
    total = 0.0
    for part, count in zip(parts, counts, strict=True):
        value = look(part)
        if value is None:
            return None
        total += value * count
    return total / sum(counts)


def _std_ns(
    parts: Sequence[ImportedLatency], counts: Sequence[int], mean_ns: float | None
) -> float | None:
    """Return the deviation of the whole: that within the parts and that between their means."""
    if mean_ns is None:
        return None

    def square(part: ImportedLatency) -> float | None:
        if part.std_ns is None or part.mean_ns is None:
            return None
        return part.std_ns**2 + (part.mean_ns - mean_ns) ** 2

    variance = _weighted(parts, counts, square)
    return None if variance is None else math.sqrt(variance)


def _extreme(
    pick: Callable[[Sequence[float]], float], values: Sequence[float | None]
) -> float | None:
    known = [value for value in values if value is not None]
    return pick(known) if len(known) == len(values) else None


def _histogram(parts: Sequence[ImportedLatency]) -> dict[int, int] | None:
    whole: Counter[int] = Counter()
    for part in parts:
        if part.histogram is None:
            return None
        whole.update(part.histogram)
    return dict(sorted(whole.items()))


def known_percentile_ns(latency: ImportedLatency, percent: float) -> float | None:
    """Return a percentile as documented, or read off the histogram; None if there is neither."""
    documented = latency.percentiles_ns.get(percent)
    if documented is None and latency.histogram:
        return percentile_ns(latency.histogram, percent)
    return documented


def percentile_ns(histogram: Mapping[int, int], percent: float) -> float:
    """Return the least value that this percentage of the I/Os did not exceed.

    fio reads its percentiles in the same way (stat.c, ``calc_clat_percentiles``).
    """
    rank = rank_of(percent / 100, sum(histogram.values()))
    seen = 0
    value_ns = 0
    for value_ns, count in sorted(histogram.items()):  # noqa: B007 - The last is the greatest.
        seen += count
        if seen >= rank:
            break
    return float(value_ns)
