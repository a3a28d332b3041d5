"""Whether runs or rounds were steady by the SNIA's rule: by which figures, and in which of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._digits import beside_limit
from fathom.experiments.figure_words import FIGURES
from fathom.stats.snia import FIT_PERCENT, RANGE_PERCENT
from fathom.units import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.stats import SteadyState
    from fathom.stats.steady import WindowCheck

__all__ = ["STEADY_FIGURES", "is_steady_words", "steady_words"]

STEADY_FIGURES = ("iops", "mib_per_s", "p99")
"""The figures of a repetition that the rule looks at, all together."""
_RULE = "Steady state by the SNIA rules, a run being a round"


def steady_words(steady: SteadyState, count: int) -> str:
    """Return the sentence of so many runs, which are enough for the rule (``checks``).

    It names all figures that keep the rule, or those that break it, and the window.
    """
    # Not runs, which have other numbers in the store.
    window = f"rounds {steady.first_round} to {steady.rounds}"
    if steady.is_steady:
        found = (
            f"reached in round {steady.rounds}, as {_names(steady.checks)} keep them in {window}"
        )
        after = "" if count == steady.rounds else "; of the rounds after these they say nothing"
        return f"{_RULE}: {found}{after}."
    broken = "; ".join(
        _broken_words(name, one) for name, one in steady.checks.items() if not one.is_steady
    )
    runs = f"{steady.rounds} runs"
    if count > steady.rounds:
        runs = f"the first {runs}, which are all that the rules look at"
    return f"{_RULE}: not reached in {runs}. In the last window, {window}, {broken}."


def is_steady_words(*, is_steady: bool) -> str:
    """Return the sentence of a repetition of which no more than the answer is kept."""
    found = "reached" if is_steady else "not reached"
    return f"{_RULE}: {found} by {_names(dict.fromkeys(STEADY_FIGURES))} together."


def _names(figures: Mapping[str, object]) -> str:
    return listed([FIGURES.get(name, name) for name in figures])


def _broken_words(name: str, one: WindowCheck) -> str:
    parts = []
    shares = ((one.range_share, RANGE_PERCENT, "range"), (one.fit_share, FIT_PERCENT, "slope"))
    for share, most, what in shares:
        percent = beside_limit(100 * share, most, 1)
        if float(percent) > most:
            parts.append(f"{what} {percent} % (at most {most})")
    return f"{FIGURES.get(name, name)}: {', '.join(parts)}"
