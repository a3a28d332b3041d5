"""Several targets side by side: one table, and a verdict that compares them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom._claims import FORBIDDING, WEAKENING
from fathom._digits import known_words
from fathom.experiments.assess._common_loads import of_common_loads, partial_words
from fathom.experiments.assess._compared_figure import (
    ALIKE,
    SEVERAL,
    TOO_SHORT,
    ComparedFigure,
    compared,
    label_of,
    repeat_of,
    width,
)
from fathom.experiments.assess._same_storage import one_device, one_target, shared_devices
from fathom.experiments.assess.claim_maker import ClaimMaker
from fathom.experiments.assess.key_figure import KeyFigure, key_figures, value_of, value_words
from fathom.experiments.assess.verdict import suited_for
from fathom.units import listed, size_words, time_words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fathom.experiments.assess._compared_figure import Repeat
    from fathom.experiments.assess.key_figure import Unit
    from fathom.experiments.assess.session import TargetCells
    from fathom.findings import Finding

__all__ = ["ComparedFigure", "SideBySide", "side_by_side"]

# Beside the five numbers: loads that are the same for all targets.
_WORKLOADS: tuple[tuple[str, str, Unit], ...] = (
    ("oltp", "Transaction database: reads and writes of 8 KiB", "ios_per_s"),
    ("log", "Database log: one full buffer", "ns"),
    ("backup", "Backup: reading in order", "mib_per_s"),
)
# From here on a share is a fraction, and no percentage.
_IN_SHARES = 10
_REMEDY = (
    "measure longer (--time) while nothing else runs, or compare repeated runs (fathom compare "
    "--run)"
)
_WRITES = frozenset({"durable_write_latency", "random_writes", "log"})
_READS = frozenset({"read_latency", "random_reads", "sequential_read", "backup"})
_AT_A_KNEE = ("random_reads", "random_writes", "sequential_read")


@dataclass(frozen=True)
class SideBySide:
    """What comparing targets found; ``notes`` say what keeps them from being comparable.

    ``doubts`` are the findings that speak against the numbers of each target. ``refused`` is why
    they are not compared at all, empty where they are.
    """

    targets: list[str]
    headline: str
    sentences: list[str]
    notes: list[str]
    figures: list[ComparedFigure]
    doubts: list[list[str]] = field(default_factory=list)
    refused: str = ""


def side_by_side(
    plans: Sequence[TargetCells], findings: Sequence[Sequence[Finding]] = ()
) -> SideBySide | None:
    """Compare targets; None if there is only one. ``findings`` are those of each.

    A target whose numbers are not a device's is shown, and is neither the best nor a yardstick.
    What no interval shows to differ makes no target the best, nor does one target with two names.
    """
    if len(plans) < SEVERAL:
        return None
    names = _names(plans)
    # A target on which nothing was measured keeps nobody from comparing the others.
    places = [at for at, one in enumerate(plans) if one.figures()]
    absent = {*range(len(plans))} - {*places}
    columns = _columns(plans, places)
    pairs = zip(plans, columns, strict=True)
    widths = [[width(plan, one) for one in mine] for plan, mine in pairs]
    findings = findings or [()] * len(plans)
    doubts = [_doubts(one) for one in findings]
    makers = [ClaimMaker(*pair) for pair in zip(plans, findings, strict=True)]
    # Whom a limit of one direction alone was set takes part in the other, if it has any of that.
    barred = {
        at for at, made in enumerate(makers) if made.is_barred or _has_none(made, columns[at])
    }
    allowed = [at for at in places if at not in barred]
    rows = zip(zip(*columns, strict=True), zip(*widths, strict=True), strict=True)
    limited = [names[at] for at in allowed if makers[at].forbidden_by("read-1")]
    repeat = repeat_of([plans[at] for at in allowed], [names[at] for at in allowed], limited)
    groups = [one.target.identity or at for at, one in enumerate(plans)]
    figures = [
        compared(row, mine, barred | _limited(makers, row), repeat.half, groups)
        for row, mine in rows
    ]
    known = [one for one in figures if one.is_compared]
    sentences = [_sentence(names, one) for one in known]
    refused = _too_few(names, barred, absent) or one_target(plans, names, allowed)
    told = [
        refused
        or _headline(names, figures, allowed, {at for at in places if plans[at].missing()})
        + one_device(plans, names, allowed),
        "" if refused or not absent else f" Nothing was measured on {_and(names, absent)}.",
    ]
    return SideBySide(
        names,
        "".join([_partial(plans, names, places), *told]),
        [
            *sentences,
            *_conditions(names, columns),
            *_interval_notes(known, repeat),
            *_left_out(names, figures, allowed),
            *_uses(plans, names, barred, makers),
        ],
        [
            *_doubt_notes(names, doubts, barred),
            *shared_devices(plans, names),
            *_notes([plans[at] for at in places], [names[at] for at in places]),
        ],
        figures,
        [[*forbidding, *weakening] for forbidding, weakening in doubts],
        refused,
    )


def _names(plans: Sequence[TargetCells]) -> list[str]:
    """Return the names of the targets; one that stands there twice has its place."""
    names = [one.target.name for one in plans]
    return [
        f"{name} (number {at + 1})" if names.count(name) > 1 else name
        for at, name in enumerate(names)
    ]


def _and(names: Sequence[str], places: Collection[int]) -> str:
    return listed([names[at] for at in sorted(places)])


def _partial(plans: Sequence[TargetCells], names: Sequence[str], places: Sequence[int]) -> str:
    """Return how much was measured of these targets, if there are several and not all was."""
    if len(places) < SEVERAL:
        return ""
    return partial_words([plans[at] for at in places], [names[at] for at in places])


def _columns(plans: Sequence[TargetCells], places: Sequence[int]) -> list[list[KeyFigure]]:
    """Return the numbers of each target; where not all was measured, of loads that all have.

    Those of targets that are not among ``places`` are empty, under the same labels.
    """
    columns = [[*key_figures(one), *_workload_figures(one)] for one in plans]
    if not places:
        return columns
    mine, found = [plans[at] for at in places], [columns[at] for at in places]
    if len(places) >= SEVERAL and any(one.missing() for one in mine):
        found = of_common_loads(mine, found)
    empty = [KeyFigure(one.name, one.label, one.unit) for one in found[0]]
    by_place = dict(zip(places, found, strict=True))
    return [by_place.get(at, empty) for at in range(len(plans))]


def _doubts(findings: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Return what forbids a judgement on a target, and what weakens it."""
    sure = [one for one in findings if one.confidence != "possible"]
    titles = [
        [f"{one.title} ({one.confidence})" for one in sure if one.rule in rules]
        for rules in (FORBIDDING, WEAKENING)
    ]
    return [*dict.fromkeys(titles[0])], [*dict.fromkeys(titles[1])]


