"""Bimodal latency: two populations, such as cache hits and misses, hide behind one mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, STALLED
from fathom.findings.finding import Noticed, Rule
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence
    from fathom.result import Latency
    from fathom.stats.floats import FloatArray

__all__ = ["RULE"]

_LEAST_COUNT = 1_000
_LEAST_SHARE = 0.05
_LEAST_DISTANCE = 3.0
# The rarest latencies between two peaks, as a share of the lesser peak.
_VALLEY = 0.2
_BINS_PER_OCTAVE = 4

_REMEDY = "Judge by percentiles, not the mean; look for a cache or tier with hits and misses."


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell two populations; those that are farthest apart are the worst."""
    for one in evidence.observed:
        for name in ("read", "write"):
            latency: Latency | None = getattr(one.result, name).latency
            found = _two(latency) if latency is not None else None
            way = one.load.reads if name == "read" else one.load.writes
            # Sizes and orders take as long as they do: such a load has populations of its own.
            if found is None or way.is_mixed:
                continue
            low_ns, high_ns, share = found
            words = (
                f"{one.load.words()}, {one.load.outstanding} outstanding: {100 - share:.0f} % of "
                f"the {name}s took about {time_words(low_ns)}, {share:.0f} % about "
                f"{time_words(high_ns)}."
            )
            yield Noticed(words, _REMEDY, "likely", (one,), high_ns / low_ns)


def _two(latency: Latency) -> tuple[float, float, float] | None:
    """Return both peaks in nanoseconds, and the percentage that the slower one has."""
    if latency.count < _LEAST_COUNT:
        return None
    counts, first = _bins(latency)
    peak = int(np.argmax(counts))
    best = None
    for other in range(counts.size):
        low, high = sorted((peak, other))
        if high - low < _BINS_PER_OCTAVE * np.log2(_LEAST_DISTANCE):
            continue
        valley = low + int(np.argmin(counts[low : high + 1]))
        upper = float(counts[valley:].sum() / counts.sum())
        deep = counts[valley] <= _VALLEY * min(counts[peak], counts[other])
        if deep and _LEAST_SHARE <= upper <= 1 - _LEAST_SHARE:
            if best is not None and counts[other] <= best[0]:
                continue
            middles = [2 ** ((first + place + 0.5) / _BINS_PER_OCTAVE) for place in (low, high)]
            best = (counts[other], (middles[0], middles[1], 100 * upper))
    return None if best is None else best[1]


def _bins(latency: Latency) -> tuple[FloatArray, int]:
    """Return counts in equal steps of the logarithm, smoothed, and the number of the first."""
    lower_ns = np.fromiter(latency.buckets, float)
    places = np.floor(np.log2(np.maximum(lower_ns, 1)) * _BINS_PER_OCTAVE).astype(int)
    first = int(places.min())
    counts = np.bincount(places - first, weights=np.fromiter(latency.buckets.values(), float))
    padded = np.concatenate(([0.0], counts, [0.0]))
    return np.asarray(np.convolve(padded, (0.25, 0.5, 0.25), mode="same")), first - 1


RULE = Rule(
    "bimodal-latency",
    "Latency has two populations",
    "B. Gregg, Frequency Trails: Modes and Modality (2014)",
    _look,
    # A core at its limit gives one population, and a stall too few I/Os for another.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT - STALLED,
    fires_when=(
        "Two peaks a factor of 3 apart, a valley below 20 % of the lesser, each side with 5 % "
        "of the I/Os; of reads or writes of one size, all random or all sequential."
    ),
    place=260,
)
