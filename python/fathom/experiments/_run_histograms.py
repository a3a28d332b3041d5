"""The histograms of the runs of an experiment, from which their percentiles come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.metrics import quantile_of, run_buckets
from fathom.stats import Histograms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.result import Result
    from fathom.store import RunSummary

__all__ = ["RunHistograms"]


class RunHistograms:
    """The histograms of runs, read once."""

    def __init__(
        self, runs: Sequence[RunSummary], result_of: Callable[[int], Result] | None
    ) -> None:
        """Take the runs, and what returns the result of one."""
        self._runs = runs
        self._result_of = result_of
        self._merged: dict[str, Histograms | None] = {}

    def of(self, metric: str) -> Histograms | None:
        """Return those that a percentile comes from; None if a run has none."""
        if self._result_of is None or quantile_of(metric) is None:
            return None
        kind = metric.rpartition(".")[0]
        if kind not in self._merged:
            found = [run_buckets(self._result_of(run.id), metric) for run in self._runs]
            known = [one for one in found if one]
            self._merged[kind] = Histograms(known) if len(known) == len(found) else None
        return self._merged[kind]