def _limited(makers: Sequence[ClaimMaker], row: Sequence[KeyFigure]) -> set[int]:
    """Return the targets whose number of this row is that of a limit of its direction."""
    keys = [one.cell_key for one in row]
    pairs = zip(makers, keys, strict=False)
    return {at for at, (made, key) in enumerate(pairs) if key and made.forbidden_by(key)}


def _has_none(made: ClaimMaker, column: Sequence[KeyFigure]) -> bool:
    """Whether a limit was met in all that was measured of a target."""
    keys = [one.cell_key for one in column if one.value is not None and one.cell_key]
    return bool(keys) and all(made.forbidden_by(key) for key in keys)


def _doubt_notes(
    names: Sequence[str],
    doubts: Sequence[tuple[list[str], list[str]]],
    barred: Collection[int],
) -> list[str]:
    notes = []
    for at, (name, (forbidding, weakening)) in enumerate(zip(names, doubts, strict=True)):
        if forbidding and at not in barred:
            notes.append(
                f"{name} takes part only in what no limit was met in: {'; '.join(forbidding)}."
            )
        elif forbidding:
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
        if key == "oltp" and figures is not None and figures.latency_mean_ns is not None:
            # So many transactions are only worth something if each is fast enough.
            text += f" at {time_words(figures.latency_mean_ns)}"
        found.append(KeyFigure(key, label, unit, value, text, key))
    return found


def _too_few(names: Sequence[str], barred: Collection[int], absent: Collection[int]) -> str:
    """Return the headline where fewer than two have the numbers of devices; else nothing."""
    if len(names) - len(barred) - len(absent) >= SEVERAL:
        return ""
    nothing = f"nothing was measured on {_and(names, absent)}" if absent else ""
    if not barred:
        return f"No comparison: {nothing}."
    also = f", and {nothing}" if absent else ""
    words = _and(names, barred)
    return f"No comparison of devices: the numbers of {words} are not a device's{also}."


def _nothing_shown(figures: Sequence[ComparedFigure]) -> str | None:
    """Return the headline where there is nothing by which a target could lead."""
    if not figures:
        return "There is nothing that was measured on all of them."
    if any(one.is_known for one in figures):
        return None
    count = len(figures)
    which = "the number that all have has no" if count == 1 else f"none of {count} numbers has an"
    reasons = {one.without_interval for one in figures}
    why = (
        f", as {reasons.pop()}"
        if len(reasons) == 1 and not any(TOO_SHORT in one for one in reasons)
        else ""
    )
    return (
        f"Which is the fastest is not known: {which} interval by which a difference would be "
        f"shown{why}. To know it, {_REMEDY}."
    )


