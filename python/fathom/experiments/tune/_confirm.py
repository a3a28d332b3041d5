"""Whether runs of their own support what a search found: interval against interval.

Three loads are interleaved, three times each at first: the best, the fastest, and the one of less
latency that would do if the search was wrong by as much again as the knee is known to; a fourth
that is two steps less, where the search does not exclude it. How much runs
at the same load differ decides how many more it takes to distinguish loads as exactly as the
knee, and stays the estimate of the spread (Stein's two stages; see ``fathom.stats``).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fathom._digits import change_words
from fathom.experiments.tune.knee_search import geometric_mean, load_words
from fathom.stats import pooled_spread
from fathom.units import NS_PER_MS, ms_words

if TYPE_CHECKING:
    from fathom.experiments.tune.knee_search import Goal, KneeSearch, Load
    from fathom.runners import Figures
    from fathom.stats import PooledSpread

__all__ = [
    "LEAST_ROUNDS",
    "MOST_ATTEMPTS",
    "MOST_ROUNDS",
    "Confirmation",
    "Confirming",
    "geometric_mean",
]

LEAST_ROUNDS = 3
MOST_ROUNDS = 6
# Runs that contradict the search become points of it, and it goes on; so many times at most.
MOST_ATTEMPTS = 3
# A run that failed is made again; of a load of which so many failed nothing is concluded.
_MOST_FAILURES = 2
# Axes double: the knee is reported to within one step.
_STEP = 2


@dataclass(frozen=True)
class Confirmation:
    """What the confirming runs say; intervals are of 95 %.

    Attributes
    ----------
    threads, depth
        The load that was to be confirmed.
    fastest_threads, fastest_depth
        The load that it was compared with: the fastest, or the next after it if it is the best
        itself.
    rounds
        How often each was run.
    is_supported
        Whether the runs support the load.
    is_contradicted
        Whether they say that it is another one; if neither, they cannot tell.
    evidence
        Why, in sentences.
    iops, iops_low, iops_high
        Of the load; None if no run of it succeeded.
    latency_ns, latency_low_ns, latency_high_ns
        The latency that the goal names.
    run_deviation
        The standard deviation of runs at the same load, as a share of their mean.
    noise
        Half of the interval of a difference between two loads, as a share.
    rival_threads, rival_depth
        The load of less latency that it was compared with; None if there is none.

    """

    threads: int
    depth: int
    fastest_threads: int
    fastest_depth: int
    rounds: int
    is_supported: bool
    is_contradicted: bool
    evidence: list[str]
    iops: float | None = None
    iops_low: float | None = None
    iops_high: float | None = None
    latency_ns: float | None = None
    latency_low_ns: float | None = None
    latency_high_ns: float | None = None
    run_deviation: float | None = None
    noise: float | None = None
    rival_threads: int | None = None
    rival_depth: int | None = None


@dataclass
class Confirming:
    """Takes the confirming runs, and says which are missing, until there are enough.

    ``fastest`` is the load of the greatest throughput; if that is the best itself, the next after,
    which the best is compared with; ``top`` is what a load of less latency has to come near to.
    """

    goal: Goal
    best: Load
    fastest: Load
    rival: Load | None
    found: list[Figures]
    far: Load | None = None
    top: Load | None = None
    runs: dict[Load, list[Figures]] = field(default_factory=dict)
    failures: Counter[Load] = field(default_factory=Counter)
    rounds: int = LEAST_ROUNDS
    _again: list[Load] = field(default_factory=list)
    _spreads: tuple[PooledSpread, PooledSpread] | None = None

    @classmethod
    def of(cls, search: KneeSearch, best: Load) -> Confirming:
        """Confirm what a search found."""
        points = search.candidates()
        top = fastest = search.goal.fastest(points) or best
        if fastest == best:
            others = {load: point for load, point in points.items() if load != best}
            fastest = search.goal.fastest(others) or best
        rival = _rival(search, best)
        far = _far(search, best, top, rival)
        return cls(search.goal, best, fastest, rival, [*search.measured[best]], far, top)

    @property
    def loads(self) -> list[Load]:
        """The loads of a round, without the order."""
        wanted = dict.fromkeys((self.best, self.fastest, self.rival, self.far))
        return [load for load in wanted if load is not None]

    @property
    def is_lost(self) -> bool:
        """Whether so many runs of one load failed that nothing can be told."""
        return max(self.failures.values(), default=0) >= _MOST_FAILURES

    @property
    def is_whole(self) -> bool:
        """Whether no run of the round has to be made again, as it failed."""
        return not self._again

    def next_round(self) -> list[Load]:
        """Return the loads to run next, interleaved against drift; none if there are enough.

        Those whose run failed come first: their runs are made again.
        """
        done = len(self.runs.get(self.best, []))
        if self.is_lost:
            return []
        if self._again:
            return [*self._again]
        if done == LEAST_ROUNDS and self._spreads is None:
            self._plan()
        if done >= self.rounds:
            return []
        first = done % len(self.loads)
        return [*self.loads[first:], *self.loads[:first]]

    @property
    def is_nearly_enough(self) -> bool:
        """Whether one run more of each load is the fewest that tell anything."""
        return min(len(self.runs.get(load, [])) for load in self.loads) + 1 >= LEAST_ROUNDS

    def end(self) -> None:
        """Make no further round, as there is no time for one."""
        if self.is_whole and self._spreads is None:
            self._plan()
        self.rounds = min(self.rounds, len(self.runs.get(self.best, [])))

    def add_round(self) -> bool:
        """Plan one more round than the spread asks for; whether there is room for one."""
        has_room = self.is_whole and self.rounds < MOST_ROUNDS
        self.rounds += has_room
        return has_room

    def add(self, load: Load, figures: Figures | None) -> None:
        """Take what a run found; None if it failed, and is to be made again."""
        is_open = load in self._again
        if figures is None or not figures.iops or self.goal.latency_ns(figures) is None:
            self.failures[load] += 1
            self._again += [] if is_open else [load]
            return
        self.runs.setdefault(load, []).append(figures)
        if is_open:
            self._again.remove(load)

    def _plan(self) -> None:
        """Decide by the first runs how many there will be."""
        rates = [self._rates(load) for load in self.loads]
        latencies = [self._latencies(load) for load in self.loads]
        self._spreads = pooled_spread(rates), pooled_spread(latencies)
        wanted = self._spreads[0].count_for(math.log1p(self.goal.share), 2)
        if self.goal.limit_ns is not None:
            margin = abs(math.log(self.goal.limit_ns) - float(np.mean(latencies[0])))
            wanted = max(wanted, self._spreads[1].count_for(max(margin, 1e-6), 1))
        self.rounds = min(max(wanted, LEAST_ROUNDS), MOST_ROUNDS)

    def _rates(self, load: Load) -> list[float]:
        return [math.log(one.iops) for one in self.runs[load]]

    def _latencies(self, load: Load) -> list[float]:
        return [math.log(self.goal.latency_ns(one) or 1.0) for one in self.runs[load]]

    def concluded(self) -> Confirmation:
        """Say what the runs tell."""
        if self._again or self._spreads is None:
            return self._cannot_tell()
        count = len(self.runs[self.best])
        rate, latency = (
            (float(np.mean(values)), spread.half_width(count))
            for values, spread in zip(
                (self._rates(self.best), self._latencies(self.best)), self._spreads, strict=True
            )
        )
        noise = math.expm1(self._spreads[0].half_width(count, count))
        against = [
            self._found_again(rate[0]),
            self._fast_enough(),
            *(self._less_will_do(one) for one in self.rivals),
            self._slow(latency),
        ]
        may_do = [self._less_may_do(one) for one in self.rivals]
        unsure = [self._noisy(noise), *may_do, self._on_the_limit(latency)]
        told = [one for one in (*against, *unsure) if one is not None]
        return Confirmation(
            *self.best,
            *self.fastest,
            count,
            not told,
            any(against),
            told or [self._support(count)],
            *_interval(*rate),
            *_interval(*latency),
            math.expm1(self._spreads[0].deviation),
            noise,
            *(self.rival or ()),
        )

    def _cannot_tell(self) -> Confirmation:
        """Return what runs of which some are missing say: neither one thing nor the other."""
        found = [_failed_words(load, self.failures[load]) for load in self._again]
        return Confirmation(
            *self.best,
            *self.fastest,
            len(self.runs.get(self.best, [])),
            is_supported=False,
            is_contradicted=False,
            evidence=found or ["there were no confirming runs"],
        )

    def _found_again(self, height: float) -> str | None:
        """Return what speaks against the runs of the search and these being of the same rate."""
        assert self._spreads is not None  # noqa: S101 - Only asked once they are known.
        rates = [one.iops for one in self.found]
        before = [math.log(one) for one in rates]
        change = height - float(np.mean(before))
        half = self._spreads[0].half_width(len(before), len(self.runs[self.best]))
        if abs(change) <= max(half, math.log1p(self.goal.share)):
            return None
        return (
            f"the search found {geometric_mean(rates):,.0f} IOPS at {load_words(self.best)}, the "
            f"confirming runs {math.exp(height):,.0f}, {_change(change, half)}"
        )

    def _fast_enough(self) -> str | None:
        """Return what speaks against being within the share of the greatest throughput."""
        change, half = self._to_fastest(self.best)
        if change + half >= math.log1p(-self.goal.share):
            return None
        return (
            f"{load_words(self.best)} has {_change(change, half)} against "
            f"{load_words(self.fastest)}, farther than {100 * self.goal.share:g} % "
            "from the greatest throughput"
        )

    @property
    def rivals(self) -> list[Load]:
        """The loads of less latency that were run."""
        return [one for one in dict.fromkeys((self.rival, self.far)) if one is not None]

    def _less_will_do(self, rival: Load) -> str | None:
        """Return what speaks against the best: a load of less latency that is fast enough."""
        change, half = self._to_fastest(rival)
        is_fast = change - half >= math.log1p(-self.goal.share)
        if not is_fast or not self._is_less(rival) or self._keeps(rival) is not True:
            return None
        return f"{self._rival_words(rival)}: it is fast enough"

    def _less_may_do(self, rival: Load) -> str | None:
        """Return what leaves it open whether a load of less latency would do.

        Of one that is a step less, only where it is fast enough: the knee is known to a step.
        """
        change, half = self._to_fastest(rival)
        limit = math.log1p(-self.goal.share)
        is_fast, may_be_fast = change - half >= limit, change + half >= limit
        is_near = _STEP * math.prod(rival) >= math.prod(self.best)
        if not may_be_fast or (is_near and not is_fast):
            return None
        if self._less_will_do(rival) or self._is_more(rival) or self._keeps(rival) is False:
            return None
        return f"{self._rival_words(rival)}: it may be the better"

    def _latency_change(self, rival: Load) -> tuple[float, float]:
        """Return the latency of a load against that of the best, and half of that interval."""
        assert self._spreads is not None  # noqa: S101 - Only asked once they are known.
        mine, others = self._latencies(rival), self._latencies(self.best)
        half = self._spreads[1].half_width(len(mine), len(others))
        return float(np.mean(mine)) - float(np.mean(others)), half

    def _is_less(self, rival: Load) -> bool:
        change, half = self._latency_change(rival)
        return change + half < 0

    def _is_more(self, rival: Load) -> bool:
        change, half = self._latency_change(rival)
        return change - half >= 0

    def _keeps(self, load: Load) -> bool | None:
        """Return whether a load keeps the limit of latency; None if the runs cannot tell."""
        if self.goal.limit_ns is None:
            return True
        middle, half = self._latency(load)
        apart = math.log(self.goal.limit_ns) - middle
        return None if abs(apart) <= half else apart > 0

    def _latency(self, load: Load) -> tuple[float, float]:
        """Return the mean of a load's latencies, as logarithms, and half of its interval."""
        assert self._spreads is not None  # noqa: S101 - Only asked once they are known.
        found = self._latencies(load)
        return float(np.mean(found)), self._spreads[1].half_width(len(found))

    def _rival_words(self, rival: Load) -> str:
        """Say of a load which latency and which throughput it has, and against which others."""
        mine, best = (ms_words(math.exp(self._latency(one)[0])) for one in (rival, self.best))
        return (
            f"{load_words(rival)} has {_change(*self._to_fastest(rival))} against "
            f"{load_words(self._against(rival))}, and a {self.goal.metric} of {mine} ms, where "
            f"{load_words(self.best)} has {best} ms"
        )

    def _against(self, load: Load) -> Load:
        """Return what a load is compared with: the fastest, and of that itself another."""
        if load == self.best:
            return self.fastest
        return self.best if self.top in {None, load} else self.top or self.best

    def _to_fastest(self, load: Load) -> tuple[float, float]:
        """Return how far a load is from the fastest other, and half of that interval."""
        assert self._spreads is not None  # noqa: S101 - Only asked once they are known.
        rates, others = self._rates(load), self._rates(self._against(load))
        half = self._spreads[0].half_width(len(rates), len(others))
        return float(np.mean(rates)) - float(np.mean(others)), half

    def _slow(self, latency: tuple[float, float]) -> str | None:
        limit_ns, (middle, half) = self.goal.limit_ns, latency
        if limit_ns is None or middle - half <= math.log(limit_ns):
            return None
        return f"{self._tail_words(middle, half)}: {self._limit()} is not kept"

    def _tail_words(self, middle: float, half: float) -> str:
        return f"the {self.goal.metric} of {load_words(self.best)} is {_millis(middle, half)}"

    def _on_the_limit(self, latency: tuple[float, float]) -> str | None:
        limit_ns, (middle, half) = self.goal.limit_ns, latency
        if limit_ns is None or abs(middle - math.log(limit_ns)) > half:
            return None
        return (
            f"{self._tail_words(middle, half)}: whether {self._limit()} is kept is left to chance"
        )

    def _limit(self) -> str:
        return f"the limit of {(self.goal.limit_ns or 0) / NS_PER_MS:g} ms"

    def _noisy(self, noise: float) -> str | None:
        if noise <= self.goal.share:
            return None
        assert self._spreads is not None  # noqa: S101 - Only asked once they are known.
        return (
            f"runs at the same load differ by {100 * self._spreads[0].deviation:.1f} % (standard "
            f"deviation), so {len(self.runs[self.best])} runs tell loads apart to within "
            f"+/- {100 * noise:.1f} % only, and the knee is known to {100 * self.goal.share:g} %"
        )

    def _support(self, count: int) -> str:
        if self.best == self.fastest:
            return f"{count} runs found the throughput again that the search had found"
        return (
            f"in {count} runs of each, {load_words(self.best)} has "
            f"{_change(*self._to_fastest(self.best))} against {load_words(self.fastest)}"
        )


