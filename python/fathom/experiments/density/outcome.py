"""What so many databases did: their sum, their share of linear, how even it was, and the limit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from fathom._digits import beside_limit
from fathom.units import counted, rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.databases.pgbench import DatabaseFigures
    from fathom.experiments.density.plan import DensityPlan
    from fathom.host.limit import Limit

__all__ = [
    "LINEAR_SHARE",
    "DensityStep",
    "Measured",
    "known_share",
    "outcome_of",
    "plan_words",
    "sentences_of",
    "share_words",
    "stepped",
]

LINEAR_SHARE = 0.9
"""Our choice: a sum of less than this share of N times one is linear no more."""

_PERCENT = 100.0
# Quotients of the same share differ in the last digit; ``beside_limit`` has the same, in percent.
_ROUNDING = 1e-11
# From this share of the CPUs on, what others used is reported.
_OTHERS_PERCENT = 10.0


@dataclass(frozen=True)
class Measured:
    """What one step measured: each database, what was at its limit meanwhile, what disturbed it."""

    databases: tuple[DatabaseFigures, ...]
    limit: Limit
    disturbed: str | None = None


@dataclass(frozen=True)
class DensityStep:
    """So many databases at once.

    Attributes
    ----------
    databases
        How many.
    per_s
        Transactions, or I/Os, of all of them per second.
    linear_share
        ``per_s`` by what the first step promises: that many times one of its databases; None
        where it or the first one tells nothing of that.
    fairness
        Jain's index of the databases' rates: 1 if all are equal, 1/N if one has all.
    latency_mean_ms, latency_worst_ms
        Of all transactions, and of the database where the mean is highest; None if unknown.
    limit
        What was at its limit.
    members
        Each database.
    run_id
        In the store, of files.
    disturbed
        What came between the load and the machine, in words; None if nothing did, or nobody knows,
        as of databases.

    """

    databases: int
    per_s: float
    linear_share: float | None
    fairness: float
    latency_mean_ms: float | None
    latency_worst_ms: float | None
    limit: Limit
    members: tuple[DatabaseFigures, ...]
    run_id: int | None = None
    disturbed: str | None = None

    @property
    def is_linear(self) -> bool:
        """Whether the sum is about that many times one."""
        return self.linear_share is not None and self.linear_share >= LINEAR_SHARE - _ROUNDING


def known_share(step: DensityStep, first: DensityStep) -> float | None:
    """Return the share of linear, seen from the first step; None where either tells nothing."""
    is_known = first.per_s and first.disturbed is None and step.disturbed is None
    return step.linear_share if is_known else None


def share_words(linear_share: float) -> str:
    """Return the share of linear in percent, with so many digits that one sees which it is."""
    # Linear is what reaches the limit, and ``beside_limit`` asks for what does not exceed it.
    return beside_limit(-_PERCENT * linear_share, -_PERCENT * LINEAR_SHARE).lstrip("-")


def plan_words(plan: DensityPlan, count: int) -> str:
    """Return how many of what: ``4 databases``."""
    return counted(count, plan.noun)


def stepped(
    measured: Measured, first: DensityStep | None, run_id: int | None = None
) -> DensityStep:
    """Return what a step was, seen from the first one."""
    rates = [one.per_s for one in measured.databases]
    total = sum(rates)
    promised = total if first is None else first.per_s / first.databases * len(rates)
    is_disturbed = any(one is not None and one.disturbed for one in (measured, first))
    known = [one for one in measured.databases if one.latency_mean_ms is not None]
    weighed = sum(one.per_s * (one.latency_mean_ms or 0) for one in known)
    weights = sum(one.per_s for one in known)
    return DensityStep(
        databases=len(rates),
        per_s=total,
        linear_share=total / promised if promised and not is_disturbed else None,
        fairness=jain(rates),
        latency_mean_ms=weighed / weights if weights else None,
        latency_worst_ms=max((one.latency_mean_ms or 0 for one in known), default=None),
        limit=measured.limit,
        members=measured.databases,
        run_id=run_id,
        disturbed=measured.disturbed,
    )


def jain(rates: Sequence[float]) -> float:
    """Return the fairness of shares (Jain, Chiu, Hawe, DEC-TR-301, 1984)."""
    squares = sum(one * one for one in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 1.0


def sentences_of(
    plan: DensityPlan, steps: Sequence[DensityStep], failure: str | None = None
) -> list[str]:
    """Return what was found, the headline first."""
    if not steps:
        return [] if failure is None else [f"Nothing was measured: {failure.rstrip('.')}."]
    sound = [one for one in steps if one.disturbed is None]
    found = [
        _headline(plan, steps[0], steps[-1]),
        _end(plan, steps, sound),
        *_disturbed(plan, steps),
        _uneven(plan, sound),
        _others(steps),
        _failed(plan, steps),
        None if failure is None else f"It ended early: {failure.rstrip('.')}.",
    ]
    return [one for one in found if one is not None]


def _headline(plan: DensityPlan, first: DensityStep, last: DensityStep) -> str:
    each = rate_words(first.per_s / first.databases)
    sum_words = (
        f"{plan_words(plan, last.databases)} carried {rate_words(last.per_s)} {plan.unit} together"
    )
    share = known_share(last, first)
    if last is first or share is None:
        return f"{sum_words}."
    of = "of one" if first.databases == 1 else f"each of the first step ({first.databases})"
    words = f"{share_words(share)}% of {last.databases} times the {each} {plan.unit} {of}"
    return f"{sum_words}: {words}."


def _end(
    plan: DensityPlan, steps: Sequence[DensityStep], sound: Sequence[DensityStep]
) -> str | None:
    """Say up to where the sum was linear, as far as steps that nothing disturbed tell it."""
    if steps[0].disturbed is not None:
        return None
    if not steps[0].per_s:
        return "The first step did nothing, so no share of linear can be given."
    if len(sound) == 1 < len(steps):
        return None
    # What is less once and linear again later was not the end.
    beyond = [*takewhile(lambda one: not one.is_linear, reversed(sound))]
    linear = sound[: len(sound) - len(beyond)]
    if beyond:
        return _ended_words(plan, linear, beyond[-1])
    return _linear_words(linear, is_last=linear[-1] is steps[-1])


def _bound_words(linear: Sequence[DensityStep]) -> str:
    """Return what counts as linear, and which steps before the last one did not reach it."""
    less = [
        f"{share_words(one.linear_share)}% at {one.databases}"
        for one in linear
        if one.linear_share is not None and not one.is_linear
    ]
    but = f", but {', '.join(less)}" if less else ""
    return f"({LINEAR_SHARE:.0%} or more{but})"


def _linear_words(linear: Sequence[DensityStep], *, is_last: bool) -> str:
    last = linear[-1]
    words = f"Up to {last.databases} the sum was linear {_bound_words(linear)}"
    if last.limit.resource != "none":
        return f"{words}; at the limit was already: {last.limit.resource} ({last.limit.evidence})."
    return f"{words}, and nothing was at its limit{': try more' if is_last else ''}."


def _ended_words(plan: DensityPlan, linear: Sequence[DensityStep], beyond: DensityStep) -> str:
    words = (
        f"The sum was linear up to {linear[-1].databases} {_bound_words(linear)}, and no more at "
        f"{beyond.databases}"
    )
    if beyond.limit.resource == "none":
        return (
            f"{words}, where neither CPU, memory nor a device was at its limit "
            f"({beyond.limit.evidence}): what the {plan.noun}s wait for is their own."
        )
    return f"{words}. What ended it: {beyond.limit.resource}; {beyond.limit.evidence}."


def _disturbed(plan: DensityPlan, steps: Sequence[DensityStep]) -> list[str]:
    return [
        f"The run with {plan_words(plan, one.databases)} says nothing of that ({one.disturbed}): "
        "measure it again."
        for one in steps
        if one.disturbed is not None
    ]


def _uneven(plan: DensityPlan, sound: Sequence[DensityStep]) -> str | None:
    uneven = min(sound, key=lambda one: one.fairness, default=None)
    if uneven is None or uneven.databases == 1:
        return None
    least, most = (end(one.per_s for one in uneven.members) for end in (min, max))
    return (
        f"The {plan.noun}s' shares were the least even at {uneven.databases}: "
        f"{rate_words(least)} to {rate_words(most)} {plan.unit} each, a fairness (Jain) of "
        f"{uneven.fairness:.3f}."
    )


def _others(steps: Sequence[DensityStep]) -> str | None:
    others = max(one.limit.others_percent or 0.0 for one in steps)
    if others < _OTHERS_PERCENT:
        return None
    return (
        f"Other programs used up to {others:.0f} % of the CPUs meanwhile: what they took is "
        "missing in these figures."
    )


def _failed(plan: DensityPlan, steps: Sequence[DensityStep]) -> str | None:
    failed = sum(one.failed for step in steps for one in step.members)
    kind = "transactions" if plan.unit == "TPS" else "I/Os"
    return f"{failed:,} {kind} failed, and are not counted." if failed else None


def outcome_of(
    plan: DensityPlan, steps: Sequence[DensityStep], failure: str | None = None
) -> dict[str, object]:
    """Return what the store keeps."""
    return {
        "unit": plan.unit,
        "sentences": sentences_of(plan, steps, failure),
        "steps": [asdict(one) for one in steps],
    }
