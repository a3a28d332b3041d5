"""The strategy: rising numbers of databases, until all are measured or one step fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom.experiments.density.outcome import (
    DensityStep,
    Measured,
    outcome_of,
    plan_words,
    sentences_of,
    stepped,
)
from fathom.experiments.density.runners import COUNT
from fathom.experiments.session import Forecast, Session, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments.density.plan import DensityPlan
    from fathom.experiments.progress import Progress
    from fathom.experiments.session import Strategy
    from fathom.runners import Runner
    from fathom.store import Store

__all__ = ["Counter", "Density", "run_density"]


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

    def strategy(self) -> Strategy[str | None]:
        """Measure one number of databases after the other; more would fail where fewer did."""
        ids = self.step_ids or (None,) * len(self.plan.counts)
        for count, step_id in zip(self.plan.counts, ids, strict=True):
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
        each_s = max(elapsed_s / done if done else 0.0, float(self.plan.seconds))
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
    session = Session(store, experiment_id, runner, on_progress=on_progress)

    def keep(steps: list[DensityStep]) -> None:
        store.experiments.finish(experiment_id, "running", outcome=outcome_of(plan, steps))

    ids = tuple(step.id for step in session.steps())
    counter = Counter(plan, ids, keep)
    failure = session.run(counter.strategy(), counter.forecast)
    outcome = outcome_of(plan, counter.steps, failure)
    session.finish(outcome, failure, is_failed=failure is not None)
    sentences = tuple(sentences_of(plan, counter.steps, failure))
    return Density(experiment_id, plan, tuple(counter.steps), sentences, failure)
