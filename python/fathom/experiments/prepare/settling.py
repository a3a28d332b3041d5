"""Workload dependent preconditioning: the load itself, round after round, by the SNIA's rule."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.session import Observation, Session, Skip, Step, Strategy
from fathom.stats import Steadiness, find_steadiness, find_steady_state
from fathom.stats.snia import ROUND_LIMIT, WINDOW_ROUNDS
from fathom.store.damage import damage_told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fathom.runners import Figures, Runner
    from fathom.stats import SteadyState
    from fathom.store import Store

__all__ = ["ROUND_LIMIT", "WINDOW_ROUNDS", "Settled", "Settler", "plan_settling", "settle"]

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
        If there is no such metric, no load, or two of the same name.

    """
    names = [name for name, _ in loads]
    if len({*names}) < len(names):
        double = next(one for one in names if names.count(one) > 1)
        raise InvalidRequestError(
            f"two loads are named {double!r}, and rounds know loads by their names: give each its "
            "own"
        )
    wrong = [one for one in metrics if one not in _FIGURES]
    if wrong or not metrics or not loads:
        words = f"{wrong[0]} cannot be tracked" if wrong else "there is nothing to track"
        raise InvalidRequestError(f"{words}; there are {', '.join(_FIGURES)}")
    plan: dict[str, object] = {
        "kind": "wdpc",
        "loads": [[name, [*arguments]] for name, arguments in loads],
        # Twice the same would be two values of each round.
        "metrics": [*dict.fromkeys(metrics)],
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
class Settler:
    """Rounds of loads until five keep the SNIA's rule or 25 are done.

    ``step_ids`` are those of all rounds, load by load; ``known`` is what earlier sessions measured.
    """

    loads: Sequence[tuple[str, Sequence[str]]]
    metrics: Sequence[str]
    step_ids: Sequence[int]
    known: Mapping[int, Observation] = field(default_factory=dict)
    on_round: Callable[[int, SteadyState | None], None] = lambda _number, _steady: None
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def strategy(self) -> Strategy[tuple[int, SteadyState | None, str | None]]:
        """Return how many rounds there are, whether they are steady, and what failed."""
        steady, size = None, len(self.loads)
        for number in range(1, ROUND_LIMIT + 1):
            step_ids = self.step_ids[(number - 1) * size : number * size]
            for step_id, load in zip(step_ids, self.loads, strict=True):
                failure = yield from self._measure(step_id, load)
                if failure is not None:
                    return number - 1, steady, failure
            steady = find_steady_state(self.values)
            if any(step_id not in self.known for step_id in step_ids):
                self.on_round(number, steady)
            if steady.is_steady:
                break
        yield Skip(self.step_ids[number * size :])
        return number, steady, None

    def _measure(self, step_id: int, load: tuple[str, Sequence[str]]) -> Strategy[str | None]:
        name, arguments = load
        seen = self.known.get(step_id)
        if seen is None:
            words = f"prepare wdpc {name}".strip()
            seen = yield Step(words, arguments, step_id=step_id)
            seen.raise_refusal()
        if seen.figures is None:
            return seen.failure
        for metric in self.metrics:
            value = _FIGURES[metric](seen.figures)
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
    session = Session(store, experiment_id, runner)
    if store.experiments.get(experiment_id).plan.get("kind") != "wdpc":
        raise InvalidRequestError(f"experiment e{experiment_id} has no rounds to go on")
    experiment = session.resume("prepare", "has no rounds to go on")
    with damage_told(experiment_id):
        loads: list[tuple[str, list[str]]] = [(one[0], one[1]) for one in experiment.plan["loads"]]
        step_ids = [step.id for step in experiment.steps]
        known, metrics = session.saved(), experiment.plan["metrics"]
        settler = Settler(loads, metrics, step_ids, known, on_round)
        rounds, steady, failure = session.run(settler.strategy())
        return _concluded(session, rounds, steady, settler.values, failure)


def _concluded(
    session: Session,
    rounds: int,
    steady: SteadyState | None,
    values: dict[str, list[float]],
    failure: str | None,
) -> Settled:
    judged = {} if failure else {name: find_steadiness(one) for name, one in values.items()}
    found = Settled(session.experiment_id, rounds, steady, dict(values), failure, judged)
    session.finish(None if failure else asdict(found), failure, is_failed=failure is not None)
    return found
