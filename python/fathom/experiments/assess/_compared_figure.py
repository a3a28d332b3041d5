"""Numbers of several targets: how many times worse each is, and how well that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom.experiments.assess.key_figure import AT_MOST
from fathom.findings.causes import HOST_IN_THE_WAY, cause_words
from fathom.stats import pooled_spread

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fathom.experiments.assess.key_figure import KeyFigure, Unit
    from fathom.experiments.assess.session import AssessedCell, TargetCells

__all__ = [
    "ALIKE",
    "SEVERAL",
    "TOO_SHORT",
    "ComparedFigure",
    "Repeat",
    "Width",
    "compared",
    "label_of",
    "repeat_of",
    "width",
]

ALIKE = 1.05
"""Cells end once their mean is known to within 1 to 3 %; less than this is not worth a choice."""

SEVERAL = 2
TOO_SHORT = "the runs were too short to know their means"
"""Why most have no interval that have none."""

# An interval that is so many times as wide as its figure tells nothing.
_MOST_WIDE = math.log(100.0)
_TOO_NOISY = "the noise within the runs is too great"
_CAME_APART = "the first load came too far apart when it was measured again"


@dataclass(frozen=True)
class ComparedFigure:
    """One number of all targets.

    Attributes
    ----------
    name, label, unit
        As of ``KeyFigure``.
    values, texts
        One for each target, in their order; None and ``not measured`` where there is none.
    best
        The places of the best target and of those that no interval shows to be 5 % worse; none
        where only one takes part, as nobody else could have been better.
    factors
        How many times worse than the best each is, from 1; None of those that take no part.
    factor_intervals
        Between which factors each may lie, by the noise within the runs and by how far the first
        load, measured again at the end, came apart; None where that is unknown and of the best
        itself.
    cell_keys, run_ids
        The cell and the run of each value.
    without_interval
        Why no factor has an interval, in words; empty where one has, and where nothing is compared.

    """

    name: str
    label: str
    unit: Unit
    values: list[float | None]
    texts: list[str]
    best: list[int]
    factors: list[float | None]
    factor_intervals: list[tuple[float, float] | None] = field(default_factory=list)
    cell_keys: list[str | None] = field(default_factory=list)
    run_ids: list[int | None] = field(default_factory=list)
    without_interval: str = ""

    @property
    def is_compared(self) -> bool:
        """Whether several targets take part with a number of their own."""
        return sum(one is not None for one in self.factors) >= SEVERAL

    def has_all(self, places: Collection[int]) -> bool:
        """Whether all of these targets take part: none leads by what another does not have."""
        return all(self.factors[at] is not None for at in places)

    @property
    def is_known(self) -> bool:
        """Whether a difference has an interval, by which it can be shown."""
        return any(one is not None for one in self.factor_intervals)


@dataclass(frozen=True)
class Width:
    """Half of the interval of a figure, on a logarithmic scale; else why that is not known."""

    half: float | None
    why: str = ""


@dataclass(frozen=True)
class Repeat:
    """How far two runs of one load come apart, from the first load and its repetition at the end.

    Attributes
    ----------
    half
        Half of the interval of their difference, on a logarithmic scale; 0 where nobody knows.
    is_known
        Whether any target has both runs, undisturbed and past no limit.
    left_out
        Why the two runs of a target tell nothing of this, by its name, as far as it has both.

    """

    half: float = 0.0
    is_known: bool = False
    left_out: dict[str, str] = field(default_factory=dict)


def repeat_of(
    plans: Sequence[TargetCells], names: Sequence[str], limited: Collection[str] = ()
) -> Repeat:
    """Return how far runs of one load come apart: the pairs of all targets tell it together.

    A pair of which a run was disturbed tells how the host came and went, and that of a target that
    is among the ``limited`` how well somebody keeps a limit.
    """
    left_out, pairs = {}, []
    for plan, name in zip(plans, names, strict=True):
        figures = plan.figures()
        pair = [figures[key].iops for key in ("read-1", "again") if key in figures]
        if len(pair) < SEVERAL or not all(pair):
            continue
        why = "whose rate was that of a limit" if name in limited else _disturbed_pair(plan)
        if why:
            left_out[name] = why
        else:
            pairs.append([math.log(one) for one in pair])
    half = pooled_spread(pairs).half_width(1, 1) if pairs else 0.0
    return Repeat(half, bool(pairs), left_out)


def _disturbed_pair(plan: TargetCells) -> str:
    """Return what disturbed the first load or its repetition, in words; nothing if none was."""
    mine = [one for one in plan.cells if one.cell.key in ("read-1", "again")]
    words = next((words for one in mine if (words := _disturbance(one))), None)
    return f"of which a run was disturbed ({words})" if words else ""


def width(plan: TargetCells, figure: KeyFigure) -> Width:
    """Return how well a figure is known.

    With a fixed number outstanding, the mean latency is that number by the rate (Little's law), so
    that its relative interval is the rate's. An interval that reaches 0 has no place on that scale.
    """
    figures = None if figure.cell_key is None else plan.figures().get(figure.cell_key)
    mine = [one for one in plan.cells if one.cell.key == figure.cell_key]
    words = next((words for one in mine if (words := _disturbance(one))), None)
    if words:
        return Width(None, f"runs were disturbed ({words})")
    half = None if figures is None else figures.relative_half_width
    if half is None:
        return Width(None, TOO_SHORT)
    # The lower end is the farther one. What is not a number is not below 1 either.
    return Width(-math.log1p(-half)) if 0 <= half < 1 else Width(None, _TOO_NOISY)


def _disturbance(one: AssessedCell) -> str | None:
    """Return what of this machine kept a run from measuring, in words; None if nothing did.

    Then an interval tells the noise of the run, and not how far the target differs.
    """
    return None if one.result is None else cause_words(one.result, HOST_IN_THE_WAY)


def _is_alike(factor: float | None, between: tuple[float, float] | None) -> bool:
    """Whether a target is not shown to be more than 5 % worse than the best."""
    return factor is not None and (between is None or between[0] < ALIKE)


def _half_width(mine: Width, best: Width, apart: float) -> Width:
    """Return the half width of a factor against the best, whose own noise counts, too."""
    if mine.half is None or best.half is None:
        return Width(None, " and ".join(dict.fromkeys(one for one in (mine.why, best.why) if one)))
    half = math.hypot(mine.half, best.half, apart)
    if half <= _MOST_WIDE:
        return Width(half)
    is_noise = math.hypot(mine.half, best.half) > _MOST_WIDE
    return Width(None, _TOO_NOISY if is_noise else _CAME_APART)


def _halves(factors: Sequence[float | None], widths: Sequence[Width], apart: float) -> list[Width]:
    """Return the half widths of factors against the best; none of the best itself."""
    best = factors.index(1.0) if 1.0 in factors else None
    return [
        Width(None)
        if best is None or factor is None or at == best
        else _half_width(widths[at], widths[best], apart)
        for at, factor in enumerate(factors)
    ]


def label_of(row: Sequence[KeyFigure]) -> str:
    """Return the name of a number: *at most* only if that holds of every target."""
    labels = dict.fromkeys(one.label for one in row if one.value is not None)
    return next((one for one in labels if not one.endswith(AT_MOST)), row[0].label)


def compared(
    row: Sequence[KeyFigure],
    widths: Sequence[Width],
    barred: Collection[int],
    apart: float,
    groups: Sequence[object],
) -> ComparedFigure:
    """Return one number of all targets, of which those that are ``barred`` take no part.

    ``apart`` is half of the interval by which two runs of one load differ; targets of one group
    are one target under several names, and as good under each of them.
    """
    first = row[0]
    values = [one.value for one in row]
    known = [value for at, value in enumerate(values) if value and at not in barred]
    best = (max if first.higher_is_better else min)(known, default=None)
    factors = [
        None if not value or best is None or at in barred else max(value, best) / min(value, best)
        for at, value in enumerate(values)
    ]
    halves = _halves(factors, widths, apart)
    intervals = [
        None
        if factor is None or one.half is None
        else (factor / math.exp(one.half), factor * math.exp(one.half))
        for factor, one in zip(factors, halves, strict=True)
    ]
    alike = {groups[at] for at in range(len(row)) if _is_alike(factors[at], intervals[at])}
    places = [at for at, factor in enumerate(factors) if factor is not None]
    reasons = [] if any(intervals) else [one.why for one in halves if one.why]
    return ComparedFigure(
        name=first.name,
        label=label_of(row),
        unit=first.unit,
        values=values,
        texts=[one.text for one in row],
        best=[at for at in places if groups[at] in alike] if len(places) >= SEVERAL else [],
        factors=factors,
        factor_intervals=intervals,
        cell_keys=[one.cell_key for one in row],
        run_ids=[one.run_id for one in row],
        without_interval=" and ".join(dict.fromkeys(reasons)),
    )
