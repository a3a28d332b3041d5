"""What a comparison says, as claims: the terminal, the page and JSON show these and no others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from fathom import _digits
from fathom._claims import Claim, Evidence, ToldRuns
from fathom._p_values import p_equation
from fathom.experiments.figure_words import FIGURES
from fathom.experiments.told_runs import told_run
from fathom.metrics import metric_column, quantile_of, run_value, unit_of
from fathom.stats.ranks import least_p_value, pairs_needed
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fathom.experiments.compare.comparison import RunComparison
    from fathom.stats import Comparison, DistributionComparison
    from fathom.store import StoredRun

__all__ = ["change_claim", "change_words", "compare_claims", "with_claims"]

_ONE_SINGLE = "one side has a single run"

# From here on neighbouring runs are said to resemble each other: twice the standard error of
# the coefficient of 2 x 10 independent runs. Fewer runs tell nothing of it.
_TOLD_RESEMBLANCE = 0.45
_LEAST_FOR_RESEMBLANCE = 8
_LEVEL = 0.05
_ONE_AFTER_THE_OTHER = (
    "A and B were not interleaved: what changed between them cannot be distinguished from B, and "
    "few runs (below 10 of each) often do not show it."
)
# From here on a distance is reported as a factor.
_FACTOR_FROM = 1.5


def with_claims(
    found: RunComparison, sides: tuple[Sequence[StoredRun], Sequence[StoredRun]]
) -> RunComparison:
    """Return a comparison with what it says of these runs."""
    a, b = (
        ToldRuns(
            {
                run.summary.id: told_run(run.result, run.summary.id)
                for run in side
                if run.imported is None
            }
        )
        for side in sides
    )
    evidence = {
        name: tuple(
            one
            for told, side in zip((a, b), sides, strict=True)
            for run in side
            if (one := _figure(told, run, name)) is not None
        )
        for name in found.metrics
    }
    both = ToldRuns({**b.by_id, **a.by_id})
    claims = compare_claims(found, a, b, evidence)
    return replace(found, claims=claims, doubts=both.legend())


def _figure(told: ToldRuns, run: StoredRun, metric: str) -> Evidence | None:
    value = run_value(run.summary, metric)
    if value is None:
        return None
    return told.evidence(run.summary.id, metric_column(metric), value, unit_of(metric))


def compare_claims(
    found: RunComparison,
    a: ToldRuns,
    b: ToldRuns,
    evidence: dict[str, tuple[Evidence, ...]],
) -> tuple[Claim, ...]:
    """Return the claims of a comparison: the headline, each figure's change, and the rest.

    ``a`` and ``b`` are the runs of both sides; ``evidence`` are their figures.
    """
    told = ToldRuns({**a.by_id, **b.by_id})
    claims = [_headline(found, a, b, told, evidence)]
    claims += [
        told.claim(
            f"change-{name}",
            f"{change_words(found, name)}: {found.word(name)}.",
            evidence.get(name, ()),
            plain=f"{change_words(found, name)}.",
        )
        for name in found.metrics
    ]
    rest = (Claim(key, text) for key, text in _rest(found))
    return (*claims, *told.of_time_spans(), *rest)


def _headline(
    found: RunComparison,
    a: ToldRuns,
    b: ToldRuns,
    told: ToldRuns,
    evidence: dict[str, tuple[Evidence, ...]],
) -> Claim:
    """Return the change of the first figure; what speaks against it stands in it."""
    first = next(iter(found.metrics), None)
    forbidding = _doubt_words(a, b, forbids=True)
    weak = _doubt_words(a, b, forbids=False)
    if first is None:
        why = f"these are not their numbers: {forbidding}" if forbidding else weak
        also = f", and {why}" if why else ""
        return Claim("headline", f"No figure can be compared{also}.")
    words, rests = change_words(found, first), evidence.get(first, ())
    if forbidding:
        text = f"No comparison of devices, as these are not their numbers: {forbidding}. {words}."
        return told.claim("headline", text, rests)
    judged = f"{words}: {found.word(first)}"
    return told.claim("headline", f"{judged}; but {weak}." if weak else f"{judged}.", rests)


def _doubt_words(a: ToldRuns, b: ToldRuns, *, forbids: bool) -> str:
    """Return what speaks against the sides: once where it is the same of both."""
    of_a, of_b = (
        "; ".join(sorted({one.words for one in side.doubts(side.by_id, forbids=forbids)}))
        for side in (a, b)
    )
    if of_a == of_b:
        return of_a
    return "; ".join(f"{name}: {one}" for name, one in (("A", of_a), ("B", of_b)) if one)


def change_claim(found: RunComparison, metric: str) -> Claim | None:
    """Return the claim about a figure, if the comparison has one."""
    return next((one for one in found.claims if one.key == f"change-{metric}"), None)


def change_words(found: RunComparison, metric: str) -> str:
    """Return a change and its interval, without any judgement and full stop."""
    one = found.metrics[metric]
    change = _digits.change_words(100 * one.change, 100 * one.low, 100 * one.high)
    kind, _, name = metric.rpartition(".")
    figure = f"{kind} {FIGURES.get(name, name)}".strip()
    return f"B against A, {figure}: {change}"


def _rest(found: RunComparison) -> list[tuple[str, str]]:
    claims = [("difference", one) for one in (*found.differences, *found.notes)]
    claims += [("means", one) for one in _means_sentence(found)]
    claims += [
        ("missing", f"{name} cannot be compared: {why}.") for name, why in found.missing.items()
    ]
    if found.latency is not None:
        claims.append(("distribution", _latency_sentence(found.latency, _single_side(found))))
    if any(not one.between_runs for one in found.metrics.values()):
        side = _single_side(found)
        words = (
            f"{side[0].upper()}{side[1:]}: differences between runs are not in the interval, "
            "which may be too narrow. Repeat it."
        )
        claims.append(("single", words))
    doubted: dict[str, list[str]] = {}
    for name, one in found.metrics.items():
        for doubt in one.doubts:
            doubted.setdefault(doubt, []).append(name)
    claims += [
        ("doubt", f"{', '.join(names)}: {doubt}, so that no difference can be shown.")
        for doubt, names in doubted.items()
    ]
    for name, one in found.metrics.items():
        claims += [("outlier", _outlier_sentence(name, *outlier)) for outlier in one.outliers]
    return [*claims, *(("order", one) for one in _neighbour_sentences(found.metrics.values()))]


def _means_sentence(found: RunComparison) -> list[str]:
    """Say which mean of several runs the figures of both sides are."""
    counts = sorted({(one.a_runs, one.b_runs) for one in found.metrics.values()})
    if not counts or counts[-1] == (1, 1):
        return []
    a, b = counts[-1]
    percentiles = any(quantile_of(name) is not None for name in found.metrics)
    rest = ", of percentiles that of all their I/Os" if percentiles else ""
    return [
        f"A and B are geometric means of {a} and {counted(b, 'run')}{rest}: a change is a ratio."
    ]


def _outlier_sentence(name: str, side: str, index: int, change: float) -> str:
    which = f"Pair {index + 1}" if side == "pair" else f"Run {index + 1} of {side}"
    return (
        f"{which} is an outlier of {name}; it is counted. Without it the change would be "
        f"{_digits.change_figure(100 * change)} %. Of drawn pairs, signs decide then."
    )


def _single_side(found: RunComparison) -> str:
    """Say which side has a single run, if one has."""
    sides = (one.single_side for one in found.metrics.values())
    return next(filter(None, sides), _ONE_SINGLE)


def _latency_sentence(latency: DistributionComparison, single: str = _ONE_SINGLE) -> str:
    certainty = f"{single}, so that chance cannot be told: repeat it"
    p_value = latency.p_value if latency.family_p_value is None else latency.family_p_value
    if p_value is not None:
        certainty = f"p {p_equation(p_value)}"
        if p_value >= _LEVEL:
            # A distance is never negative, so that of equals is above 0 by chance.
            return f"Latency as a whole: no difference of the distributions is shown ({certainty})."
    return (
        f"Latency as a whole: an I/O of B is slower than one of A with probability "
        f"{latency.slower_share:.2f}; the distributions are {_apart_words(latency.log_shift)} "
        f"apart ({certainty})."
    )


def _apart_words(log_shift: float) -> str:
    """Return a distance on a logarithmic scale; percent would mislead where it is large."""
    factor = math.exp(log_shift)
    told = _digits.known_words(factor, None, None)
    return f"{100 * (factor - 1):.1f} %" if factor < _FACTOR_FROM else f"a factor of {told}"


def _few_pairs(figures: Collection[Comparison]) -> list[str]:
    """Say it where drawn pairs are too few for any difference of so many figures."""
    drawn = [one for one in figures if one.flip_p_value is not None]
    if not drawn or any(one.is_different for one in drawn):
        return []
    pairs, needed = min(one.a_runs for one in drawn), pairs_needed(len(drawn))
    if pairs >= needed:
        return []
    words = (
        f"{pairs} pairs are too few to tell a difference: chance alone gives a figure {pairs} "
        f"changes of one sign in {100 * least_p_value(pairs):.2g} %. Make at least {needed}."
    )
    return [words]


def _neighbour_sentences(figures: Collection[Comparison]) -> list[str]:
    """Say what the order of the runs tells."""
    if any(one.in_turns for one in figures):
        return ["The runs were interleaved, and are compared pair by pair.", *_few_pairs(figures)]
    told = [_ONE_AFTER_THE_OTHER] if figures else []
    most = max((one.resemblance for one in figures), default=0.0)
    few = min((min(one.a_runs, one.b_runs) for one in figures), default=0)
    if most < _TOLD_RESEMBLANCE or few < _LEAST_FOR_RESEMBLANCE:
        return told
    words = (
        f"Neighbouring runs resemble each other (by {most:.2f}, where 0 is not at all): something "
        "else changed meanwhile, and the intervals are wider for it. Measure A and B interleaved, "
        "one run each, to see smaller differences."
    )
    return [words, *told]
