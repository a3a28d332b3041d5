"""Burst credits: a high rate for a while, then a step down to a lower one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.findings.causes import CORE_AT_ITS_LIMIT, EXPLAINED, STALLED
from fathom.findings.finding import Noticed, Rule
from fathom.metrics import interval_series
from fathom.units import NS_PER_S, rate_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.findings.observed import Observed, TargetEvidence
    from fathom.stats.floats import FloatArray

__all__ = ["RULE", "step_of"]

_LEAST_INTERVALS = 25
_LEAST_IOS = 2_000
# On each side of the step.
_LEAST_SIDE = 8
_DROP = 0.8
# The step in standard deviations of what lies before and behind it, without what strayed; a steady
# decline has 4.5.
_CLEAR = 8.0
# What a busy host or the change itself does to a few intervals is not the level's.
_STRAYED = 0.1
# A level has I/Os throughout: the longest time without any is at most this part of it.
_LONGEST_GAP = 0.25


@dataclass(frozen=True)
class _Step:
    at: int
    before: float
    after: float

    @property
    def share(self) -> float:
        return self.after / self.before


def _look(evidence: TargetEvidence) -> Iterator[Noticed]:
    """Tell each step down; the deepest is the worst."""
    for one in evidence.observed:
        step = step_of(one)
        if step is not None:
            yield _noticed(one, step)


def _noticed(one: Observed, step: _Step) -> Noticed:
    interval_s = one.result.raw["time_spans"][0]["interval_ns"] / NS_PER_S
    writes = one.load.write_percent > 0
    other = " A cache of the device that filled looks the same." if writes else ""
    return Noticed(
        f"{one.load.words()}, {one.load.outstanding} outstanding: {rate_words(step.before)} IOPS "
        f"for {step.at * interval_s:.1f} s, then {rate_words(step.after)} IOPS "
        f"({100 * step.share:.0f} %)."
        f"{other}",
        "Measure until the credits are used up (-d), and rely on the rate behind the step; the "
        "provider tells the size and the refill of the credits.",
        "possible" if writes else "likely",
        (one,),
        1 / step.share if step.share else float("inf"),
    )


def step_of(one: Observed) -> _Step | None:
    """Return the step of a run, if there is a clear one that leads down."""
    series = interval_series(one.result, "iops")
    if series is None or one.load.is_paced or one.result.total.ios < _LEAST_IOS:
        return None
    return _step(series) if series.size >= _LEAST_INTERVALS else None


def _step(series: FloatArray) -> _Step | None:
    """Return the step that parts a series into two levels, if it is clear and leads down."""
    # Where the squares within both sides are least, those of their means are greatest.
    sums = np.cumsum(series - series.mean())
    places = np.arange(_LEAST_SIDE, series.size - _LEAST_SIDE + 1)
    squares = sums[places - 1] ** 2 * (1 / places + 1 / (series.size - places))
    at = int(places[np.argmax(squares)])
    before, after = series[:at], series[at:]
    drop = float(before.mean() - after.mean())
    spread = max(_spread(before), _spread(after))
    if before.mean() <= 0 or after.mean() > _DROP * before.mean() or drop < _CLEAR * spread:
        return None
    # Stalls are no level: the medians lie as far apart as the means.
    if float(np.median(after)) > _DROP * float(np.median(before)) or _gap(after) > _LONGEST_GAP:
        return None
    return _Step(at, float(before.mean()), float(after.mean()))


def _gap(level: FloatArray) -> float:
    """Return the longest time without an I/O, as a part of the level."""
    with_ios = np.flatnonzero(level)
    ends = np.concatenate(([-1], with_ios, [level.size]))
    return float(np.diff(ends).max() - 1) / level.size


def _spread(level: FloatArray) -> float:
    """Return the standard deviation of a level without the tenth that is farthest from it."""
    away = np.argsort(np.abs(level - np.median(level)))
    return float(level[away[: level.size - round(_STRAYED * level.size)]].std())


RULE = Rule(
    "burst-credits",
    "The rate fell to a lower level after a while",
    "AWS, Amazon EBS: I/O credits and burst performance; Azure, credit-based bursting",
    _look,
    # A core at its limit makes no step down, and stalls are no level.
    explained_by=EXPLAINED - CORE_AT_ITS_LIMIT - STALLED,
    fires_when=(
        "Two levels within a run of at least 25 intervals, the second at most 80 % of the "
        "first, eight standard deviations apart without the tenth of the intervals that strays "
        "most, with I/Os throughout. *Possible* where it writes (a cache that filled looks the "
        "same), else *likely*."
    ),
    place=50,
)
