"""Several targets side by side: one table, and a verdict that compares them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom._claims import FORBIDDING, WEAKENING
from fathom.assess._key_figures import KeyFigure, key_figures, value_of, value_words
from fathom.assess._verdict import suited_for
from fathom.findings._observed import size_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fathom.assess._key_figures import Unit
    from fathom.assess._session import TargetCells
    from fathom.findings import Finding

__all__ = ["ComparedFigure", "SideBySide", "side_by_side"]

# Beside the five numbers: loads that are the same for all targets.
_WORKLOADS: tuple[tuple[str, str, Unit], ...] = (
    ("oltp", "Transaction database: reads and writes of 8 KiB", "ios_per_s"),
    ("log", "Database log: one full buffer", "ns"),
    ("backup", "Backup: reading in order", "mib_per_s"),
)
# Cells end once their mean is known to within 1 to 3 %; less than that is no difference.
_ALIKE = 1.05
_SEVERAL = 2


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
        The places of the best targets: several if they are within 5 % of each other.
    factors
        How many times worse than the best each is, from 1.

    """

    name: str
    label: str
    unit: Unit
    values: list[float | None]
    texts: list[str]
    best: list[int]
    factors: list[float | None]


@dataclass(frozen=True)
class SideBySide:
    """What comparing targets found; ``notes`` say what keeps them from being comparable.

    ``doubts`` are the findings that speak against the numbers of each target.
    """

    targets: list[str]
    headline: str
    sentences: list[str]
    notes: list[str]
    figures: list[ComparedFigure]
    doubts: list[list[str]] = field(default_factory=list)


def side_by_side(
    plans: Sequence[TargetCells], findings: Sequence[Sequence[Finding]] = ()
) -> SideBySide | None:
    """Compare targets; None if there is only one. ``findings`` are those of each.

    A target whose numbers are not a device's is shown, and is neither the best nor a yardstick.
    """
    if len(plans) < _SEVERAL:
        return None
    names = [one.target.name for one in plans]
    columns = [[*key_figures(one), *_workload_figures(one)] for one in plans]
    doubts = [_doubts(one) for one in findings] or [([], []) for _ in plans]
    barred = {at for at, (forbidding, _) in enumerate(doubts) if forbidding}
    figures = [_compared(row, barred) for row in zip(*columns, strict=True)]
    known = [one for one in figures if sum(value is not None for value in one.values) > 1]
    sentences = [sentence for one in known for sentence in _sentence(names, one)]
    return SideBySide(
        names,
        _headline(names, known, barred),
        [*sentences, *_uses(plans, barred)],
        [*_doubt_notes(names, doubts), *_notes(plans)],
        figures,
        [[*forbidding, *weakening] for forbidding, weakening in doubts],
    )


