"""What a repetition says of its runs, and which findings speak against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fathom._digits import known_words
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._claims import Claim, ToldRuns

__all__ = ["KnownRate", "rate_sentence", "repeat_claims"]

_LEAST_PERCENT = 0.01
_PERCENT = 100


class KnownRate(NamedTuple):
    """A mean of IOPS, and its interval at a confidence; None where it cannot be told."""

    mean: float
    low: float | None
    high: float | None
    confidence: float


def repeat_claims(
    rates: Sequence[tuple[int, float]], estimate: KnownRate, told: ToldRuns
) -> tuple[Claim, ...]:
    """Return the headline, the rate of the runs with what speaks against it, and whose that is.

    ``rates`` are the IOPS of each run by its id in the store, ``estimate`` is that of their mean.
    """
    words = rate_sentence(len(rates), estimate).removesuffix(".")
    evidence = [told.evidence(run_id, "iops", rate, "IOPS") for run_id, rate in rates]
    return (told.headline(words, words, evidence), *told.of_time_spans())


def rate_sentence(count: int, estimate: KnownRate) -> str:
    """Return the rate of so many runs in a sentence, with how well it is known."""
    mean, low, high, confidence = estimate
    rate = known_words(mean, low, high)
    if low is None or high is None or not mean:
        return f"{counted(count, 'run')} gave {rate} IOPS, of which no interval can be told."
    level = f"at {100 * confidence:g} % confidence"
    share = _share_words(50 * (high - low) / mean)
    return f"{counted(count, 'run')} gave {rate} IOPS, known to within {share} % {level}."


def _share_words(percent: float) -> str:
    """Return how well a mean is known, with no digits that nobody needs."""
    if percent < _LEAST_PERCENT:
        return f"less than {_LEAST_PERCENT:g}"
    return f"{percent:.2g}" if percent < _PERCENT - 1 else f"{percent:,.0f}"
