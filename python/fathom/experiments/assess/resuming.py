"""An assessment that was ended: what it planned, and what of it is done."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.assess.cell import Effort
from fathom.experiments.assess.session import interleaved, whole_figures
from fathom.runners import stored_figures
from fathom.store.damage import damage_told
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.assess.session import AssessedCell, TargetCells
    from fathom.experiments.session import Session
    from fathom.result import Result
    from fathom.store import Step as StoredStep
    from fathom.store import Store

__all__ = ["AssessPlan", "read_plan", "take_up"]

_OTHER = "is a {}, no assessment"


@dataclass(frozen=True)
class AssessPlan:
    """What the store keeps of the plan; ``sizes`` are those of the targets in bytes.

    ``hosts`` is how many hosts of a fleet measure; 0 if it is none.
    """

    names: list[str]
    effort: Effort
    writes: bool
    steady_seconds: int
    sizes: list[int]
    hosts: int = 0


def read_plan(store: Store, experiment_id: int) -> AssessPlan:
    """Return the plan of an assessment.

    Raises
    ------
    InvalidRequestError
        If it is no assessment, or was begun by a version that did not keep all of it.
    StoreError
        If it is damaged.

    """
    found = store.experiments.get(experiment_id)
    if found.verb != "assess":
        raise InvalidRequestError(f"experiment e{found.id} {_OTHER.format(found.verb)}")
    plan = found.plan
    if "sizes" not in plan:
        raise InvalidRequestError(
            f"experiment e{found.id} was begun by a version that cannot go on with it: assess again"
        )
    with damage_told(experiment_id):
        kept = {one.name: plan["effort"][one.name] for one in fields(Effort)}
        lists = {name: tuple(one) for name, one in kept.items() if isinstance(one, list)}
        return AssessPlan(
            [str(one) for one in plan["targets"]],
            Effort(**{**kept, **lists}),
            bool(plan["writes"]),
            int(plan["steady_seconds"]),
            [int(one) for one in plan["sizes"]],
            int(plan.get("hosts", 0)),
        )


def take_up(session: Session, plans: Sequence[TargetCells], sizes: Sequence[int]) -> list[float]:
    """Take what earlier sessions measured, and return how long each of it took, in seconds.

    Raises
    ------
    InvalidRequestError
        If nothing is left to do, or the cells are not those that were planned.

    """
    order = [*interleaved(plans)]
    _check(session, order, same_sizes=[one.target.size_bytes for one in plans] == [*sizes])
    found = session.resume(
        "assess",
        _OTHER,
        "is complete, and nothing of it failed",
        redo=lambda step: step.state == "failed",
    )
    took_s = []
    with damage_told(found.id):
        runs = {run.step_id: run.id for run in session.runs()}
        for (_plan, cell), step in zip(order, found.steps, strict=True):
            if step.state == "done" and step.id in runs:
                run = session.store.runs.get(runs[step.id])
                _take(cell, run.result, runs[step.id], run.arguments)
                if cell.cell.seconds is None:
                    took_s.append(_took_s(run.result))
    for plan in plans:
        plan.forget_rounds()
    session.measured = sum(len(one.done()) for one in plans)
    return took_s


def _check(
    session: Session, order: Sequence[tuple[TargetCells, AssessedCell]], *, same_sizes: bool
) -> None:
    steps = session.steps()
    pairs = zip(order, steps, strict=False)
    is_same = len(order) == len(steps) and all(_is_same(*one, step) for one, step in pairs)
    if not (is_same and same_sizes):
        raise InvalidRequestError(
            f"experiment e{session.experiment_id} cannot go on: its targets, their sizes, the free "
            "room, the workloads, the CPUs or the version of Fathom are not those for which it was "
            "planned; assess again"
        )


def _is_same(plan: TargetCells, cell: AssessedCell, step: StoredStep) -> bool:
    kept = step.parameters
    mine = {
        "target": plan.target.name,
        "key": cell.cell.key,
        "arguments": [*cell.cell.arguments],
    }
    return all(kept.get(name) == value for name, value in mine.items())


def _take(cell: AssessedCell, result: Result, run_id: int, arguments: Sequence[str]) -> None:
    figures = stored_figures(result)
    if not figures.iops:
        return
    cell.state, cell.figures = "done", whole_figures(figures, result)
    cell.result, cell.run_id, cell.arguments = result, run_id, tuple(arguments)


def _took_s(result: Result) -> float:
    """Return what a run took of the time that its cell shares with others."""
    spans = result.raw["time_spans"]
    asked = result.raw["request"]["profile"]["time_spans"]
    measured_s = sum(one["measured_ns"] for one in spans) / NS_PER_S
    return float(measured_s + sum(one["warm_up_s"] for one in asked))