def _headline(
    names: Sequence[str],
    rows: Sequence[ComparedFigure],
    allowed: Sequence[int],
    cut: Collection[int] = (),
) -> str:
    """Name the target that is best in most numbers, of those that all have.

    Of what else is not known, except of ``cut`` targets, of which the words before this tell it.
    """
    figures = [one for one in rows if one.has_all(allowed)]
    if not figures and any(all(one.values[at] for at in allowed) for one in rows):
        return "There is nothing to compare: in each number, one of them met a limit."
    nothing = _nothing_shown(figures)
    if nothing is not None:
        return nothing
    wins = [sum(at in one.best for one in figures) for at in range(len(names))]
    alone = [sum(one.best == [at] for one in figures) for at in range(len(names))]
    first = max(allowed, key=lambda at: (wins[at], alone[at]))
    rivals = [at for at in allowed if at != first and wins[at] == wins[first]]
    count = len(figures)
    unknown = _unknown(names, rows, allowed)
    tail = "".join(f"; {words}" for at, words in unknown.items() if at not in cut) + "."
    if rivals:
        words = _and(names, [first, *rivals])
        return (
            f"None is shown to be the fastest: in {wins[first]} of {count} numbers each, {words} "
            f"are the best or not shown to be 5 % worse{tail}"
        )
    that = f" that {'both' if len(allowed) == SEVERAL else 'all'} have" if unknown else ""
    numbers = f"{count} {'number' if count == 1 else 'numbers'}{that}"
    if alone[first] == count:
        what = f"all {numbers}" if count > 1 else f"the one number{that}"
        what = what if unknown else "everything that was measured"
        return f"{names[first]} is the fastest in {what}{tail}"
    which = "" if wins[first] == count else "; look at the one that your work depends on"
    if alone[first] == wins[first]:
        return f"{names[first]} is the fastest in {alone[first]} of {numbers}{which}{tail}"
    return (
        f"{names[first]} leads: it is the best or not shown to be 5 % worse in {wins[first]} of "
        f"{numbers}, alone in {alone[first]}{which}{tail}"
    )


def _unknown(
    names: Sequence[str], rows: Sequence[ComparedFigure], allowed: Sequence[int]
) -> dict[int, str]:
    """Return of each target that lacks numbers of others, in words, which of its own these are."""
    found = {}
    told = [one for one in rows if any(one.factors[at] is not None for at in allowed)]
    for at in allowed:
        lacking = [one for one in told if one.factors[at] is None]
        if not lacking:
            continue
        what = _which({one.name for one in lacking}, {one.name for one in told})
        of = f"of {names[at]}'s {what}" if what else f"of some numbers of {names[at]}"
        is_limited = all(one.values[at] for one in lacking)
        found[at] = (
            f"{of} nothing is concluded, as they met a limit"
            if is_limited
            else f"{of} nothing is known"
        )
    return found


def _which(lacking: Collection[str], told: Collection[str]) -> str:
    """Return whether all of the writes are lacking, or of the reads; nothing of some of them."""
    kinds = (("writes", _WRITES), ("reads", _READS))
    pure = {*lacking} & (_WRITES | _READS)
    return next((name for name, kind in kinds if pure and pure == kind & {*told}), "")


def _sentence(names: Sequence[str], figure: ComparedFigure) -> str:
    """Return the targets from the best to the worst, each with its distance to the best."""
    known = sorted((one, at) for at, one in enumerate(figure.factors) if one is not None)
    parts = []
    for factor, at in known:
        words = f"{names[at]} {figure.texts[at]}"
        if factor >= ALIKE:
            between = figure.factor_intervals[at]
            how = _factor_words(factor, figure.unit, between)
            without = "no interval, " if between is None else ""
            words += f" ({how}{f'; {without}5 % is not shown' if at in figure.best else ''})"
        parts.append(words)
    alike = all(at in figure.best for _, at in known)
    shown = ": no difference of 5 % is shown" if alike else ""
    return f"{figure.label}: {', '.join(parts)}{shown}."


def _three_digits(value: float) -> str:
    return known_words(value, None, None)


def _factor_words(factor: float, unit: Unit, between: tuple[float, float] | None) -> str:
    """Return a factor in words, with its interval where that is known."""
    if unit == "ns":
        words = f"{_three_digits(factor)} times as long"
        if between is None:
            return words
        return f"{words}, {_three_digits(between[0])} to {_three_digits(between[1])}"
    if factor >= _IN_SHARES:
        words = f"1/{_three_digits(factor)} of the best"
        if between is None:
            return words
        return f"{words}, 1/{_three_digits(between[1])} to 1/{_three_digits(between[0])}"
    if between is not None:
        low, high = 100 / between[1], 100 / between[0]
        of_best = f"{_three_digits(100 / factor)} % of the best"
        return f"{of_best}, {_three_digits(low)} to {_three_digits(high)} %"
    return f"{100 / factor:.0f} % of the best"


