"""What the rounds of the SNIA say of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.experiments.assess._steady import (
    LEAST_ROUNDS,
    POINTS,
    rounds_counted,
    rounds_of,
    steady_state,
    wanted_bytes,
)
from fathom.experiments.assess.key_figure import value_words
from fathom.stats import find_steadiness
from fathom.units import counted, size_words

if TYPE_CHECKING:
    from fathom._claims import Claim, Unit
    from fathom.experiments.assess.claim_maker import ClaimMaker
    from fathom.experiments.assess.session import TargetCells

__all__ = ["lacking_preconditioning", "steady_claims"]


def steady_claims(plan: TargetCells, made: ClaimMaker) -> list[Claim]:
    """Tell whether the rounds of the SNIA were steady, and what they gave at last."""
    series = rounds_of({key: one.iops for key, one in made.figures.items()})
    rounds = min(len(one) for one in series.values())
    if not any(one.cell.role == "steady_round" for one in plan.cells):
        return []
    keys: dict[str, Unit] = {key: "IOPS" for key in made.figures if key.startswith("steady-")}
    found = steady_state(series)
    lost = _lost_words(made)
    if found is None:
        words = (
            f"Whether it is steady is not known: {counted(rounds, 'round')} "
            f"{'was' if rounds == 1 else 'were'} made{lost}, and it takes 5."
        )
        return [made.claim("steady", words, keys)]
    labels = {one.cell.key: one.cell.label.partition(": ")[2] for one in plan.cells}
    rates = "; ".join(
        f"{labels[f'steady-1-{point}']} {value_words(found.checks[point].average, 'ios_per_s')}"
        for point in POINTS
    )
    lacks = lacking_preconditioning(plan)
    words = f"It was steady after {found.rounds} rounds{lost} by the rules of the SNIA: {rates}."
    if not found.is_steady:
        but = f" ({lacks})" if lacks else ""
        words = (
            f"It was not steady within {found.rounds} rounds{lost} by the rules of the SNIA{but}; "
            f"on average of the last {LEAST_ROUNDS}: {rates}."
        )
    elif lacks:
        words = (
            f"Within {found.rounds} rounds{lost} it kept the SNIA's window rule, which alone is no "
            f"steady state by its rules: {lacks}; {rates}."
        )
    if lacks and "precondition" in made.figures:
        keys["precondition"] = "MiB/s"
    own = [
        f"All {rounds} rounds, {labels[f'steady-1-{point}']}: {find_steadiness(values).words}."
        for point, values in series.items()
    ]
    return [made.claim("steady", one, keys) for one in (words, *own)]


def _lost_words(made: ClaimMaker) -> str:
    """Return which rounds those are, where one before or behind them lacks a point."""
    measured = {int(key.split("-")[1]) for key in made.figures if key.startswith("steady-")}
    counted_rounds = rounds_counted(made.figures.keys())
    if not measured - {*counted_rounds}:
        return ""
    if not counted_rounds:
        return " of which all points were measured"
    first, last = counted_rounds.start, counted_rounds.stop - 1
    numbers = f"round {first}" if first == last else f"rounds {first} to {last}"
    return f" ({numbers}, as a round of which a point was not measured does not count)"


def lacking_preconditioning(plan: TargetCells) -> str | None:
    """Return what the preconditioning lacks by the rules of the SNIA, in words; None if nothing."""
    cell = next((one for one in plan.cells if one.cell.role == "preconditioning"), None)
    if cell is None or cell.state == "left_out":
        return "nothing was written before, so that there was no preconditioning"
    if cell.state != "done" or cell.result is None:
        return f"its preconditioning {'failed' if cell.state == 'failed' else 'is missing'}"
    stop = cell.result.time_spans[0].stop
    written, wanted = cell.result.total.bytes, wanted_bytes(plan.target)
    if written >= wanted or (stop is not None and stop.cause == "bytes"):
        return None
    done, all_of_it = size_words(written), size_words(wanted)
    if done == all_of_it:
        return f"its preconditioning lacks {size_words(wanted - written)} of {all_of_it}"
    return f"its preconditioning wrote {done} of {all_of_it}"
