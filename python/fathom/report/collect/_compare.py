"""An interleaved comparison as the two sides of a report, and what changed between them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom.experiments.compare.gate import verdict_words
from fathom.experiments.figure_words import FIGURES, figure_words
from fathom.report.collect._again import again
from fathom.report.collect._runs import repeat_side, run_command
from fathom.report.material import Change, KeyNumber, Verdict
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.compare.interleaved import TurnsComparison
    from fathom.report.material import ReportedRun, Side
    from fathom.store import Experiment

__all__ = ["changes_of", "compare_sides", "told_changes"]


def changes_of(found: RunComparison) -> tuple[Change, ...]:
    """Return the changes of a comparison, figure by figure."""
    return tuple(
        Change(
            metric=name,
            percent=100 * one.change,
            low_percent=100 * one.low,
            high_percent=100 * one.high,
            p_value=one.p_value if one.family_p_value is None else one.family_p_value,
            # Where drift or steps forbid a verdict, the page has none either.
            is_different=one.is_different and one.can_tell,
            a_mean=one.a_mean,
            b_mean=one.b_mean,
            verdict=found.word(name),
            marks=tuple(found.rules),
        )
        for name, one in found.metrics.items()
    )


def compare_sides(
    experiment: Experiment, found: TurnsComparison, runs: Mapping[int, ReportedRun]
) -> tuple[Side, ...]:
    """Return A and B of whole pairs; one that has none is left out."""
    names = _names(experiment)
    sides = []
    for name, side, ids in zip(names, "ab", (found.a_run_ids, found.b_run_ids), strict=True):
        mine = [runs[one] for one in ids if one in runs]
        if not mine:
            continue
        verdict = Verdict(name, *_sentences(side, mine, found))
        commands = (again(experiment), run_command(mine[0]))
        notes = (f"The comparison ended early: {found.failure}",) if found.failure else ()
        made = repeat_side(name, None, mine)
        numbers = tuple(one for one in made.numbers if one.value is not None)
        sides.append(
            replace(
                made,
                verdict=verdict,
                numbers=(*_means(side, found), *numbers),
                commands=commands if side == "a" else commands[1:],
                notes=notes if side == "a" else (),
                rounds=(),
            )
        )
    return tuple(sides)


def _names(experiment: Experiment) -> tuple[str, str]:
    """Return what tells the sides apart: the arguments that only one of them has."""
    a, b = experiment.plan["a"], experiment.plan["b"]
    own = [[one for one in mine if one not in other] for mine, other in ((a, b), (b, a))]
    label = "" if experiment.name == "compare" else f" of {experiment.name}"
    words = [f": {shlex.join(one)}" if one else "" for one in own]
    return f"A{label}{words[0]}", f"B{label}{words[1]}"


def _means(side: str, found: TurnsComparison) -> tuple[KeyNumber, ...]:
    known = found.comparison.metrics if found.comparison else {}
    pairs = [(name, one.a_mean if side == "a" else one.b_mean) for name, one in known.items()]
    return tuple(
        KeyNumber(_titled(FIGURES.get(name, name)), _text(name, value), value)
        for name, value in pairs
        if name in ("iops", "mib_per_s", "mean", "p99")
    )


def _titled(name: str) -> str:
    """Return a name with a great first letter; others, as of IOPS, stay as they are."""
    return name[:1].upper() + name[1:]


def _text(metric: str, value: float) -> str:
    # The name of a number says that it is one of IOPS.
    return figure_words(metric, value, micro="µs").removesuffix(" IOPS")


def _sentences(
    side: str, runs: Sequence[ReportedRun], found: TurnsComparison
) -> tuple[str, tuple[str, ...]]:
    if found.comparison is None:
        return f"{counted(len(runs), 'run')}: too few to compare.", ()
    if side == "b":
        return f"{len(runs)} runs, each beside one of A.", ()
    told = told_changes(found.comparison)
    judged = [f"{one.condition}: {verdict_words(one)}." for one in found.comparison.verdicts]
    precise = () if found.is_precise else ("The change is known less well than requested.",)
    return told[0], (*told[1:], *judged, *precise)


def told_changes(found: RunComparison) -> list[str]:
    """Return what a comparison says; the first sentence has the first figure's change."""
    first = f"change-{next(iter(found.metrics), '')}"
    return [one.text for one in found.claims if one.key != first]