def _doubts(findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Return what forbids a judgement on a target, and what weakens it."""
    sure = [one for one in findings if one.confidence != "possible"]
    titles = [
        [f"{one.title} ({one.confidence})" for one in sure if one.rule in rules]
        for rules in (FORBIDDING, WEAKENING)
    ]
    return [*dict.fromkeys(titles[0])], [*dict.fromkeys(titles[1])]


def _doubt_notes(names: Sequence[str], doubts: Sequence[tuple[list[str], list[str]]]) -> list[str]:
    notes = []
    for name, (forbidding, weakening) in zip(names, doubts, strict=True):
        if forbidding:
            notes.append(
                f"{name} takes no part, as its numbers are no device's: {'; '.join(forbidding)}."
            )
        elif weakening:
            notes.append(f"{name}: {'; '.join(weakening)}.")
    return notes


def _workload_figures(plan: TargetCells) -> list[KeyFigure]:
    found = []
    for key, label, unit in _WORKLOADS:
        figures = plan.figures().get(key)
        value = None if figures is None else value_of(figures, unit)
        text = "not measured" if value is None else value_words(value, unit)
        found.append(KeyFigure(key, label, unit, value, text, key))
    return found


def _compared(row: Sequence[KeyFigure], barred: Collection[int]) -> ComparedFigure:
    first = row[0]
    values = [one.value for one in row]
    known = [value for at, value in enumerate(values) if value and at not in barred]
    best = (max if first.higher_is_better else min)(known, default=None)
    factors = [
        None if not value or best is None or at in barred else max(value, best) / min(value, best)
        for at, value in enumerate(values)
    ]
    return ComparedFigure(
        name=first.name,
        label=first.label,
        unit=first.unit,
        values=values,
        texts=[one.text for one in row],
        best=[at for at, one in enumerate(factors) if one is not None and one < _ALIKE],
        factors=factors,
    )


def _headline(
    names: Sequence[str], figures: Sequence[ComparedFigure], barred: Collection[int]
) -> str:
    """Name the target that is best in most numbers."""
    if len(names) - len(barred) < _SEVERAL:
        words = " and ".join(names[at] for at in sorted(barred))
        return f"No comparison of devices: the numbers of {words} are not a device's."
    if not figures:
        return "There is nothing that was measured on more than one of them."
    wins = [sum(at in one.best for one in figures) for at in range(len(names))]
    alone = [sum(one.best == [at] for one in figures) for at in range(len(names))]
    allowed = [at for at in range(len(names)) if at not in barred]
    first = max(allowed, key=lambda at: (wins[at], alone[at]))
    rivals = [at for at in allowed if at != first and wins[at] == wins[first]]
    if rivals:
        words = " and ".join(names[at] for at in sorted([first, *rivals]))
        return f"None is the fastest: {words} lead in {wins[first]} of {len(figures)} numbers each."
    if wins[first] == len(figures):
        return f"{names[first]} is the fastest in everything that was measured."
    return (
        f"{names[first]} is the fastest in {wins[first]} of {len(figures)} numbers; look at the "
        "one that your work depends on."
    )


def _sentence(names: Sequence[str], figure: ComparedFigure) -> list[str]:
    """Return the targets from the best to the worst, each with its distance to the best."""
    known = [(factor, at) for at, factor in enumerate(figure.factors) if factor is not None]
    if not known:
        return []
    known.sort()
    parts = []
    for factor, at in known:
        words = f"{names[at]} {figure.texts[at]}"
        if factor >= _ALIKE:
            words += f" ({_factor_words(factor, figure.unit)})"
        parts.append(words)
    alike = all(factor < _ALIKE for factor, _ in known)
    return [f"{figure.label}: {', '.join(parts)}{': no difference' if alike else ''}."]


def _factor_words(factor: float, unit: Unit) -> str:
    if unit == "ns":
        return f"{factor:.3g} times as long"
    share = f"1/{factor:.0f}" if factor >= 10 else f"{100 / factor:.0f} %"  # noqa: PLR2004 - Legible.
    return f"{share} of the best"


def _uses(plans: Sequence[TargetCells], barred: Collection[int]) -> list[str]:
    """Tell what each is good for, where that differs."""
    sentences = []
    for key, use in (("oltp", "a transaction database"), ("log", "a database's log")):
        words = [
            (one.target.name, suited_for(key, one.figures()))
            for at, one in enumerate(plans)
            if at not in barred
        ]
        known = [f"{name} is {how}" for name, how in words if how is not None]
        if len({how for _, how in words if how is not None}) > 1:
            sentences.append(f"For {use} {', '.join(known)}.")
    return sentences


def _notes(plans: Sequence[TargetCells]) -> list[str]:
    notes = []
    targets = [one.target for one in plans]
    sizes = {one.size_bytes for one in targets}
    if max(sizes) >= _ALIKE * min(sizes):
        words = ", ".join(f"{one.name} over {size_words(one.size_bytes)}" for one in targets)
        notes.append(f"They were measured over different sizes: {words}; less is easier.")
    cached = [one.name for one in targets if not one.is_direct]
    if cached and len(cached) < len(targets):
        notes.append(
            f"{' and '.join(cached)}: the page cache could not be left out, which makes it faster."
        )
    lost = [one.target.name for one in plans if one.lost is not None]
    if lost:
        notes.append(f"{' and '.join(lost)}: lost while it was measured.")
    return notes
