"""The strategy: rising numbers of databases, until all are measured or one step fails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.density.kept import plan_from, steps_from
from fathom.experiments.density.outcome import (
    DensityStep,
    Measured,
    outcome_of,
    plan_words,
    sentences_of,
    stepped,
)
from fathom.experiments.density.plan import plan_density
from fathom.experiments.density.runners import COUNT
from fathom.experiments.session import Forecast, Session, Step
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.experiments.density.plan import DensityPlan
    from fathom.experiments.progress import Progress
    from fathom.experiments.session import Strategy
    from fathom.runners import Runner
    from fathom.store import Experiment, Store

__all__ = ["Counter", "Density", "resume_density", "resumed_plan", "run_density"]


@dataclass(frozen=True)
class Density:
    """What was found; ``failure`` says why it ended early, if it did."""

    experiment_id: int
    plan: DensityPlan
    steps: tuple[DensityStep, ...]
    sentences: tuple[str, ...]
    failure: str | None = None


@dataclass
class Counter:
    """The strategy; the outcome is why it ended early, or None.

    ``on_step`` gets all steps that are done, after each.
    """

    plan: DensityPlan
    step_ids: tuple[int | None, ...] = ()
    on_step: Callable[[list[DensityStep]], None] = lambda _steps: None
    steps: list[DensityStep] = field(default_factory=list)
    failed: int = 0

    def __post_init__(self) -> None:
        """Note what an earlier session has measured."""
        self.known = len(self.steps)

    def strategy(self) -> Strategy[str | None]:
        """Measure one number of databases after the other; more would fail where fewer did."""
        ids = self.step_ids or (None,) * len(self.plan.counts)
        done = {one.databases for one in self.steps}
        for count, step_id in zip(self.plan.counts, ids, strict=True):
            if count in done:
                continue
            words = plan_words(self.plan, count)
            seen = yield Step(words, [f"{COUNT}{count}"], step_id=step_id)
            if not isinstance(seen.more, Measured):
                self.failed = 1
                return f"{words}: {seen.failure}"
            first = self.steps[0] if self.steps else None
            self.steps.append(stepped(seen.more, first, seen.run_id))
            self.on_step(self.steps)
        return None

    def forecast(self, elapsed_s: float) -> Forecast:
        """Return how far it is."""
        done = len(self.steps) + self.failed
        left = len(self.plan.counts) - done
        # The time is of this session, and so are the steps that took it.
        here = done - self.known
        each_s = max(elapsed_s / here if here else 0.0, self.plan.step_s)
        return Forecast(done, len(self.plan.counts), self.failed, left * each_s)


def run_density(
    store: Store,
    runner: Runner,
    plan: DensityPlan,
    *,
    label: str = "",
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Density:
    """Measure, save, and return what was found; each step is kept as it ends.

    Raises
    ------
    InvalidRequestError, RefusedError, FathomError
        If the first step cannot be measured.
    RunInterrupted, ExperimentInterrupted
        If Ctrl-C ended it; what was measured is saved.

    """
    planned = [(plan_words(plan, one), {"databases": one}) for one in plan.counts]
    experiment_id = store.experiments.begin("density", label, plan.as_dict(), planned)
    return _counted(Session(store, experiment_id, runner, on_progress=on_progress), plan)


def resumed_plan(store: Store, experiment_id: int, folder: str) -> DensityPlan:
    """Return how an experiment that is resumed is measured, in this folder.

    Raises
    ------
    InvalidRequestError
        If the experiment is another, or cannot be done here any more.
    NotFoundError
        If the store has no such experiment.

    """
    found = store.experiments.get(experiment_id)
    _refuse_others(found)
    with damage_told(experiment_id):
        before = plan_from(found.plan)
    plan = plan_density(replace(before, folder=folder))
    if plan.version != before.version:
        raise InvalidRequestError(
            f"e{experiment_id} was measured with PostgreSQL {before.version}, and here is "
            f"{plan.version}: measure all of it again"
        )
    return plan


def _refuse_others(found: Experiment) -> None:
    if found.verb != "density":
        raise InvalidRequestError(f"experiment e{found.id} is a {found.verb}, no density")
    if found.state == "complete":
        raise InvalidRequestError(f"experiment e{found.id} is complete")


def resume_density(
    store: Store,
    runner: Runner,
    plan: DensityPlan,
    experiment_id: int,
    *,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> Density:
    """Go on with one that was interrupted, killed or failed: what was measured is kept.

    Raises
    ------
    InvalidRequestError
        If it is complete, or of another verb.
    RunInterrupted, ExperimentInterrupted
        If Ctrl-C ended it; what was measured is saved.

    """
    session = Session(store, experiment_id, runner, on_progress=on_progress)
    found = session.resume("density", "is a {}, no density")
    with damage_told(experiment_id):
        done = steps_from(found.outcome or {})
    return _counted(session, plan, done)


def _counted(session: Session, plan: DensityPlan, done: Sequence[DensityStep] = ()) -> Density:
    store, experiment_id = session.store, session.experiment_id

    def keep(steps: list[DensityStep]) -> None:
        store.experiments.finish(experiment_id, "running", outcome=outcome_of(plan, steps))

    ids = tuple(step.id for step in session.steps())
    counter = Counter(plan, ids, keep, list(done))
    session.measured = len(done)
    failure = session.run(counter.strategy(), counter.forecast)
    outcome = outcome_of(plan, counter.steps, failure)
    session.finish(outcome, failure, is_failed=failure is not None)
    sentences = tuple(sentences_of(plan, counter.steps, failure))
    return Density(experiment_id, plan, tuple(counter.steps), sentences, failure)
