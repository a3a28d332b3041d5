"""What a comparison found, and the exit code that it ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fathom._digits import change_figures, change_interval, measured_place, place_words
from fathom._p_values import p_text
from fathom.cli.common import fail
from fathom.cli.exit_codes import EXIT_BETTER, EXIT_CANNOT_TELL, EXIT_INVALID, EXIT_WORSE
from fathom.cli.views.claims import row_mark, show_legend
from fathom.cli.views.runs import console, text_table
from fathom.experiments.compare.gate import NAME_APART, beside_limit_words, verdict_words
from fathom.experiments.noise_words import shown_unit

if TYPE_CHECKING:
    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.compare.gate import Verdict
    from fathom.stats import Comparison

__all__ = ["judge", "show_comparison"]

_BY_VERDICT = {
    "equal": 0,
    "worse": EXIT_WORSE,
    "better": EXIT_BETTER,
    "cannot tell": EXIT_CANNOT_TELL,
}


def show_comparison(found: RunComparison) -> None:
    """Print the figures, and in words what differs besides and what the order of the runs tells."""
    columns = ("", "A>", "B>", "change %>", "interval %>", "p>", "verdict")
    rows = []
    for name, one in found.metrics.items():
        unit, words = shown_unit(name)
        means = one.a_mean, one.b_mean
        changed = 100 * one.change, 100 * one.low, 100 * one.high
        rows.append(
            [
                f"{name}{words}",
                # Each mean has the digits that the change is known to.
                *(place_words(mean / unit, _place(one, mean / unit)) for mean in means),
                change_figures(*changed)[0],
                change_interval(*changed),
                p_text(one.p_value if one.family_p_value is None else one.family_p_value),
                found.word(name) + row_mark(found.rules),
            ]
        )
    if found.claims:
        typer.echo(found.claims[0].text)
    console().print(text_table("", columns, rows))
    show_legend([found.rules], found.doubts)
    for claim in found.claims:
        # The table above has the changes of all figures.
        if claim.key != "headline" and not claim.key.startswith("change-"):
            typer.echo(claim.text)


def _place(one: Comparison, mean: float) -> int:
    return measured_place(mean, mean * (one.high - one.low) / 2)


def judge(found: RunComparison, figure: str | None = None) -> None:
    """End with exit code 5 if a condition is met, with 3 or 7 if one cannot be judged or told.

    Then with that of the verdict on a figure, if one is named.
    """
    for one in found.verdicts:
        if one.why_not is not None:
            fail(f"{one.condition} {verdict_words(one)}", EXIT_INVALID)
    met = [one for one in found.verdicts if one.is_met and one.change is not None]
    if met:
        words = [
            f"{one.condition}: {one.condition.partition('>')[0].partition('<')[0]} changed by "
            f"{beside_limit_words(one)} %"
            for one in met
        ]
        fail("; ".join(words), EXIT_WORSE)
    unknown = [one for one in found.verdicts if one.decision == "cannot tell"]
    if unknown:
        fail("; ".join(_cannot_tell(one) for one in unknown), EXIT_CANNOT_TELL)
    if figure is not None:
        _end_by_verdict(found, figure)


def _end_by_verdict(found: RunComparison, figure: str) -> None:
    if figure not in found.metrics:
        code = EXIT_CANNOT_TELL if figure in found.missing else EXIT_INVALID
        fail(f"{figure}: cannot tell: {found.missing.get(figure, 'it was not compared')}", code)
    code = _BY_VERDICT[found.word(figure)]
    if code:
        fail(f"{figure}: {found.word(figure)}", code)


def _cannot_tell(one: Verdict) -> str:
    said = f"{one.condition}: {verdict_words(one)}"
    if any(NAME_APART in doubt for doubt in one.doubts):
        return said
    return f"{said}; measure more runs, A and B interleaved"
