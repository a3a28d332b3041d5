"""What the store keeps of how databases were counted, as it was written: a plan and its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.databases.pgbench import DatabaseFigures
from fathom.experiments.density.outcome import DensityStep
from fathom.experiments.density.plan import DensityPlan
from fathom.host import Limit

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["plan_from", "steps_from"]


def plan_from(plan: Mapping[str, Any]) -> DensityPlan:
    """Return the plan that ``DensityPlan.as_dict`` wrote."""
    return DensityPlan(**{**plan, "counts": tuple(plan["counts"])})


def steps_from(outcome: Mapping[str, Any]) -> list[DensityStep]:
    """Return the steps that ``outcome_of`` wrote."""
    return [
        DensityStep(
            **{
                **one,
                "limit": Limit(**one["limit"]),
                "members": tuple(DatabaseFigures(**member) for member in one["members"]),
            }
        )
        for one in outcome.get("steps", ())
    ]
