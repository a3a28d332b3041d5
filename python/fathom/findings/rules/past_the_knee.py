"""Past the knee: more outstanding I/O brought no more throughput, only longer waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.findings.causes import EXPLAINED
from fathom.findings.finding import Noticed, Rule
from fathom.stats import LoadPoint, find_knee
from fathom.units import rate_words, time_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fathom.findings.observed import Observed, TargetEvidence

__all__ = ["RULE"]

# Little's law makes latency grow with the load once throughput does not.
_LATENCY_GROWTH = 1.5


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    for family in evidence.families("depth"):
        points = _points(family)
        if not points:
            continue
        knee, most = find_knee(points), max(points, key=lambda point: point.load)
        if most.load > knee.load and most.latency_ns >= _LATENCY_GROWTH * knee.latency_ns:
            yield _noticed(family, knee, most)


def _noticed(family: Sequence[Observed], knee: LoadPoint, most: LoadPoint) -> Noticed:
    at = next(one for one in family if one.load.outstanding == knee.load)
    load = at.load
    return Noticed(
        f"{load.words()}: {knee.load:.0f} outstanding at once{load.where} give "
        f"{rate_words(knee.throughput)} IOPS at {time_words(knee.latency_ns)}, {most.load:.0f} "
        f"give {rate_words(most.throughput)} at {time_words(most.latency_ns)}.",
        f"Keep about {knee.load:.0f} outstanding at once{load.where} ({at.flags}); more only wait.",
        "likely",
        family,
        most.latency_ns / knee.latency_ns,
    )


def _points(family: Iterable[Observed]) -> list[LoadPoint]:
    """Return a point for each depth: of several runs of it, the mean."""
    at: dict[int, list[tuple[float, float]]] = {}
    for one in family:
        if one.mean_ns is not None and not one.load.is_paced:
            at.setdefault(one.load.outstanding, []).append((one.iops, one.mean_ns))
    return [LoadPoint(depth, *np.mean(runs, axis=0).tolist()) for depth, runs in at.items()]


RULE = Rule(
    "past-the-knee",
    "More outstanding I/O only waits",
    "Little's law; J. Barreto, DiskSpd, PowerShell and storage performance (2014)",
    _look,
    explained_by=EXPLAINED,
    fires_when=(
        "The greatest depth has 1.5 times the latency of the knee, which gives 97 % of the "
        "greatest rate."
    ),
    place=270,
)
