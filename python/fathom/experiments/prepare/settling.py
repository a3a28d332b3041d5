"""Workload dependent preconditioning: the load itself, round after round, by the SNIA's rule."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from fathom.errors import InvalidRequestError
from fathom.experiments.ending import end_noted
from fathom.runners import stored_figures
from fathom.stats import Steadiness, find_steadiness, find_steady_state
from fathom.stats.steady import ROUND_LIMIT, WINDOW_ROUNDS
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.runners import Figures, Runner
    from fathom.stats import SteadyState
    from fathom.store import Store

__all__ = ["ROUND_LIMIT", "WINDOW_ROUNDS", "Settled", "plan_settling", "settle"]

# By the names that other verbs have for them.
_FIGURES: dict[str, Callable[[Figures], float | None]] = {
    "iops": lambda one: one.iops,
    "mib_per_s": lambda one: one.mib_per_s,
    "mean": lambda one: one.latency_mean_ns,
    "p99": lambda one: one.latency_p99_ns,
}


@dataclass(frozen=True)
class Settled:
    """What became of it.

    Attributes
    ----------
    experiment_id
        In the store.
    rounds
        That were run, in all sessions.
    steady
        Whether the last five kept the SNIA's rule, and by how much; None if a run failed before
        that.
    values
        Of each load and figure that was tracked: one value for each round.
    failure
        Why it ended before its end, if it did.
    steadiness
        What our own test says of all rounds, by load and figure.

    """

    experiment_id: int
    rounds: int
    steady: SteadyState | None
    values: dict[str, list[float]]
    failure: str | None
    steadiness: dict[str, Steadiness] = field(default_factory=dict)


def plan_settling(
    store: Store,
    loads: Sequence[tuple[str, Sequence[str]]],
    metrics: Sequence[str] = ("iops",),
    *,
    for_experiment: int | None = None,
) -> int:
    """Plan rounds of loads, each a name and DiskSpd arguments, and return the experiment.

    ``metrics`` are those that are to be steady for each load: ``iops``, ``mib_per_s``, ``mean`` or
    ``p99``.

    Raises
    ------
    InvalidRequestError
        If there is no such metric, or no load.

    """
    wrong = [one for one in metrics if one not in _FIGURES]
    if wrong or not metrics or not loads:
        words = f"{wrong[0]} cannot be tracked" if wrong else "there is nothing to track"
        raise InvalidRequestError(f"{words}; there are {', '.join(_FIGURES)}")
    plan: dict[str, Any] = {
        "kind": "wdpc",
        "loads": [[name, [*arguments]] for name, arguments in loads],
        "metrics": [*metrics],
        "for_experiment": for_experiment,
    }
    steps = [
        (f"round {number}: {name}".removesuffix(": "), {"round": number, "load": place})
        for number in range(1, ROUND_LIMIT + 1)
        for place, (name, _) in enumerate(loads)
    ]
    name = loads[0][0] or " ".join(loads[0][1])
    return store.experiments.begin("prepare", f"wdpc {name}", plan, steps)


@dataclass
class _Session:
    store: Store
    runner: Runner
    experiment_id: int
    on_round: Callable[[int, SteadyState | None], None]
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        found = self.store.experiments.get(self.experiment_id)
        if found.verb != "prepare" or found.plan.get("kind") != "wdpc":
            raise InvalidRequestError(f"experiment e{self.experiment_id} has no rounds to go on")
        if found.state == "complete":
            raise InvalidRequestError(f"experiment e{self.experiment_id} is complete")
        self.loads: list[tuple[str, list[str]]] = [(one[0], one[1]) for one in found.plan["loads"]]
        self.metrics: list[str] = found.plan["metrics"]
        self.steps = found.steps
        self.known = self._taken_up()

    def _taken_up(self) -> dict[int, Figures]:
        """Return what earlier sessions measured, by steps."""
        runs = self.store.runs.list(experiment_id=self.experiment_id)
        return {
            run.step_id: stored_figures(self.store.runs.get(run.id).result)
            for run in reversed(runs)
            if run.outcome == "complete" and run.step_id is not None
        }

    def run(self) -> tuple[int, SteadyState | None, str | None]:
        """Run rounds; return how many there are, whether they are steady, and what failed."""
        steady, size = None, len(self.loads)
        for number in range(1, ROUND_LIMIT + 1):
            is_new = False
            for step in self.steps[(number - 1) * size : number * size]:
                is_new = is_new or step.id not in self.known
                failure = self._measure(step.id, int(step.parameters["load"]))
                if failure is not None:
                    return number - 1, steady, failure
            steady = find_steady_state(self.values)
            if is_new:
                self.on_round(number, steady)
            if steady.is_steady:
                break
        return number, steady, None

    def _measure(self, step_id: int, load: int) -> str | None:
        name, arguments = self.loads[load]
        if step_id not in self.known:
            outcome = self.runner.run(
                arguments,
                label=f"prepare wdpc {name}".strip(),
                experiment_id=self.experiment_id,
                step_id=step_id,
            )
            if outcome.figures is None:
                return outcome.failure or "the run had no result"
            self.known[step_id] = outcome.figures
            if outcome.run_id is None:
                self.store.experiments.set_step(step_id, "done")
        for metric in self.metrics:
            value = _FIGURES[metric](self.known[step_id])
            if not value:
                return f"the run has no {metric}: latencies need -L, and rates need I/Os"
            self.values[f"{name} {metric}".strip()].append(value)
        return None


def settle(
    store: Store,
    runner: Runner,
    experiment_id: int,
    *,
    on_round: Callable[[int, SteadyState | None], None] = lambda _number, _steady: None,
) -> Settled:
    """Run rounds as planned, or go on with them, until five keep the SNIA's rule or 25 are done.

    Rounds of a session that was killed count, as if there had been no pause.

    Raises
    ------
    InvalidRequestError, RefusedError
        If a load cannot be run.
    RunInterrupted
        If Ctrl-C ended it.

    """
    with damage_told(experiment_id):
        return _settled(store, _Session(store, runner, experiment_id, on_round))


def _settled(store: Store, session: _Session) -> Settled:
    experiment_id = session.experiment_id
    store.experiments.finish(experiment_id, "running")
    with end_noted(store, experiment_id):
        rounds, steady, failure = session.run()
    if failure is not None:
        store.experiments.finish(experiment_id, "failed", failure=failure)
        return Settled(experiment_id, rounds, steady, dict(session.values), failure)
    rest = [step.id for step in session.steps[rounds * len(session.loads) :]]
    store.experiments.skip_steps(rest)
    judged = {name: find_steadiness(values) for name, values in session.values.items()}
    found = Settled(experiment_id, rounds, steady, dict(session.values), None, judged)
    store.experiments.finish(experiment_id, "complete", outcome=asdict(found))
    return found
