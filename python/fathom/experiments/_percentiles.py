"""Percentiles of all I/Os while runs are made: what decides how many runs there will be.

A percentile is concluded from the merged histograms of the runs. The percentiles of single runs
spread otherwise, so that a number of runs that was planned by them does not fit that interval.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.metrics import quantile_of, run_buckets
from fathom.stats import Histograms, runs_percentile
from fathom.stats.percentiles import TooFewIos, percentile_of_each_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.result import Result

__all__ = ["ROUNDING", "Percentiles"]

ROUNDING = 1.05
"""An interval that is wider by no more than this is as narrow as was requested."""


class Percentiles:
    """Percentiles of runs, of which each histogram is read once."""

    def __init__(self, result_of: Callable[[int], Result]) -> None:
        """Take what returns the result of a run."""
        self._result_of = result_of
        self._known: dict[tuple[str, int], Mapping[int, int] | None] = {}

    def wanted_runs(
        self, run_ids: Sequence[int], metric: str, *, relative_half_width: float, confidence: float
    ) -> int | None:
        """Return how many runs make the interval of a percentile as narrow as requested.

        It is the number of these runs where that is so, or where no number of runs would bring an
        interval. None if a run has no histogram, or ``metric`` is no percentile.
        """
        merged, quantile = self._merged(run_ids, metric), quantile_of(metric)
        if merged is None or quantile is None:
            return None
        found, count = runs_percentile(merged, quantile, confidence=confidence), len(run_ids)
        if found.can_tell:
            ratio = found.relative_half_width / relative_half_width
            return count if ratio <= ROUNDING else math.ceil(count * ratio**2)
        more = [found.needed, found.runs_needed]
        if found.ios_needed is not None:
            more.append(math.ceil(count * found.ios_needed / int(merged.counts.sum())))
        return max(count, *(one for one in more if one is not None), 0)

    def of_each_run(self, run_ids: Sequence[int], metric: str) -> list[float] | None:
        """Return what each run says of a percentile of all I/Os, in nanoseconds.

        None if the I/Os carry no interval, a run has no histogram, or ``metric`` is no percentile.
        """
        merged, quantile = self._merged(run_ids, metric), quantile_of(metric)
        if merged is None or quantile is None:
            return None
        found = percentile_of_each_run(merged, quantile)
        return None if isinstance(found, TooFewIos) else [float(one) for one in found]

    def _merged(self, run_ids: Sequence[int], metric: str) -> Histograms | None:
        if quantile_of(metric) is None:
            return None
        found = [self._buckets(one, metric) for one in run_ids]
        known = [one for one in found if one]
        return Histograms(known) if known and len(known) == len(found) else None

    def _buckets(self, run_id: int, metric: str) -> Mapping[int, int] | None:
        place = metric.rpartition(".")[0], run_id
        if place not in self._known:
            self._known[place] = run_buckets(self._result_of(run_id), metric)
        return self._known[place]
