"""What the rounds of the SNIA say of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.experiments.assess._steady import LEAST_ROUNDS, POINTS, rounds_of, steady_state
from fathom.stats import find_steadiness
from fathom.units import counted

if TYPE_CHECKING:
    from fathom._claims import Claim, Unit
    from fathom.experiments.assess.claim_maker import ClaimMaker
    from fathom.experiments.assess.session import TargetCells

__all__ = ["steady_claims"]


def steady_claims(plan: TargetCells, made: ClaimMaker) -> list[Claim]:
    """Tell whether the rounds of the SNIA were steady, and what they gave at last."""
    series = rounds_of({key: one.iops for key, one in made.figures.items()})
    rounds = min(len(one) for one in series.values())
    if not any(one.cell.role == "steady_round" for one in plan.cells):
        return []
    keys: dict[str, Unit] = {
        key: "IOPS" for key in made.figures if key.startswith("steady-") and key != "steady-fill"
    }
    found = steady_state(series)
    if found is None:
        words = (
            f"Whether it is steady is not known: {counted(rounds, 'round')} "
            f"{'was' if rounds == 1 else 'were'} made, and it takes 5."
        )
        return [made.claim("steady", words, keys)]
    labels = {one.cell.key: one.cell.label.partition(": ")[2] for one in plan.cells}
    rates = "; ".join(
        f"{labels[f'steady-1-{point}']} {found.checks[point].average:,.0f} IOPS" for point in POINTS
    )
    words = f"It was steady after {found.rounds} rounds by the rules of the SNIA: {rates}."
    if not found.is_steady:
        words = (
            f"It was not steady within {found.rounds} rounds by the rules of the SNIA; on average "
            f"of the last {LEAST_ROUNDS}: {rates}."
        )
    own = [
        f"All {rounds} rounds, {labels[f'steady-1-{point}']}: {find_steadiness(values).words}."
        for point, values in series.items()
    ]
    return [made.claim("steady", one, keys) for one in (words, *own)]
