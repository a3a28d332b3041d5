"""What is to be said beside the interval of a figure of several runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._digits import interval_words, known_words
from fathom.metrics import higher_is_better
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats import Noise, RunsEstimate

__all__ = ["estimate_sentences", "shown_figure", "shown_unit"]

_WORDS = {
    "memory": "neighbouring runs resemble each other",
    "drift": "the runs drift",
    "cliff": "the level changes between the runs",
    "two states": "the runs have two states",
    "stalls": "single runs are far off",
    "heavy tail": "the runs are skewed",
}
# From here on an interval is reported to be wider.
_TOLD_WIDENING = 1.2


def estimate_sentences(figures: Mapping[str, RunsEstimate]) -> list[str]:
    """Return why figures have no interval, and what the others take for granted."""
    sentences = [one for name, found in figures.items() for one in _own(name, found)]
    given = [one for one in figures.values() if one.can_tell]
    untested = [one for one in figures.values() if not one.is_tested]
    if untested:
        sentences.append(
            f"{untested[0].runs} runs are too few to see what noise they have, so that no interval "
            f"can be told: make at least {untested[0].needed}."
        )
    if given:
        sentences.append(_granted(given))
    return sentences


def shown_unit(metric: str) -> tuple[float, str]:
    """Return by what a figure is divided to be shown, and the name of the unit."""
    return (1, "") if higher_is_better(metric) else (NS_PER_MS, " ms")


def _own(name: str, found: RunsEstimate) -> list[str]:
    sentences = []
    if found.noise:
        sentences.append(_cannot_tell(name, found))
    elif found.ios_needed is not None and (found.is_tested or found.is_greatest):
        needs = f"more runs, or at least {found.ios_needed:,} I/Os in all"
        what = (
            "is the greatest of all latencies and tells no more than that: an interval needs "
            f"{needs}"
            if found.is_greatest
            else f"has no interval: it needs {needs}"
        )
        sentences.append(f"{name} {what}.")
    elif found.is_tested and not found.can_tell:
        more = "more than 1,000" if found.runs_needed is None else f"about {found.runs_needed:,}"
        sentences.append(
            f"{name} has no interval, as the runs differ too much in it: it needs {more} runs."
        )
    elif found.can_tell and found.widened >= _TOLD_WIDENING:
        sentences.append(
            f"Neighbouring runs resemble each other in {name}, be it by chance: its interval is "
            f"{found.widened:.1f} times as wide as that of independent runs."
        )
    return sentences


def _cannot_tell(name: str, found: RunsEstimate) -> str:
    unit, words = shown_unit(name)
    why = " and ".join(_reason(one) for one in found.noise)
    effort = (
        "No number of runs helps as long as that goes on: find what changes."
        if found.needed is None
        else f"About {found.needed:,} runs would tell."
    )
    what = "its interval" if found.ios_needed else "the mean"
    sentence = f"{name}: cannot tell {what} from so few runs, as {why}. {effort}"
    if found.median_low is not None and found.median_high is not None:
        low, high = found.median_low / unit, found.median_high / unit
        sentence += f" The median of runs is within {interval_words(low, high)}{words}."
    return sentence


def _reason(one: Noise) -> str:
    return f"{_WORDS[one.kind]} ({one.test}, p = {max(one.p_value, 0.001):.3f})"


def _granted(given: Sequence[RunsEstimate]) -> str:
    least = min(given, key=lambda one: one.runs)
    level = f"{100 * least.confidence:g} %"
    return (
        f"The intervals hold at {level} or more for runs that are independent. So few runs often "
        f"do not show memory of less than {least.unseen_resemblance:.2f} from run to run, "
        f"skewness, nor what comes in fewer than {100 * least.unseen_share:.0f} % of them."
    )


def shown_figure(metric: str, found: RunsEstimate) -> tuple[str, str]:
    """Return a figure and its interval with the digits that the interval allows."""
    unit, _ = shown_unit(metric)
    mark = " (greatest)" if found.is_greatest else ""
    if found.low is None or found.high is None:
        return known_words(found.mean / unit, None, None) + mark, "cannot tell"
    low, high = found.low / unit, found.high / unit
    return known_words(found.mean / unit, low, high) + mark, interval_words(low, high)
