"""What the levels of a series do not show: runs without a figure, and newest ones that stand apart.

A ratio to 0 is no number, so that runs whose rate is 0 are in no level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fathom.errors import InvalidRequestError
from fathom.experiments.compare.comparison import EQUAL_MARGIN
from fathom.findings.finding import numbers_words
from fathom.metrics import higher_is_better, metric_column, run_value
from fathom.stats import compare_means
from fathom.stats.change_points import LEAST_LEVEL
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import RunSummary

__all__ = ["Beyond", "apart", "apart_words", "parted"]

_ALL = 100
_LEAST_APART = 3
"""So many runs in a row that are all lower, or all higher, than those before are no chance."""


class Beyond(NamedTuple):
    """Runs of a series that are in none of its levels.

    Attributes
    ----------
    stopped
        Those whose rate is 0 though their load asks for such I/Os: a ratio to 0 is no number.
    lacking
        Those that do not have the figure.
    failed
        Those that failed after the newest complete one.
    newer_stopped, newer_lacking
        How many of them are newer than the newest run that has the figure.
    is_stopped
        Whether so many of the newest have the rate 0 that they are a level of their own.

    """

    stopped: tuple[RunSummary, ...]
    lacking: tuple[RunSummary, ...]
    failed: tuple[RunSummary, ...]
    newer_stopped: int
    newer_lacking: int
    is_stopped: bool

    @property
    def newer(self) -> int:
        """How many runs are newer than the newest one that is in a level."""
        return self.newer_stopped + self.newer_lacking + len(self.failed)

    def newer_words(self, metric: str) -> list[str]:
        """Return what is wrong with the runs that are newer than the newest level."""
        kinds = (
            (self.newer_stopped, "has a rate of 0", "have a rate of 0"),
            (self.newer_lacking, f"does not have {metric}", f"do not have {metric}"),
            (len(self.failed), "failed", "failed"),
        )
        return [
            f"{counted(count, 'newer run')} {one if count == 1 else many}"
            for count, one, many in kinds
            if count
        ]

    def sentences(self, metric: str, newest: RunSummary) -> dict[str, str]:
        """Return a sentence on each kind of such runs by its name; ``newest`` is in a level."""
        found = {}
        if self.stopped:
            is_one = len(self.stopped) == 1
            found["stopped"] = (
                f"{_numbers(self.stopped)} {'has' if is_one else 'have'} a rate of 0 and "
                f"{'is' if is_one else 'are'} in no level."
            )
        if self.lacking:
            does = "does" if len(self.lacking) == 1 else "do"
            count = counted(len(self.lacking), "run")
            found["left_out"] = f"{count} of the series {does} not have {metric}."
        if self.failed:
            found["failed"] = f"{_numbers(self.failed)} failed after run {newest.id}."
        return found


def _numbers(runs: Sequence[RunSummary]) -> str:
    return numbers_words(sorted(one.id for one in runs)).capitalize()


def parted(
    found: Sequence[RunSummary], metric: str, failed: Sequence[RunSummary]
) -> tuple[tuple[RunSummary, ...], tuple[float, ...], Beyond]:
    """Return the runs that have a figure above 0, their figures, and the other runs of a series.

    Raises
    ------
    InvalidRequestError
        If no run has it.

    """
    figures = [(run, run_value(run, metric)) for run in found]
    pairs = [(run, value) for run, value in figures if value is not None]
    if not pairs:
        raise InvalidRequestError(
            f"no complete run of this series has {metric}: {_why(found, metric)}"
        )
    runs, values = zip(*pairs, strict=True)
    rest = [run for run, value in figures if value is None]
    # The load of a series is one: what one of its runs did, each was asked for.
    stopped = tuple(run for run in rest if run.columns[metric_column(metric)] == 0)
    lacking = tuple(run for run in rest if run not in stopped)
    after = {run.id for run in found[found.index(runs[-1]) + 1 :]}
    newer_stopped, newer_lacking = (
        sum(run.id in after for run in kind) for kind in (stopped, lacking)
    )
    is_stopped = min(newer_stopped, len(runs)) >= LEAST_LEVEL
    return (
        runs,
        values,
        Beyond(stopped, lacking, tuple(failed), newer_stopped, newer_lacking, is_stopped),
    )


def _why(found: Sequence[RunSummary], metric: str) -> str:
    """Return why none of these runs has a figure."""
    if not higher_is_better(metric):
        return "latencies are measured with -L"
    if any(_asks(run, metric) for run in found):
        return "it asks for such I/Os, and its rate is 0 in each run"
    return "it does none of these I/Os"


def _asks(run: RunSummary, metric: str) -> bool:
    """Whether a load asks for the I/Os of a rate that is 0."""
    share, kind = run.columns["write_percent"], metric.rpartition(".")[0]
    if run.columns[metric_column(metric)] is None:
        return False
    if kind not in ("read", "write"):
        return True
    return share is not None and (share > 0 if kind == "write" else share < _ALL)


def apart(values: Sequence[float]) -> int:
    """Return how many of the newest values lie wholly below or above at least 5 before them.

    At least 3 in a row; 0 where there are none, or where they are shown to be within the margin of
    equality. They are parted where the gap between them is the widest.
    """
    series = np.log(np.asarray(values, float))
    ends = np.arange(LEAST_LEVEL, series.size - _LEAST_APART + 1)
    if not ends.size:
        return 0
    lowest, highest = np.minimum.accumulate(series), np.maximum.accumulate(series)
    lowest_of_newest = np.minimum.accumulate(series[::-1])[::-1]
    highest_of_newest = np.maximum.accumulate(series[::-1])[::-1]
    gaps = np.maximum(
        lowest[ends - 1] - highest_of_newest[ends], lowest_of_newest[ends] - highest[ends - 1]
    )
    if gaps.max() <= 0:
        return 0
    end = int(ends[np.argmax(gaps)])
    shown = compare_means([*values[:end]], [*values[end:]])
    return 0 if shown.is_equal(EQUAL_MARGIN) else series.size - end


def apart_words(values: Sequence[float], count: int) -> str:
    """Return that the newest of these values stand apart from the others."""
    side = "lower" if values[-1] < values[0] else "higher"
    return (
        f"the newest {count} are all {side} than the {len(values) - count} before, "
        "and it cannot be told yet whether that is a change"
    )
