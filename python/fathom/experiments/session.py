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

import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from fathom._events_file import note
from fathom.errors import FathomError, InvalidRequestError, TargetError
from fathom.experiments._same_targets import (
    hosts_of,
    refuse_other_folder,
    refuse_other_targets,
)
from fathom.experiments._target_trouble import no_further_load, refuse_a_bad_target
from fathom.experiments.ending import end_noted, is_of_the_store
from fathom.experiments.progress import Progress
from fathom.metrics import run_value
from fathom.runners import RunnerOfHosts, stored_figures
from fathom.store.damage import not_of_the_store
from fathom.store.errors import NotFoundError

if TYPE_CHECKING:
    from fathom.result import Result
    from fathom.runners import Figures, Runner
    from fathom.store import Experiment, ExperimentState, RunSummary, Store
    from fathom.store import Step as StoredStep

__all__ = [
    "Forecast",
    "Observation",
    "Session",
    "Skip",
    "Step",
    "Strategy",
    "answered",
    "complete_runs",
    "failed_words",
    "one_reason",
]

_NEXT_THREAD = re.compile(r"; thread \d+: ")

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
        What the store keeps of a step that was not planned before; None if it keeps the run alone.
    step_id
        Of a step that was planned before, in the store.
    run_label
        Of the run, if that is not the step's.
    is_look
        Whether it may fail without being a failure of the experiment.
    writes
        Whether it gets what a person has permitted for what the experiment writes.
    check
        What must be true before the step is done, and not only its run: returns why it is not.

    """

    label: str
    arguments: Sequence[str]
    parameters: Mapping[str, object] | None = None
    step_id: int | None = None
    run_label: str | None = None
    is_look: bool = False
    writes: bool = False
    check: Callable[[Figures], str | None] | None = None


@dataclass(frozen=True)
class Skip:
    """Steps that are not run, as they can tell nothing new; the answer is empty."""

    step_ids: Collection[int]


@dataclass(frozen=True)
class Observation:
    """What a step found: figures with I/Os in them, or why there are none; times in seconds.

    ``error`` is what refused the run, for a strategy that does not go on then; ``result`` is all
    that was measured, also of a run that failed, where the runner has it; ``more`` is what a runner
    of another kind found. ``ends`` is why no other load can be run on the target either, and what
    to do: a strategy goes no further then.
    """

    figures: Figures | None = None
    run_id: int | None = None
    failure: str | None = None
    took_s: float = 0.0
    result: Result | None = None
    error: FathomError | None = None
    more: object = None
    ends: str | None = None

    def raise_refusal(self) -> None:
        """Raise what refused the run, if anything did."""
        if self.error is not None:
            raise self.error


Strategy = Generator[Step | Skip, Observation, Outcome]
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
    skip: Callable[[Collection[int]], None] = lambda _step_ids: None,
) -> Outcome:
    """Run a strategy with answers from anywhere, and return its outcome.

    ``taken`` gets each step and its answer once the strategy has taken that; ``skip`` gets the
    steps that are skipped.
    """
    last: tuple[Step, Observation] | None = None
    seen: Observation | None = None
    while True:
        try:
            asked = next(strategy) if seen is None else strategy.send(seen)
        except StopIteration as end:
            if last is not None:
                taken(*last)
            outcome: Outcome = end.value
            return outcome
        if last is not None:
            taken(*last)
        last, seen = None, Observation()
        if isinstance(asked, Skip):
            if asked.step_ids:
                skip(asked.step_ids)
        else:
            seen = answer(asked)
            last = asked, seen


def one_reason(failure: str | None) -> str:
    """Return why a run failed: what its first thread met, and how many others met something."""
    first, *others = _NEXT_THREAD.split(failure or "why is not known")
    if not others:
        return first
    return f"{first} ({len(others)} other thread{'s' * (len(others) > 1)} failed, too)"


def failed_words(failed: int, what: str) -> str | None:
    """Return how many runs, or whatever else, failed: ``2 runs failed``; None if none did."""
    if not failed:
        return None
    return f"1 {what} failed" if failed == 1 else f"{failed} {what}s failed"


def complete_runs(store: Store, experiment_id: int) -> list[RunSummary]:
    """Return the complete runs of an experiment, the earliest first."""
    listed = store.runs.list(experiment_id=experiment_id)
    return [run for run in reversed(listed) if run.outcome == "complete"]


@dataclass
class Session:
    """Runs the steps of one experiment, from its beginning or where it was left, to its end.

    Attributes
    ----------
    store, experiment_id
        Where the experiment was begun.
    runner
        What runs the steps, and saves its runs.
    writer
        What runs the steps that write, if that is another.
    on_step
        Gets each step before it is run.
    on_progress
        Gets how far the experiment is, after each step.
    refuses_targets
        Whether a target that cannot be used ends the experiment, as no other load would do better.
    measured, failed
        How many steps did so, those of earlier sessions included.
    ended_by
        Why no other load can be run on the target of the last run that failed; see ``Observation``.

    """

    store: Store
    experiment_id: int
    runner: Runner
    writer: Runner | None = None
    on_step: Callable[[Step], None] = lambda _step: None
    on_progress: Callable[[Progress], None] = lambda _progress: None
    refuses_targets: bool = False
    measured: int = 0
    failed: int = 0
    forecast: Callable[[float], Forecast] | None = None
    ended_by: str | None = None
    _summaries: dict[int, RunSummary] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin to count the time."""
        self.began_s = self.runner.clock()

    @property
    def elapsed_s(self) -> float:
        """Seconds on the runner's clock."""
        return self.runner.clock() - self.began_s

    def resume(
        self,
        verb: str,
        other: str,
        complete: str = "is complete",
        redo: Callable[[StoredStep], bool] = lambda _step: False,
    ) -> Experiment:
        """Note that the experiment runs again, and return what was begun.

        ``other`` are the words about an experiment of another verb, ``complete`` those about one
        that has nothing left to do: ``redo`` says of which steps something is.

        Raises
        ------
        InvalidRequestError
            If it is of another verb, or has nothing left to do, if its target is another one, or
            has a relative name and this is another folder.
        NotFoundError
            If the store has no such experiment.

        """
        found = self.store.experiments.get(self.experiment_id)
        if found.verb != verb:
            raise InvalidRequestError(f"experiment e{found.id} {other.format(found.verb)}")
        if found.state == "complete" and not any(redo(step) for step in found.steps):
            raise InvalidRequestError(f"experiment e{found.id} {complete}")
        runs = self.store.runs.list(experiment_id=found.id)
        refuse_other_folder(found, runs)
        refuse_other_targets(self.store, runs)
        if isinstance(self.runner, RunnerOfHosts) and (names := hosts_of(self.store, runs)):
            self.runner.keep_hosts(names)
        self.store.experiments.finish(found.id, "running")
        return found

    def steps(self) -> Sequence[StoredStep]:
        """Return the steps as the store has them."""
        return self.store.experiments.get(self.experiment_id).steps

    def runs(self) -> list[RunSummary]:
        """Return the complete runs, the earliest first."""
        return complete_runs(self.store, self.experiment_id)

    def saved(self) -> dict[int, Observation]:
        """Return what earlier sessions measured, by steps; the last run of a step counts."""
        runs = {run.step_id: run.id for run in self.runs() if run.step_id is not None}
        return {
            step_id: Observation(stored_figures(self.store.runs.get(run_id).result), run_id)
            for step_id, run_id in runs.items()
        }

    def value(self, run_id: int, metric: str) -> float | None:
        """Return a figure of a saved run; None if it has none.

        Raises
        ------
        NotFoundError
            If the run was deleted meanwhile.

        """
        if run_id not in self._summaries:
            self._summaries = {run.id: run for run in self.runs()}
        if run_id not in self._summaries:
            raise NotFoundError(
                f"run {run_id} of experiment e{self.experiment_id} was deleted from "
                f"{self.store.name} while it is needed: go on without it with --resume "
                f"e{self.experiment_id}"
            )
        return run_value(self._summaries[run_id], metric)

    def run(
        self, strategy: Strategy[Outcome], forecast: Callable[[float], Forecast] | None = None
    ) -> Outcome:
        """Run a strategy to its end; what ends it early is noted in the store.

        ``forecast`` is the strategy's, after a step was observed; it gets the seconds since the
        beginning. Without it nothing is reported of the progress.

        Raises
        ------
        InvalidRequestError, RefusedError
            If the first step cannot be run.
        TargetError
            If a step fails because of the target before any other has succeeded.
        RunInterrupted, ExperimentInterrupted
            If Ctrl-C ended it.

        """
        self.forecast = forecast
        skip = self.store.experiments.skip_steps
        with end_noted(self.store, self.experiment_id):
            return answered(strategy, self.observe, self._tell, skip)

    def finish(
        self, outcome: Mapping[str, object] | None, failure: str | None, *, is_failed: bool
    ) -> None:
        """Save how the experiment ended."""
        state: ExperimentState = "failed" if is_failed else "complete"
        kept = None if outcome is None else dict(outcome)
        self.store.experiments.finish(self.experiment_id, state, failure=failure, outcome=kept)

    def observe(self, step: Step) -> Observation:
        """Run a step, and note in the store what became of it."""
        step_id = self._step_id(step)
        self.on_step(step)
        note("step_begun", {"label": step.label, "experiment_id": self.experiment_id})
        seen = self._checked(step, self._ran(step, step_id))
        is_done_by_run = seen.run_id is not None and step.check is None
        if step_id is not None and seen.failure is None and not is_done_by_run:
            self.store.experiments.set_step(step_id, "done")
        if step.is_look:
            return seen
        if seen.failure is None:
            self.measured += 1
            return seen
        self.failed += 1
        if step_id is not None:
            self.store.experiments.set_step(step_id, "failed", seen.failure)
        self.ended_by = no_further_load(step.arguments, seen.result)
        seen = replace(seen, ends=self.ended_by)
        if self.refuses_targets and not self.measured:
            self._refuse_target(step, seen)
        return seen

    def _refuse_target(self, step: Step, seen: Observation) -> None:
        """End an experiment of which nothing was measured yet, if its target is to blame."""
        failure = seen.failure or ""
        if seen.ends is not None:
            raise TargetError(f"{failure}; no other load was tried")
        refuse_a_bad_target(step.arguments, failure)

    def _ran(self, step: Step, step_id: int | None) -> Observation:
        runner = (self.writer or self.runner) if step.writes else self.runner
        began_s = self.runner.clock()
        try:
            found = runner.run(
                step.arguments,
                label=step.label if step.run_label is None else step.run_label,
                experiment_id=self.experiment_id,
                # What is checked is done later than its run is saved.
                step_id=step_id if step.check is None else None,
            )
        except FathomError as error:
            # What was refused for the first step would be for all of them.
            is_first = not step.is_look and not self.measured and not self.failed
            if is_first or is_of_the_store(error):
                raise
            took_s = self.runner.clock() - began_s
            return Observation(failure=str(error), took_s=took_s, error=error)
        took_s = self.runner.clock() - began_s
        if found.failure is None and found.more is not None:
            figures, run_id, result = found.figures, found.run_id, found.result
            return Observation(figures, run_id, None, took_s, result, more=found.more)
        if found.figures is None or not found.figures.iops:
            why = found.failure or "there was no I/O in the measured time"
            return Observation(None, found.run_id, why, took_s, found.result)
        return Observation(found.figures, found.run_id, None, took_s, found.result)

    def _checked(self, step: Step, seen: Observation) -> Observation:
        if step.check is None or seen.figures is None:
            return seen
        return replace(seen, failure=step.check(seen.figures))

    def _step_id(self, step: Step) -> int | None:
        if step.step_id is not None or step.parameters is None:
            return step.step_id
        planned = (step.label, dict(step.parameters))
        (step_id,) = self.store.experiments.add_steps(self.experiment_id, [planned])
        return step_id

    def _tell(self, step: Step, seen: Observation) -> None:
        if self.forecast is None:
            return
        elapsed_s = self.elapsed_s
        now = self.forecast(elapsed_s)
        told = Progress(
            **vars(now),
            elapsed_s=elapsed_s,
            label=step.label,
            failure=None if step.is_look else seen.failure,
        )
        note("progress", vars(told))
        with not_of_the_store():
            self.on_progress(told)
