"""Periodic stalls: the rate collapses again and again at a regular distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fathom.findings._series import settled_rates
from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, STALLED
from fathom.findings.finding import Noticed, Rule
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import TargetEvidence

__all__ = ["RULE"]

_STALLED_SHARE = 0.3
_LEAST_STALLS = 4
_GREATEST_SPREAD = 0.25
# Stalls that fill more of the time than this are the device's ordinary speed.
_MOST_TIME = 0.3


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell regular stalls of loads that do not pause by themselves."""
    for one in evidence.observed:
        rates = settled_rates(one.result)
        if rates is None or one.load.is_paced:
            continue
        stalled = rates < _STALLED_SHARE * np.median(rates)
        # The first interval of each stall.
        begins = np.flatnonzero(stalled & ~np.concatenate(([False], stalled[:-1])))
        if begins.size < _LEAST_STALLS or stalled.mean() > _MOST_TIME:
            continue
        gaps = np.diff(begins)
        if gaps.std() <= _GREATEST_SPREAD * gaps.mean():
            every_s = gaps.mean() * one.result.raw["time_spans"][0]["interval_ns"] / 1e9
            yield Noticed(
                f"{one.load.words()}, {one.load.outstanding} outstanding: every {every_s:.3g} s "
                f"the rate fell from {rate_words(float(np.median(rates)))} to "
                f"{rate_words(float(rates[stalled].mean()))} IOPS, "
                f"{begins.size} times.",
                "Look for what runs at this period: flushing of caches, garbage collection of the "
                "drive, snapshots, a scheduled task.",
                "likely",
                (one,),
                float(stalled.mean()),
            )


RULE = Rule(
    "periodic-stalls",
    "The device stalls at a regular period",
    "B. Gregg, Systems Performance (2nd ed.), 9.3: latency outliers and their period",
    _look,
    # Stalls are its subject, and no core at its limit makes any.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT - STALLED,
    fires_when=(
        "At least four times the rate fell below 30 % of its median, at regular distances, and no "
        "rate or burst was requested."
    ),
    place=250,
)
