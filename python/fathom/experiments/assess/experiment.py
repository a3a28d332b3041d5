"""Assessing targets: planned, measured interleaved, judged, and saved whole."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from fathom._addresses import is_address
from fathom._hanging import must_answer
from fathom._permission import NOTHING, Permission
from fathom._signals import held_back
from fathom.errors import ExperimentInterrupted, FathomError, InvalidRequestError
from fathom.experiments._same_targets import hosts_of
from fathom.experiments.assess.claim_maker import findings_of
from fathom.experiments.assess.foreseen import all_targets, planned_cells, same_size
from fathom.experiments.assess.outcome import Assessment, State, TargetAssessment, outcome_of
from fathom.experiments.assess.resuming import read_plan, take_up
from fathom.experiments.assess.scratch import remove_abandoned
from fathom.experiments.assess.session import Assessor, TargetCells, interleaved
from fathom.experiments.assess.side_by_side import side_by_side
from fathom.experiments.assess.target import opened_target
from fathom.experiments.assess.verdict import verdict_of
from fathom.experiments.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fathom.experiments.assess.cell import Effort
    from fathom.experiments.assess.target import AssessedTarget
    from fathom.experiments.progress import Progress
    from fathom.runners.runner import PermittedRunner
    from fathom.store import Store

__all__ = ["AssessingFleet", "AssessmentInterrupted", "assess", "hosts_before", "resume_assess"]


class AssessingFleet(NamedTuple):
    """A fleet that assesses: its name as a runner, and how many hosts it has."""

    runner: str
    hosts: int


class AssessmentInterrupted(ExperimentInterrupted):
    """An assessment that Ctrl-C ended; ``assessment`` is what was found until then, and saved."""

    def __init__(self, assessment: Assessment) -> None:
        """Keep the partial assessment."""
        super().__init__(assessment)
        self.assessment = assessment

    def __str__(self) -> str:
        """Return the message alone."""
        return "the assessment was interrupted"


def assess(  # noqa: PLR0913 - All but the first four have defaults and names.
    store: Store,
    runner: PermittedRunner,
    names: Sequence[str],
    effort: Effort,
    *,
    writes: bool = False,
    overwrite: bool = False,
    allow_write: Sequence[str] = (),
    steady_seconds: int = 0,
    label: str = "",
    fleet: AssessingFleet | None = None,
    on_cell: Callable[[str, int, int, float], None] = lambda *_told: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
    on_abandoned: Callable[[Path, int], None] = lambda *_told: None,
) -> Assessment:
    """Assess files, folders or devices; several interleaved, cell by cell.

    ``on_cell`` gets, before each cell: what it is, its number, how many there are, and the seconds
    that are left by expectation; ``on_progress`` the same, with the least and the most of them.
    ``label`` names the experiment instead of its targets. ``fleet`` is the one that ``runner``
    stands for, if it does; each of its hosts then has a scratch file. ``on_abandoned`` gets what a
    killed assessment had left in a folder, with its size in bytes, once it is removed. What exists
    is only read unless ``writes`` is true; the engine's guard still refuses to write recognisable
    data unless ``overwrite`` is true, block devices unless ``allow_write`` names what is written
    on them, and devices in use always.

    Raises
    ------
    TargetError
        If a target cannot be assessed; nothing was measured.
    RefusedError
        If writing would destroy data.
    AssessmentInterrupted
        If Ctrl-C ended it; what was found until then is saved.

    """
    with ExitStack() as stack:
        hosts = fleet.hosts if fleet else 0
        targets = _opened(stack, names, effort, on_abandoned, writes=writes, hosts=hosts)
        plans = [planned_cells(one, effort, steady_seconds) for one in targets]
        asked = {
            "writes": writes,
            "steady_seconds": steady_seconds,
            "sizes": [one.size_bytes for one in targets],
            **({"runner": fleet.runner, "hosts": fleet.hosts} if fleet else {}),
        }
        experiment_id = _begin(store, label or " ".join(names), names, effort, plans, asked)
        writer = runner.permitted(Permission(overwrite, tuple(allow_write)))
        session = Session(store, experiment_id, runner, writer)
        step_ids = [step.id for step in session.steps()]
        assessor = Assessor(plans, step_ids, effort, on_cell, on_progress)
        return _assessed(session, assessor)


def hosts_before(store: Store, experiment_id: int) -> list[str]:
    """Return the hosts of a fleet with which an assessment has measured; none if it has not.

    Raises
    ------
    NotFoundError
        If the store has no such experiment.

    """
    return hosts_of(store, store.runs.list(experiment_id=experiment_id))


def resume_assess(  # noqa: PLR0913 - All but the first three have defaults and names.
    store: Store,
    experiment_id: int,
    runner: PermittedRunner,
    *,
    permission: Permission = NOTHING,
    fleet: AssessingFleet | None = None,
    on_cell: Callable[[str, int, int, float], None] = lambda *_told: None,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
    on_abandoned: Callable[[Path, int], None] = lambda *_told: None,
) -> Assessment:
    """Go on with an assessment that was ended; cells that failed are tried again.

    A scratch file is made again, of the same size. A steady state that was not found yet begins
    again, as a pause is no part of it.

    Raises
    ------
    InvalidRequestError
        If the experiment is no assessment, has nothing left to do, or would measure other cells
        than were planned, as its targets or this machine are not the same any more.
    NotFoundError
        If the store has no such experiment.
    TargetError, RefusedError, AssessmentInterrupted
        As ``assess``.

    """
    plan = read_plan(store, experiment_id)
    hosts = fleet.hosts if fleet else 0
    if hosts != plan.hosts:
        raise InvalidRequestError(
            f"experiment e{experiment_id} was begun with {plan.hosts or 1} "
            f"host{'s' * (plan.hosts > 1)}, and there are {hosts or 1} now; assess again"
        )
    with ExitStack() as stack:
        targets = _opened(
            stack,
            plan.names,
            plan.effort,
            on_abandoned,
            writes=plan.writes,
            sizes=plan.sizes,
            hosts=hosts,
        )
        plans = [planned_cells(one, plan.effort, plan.steady_seconds) for one in targets]
        session = Session(store, experiment_id, runner, runner.permitted(permission))
        took_s = take_up(session, plans, plan.sizes)
        step_ids = [step.id for step in session.steps()]
        assessor = Assessor(plans, step_ids, plan.effort, on_cell, on_progress, took_s)
        return _assessed(session, assessor)


def _assessed(session: Session, assessor: Assessor) -> Assessment:
    store, experiment_id = session.store, session.experiment_id
    effort, plans = assessor.effort, assessor.plans
    try:
        session.run(assessor.strategy())
    except KeyboardInterrupt as error:
        with held_back():
            partial = _concluded(store, experiment_id, effort, plans, interrupted=True)
        raise AssessmentInterrupted(partial) from error
    return _concluded(store, experiment_id, effort, plans)


def _opened(  # noqa: PLR0913 - What all targets share.
    stack: ExitStack,
    names: Sequence[str],
    effort: Effort,
    on_abandoned: Callable[[Path, int], None],
    *,
    writes: bool,
    sizes: Sequence[int] = (),
    hosts: int = 0,
) -> list[AssessedTarget]:
    """Open all targets; scratch files get the same size, so that they are comparable.

    Raises
    ------
    TargetError
        It names all that cannot be assessed: one does not hide the others.

    """
    must_answer(names)
    for name in (one for one in names if not is_address(one)):
        for path, size_bytes in remove_abandoned(name):
            on_abandoned(path, size_bytes)
    wanted = sizes or [effort.size_bytes] * len(names)
    # Together they leave as much room as one of them takes, on whatever they share.
    share = 1 + len(names) * (hosts or 1)
    targets = all_targets(
        lambda name, size: stack.enter_context(
            opened_target(name, size, writes=writes, room_share=share, hosts=hosts)
        ),
        names,
        wanted,
    )
    return same_size(targets)


def _begin(  # noqa: PLR0913, PLR0917 - What the store keeps of it.
    store: Store,
    title: str,
    names: Sequence[str],
    effort: Effort,
    plans: list[TargetCells],
    asked: Mapping[str, object],
) -> int:
    plan = {"targets": [*names], "effort": asdict(effort), **asked}
    steps = [
        (
            f"{one.target.name}: {cell.cell.label}",
            {
                "target": one.target.name,
                "key": cell.cell.key,
                "role": cell.cell.role,
                "part": cell.cell.part,
                "arguments": [*cell.cell.arguments],
            },
        )
        for one, cell in interleaved(plans)
    ]
    return store.experiments.begin("assess", title, plan, steps)


def _concluded(
    store: Store,
    experiment_id: int,
    effort: Effort,
    plans: Sequence[TargetCells],
    *,
    interrupted: bool = False,
) -> Assessment:
    assessed = [_judged(one, interrupted=interrupted) for one in plans]
    failed = any(one.lost or any(c.state == "failed" for c in one.cells) for one in plans)
    state: State = "interrupted" if interrupted else "failed" if failed else "complete"
    compared = side_by_side(plans, [one.findings for one in assessed])
    found = Assessment(experiment_id, effort, state, assessed, compared)
    failure = "; ".join(f"{cell}: {why}" for cell, why in found.failures.items()) or None
    try:
        store.experiments.finish(experiment_id, state, failure=failure, outcome=outcome_of(found))
    except FathomError as error:
        # The runs are saved, and the verdict is shown: only their experiment does not have it.
        warnings.warn(f"the verdict on e{experiment_id} is not saved: {error}", stacklevel=2)
    return found


def _judged(plan: TargetCells, *, interrupted: bool) -> TargetAssessment:
    findings = findings_of(plan)
    return TargetAssessment(plan, verdict_of(plan, findings, interrupted=interrupted), findings)
