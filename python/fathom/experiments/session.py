"""One session for all experiments: it runs what a strategy asks for, saves, notes and tells.

A strategy is a generator and pure: it yields steps, is sent what was observed of each, and returns
the outcome. It knows no store, no device and no terminal, so that it can be tried with any answers:

>>> from fathom.experiments.session import Observation, Step, answered
>>> def twice(arguments):
...     first = yield Step("first", arguments)
...     again = yield Step("again", arguments)
...     return [first.failure, again.failure]
>>> answered(twice(["-b4K", "x.dat"]), lambda step: Observation(failure=f"{step.label} failed"))
['first failed', 'again failed']
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from fathom.errors import FathomError
from fathom.experiments._target_trouble import refuse_a_bad_target
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.experiments.progress import Progress

if TYPE_CHECKING:
    from fathom.runners import Figures, Runner
    from fathom.store import Store

__all__ = ["Forecast", "Observation", "Session", "Step", "Strategy", "answered"]

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Step:
    """What is to be run next.

    Attributes
    ----------
    label
        In words.
    arguments
        DiskSpd's.
    parameters
        What the store keeps of a step that was not planned before.
    step_id
        Of a step that was planned before, in the store.
    is_look
        Whether it may fail without being a failure of the experiment.

    """

    label: str
    arguments: Sequence[str]
    parameters: Mapping[str, object] = field(default_factory=dict)
    step_id: int | None = None
    is_look: bool = False


@dataclass(frozen=True)
class Observation:
    """What a step found: figures with I/Os in them, or why there are none; times in seconds."""

    figures: Figures | None = None
    run_id: int | None = None
    failure: str | None = None
    took_s: float = 0.0


Strategy = Generator[Step, Observation, Outcome]
"""Yields steps, is sent observations, returns the outcome."""


@dataclass(frozen=True)
class Forecast:
    """How far an experiment is, as its strategy knows it; see ``Progress``."""

    done: int
    expected: float
    failed: int
    remaining_s: float
    remaining_low_s: float | None = None
    remaining_high_s: float | None = None


def answered(
    strategy: Strategy[Outcome],
    answer: Callable[[Step], Observation],
    taken: Callable[[Step, Observation], None] = lambda _step, _seen: None,
) -> Outcome:
    """Run a strategy with answers from anywhere, and return its outcome.

    ``taken`` gets each step and its answer once the strategy has taken that.
    """
    last: tuple[Step, Observation] | None = None
    while True:
        try:
            step = next(strategy) if last is None else strategy.send(last[1])
        except StopIteration as end:
            if last is not None:
                taken(*last)
            outcome: Outcome = end.value
            return outcome
        if last is not None:
            taken(*last)
        last = step, answer(step)


@dataclass
class Session:
    """Runs the steps of one experiment.

    Attributes
    ----------
    store, experiment_id
        Where the experiment was begun.
    runner
        What runs the steps, and saves its runs.
    forecast
        Of the strategy, after a step was observed; gets the seconds since the beginning.
    on_progress
        Gets how far the experiment is, after each step.
    measured, failed
        How many steps did so, those of earlier sessions included.

    """

    store: Store
    runner: Runner
    experiment_id: int
    forecast: Callable[[float], Forecast]
    on_progress: Callable[[Progress], None] = lambda _progress: None
    measured: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        """Begin to count the time."""
        self.began_s = self.runner.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds on the runner's clock."""
        return self.runner.clock() - self.began_s

    def run(self, strategy: Strategy[Outcome]) -> Outcome:
        """Run a strategy to its end; what ends it early is noted in the store.

        Raises
        ------
        InvalidRequestError, RefusedError
            If the first step cannot be run.
        TargetError
            If a step fails because of the target before any other has succeeded.
        RunInterrupted, ExperimentInterrupted
            If Ctrl-C ended it.

        """
        with end_noted(self.store, self.experiment_id):
            return answered(strategy, self.observe, self._tell)

    def observe(self, step: Step) -> Observation:
        """Run a step, and note in the store what became of it."""
        step_id = self._step_id(step)
        began_s = self.runner.clock()
        seen = self._ran(step, step_id, began_s)
        if seen.failure is None and seen.run_id is None:
            # What is saved as a run is done by that.
            self.store.experiments.set_step(step_id, "done")
        if step.is_look:
            return seen
        if seen.failure is not None:
            self.failed += 1
            self.store.experiments.set_step(step_id, "failed", seen.failure)
            if not self.measured:
                refuse_a_bad_target(step.arguments, seen.failure)
            return seen
        self.measured += 1
        return seen

    def _ran(self, step: Step, step_id: int, began_s: float) -> Observation:
        try:
            found = self.runner.run(
                step.arguments,
                label=step.label,
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
        except FathomError as error:
            # What was refused for the first step would be for all of them.
            is_first = not step.is_look and not self.measured and not self.failed
            if is_first or is_of_the_store(error):
                raise
            return Observation(failure=str(error), took_s=self.runner.clock() - began_s)
        took_s = self.runner.clock() - began_s
        if found.figures is None or not found.figures.iops:
            why = found.failure or "there was no I/O in the measured time"
            return Observation(None, found.run_id, why, took_s)
        return Observation(found.figures, found.run_id, None, took_s)

    def _step_id(self, step: Step) -> int:
        if step.step_id is not None:
            return step.step_id
        planned = (step.label, dict(step.parameters))
        (step_id,) = self.store.experiments.add_steps(self.experiment_id, [planned])
        return step_id

    def _tell(self, step: Step, seen: Observation) -> None:
        elapsed_s = self.elapsed_s
        now = self.forecast(elapsed_s)
        self.on_progress(
            Progress(
                done=now.done,
                expected=now.expected,
                failed=now.failed,
                elapsed_s=elapsed_s,
                remaining_s=now.remaining_s,
                label=step.label,
                failure=None if step.is_look else seen.failure,
                remaining_low_s=now.remaining_low_s,
                remaining_high_s=now.remaining_high_s,
            )
        )
