"""Whether runs or rounds were steady by the SNIA's rule: by which figures, and in which of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._digits import beside_limit
from fathom.experiments.compare.claims import FIGURES
from fathom.experiments.figure_words import figure_words
from fathom.stats.steady import WINDOW_ROUNDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.stats import SteadyState
    from fathom.stats.steady import WindowCheck

__all__ = ["STEADY_FIGURES", "check_words", "is_steady_words", "steady_words"]

STEADY_FIGURES = ("iops", "mib_per_s", "p99")
"""The figures of a repetition that the rule looks at, all together."""
# In percent of the mean over the window: see ``fathom.stats.steady``.
_MOST_RANGE, _MOST_FIT = 20, 10
_RULE = "Steady state by the SNIA rules, a run being a round"


def steady_words(steady: SteadyState, count: int) -> str:
    """Return the sentence of so many runs, which are enough for the rule (``checks``).

    It names all figures that keep the rule, or those that break it, and the window.
    """
    window = f"runs {steady.rounds - WINDOW_ROUNDS + 1} to {steady.rounds}"
    if steady.is_steady:
        found = f"reached in run {steady.rounds}, as {_names(steady.checks)} keep them in {window}"
        after = "" if count == steady.rounds else "; of the runs after these they say nothing"
        return f"{_RULE}: {found}{after}."
    broken = "; ".join(
        _broken_words(name, one) for name, one in steady.checks.items() if not one.is_steady
    )
    return f"{_RULE}: not reached in {steady.rounds} runs. In the last window, {window}, {broken}."


def check_words(name: str, one: WindowCheck, *, micro: str = "us") -> str:
    """Return a figure over the window: its average with its unit, its range and its slope.

    ``micro`` is what stands for microseconds.
    """
    spread, slope = (
        beside_limit(100 * share, most, 1)
        for share, most in ((one.range_share, _MOST_RANGE), (one.fit_share, _MOST_FIT))
    )
    return (
        f"{name}: average {figure_words(name, one.average, micro=micro)}, range {spread} % (at "
        f"most {_MOST_RANGE}), slope over the window {slope} % (at most {_MOST_FIT})"
    )


def is_steady_words(*, is_steady: bool) -> str:
    """Return the sentence of a repetition of which no more than the answer is kept."""
    found = "reached" if is_steady else "not reached"
    return f"{_RULE}: {found} by {_names(dict.fromkeys(STEADY_FIGURES))} together."


def _names(figures: Mapping[str, object]) -> str:
    *most, last = (FIGURES.get(name, name) for name in figures)
    return f"{', '.join(most)} and {last}" if most else last


def _broken_words(name: str, one: WindowCheck) -> str:
    parts = []
    shares = ((one.range_share, _MOST_RANGE, "range"), (one.fit_share, _MOST_FIT, "slope"))
    for share, most, what in shares:
        percent = beside_limit(100 * share, most, 1)
        if float(percent) > most:
            parts.append(f"{what} {percent} % (at most {most})")
    return f"{FIGURES.get(name, name)}: {', '.join(parts)}"
