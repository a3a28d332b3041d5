"""Comparing the figures of two sets of runs with each other, as one family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from fathom.stats import Comparison, DistributionComparison, compare_distributions, compare_means
from fathom.stats.compare import deviations, run_means
from fathom.stats.distribution import distribution_deviations
from fathom.stats.doubt import doubts
from fathom.stats.family import family_p_values
from fathom.stats.percentiles import TooFewIos
from fathom.units import time_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats.floats import Values

__all__ = ["ComparedFigures", "SideFigures", "compare_figures"]


@dataclass(frozen=True)
class SideFigures:
    """What is known of one side's runs, in the order of time.

    Attributes
    ----------
    values
        For each figure one value or series of each run, or in words why there is none; or how many
        I/Os or runs would carry the interval of a percentile.
    buckets
        The histogram of latency of each run; None if one has none.
    pilot
        If the spread of the first runs decided how many there are, how many these were.

    """

    values: Mapping[str, Sequence[Values] | TooFewIos | str]
    buckets: Sequence[Mapping[int, int]] | None
    pilot: int | None = None


@dataclass(frozen=True)
class ComparedFigures:
    """The figures that both sides have, why others are missing, and the latencies as a whole.

    ``too_few`` are those of the missing ones that more I/Os or runs would tell.
    """

    metrics: Mapping[str, Comparison]
    missing: Mapping[str, str]
    latency: DistributionComparison | None
    too_few: frozenset[str] = frozenset()


class _Pairing(TypedDict):
    a_pilot: int | None
    b_pilot: int | None
    in_turns: bool
    is_drawn: bool


def compare_figures(  # noqa: PLR0913 - All but the first two have defaults and names.
    a: SideFigures,
    b: SideFigures,
    *,
    confidence: float = 0.95,
    in_turns: bool = False,
    is_drawn: bool = False,
    with_latency: bool = True,
) -> ComparedFigures:
    """Compare each figure of A, and the whole distributions of latency; all are one family.

    ``in_turns`` and ``is_drawn`` are those of ``compare_means``.
    """
    pairing: _Pairing = {
        "a_pilot": a.pilot,
        "b_pilot": b.pilot,
        "in_turns": in_turns,
        "is_drawn": is_drawn,
    }
    found: dict[str, Comparison] = {}
    missing: dict[str, str] = {}
    too_few = set()
    columns = []
    for metric, of_a in a.values.items():
        of_b = b.values[metric]
        if isinstance(of_a, TooFewIos | str) or isinstance(of_b, TooFewIos | str):
            missing[metric] = _why_not(of_a, of_b)
            if not isinstance(of_a, str) and not isinstance(of_b, str):
                too_few.add(metric)
            continue
        try:
            one = compare_means(of_a, of_b, confidence=confidence, **pairing)
        except ValueError as error:
            missing[metric] = str(error)
            continue
        found[metric] = one if in_turns else replace(one, doubts=_doubts(of_a, of_b))
        columns.append(deviations(of_a, of_b, is_drawn=is_drawn))
    latency = None
    if with_latency and a.buckets and b.buckets:
        latency = compare_distributions(a.buckets, b.buckets, **pairing)
        columns.append(distribution_deviations(a.buckets, b.buckets, is_drawn=is_drawn))
    tested = [one.p_value for one in found.values()]
    if latency is not None and latency.p_value is not None:
        tested.append(latency.p_value)
    if not tested:
        return ComparedFigures(found, missing, latency, frozenset(too_few))
    together = family_p_values(tested, np.column_stack(columns[: len(tested)]))
    for metric, p_value in zip(found, together, strict=False):
        found[metric] = replace(found[metric], family_p_value=p_value)
    if latency is not None and latency.p_value is not None:
        latency = replace(latency, family_p_value=together[-1])
    return ComparedFigures(found, missing, latency, frozenset(too_few))


def _why_not(a: Sequence[Values] | TooFewIos | str, b: Sequence[Values] | TooFewIos | str) -> str:
    """Return why a figure cannot be compared; of a percentile, how many I/Os would do."""
    told = [one for one in (a, b) if isinstance(one, str)]
    if told:
        return told[0]
    sides = [(name, one) for name, one in (("A", a), ("B", b)) if isinstance(one, TooFewIos)]
    words = [f"{name} {_needs(one)}" for name, one in sides]
    what = "I/Os" if all(one.needed is not None for _, one in sides) else "runs"
    return f"the {what} carry no interval of this percentile: {' and '.join(words)}"


def _needs(one: TooFewIos) -> str:
    """Return what one side lacks: I/Os, or runs, as more I/Os of the same few do not help."""
    if one.needed is None:
        more = "more than 1,000" if one.runs_needed is None else f"about {one.runs_needed:,}"
        words = f"has {one.runs:,} runs, which differ too much in it, and needs {more}"
    else:
        words = f"has {one.ios:,} I/Os and needs more than {one.needed:,}"
    if one.is_greatest:
        words += f" (its value is the greatest of all latencies, {time_words(one.value_ns)})"
    return words


def _doubts(a: Sequence[Values], b: Sequence[Values]) -> tuple[str, ...]:
    return doubts([np.log(run_means(side)) for side in (a, b)])
