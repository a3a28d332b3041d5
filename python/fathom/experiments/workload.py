"""A workload's runs: one, or an experiment of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom._permission import NOTHING, Permission
from fathom.errors import FathomError
from fathom.experiments._target_trouble import no_further_load
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.runners.measure import measure
from fathom.workloads import run_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.engine import EventCallback
    from fathom.result import Result
    from fathom.store import ExperimentState, Store
    from fathom.workloads import Workload

__all__ = ["WorkloadRuns", "run_workload"]


@dataclass
class WorkloadRuns:
    """What became of a workload: its runs, and why steps failed, by their labels.

    ``experiment_id`` is None for a workload of one step, and where nothing is saved. ``ended_by``
    is why no further step could be run after one that failed, and what to do.
    """

    experiment_id: int | None = None
    run_ids: list[int] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    ended_by: str | None = None


def run_workload(  # noqa: PLR0913 - All but the first four have defaults and names.
    store: Store | None,
    workload: Workload,
    wishes: Sequence[str],
    targets: Sequence[str],
    *,
    label: str,
    on_event: EventCallback | None = None,
    permission: Permission = NOTHING,
    show: Callable[[str, Result], None] = lambda _step, _result: None,
) -> WorkloadRuns:
    """Run a workload step by step; a step that fails is recorded, and the others go on.

    They do not where a target takes no load at all any more, as one that is full.

    ``wishes`` are DiskSpd arguments that take the place of the workload's own.

    Raises
    ------
    InvalidRequestError, RefusedError
        If the first step cannot be run.
    RunInterrupted
        If Ctrl-C ended it; the steps that are done are saved.

    """
    done = WorkloadRuns()
    steps = workload.steps
    ids: list[int | None] = [None] * len(steps)
    if store is not None and len(steps) > 1:
        plan = {"workload": workload.name, "wishes": [*wishes], "targets": [*targets]}
        planned = [(step.label, {"arguments": [*step.arguments]}) for step in steps]
        done.experiment_id = store.experiments.begin("run", workload.name, plan, planned)
        ids = [step.id for step in store.experiments.get(done.experiment_id).steps]
    with end_noted(store, done.experiment_id):
        for number, (step, step_id) in enumerate(zip(steps, ids, strict=True)):
            try:
                found = measure(
                    store,
                    run_arguments(workload, step, wishes, targets),
                    label=f"{label} {step.label}".strip(),
                    experiment_id=done.experiment_id,
                    step_id=step_id,
                    on_event=on_event,
                    permission=permission,
                    show=lambda result, label=step.label: show(label, result),  # type: ignore[misc]
                )
            except FathomError as error:
                if number == 0 or is_of_the_store(error):
                    raise
                done.failures[step.label] = str(error)
                if store is not None and step_id is not None:
                    store.experiments.set_step(step_id, "failed", str(error))
                continue
            if found.run_id is not None:
                done.run_ids.append(found.run_id)
            if found.failure is not None:
                done.failures[step.label] = found.failure
                done.ended_by = no_further_load(step.arguments, found.result)
            if done.ended_by is not None:
                break
    _finish(store, done, "failed" if done.failures else "complete")
    return done


def _finish(store: Store | None, done: WorkloadRuns, state: ExperimentState) -> None:
    if store is not None and done.experiment_id is not None:
        failure = "; ".join(f"{step}: {why}" for step, why in done.failures.items()) or None
        store.experiments.finish(done.experiment_id, state, failure=failure)