def _rival(search: KneeSearch, best: Load) -> Load | None:
    """Return the load that would be the best if twice the share were allowed.

    If that is the same, the fastest of those that are a step less, as the surfaces have it.
    """
    points = search.candidates()
    wider = search.goal.best(points, share=min(2 * search.goal.share, 1.0))
    # With the same number outstanding, latency only differs as throughput does (Little's law).
    if wider is not None and math.prod(wider) < math.prod(best):
        return wider
    less = {load: point for load, point in points.items() if math.prod(load) < math.prod(best)}
    return max(less, key=lambda load: less[load][0], default=None)


def _far(search: KneeSearch, best: Load, fastest: Load, rival: Load | None) -> Load | None:
    """Return the fastest load that is two steps less, unless the surfaces say that it is too slow.

    One step is as exactly as the knee is known. Two would be a wrong knee, and where the rival is
    only one step less, nothing else looks there.
    """
    if rival is not None and _STEP * math.prod(rival) < math.prod(best):
        return None
    estimates = search.estimates()
    less = [load for load in estimates if _STEP**2 * math.prod(load) <= math.prod(best)]
    if not less or fastest not in estimates:
        return None
    found = max(less, key=lambda load: estimates[load].iops)
    enough = estimates[fastest].iops_low * (1 - search.goal.share)
    return found if estimates[found].iops_high >= enough else None


def _failed_words(load: Load, count: int) -> str:
    runs = "a confirming run" if count == 1 else f"{count} confirming runs"
    return f"{runs} at {load_words(load)} failed"


def _interval(middle: float, half: float) -> tuple[float, float, float]:
    """Return value, low and high of logarithms."""
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def _change(change: float, half: float) -> str:
    found = (100 * math.expm1(one) for one in (change, change - half, change + half))
    return change_words(*found).replace(" %", " % throughput", 1)


def _millis(middle: float, half: float) -> str:
    value, low, high = (ms_words(one) for one in _interval(middle, half))
    return f"{value} ms ({low} to {high})"
