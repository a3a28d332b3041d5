"""What tuning is to do, as it is kept with the experiment so that it can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.experiments._run_times import LEAST_RUN_S, START_S, TYPICAL_RUN_S
from fathom.experiments.axes import load_arguments, parse_counts
from fathom.experiments.tune._confirm import LEAST_ROUNDS, MOST_ATTEMPTS, MOST_ROUNDS
from fathom.experiments.tune.knee_search import Goal, KneeSearch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.experiments.tune.knee_search import Load

__all__ = ["TuneForecast", "TunePlan", "plan_tune"]

_INTERVAL_MS = 10
# How many loads are measured at most times beyond those of the design.
_TYPICAL_MORE = 5
# So many loads are confirmed at most times, in so many rounds.
_TYPICAL_CONFIRMED = 3
_TYPICAL_ROUNDS = 5
# What TYPICAL_RUN_S is known for; time goes by its square.
_TYPICAL_PRECISION = 0.02


@dataclass(frozen=True)
class TuneForecast:
    """What tuning will take: runs and seconds by expectation, and at least and at most.

    ``writing_s`` is for how long of the expected time runs write, at ``write_share`` of their I/Os.
    """

    loads: int
    runs: int
    least_runs: int
    most_runs: int
    seconds: float
    least_s: float
    most_s: float
    writing_s: float
    write_share: float


@dataclass(frozen=True)
class TunePlan:
    """How to tune.

    Attributes
    ----------
    arguments
        Those that all runs share.
    threads, depths
        What to choose from, rising.
    goal
        What is best.
    longest_s
        The longest time of a run, in seconds.
    confidence, precision
        Each run ends once its mean is known at this level to within this share.
    runner, tool_version
        What measures, as ``--runner`` names it, and its version; ours if it is empty.
    grow
        Whether the range of an axis is doubled, twice at most, where the best lies at its end and
        the throughput still rises there, as long as the runs are no more than were foreseen.

    """

    arguments: tuple[str, ...]
    threads: tuple[int, ...]
    depths: tuple[int, ...]
    goal: Goal = field(default_factory=Goal)
    longest_s: int = 10
    confidence: float = 0.95
    precision: float = 0.02
    runner: str = "fathom"
    tool_version: str = ""
    grow: bool = False

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the plan of an experiment."""
        lists = {name: tuple(data[name]) for name in ("arguments", "threads", "depths")}
        return cls(**{**data, **lists, "goal": Goal(**data["goal"])})

    def as_dict(self) -> dict[str, object]:
        """Return what ``from_dict`` reads."""
        return asdict(self)

    def run_arguments(self, load: Load, longest_s: int | None = None) -> list[str]:
        """Return all arguments of the run at a load; ``longest_s`` takes the plan's place."""
        threads, depth = load
        level = f"{100 * self.confidence:g}:{100 * self.precision:g}"
        return [
            f"-t{threads}",
            f"-o{depth}",
            f"-d{longest_s or self.longest_s}",
            "-W0",
            f"--stop-confidence={level}",
            f"--stop-interval={_INTERVAL_MS}",
            *self.arguments,
        ]

    def typical_loads(self) -> list[list[str]]:
        """Return all arguments of the least and of the greatest load."""
        first, last = (self.threads[0], self.depths[0]), (self.threads[-1], self.depths[-1])
        return [self.run_arguments(load) for load in dict.fromkeys((first, last))]

    def search(self) -> KneeSearch:
        """Return a search that has measured nothing yet."""
        return KneeSearch(self.threads, self.depths, self.goal)

    def expected_loads(self) -> int:
        """Return how many loads the search measures at most times."""
        search = self.search()
        return min(len(search.design()) + _TYPICAL_MORE, len(search.loads))

    @property
    def typical_run_s(self) -> float:
        """How long a run takes by experience, in seconds, before any has been made."""
        if self.runner != "fathom":
            # Other tools have no rule that ends a run.
            return START_S + self.longest_s
        behind_s = (TYPICAL_RUN_S - LEAST_RUN_S) * (_TYPICAL_PRECISION / self.precision) ** 2
        return START_S + min(LEAST_RUN_S + behind_s, self.longest_s)

    def expected_runs(self, loads: int) -> int:
        """Return how many runs there are at most times if so many loads are searched."""
        return loads + _TYPICAL_CONFIRMED * _TYPICAL_ROUNDS

    @property
    def budget_s(self) -> float:
        """The time that is foreseen, in seconds, and kept: see ``TimeKept``."""
        return self.expected_runs(self.expected_loads()) * self.typical_run_s

    def forecast(self) -> TuneForecast:
        """Say what it will take."""
        search = self.search()
        shortest = min(LEAST_RUN_S, self.longest_s)
        typical = self.typical_run_s
        least = len(search.design()) + LEAST_ROUNDS
        runs = self.expected_runs(self.expected_loads())
        most = len(search.loads) + 3 * MOST_ROUNDS * MOST_ATTEMPTS
        spans = load_of(self.run_arguments(search.loads[0])).profile.time_spans
        share = max(one.write_percent for span in spans for one in span.targets) / 100
        return TuneForecast(
            loads=len(search.loads),
            runs=runs,
            least_runs=least,
            most_runs=most,
            seconds=self.budget_s,
            least_s=least * (START_S + shortest),
            most_s=most * (START_S + self.longest_s),
            writing_s=runs * typical if share else 0.0,
            write_share=share,
        )


def plan_tune(
    arguments: Sequence[str],
    threads: str,
    depths: str,
    **more: Any,  # noqa: ANN401 - Of TunePlan.
) -> TunePlan:
    """Make a plan; no target is touched.

    ``threads`` and ``depths`` are ranges such as ``1..64``; ``-t`` or ``-o`` among the arguments
    take the place of one.

    Raises
    ------
    InvalidRequestError
        If the arguments are wrong.

    """
    rest, given = [], {}
    for one in arguments:
        name = {"-t": "threads", "-o": "depth"}.get(one[:2])
        if name is None:
            rest.append(one)
        else:
            given[name] = one[2:]
    ranges = {"threads": threads, "depth": depths} | given
    values = {name: parse_counts(name, text) for name, text in ranges.items()}
    shared = tuple(load_arguments(rest, ("-F",)))
    plan = TunePlan(shared, values["threads"], values["depth"], **more)
    if len(plan.threads) * len(plan.depths) == 1:
        raise InvalidRequestError("there is nothing to choose from: give --threads or --depth")
    if not (0 < plan.confidence < 1 and 0 < plan.precision < 1):
        raise InvalidRequestError("confidence and precision are between 0 and 100 %")
    if plan.longest_s < 1:
        raise InvalidRequestError("the longest time of a run is 1 s or more")
    load_of(plan.run_arguments((plan.threads[0], plan.depths[0])))
    load_of(plan.run_arguments((plan.threads[-1], plan.depths[-1])))
    return plan