def _uses(
    plans: Sequence[TargetCells],
    names: Sequence[str],
    barred: Collection[int],
    makers: Sequence[ClaimMaker],
) -> list[str]:
    """Tell what each is good for, where that differs."""
    sentences = []
    for key, use in (("oltp", "a transaction database"), ("log", "a database's log")):
        words = [
            (names[at], suited_for(key, one.figures()))
            for at, one in enumerate(plans)
            if at not in barred and not (makers and makers[at].forbidden_by(key))
        ]
        known = [f"{name} is {how}" for name, how in words if how is not None]
        if len({how for _, how in words if how is not None}) > 1:
            sentences.append(f"For {use} {', '.join(known)}.")
    return sentences


def _conditions(names: Sequence[str], columns: Sequence[Sequence[KeyFigure]]) -> list[str]:
    """Say at which depth, and how cached, the figures were measured that have a depth of their own.

    Each target has its own knee, at which its writes are measured.
    """
    sentences = []
    for row in zip(*columns, strict=True):
        known: dict[str, list[str]] = {}
        for name, one in zip(names, row, strict=True):
            if one.value is not None and one.conditions:
                known.setdefault(one.conditions, []).append(name)
        if row[0].name in _AT_A_KNEE and known:
            words = "; ".join(f"{', '.join(who)} at {how}" for how, who in known.items())
            sentences.append(f"{label_of(row)}, measured: {words}.")
    return sentences


def _interval_notes(figures: Sequence[ComparedFigure], repeat: Repeat) -> list[str]:
    """Say what the intervals hold where there are any, and what those tell that have none."""
    known, count = sum(one.is_known for one in figures), len(figures)
    notes = []
    if known < count:
        which = "Of no number" if not known else f"Only of {known} of {count} numbers"
        notes.append(
            f"{which} an interval is known{_reasons(figures)}, so that what differs may be noise. "
            f"To know it, {_REMEDY}."
        )
    if known:
        notes.append(
            f"Intervals are of the noise within a run{_repeat_words(repeat)}; fathom compare --run "
            "tells it by more runs."
        )
    return notes


def _reasons(figures: Sequence[ComparedFigure]) -> str:
    """Return why numbers have no interval, each reason with how many it is of."""
    reasons = Counter(one.without_interval for one in figures if not one.is_known)
    if len(reasons) > 1:
        return ": " + "; ".join(f"of {count} {why}" for why, count in reasons.items())
    others = "; of the others" if any(one.is_known for one in figures) else ":"
    return f"{others} {next(iter(reasons))}"


def _repeat_words(repeat: Repeat) -> str:
    """Return how far intervals hold what differs from run to run, and what of it is left out."""
    left_out = " and ".join(f"{name}, {why}" for name, why in repeat.left_out.items())
    if not repeat.is_known and not left_out:
        return " alone, as the first load ran only once"
    if not repeat.is_known:
        return f" alone: how far runs of the first load come apart is not known of {left_out}"
    without = f", without {left_out}" if left_out else ""
    return f", and of how far the first load came apart when it was measured again{without}"


def _left_out(
    names: Sequence[str], figures: Sequence[ComparedFigure], allowed: Sequence[int]
) -> list[str]:
    """Say which numbers have one contender alone, as the others met a limit in them."""
    found: dict[str, list[str]] = {}
    for one in figures:
        limited = [at for at in allowed if one.values[at] and one.factors[at] is None]
        contenders = [at for at in allowed if one.factors[at] is not None]
        if limited and len(contenders) == 1:
            who = _and(names, limited)
            found.setdefault(who, []).append(one.label)
    return [
        f"Not compared, as the numbers of {who} are those of a limit: {'; '.join(labels)}."
        for who, labels in found.items()
    ]


def _notes(plans: Sequence[TargetCells], names: Sequence[str]) -> list[str]:
    notes = []
    targets = [one.target for one in plans]
    sizes = {one.size_bytes for one in targets}
    if sizes and max(sizes) >= ALIKE * min(sizes):
        pairs = zip(names, targets, strict=True)
        words = ", ".join(f"{name} over {size_words(one.size_bytes)}" for name, one in pairs)
        notes.append(f"They were measured over different sizes: {words}; less is easier.")
    cached = [name for name, one in zip(names, targets, strict=True) if not one.is_direct]
    if cached and len(cached) < len(targets):
        notes.append(
            f"{' and '.join(cached)}: the page cache could not be left out, which makes it faster."
        )
    lost = [name for name, one in zip(names, plans, strict=True) if one.lost is not None]
    if lost:
        notes.append(f"{' and '.join(lost)}: lost while it was measured.")
    return notes
