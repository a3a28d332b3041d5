"""Loads that two sides have in common, such as one sweep through two tools or of two devices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom._digits import known_words
from fathom.experiments.compare import differing
from fathom.report.material import GridCell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.report.material import Point, ReportedRun, Side

__all__ = [
    "COMPARED",
    "Compared",
    "Difference",
    "SharedLoad",
    "other_loads",
    "overall",
    "shared_loads",
]

_PAIR = 2
_LEAST_FOR_MEAN = 3
# From here on a change is a number of times: nobody reads a percentage of thousands, or of nearly
# 100 less.
_IN_TIMES = 10.0
# More are counted.
_MOST_LABELS = 4
_GRID_VERBS = ("sweep", "tune")
_PERCENT = 100


@dataclass(frozen=True)
class SharedLoad:
    """A load that both sides have.

    Attributes
    ----------
    label
        The load in words.
    choice, step
        What is held, and the value of the parameter that rises; both are empty of loads that do
        not belong together.
    rising
        The name of that parameter.
    a, b
        What either side has of it.
    is_pooled
        Whether it counts in the mean over all loads: what memory answers does not.

    """

    label: str
    choice: Mapping[str, str]
    rising: str
    step: str
    a: GridCell
    b: GridCell
    is_pooled: bool = True

    @property
    def sources(self) -> str:
        """Whether both were measured, in words."""
        names = [name for name, one in (("A", self.a), ("B", self.b)) if one.source != "measured"]
        return f"{' and '.join(names)} interpolated" if names else "measured"


@dataclass(frozen=True)
class Difference:
    """How far B is from A, in percent of A; without an interval where one side has none."""

    percent: float
    low_percent: float | None = None
    high_percent: float | None = None

    @property
    def words(self) -> str:
        """The difference with its interval: in times where a percentage would tell little."""
        ratio = self.ratio
        if self.low_percent is None or self.high_percent is None:
            return f"{self.percent:+.1f} %" if self.is_percentage else f"{_times(ratio)} times"
        if self.is_percentage:
            return f"{self.percent:+.1f} % ({self.low_percent:+.1f} to {self.high_percent:+.1f})"
        ends = (_times(1 + one / _PERCENT) for one in (self.low_percent, self.high_percent))
        return f"{_times(ratio)} times ({' to '.join(ends)})"

    @property
    def ratio(self) -> float:
        """How many times as much as A has B has."""
        return 1 + self.percent / _PERCENT

    @property
    def is_percentage(self) -> bool:
        """Whether a percentage tells it: not of ten times as much, or as little."""
        return 1 / _IN_TIMES < self.ratio < _IN_TIMES


@dataclass(frozen=True)
class Compared:
    """A figure in which loads are compared: its name, and how a point tells it."""

    name: str
    value: Callable[[Point], float | None]
    is_rate: bool = False

    def of(self, cell: GridCell) -> float | None:
        """Return the figure of one side; None where it is unknown, or 0."""
        return (self.value(cell.point) if cell.point else None) or None

    def interval(self, cell: GridCell) -> tuple[float, float] | None:
        """Return the interval of the figure; only rates have one."""
        low, high = cell.iops_low, cell.iops_high
        if not self.is_rate or low is None or high is None or low <= 0:
            return None
        return low, high

    def difference(self, load: SharedLoad) -> Difference | None:
        """Return the difference of a load; None where a side does not have the figure.

        Its interval is that of the quotient, as the sides are independent: squares of relative
        half widths add up.
        """
        a, b = self.of(load.a), self.of(load.b)
        if a is None or b is None:
            return None
        middle = math.log(b / a)
        intervals = [self.interval(one) for one in (load.a, load.b)]
        known = [one for one in intervals if one is not None]
        if len(known) < _PAIR:
            return Difference(_percent(middle))
        half = math.hypot(*(math.log(high / low) / 2 for low, high in known))
        return Difference(_percent(middle), _percent(middle - half), _percent(middle + half))


COMPARED = (
    Compared("IOPS", lambda point: point.iops, is_rate=True),
    Compared("Mean latency", lambda point: point.mean_ns),
    Compared("Median latency", lambda point: point.p50_ns),
    Compared("99th percentile", lambda point: point.p99_ns),
)


def _percent(logarithm: float) -> float:
    return _PERCENT * math.expm1(logarithm)


def _times(ratio: float) -> str:
    """Return a ratio: ``95.7``, or ``1/112``."""
    if ratio <= 0:
        return "0"
    return (
        known_words(ratio, None, None) if ratio >= 1 else f"1/{known_words(1 / ratio, None, None)}"
    )


def overall(compared: Compared, loads: Sequence[SharedLoad]) -> tuple[int, Difference] | None:
    """Return how many loads have the figure, and their mean difference.

    Its ends are the least and the greatest of them, and no interval of confidence: loads are no
    repetitions of each other, and what changed in between changed all of them.
    """
    found = [compared.difference(one) for one in loads if one.is_pooled]
    logs = [math.log1p(one.percent / _PERCENT) for one in found if one is not None]
    if len(logs) < _LEAST_FOR_MEAN:
        return None
    ends = (sum(logs) / len(logs), min(logs), max(logs))
    return len(logs), Difference(*map(_percent, ends))


def shared_loads(sides: Sequence[Side]) -> tuple[SharedLoad, ...]:
    """Return the loads that both of two sides have; none of other numbers of sides.

    Cells of sweeps and tunings are found by their parameters, runs of assessments by their key.
    Repetitions of one load are no matter of this, but of its changes from run to run.
    """
    if len(sides) != _PAIR:
        return ()
    if all(side.verb in _GRID_VERBS for side in sides):
        return _of_grids(*sides)
    if all(side.verb == "assess" for side in sides):
        return _of_keys(*sides)
    return ()


def _of_grids(a: Side, b: Side) -> tuple[SharedLoad, ...]:
    if set(a.axes) != set(b.axes):
        return ()
    rising = next((one for one in ("depth", "threads") if one in a.axes), a.axes[-1])
    found = []
    for cell, other in _cells(a, b):
        if _unlike_words(cell.asked, other.asked):
            continue
        held = {key.capitalize(): text for key, text in cell.parameters.items() if key != rising}
        label = "" if cell.point is None else cell.point.label
        found.append(SharedLoad(label, held, rising, cell.parameters[rising], cell, other))
    return tuple(found)


def _cells(a: Side, b: Side) -> list[tuple[GridCell, GridCell]]:
    """Return the cells of equal parameters, of which both have a point."""
    others = {frozenset(one.parameters.items()): one for one in b.grid if one.point}
    pairs = [(one, others.get(frozenset(one.parameters.items()))) for one in a.grid if one.point]
    return [(one, other) for one, other in pairs if other is not None]


def _of_keys(a: Side, b: Side) -> tuple[SharedLoad, ...]:
    pairs = [one for one in _runs(a, b) if not _unlike_words(*(run.asked for run in one))]
    are_all_cached = all(_is_cached(one) for one, _ in pairs)
    return tuple(
        SharedLoad(
            one.label,
            {},
            "",
            "",
            _cell(one),
            _cell(other),
            is_pooled=are_all_cached or not _is_cached(one),
        )
        for one, other in pairs
    )


def other_loads(sides: Sequence[Side]) -> list[str]:
    """Return the loads of two sides that only share a name, each with what differs."""
    if len(sides) != _PAIR:
        return []
    pairs: list[tuple[str, str]] = []
    if all(side.verb in _GRID_VERBS for side in sides) and {*sides[0].axes} == {*sides[1].axes}:
        pairs = [
            (one.point.label if one.point else "", _unlike_words(one.asked, other.asked))
            for one, other in _cells(*sides)
        ]
    elif all(side.verb == "assess" for side in sides):
        pairs = [(one.label, _unlike_words(one.asked, other.asked)) for one, other in _runs(*sides)]
    by_words: dict[str, list[str]] = {}
    for label, words in pairs:
        if words:
            by_words.setdefault(words, []).append(label)
    return [
        f"{', '.join(labels) if len(labels) <= _MOST_LABELS else f'{len(labels)} loads'} ({words})"
        for words, labels in by_words.items()
    ]


def _runs(a: Side, b: Side) -> list[tuple[ReportedRun, ReportedRun]]:
    """Return the runs of cells of one key, which may differ, as knees do."""
    others = {run.key: run for run in b.runs}
    return [(run, others[run.key]) for run in a.runs if run.key in others]


def _unlike_words(a: Mapping[str, object], b: Mapping[str, object]) -> str:
    """Return by what two loads differ; nothing where they are the same, or one is not known."""
    # What only one version of Fathom names is not known of the other.
    names = [name for name in a if name in b and a[name] != b[name]]
    return ", ".join(differing(name, a[name], b[name]) for name in names)


def _is_cached(run: ReportedRun) -> bool:
    return run.asked.get("caching") == "cached"


def _cell(run: ReportedRun) -> GridCell:
    stop = run.result.time_spans[0].stop if run.result.time_spans else None
    known = stop.confidence if stop is not None else None
    return GridCell(
        parameters={},
        source="measured",
        point=run.point,
        iops_low=None if known is None else known.iops_low,
        iops_high=None if known is None else known.iops_high,
    )
