"""What so many databases did: their sum, their share of linear, how even it was, and the limit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.databases.pgbench import DatabaseFigures
    from fathom.experiments.density.plan import DensityPlan
    from fathom.host.limit import Limit

__all__ = [
    "LINEAR_SHARE",
    "DensityStep",
    "Measured",
    "outcome_of",
    "plan_words",
    "sentences_of",
    "stepped",
]

LINEAR_SHARE = 0.9
"""Our choice: a sum of less than this share of N times one is linear no more."""

# From this share of the CPUs on, what others used is reported.
_OTHERS_PERCENT = 10.0


@dataclass(frozen=True)
class Measured:
    """What one step measured: each database, and what was at its limit meanwhile."""

    databases: tuple[DatabaseFigures, ...]
    limit: Limit


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
        ``per_s`` by what the first step promises: that many times one of its databases.
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

    """

    databases: int
    per_s: float
    linear_share: float
    fairness: float
    latency_mean_ms: float | None
    latency_worst_ms: float | None
    limit: Limit
    members: tuple[DatabaseFigures, ...]
    run_id: int | None = None


def plan_words(plan: DensityPlan, count: int) -> str:
    """Return how many of what: ``4 databases``."""
    return f"{count} {plan.noun}{'s' if count > 1 else ''}"


def stepped(
    measured: Measured, first: DensityStep | None, run_id: int | None = None
) -> DensityStep:
    """Return what a step was, seen from the first one."""
    rates = [one.per_s for one in measured.databases]
    total = sum(rates)
    promised = total if first is None else first.per_s / first.databases * len(rates)
    known = [one for one in measured.databases if one.latency_mean_ms is not None]
    weighed = sum(one.per_s * (one.latency_mean_ms or 0) for one in known)
    weights = sum(one.per_s for one in known)
    return DensityStep(
        databases=len(rates),
        per_s=total,
        linear_share=total / promised if promised else 0.0,
        fairness=jain(rates),
        latency_mean_ms=weighed / weights if weights else None,
        latency_worst_ms=max((one.latency_mean_ms or 0 for one in known), default=None),
        limit=measured.limit,
        members=measured.databases,
        run_id=run_id,
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
        return [] if failure is None else [f"Nothing was measured: {failure}."]
    last, first = steps[-1], steps[0]
    found = [_headline(plan, first, last), _end(plan, steps)]
    uneven = min(steps, key=lambda one: one.fairness)
    least, most = (end(one.per_s for one in uneven.members) for end in (min, max))
    if uneven.databases > 1:
        found.append(
            f"The {plan.noun}s' shares were the least even at {uneven.databases}: "
            f"{rate_words(least)} to {rate_words(most)} {plan.unit} each, a fairness (Jain) of "
            f"{uneven.fairness:.3f}."
        )
    others = max(one.limit.others_percent or 0.0 for one in steps)
    if others >= _OTHERS_PERCENT:
        found.append(
            f"Other programs used up to {others:.0f} % of the CPUs meanwhile: what they took is "
            "missing in these figures."
        )
    failed = sum(one.failed for step in steps for one in step.members)
    if failed:
        found.append(f"{failed:,} transactions failed, and are not counted.")
    if failure is not None:
        found.append(f"It ended early: {failure}.")
    return found


def _headline(plan: DensityPlan, first: DensityStep, last: DensityStep) -> str:
    each = rate_words(first.per_s / first.databases)
    sum_words = (
        f"{plan_words(plan, last.databases)} carried {rate_words(last.per_s)} {plan.unit} together"
    )
    if last is first:
        return f"{sum_words}."
    share = f"{last.linear_share:.0%} of {last.databases} times the {each} {plan.unit} of one"
    return f"{sum_words}: {share}."


def _end(plan: DensityPlan, steps: Sequence[DensityStep]) -> str:
    beyond = next((one for one in steps if one.linear_share < LINEAR_SHARE), None)
    if beyond is None:
        last = steps[-1].limit
        words = f"Up to {steps[-1].databases} the sum was linear ({LINEAR_SHARE:.0%} or more)"
        if last.resource == "none":
            return f"{words}, and nothing was at its limit: try more."
        return f"{words}; at the limit was already: {last.resource} ({last.evidence})."
    linear = max(one.databases for one in steps if one.databases < beyond.databases)
    words = (
        f"The sum was linear up to {linear} ({LINEAR_SHARE:.0%} or more), and no more at "
        f"{beyond.databases}"
    )
    if beyond.limit.resource == "none":
        return (
            f"{words}, where neither CPU, memory nor a device was at its limit "
            f"({beyond.limit.evidence}): what the {plan.noun}s wait for is their own."
        )
    return f"{words}. What ended it: {beyond.limit.resource}; {beyond.limit.evidence}."


def outcome_of(
    plan: DensityPlan, steps: Sequence[DensityStep], failure: str | None = None
) -> dict[str, object]:
    """Return what the store keeps."""
    return {
        "unit": plan.unit,
        "sentences": sentences_of(plan, steps, failure),
        "steps": [asdict(one) for one in steps],
    }
