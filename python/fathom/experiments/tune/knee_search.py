"""Where on a grid of threads and depths the best load lies, found with few runs.

Surfaces go through what was measured: one of throughput, one of latency. What they say is the best
load is measured next, then what lies around it, until all of that has been measured. Cells that
cannot be the answer are never run.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from fathom.stats import LoadPoint, find_knee, fit_surface
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.runners import Figures
    from fathom.stats import Surface
    from fathom.stats.floats import FloatArray

__all__ = ["Estimate", "Goal", "KneeSearch", "Load", "geometric_mean", "load_words"]

_BATCH = 3
_LEAST_FOR_SURFACE = 5
# Two-sided, 95 %.
_DEVIATIONS = 1.96
# Beyond these many threads and this depth no range grows by itself.
_MOST = (256, 1024)
Load = tuple[int, int]
"""Threads and depth; their product is what is outstanding."""


def load_words(load: Sequence[int]) -> str:
    """Return a load in words: ``4 threads, depth 8``."""
    return f"{counted(load[0], 'thread')}, depth {load[1]}"


@dataclass(frozen=True)
class Goal:
    """What the best load is.

    Attributes
    ----------
    metric
        The latency that counts: ``mean``, ``p50``, ``p95``, ``p99`` or ``p999``.
    limit_ns
        The greatest latency that is allowed; None allows any.
    share
        The best load is the knee of those that are allowed: the least latency within this share of
        their greatest throughput.

    """

    metric: Literal["mean", "p50", "p95", "p99", "p999"] = "mean"
    limit_ns: float | None = None
    share: float = 0.03

    def latency_ns(self, figures: Figures) -> float | None:
        """Return the latency that counts; None if it was not measured."""
        found: float | None = getattr(figures, f"latency_{self.metric}_ns")
        return found

    def best(
        self, points: Mapping[Load, tuple[float, float]], *, share: float | None = None
    ) -> Load | None:
        """Return the best of loads, given throughput and latency of each; None if none will do.

        ``share`` takes the place of the goal's own.
        """
        # Of equals the least load: less outstanding, then fewer threads.
        ordered = sorted(self._allowed(points), key=lambda load: (math.prod(load), load[0]))
        if not ordered:
            return None
        knee = find_knee(
            [LoadPoint(place, *points[load]) for place, load in enumerate(ordered)],
            share=self.share if share is None else share,
        )
        return ordered[int(knee.load)]

    def fastest(self, points: Mapping[Load, tuple[float, float]]) -> Load | None:
        """Return the load of the greatest throughput that is allowed; None if none will do."""
        return max(self._allowed(points), key=lambda load: points[load][0], default=None)

    def _allowed(self, points: Mapping[Load, tuple[float, float]]) -> list[Load]:
        limit = math.inf if self.limit_ns is None else self.limit_ns
        return [load for load, (_, ns) in points.items() if ns <= limit]


@dataclass(frozen=True)
class Estimate:
    """What the surfaces say of a load, each value with its interval of 95 %."""

    iops: float
    iops_low: float
    iops_high: float
    latency_ns: float
    latency_low_ns: float
    latency_high_ns: float


class KneeSearch:
    """Says which load to measure next, until it knows the best.

    Attributes
    ----------
    axes
        The threads and the depths that there are to choose from, rising.
    loads
        All of the grid.
    measured
        What was found so far.
    failures
        Of each load of which runs failed, how many.

    """

    def __init__(self, threads: Sequence[int], depths: Sequence[int], goal: Goal) -> None:
        """Search the combinations of these, which rise."""
        self.axes = (list(threads), list(depths))
        self.goal = goal
        self.loads: list[Load] = list(product(threads, depths))
        self.measured: dict[Load, list[Figures]] = {}
        self.failures: Counter[Load] = Counter()
        self._points = {load: self._coordinates(load) for load in self.loads}
        self._surfaces: tuple[Surface, Surface] | None = None
        self._is_fitted = False

    def add(self, load: Load, figures: Figures | None) -> None:
        """Take what a run at a load found; None if it failed."""
        if figures is None or not figures.iops or self.goal.latency_ns(figures) is None:
            self.failures[load] += 1
            return
        self.measured.setdefault(load, []).append(figures)
        self._is_fitted = False

    @property
    def failed(self) -> set[Load]:
        """The loads of which every run failed: these are left out."""
        return {load for load in self.failures if load not in self.measured}

    def next_loads(self) -> list[Load]:
        """Return the loads to measure next; none if the search is over."""
        first = [load for load in self.design() if not self._is_tried(load)]
        if first:
            return first
        best = self.best()
        if best is None:
            # Nothing will do so far: the least load comes closest.
            wanted = [min(self.loads, key=math.prod)]
        else:
            fastest = self.goal.fastest(self.candidates())
            wanted = [best, fastest or best, *self._around(best)]
        return [load for load in dict.fromkeys(wanted) if not self._is_tried(load)][:_BATCH]

    def best(self) -> Load | None:
        """Return the best load as far as it is known; None if none will do."""
        return self.goal.best(self.candidates()) if self.measured else None

    def candidates(self) -> dict[Load, tuple[float, float]]:
        """Return throughput and latency in ns of the loads that the best is one of.

        What the surfaces expect; where by these no load keeps the limit, what the runs measured. A
        surface goes beside its points, and one whose runs keep the limit is worth confirming.
        """
        points = self.expected()
        return points if self.goal.fastest(points) is not None else self.means()

    def expected(self) -> dict[Load, tuple[float, float]]:
        """Return throughput and latency of every load that is not left out, by the surfaces.

        Where there are too few points for a surface, of the loads that were measured.
        """
        if len(self.measured) < _LEAST_FOR_SURFACE:
            return self.means()
        return {load: (one.iops, one.latency_ns) for load, one in self.estimates().items()}

    def means(self) -> dict[Load, tuple[float, float]]:
        """Return the mean throughput and the mean latency in ns of the runs at each load."""
        return {load: self._mean(load) for load in self.measured}

    def estimates(self) -> dict[Load, Estimate]:
        """Return what the surfaces say of every load that is not left out; nothing without any."""
        if len(self.measured) < _LEAST_FOR_SURFACE:
            return {}
        failed = self.failed
        loads = [load for load in self.loads if load not in failed]
        places = np.array([self._points[load] for load in loads])
        columns = []
        for surface in self._fitted():
            heights, deviations = surface.predict(places)
            spread = _DEVIATIONS * deviations
            columns += [np.exp(one) for one in (heights, heights - spread, heights + spread)]
        rows = np.column_stack(columns).tolist() if loads else []
        return {load: Estimate(*row) for load, row in zip(loads, rows, strict=True)}

    def _is_tried(self, load: Load) -> bool:
        return load in self.measured or load in self.failures

    def _mean(self, load: Load) -> tuple[float, float]:
        runs = self.measured[load]
        latencies = [self.goal.latency_ns(one) or 0.0 for one in runs]
        return sum(one.iops for one in runs) / len(runs), sum(latencies) / len(runs)

    def _coordinates(self, load: Load) -> FloatArray:
        """Return the logarithms of product and ratio, without an axis that has one value."""
        threads, depth = (math.log2(one) for one in load)
        if min(len(axis) for axis in self.axes) == 1:
            return np.array([threads + depth])
        return np.array([threads + depth, threads - depth]) / math.sqrt(2)

    def design(self) -> list[Load]:
        """Return the ends and the middle of each axis, and what lies between on the diagonal."""
        picks = [sorted({0, (len(axis) - 1) // 2, len(axis) - 1}) for axis in self.axes]
        lattice = [(self.axes[0][a], self.axes[1][b]) for a, b in product(*picks)]
        most = max(len(axis) for axis in self.axes) - 1
        diagonal = [
            tuple(axis[round(step * (len(axis) - 1) / max(most, 1))] for axis in self.axes)
            for step in range(0, most + 1, 2)
        ]
        return list(dict.fromkeys([*lattice, *((one[0], one[1]) for one in diagonal)]))

    def step(self, load: Load, axis: int, by: int) -> Load | None:
        """Return the load so many steps away along an axis; None beyond its ends."""
        place = self.axes[axis].index(load[axis]) + by
        if not 0 <= place < len(self.axes[axis]):
            return None
        value = self.axes[axis][place]
        return (value, load[1]) if axis == 0 else (load[0], value)

    def next_steps(self, load: Load) -> list[Load]:
        """Return the loads that are one step more along one axis."""
        found = [self.step(load, axis, 1) for axis in (0, 1)]
        return [one for one in found if one is not None]

    def _around(self, load: Load) -> list[Load]:
        """Return the loads one step away along one axis."""
        found = [self.step(load, axis, by) for axis, by in product((0, 1), (-1, 1))]
        return [one for one in found if one is not None]

    def change(self, load: Load, other: Load) -> tuple[float, float, float]:
        """Return the throughput of a load against another's as a share, with its interval.

        The surface says it; where there is none, the runs, with an interval that knows nothing.
        """
        estimates = self.estimates()
        if load in estimates and other in estimates:
            pair = (estimates[load], estimates[other])
            middle = math.log(pair[0].iops / pair[1].iops)
            half = math.hypot(*(math.log(one.iops_high / one.iops) for one in pair))
            return math.expm1(middle), math.expm1(middle - half), math.expm1(middle + half)
        points = self.expected()
        if load in points and other in points:
            return points[load][0] / points[other][0] - 1, -1.0, math.inf
        return 0.0, -1.0, math.inf

    def enough(self, best: Load, axis: int) -> tuple[Load, Load] | None:
        """Return the measured loads by which more along an axis would not help; None without.

        The first has less of the axis, no less outstanding, and as much throughput to within the
        goal's share: the axis itself is not what limits. The second has more outstanding, and not
        more throughput beyond that share, or breaks the limit of latency.
        """
        means = self.means()
        if best not in means:
            return None
        rate, outstanding = means[best][0], math.prod(best)
        enough, most = rate * (1 - self.goal.share), rate * (1 + self.goal.share)
        others = sorted((load for load in means if load != best), key=math.prod)
        equals = [
            load
            for load in others
            if load[axis] < best[axis]
            and math.prod(load) >= outstanding
            and means[load][0] >= enough
        ]
        more = [
            load
            for load in others
            if math.prod(load) > outstanding
            and (means[load][0] <= most or self._breaks(means[load][1]))
        ]
        return (equals[0], more[0]) if equals and more else None

    def _breaks(self, latency_ns: float) -> bool:
        return self.goal.limit_ns is not None and latency_ns > self.goal.limit_ns

    def grow(self) -> bool:
        """Double the axes at whose end the best lies with throughput still rising; whether any."""
        best = self.best()
        if best is None:
            return False
        grown = False
        for axis, most in enumerate(_MOST):
            values, less = self.axes[axis], self.step(best, axis, -1)
            at_the_end = less is not None and best[axis] == values[-1]
            if not at_the_end or 2 * values[-1] > most or less is None:
                continue
            if self.enough(best, axis):
                continue
            if self.change(best, less)[0] > self.goal.share:
                values.append(2 * values[-1])
                grown = True
        if grown:
            self.loads = list(product(*self.axes))
            self._points = {load: self._coordinates(load) for load in self.loads}
        return grown

    def _fitted(self) -> tuple[Surface, Surface]:
        """Return the surfaces of throughput and latency through all that was measured."""
        if self._surfaces is not None and self._is_fitted:
            return self._surfaces
        loads = [load for load, runs in self.measured.items() for _ in runs]
        places = np.array([self._points[load] for load in loads])
        runs = [one for found in self.measured.values() for one in found]
        heights = (
            [math.log(one.iops) for one in runs],
            [math.log(self.goal.latency_ns(one) or 1.0) for one in runs],
        )
        starts = (None, None) if self._surfaces is None else self._surfaces
        iops, ns = (
            fit_surface(places, height, start=None if start is None else start.parameters)
            for height, start in zip(heights, starts, strict=True)
        )
        self._surfaces, self._is_fitted = (iops, ns), True
        return self._surfaces


def geometric_mean(values: Sequence[float]) -> float:
    """Return the mean of runs at a load, as loads are compared by ratios; exactly of one run."""
    if len(values) == 1 or min(values) <= 0:
        return sum(values) / len(values)
    return math.exp(sum(map(math.log, values)) / len(values))
