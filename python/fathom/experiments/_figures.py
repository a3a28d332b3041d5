"""Comparing the figures of two sets of runs with each other, as one family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats import Comparison, DistributionComparison, compare_distributions, compare_means
from fathom.stats._compare import deviations
from fathom.stats._distribution import distribution_deviations
from fathom.stats._doubt import doubts
from fathom.stats._family import family_p_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.stats._types import Values

__all__ = ["ComparedFigures", "SideFigures", "compare_figures"]


@dataclass(frozen=True)
class SideFigures:
    """What is known of one side's runs, in the order of time.

    Attributes
    ----------
    values
        For each figure one value or series of each run, or in words why there is none.
    buckets
        The histogram of latency of each run; None if one has none.
    pilot
        If the spread of the first runs decided how many there are, how many these were.

    """

    values: Mapping[str, Sequence[Values] | str]
    buckets: Sequence[Mapping[int, int]] | None
    pilot: int | None = None


@dataclass(frozen=True)
class ComparedFigures:
    """The figures that both sides have, why others are missing, and the latencies as a whole."""

    metrics: Mapping[str, Comparison]
    missing: Mapping[str, str]
    latency: DistributionComparison | None


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
    pairing = {"in_turns": in_turns, "is_drawn": is_drawn}
    found: dict[str, Comparison] = {}
    missing: dict[str, str] = {}
    columns = []
    for metric, of_a in a.values.items():
        of_b = b.values[metric]
        if isinstance(of_a, str) or isinstance(of_b, str):
            missing[metric] = of_a if isinstance(of_a, str) else str(of_b)
            continue
        try:
            found[metric] = compare_means(
                of_a,
                of_b,
                confidence=confidence,
                a_pilot=a.pilot,
                b_pilot=b.pilot,
                **pairing,
            )
            if not in_turns:
                found[metric] = replace(found[metric], doubts=_doubts(of_a, of_b))
        except ValueError as error:
            missing[metric] = str(error)
            continue
        columns.append(deviations(of_a, of_b, is_drawn=is_drawn))
    latency = None
    if with_latency and a.buckets and b.buckets:
        latency = compare_distributions(
            a.buckets, b.buckets, a_pilot=a.pilot, b_pilot=b.pilot, **pairing
        )
        columns.append(distribution_deviations(a.buckets, b.buckets, is_drawn=is_drawn))
    tested = [one.p_value for one in found.values()]
    if latency is not None and latency.p_value is not None:
        tested.append(latency.p_value)
    if not tested:
        return ComparedFigures(found, missing, latency)
    together = family_p_values(tested, np.column_stack(columns[: len(tested)]))
    for metric, p_value in zip(found, together, strict=False):
        found[metric] = replace(found[metric], family_p_value=p_value)
    if latency is not None and latency.p_value is not None:
        latency = replace(latency, family_p_value=together[-1])
    return ComparedFigures(found, missing, latency)


def _doubts(a: Sequence[Values], b: Sequence[Values]) -> tuple[str, ...]:
    sides = [np.log([float(np.asarray(one, float).mean()) for one in side]) for side in (a, b)]
    return doubts(sides)
