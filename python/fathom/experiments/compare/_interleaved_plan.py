"""What comparing in turns is to do, as it is kept with the experiment so that it can be resumed."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.special import chdtri

from fathom.experiments._run_times import asked_run_s
from fathom.experiments.compare.saved import DEFAULT_METRICS, parse_condition
from fathom.metrics import metric_column
from fathom.stats import PooledSpread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.stats.floats import Values

__all__ = ["LEAST_PAIRS", "Side", "TurnsForecast", "TurnsPlan"]

LEAST_PAIRS = 2
Side = Literal["a", "b"]


@dataclass(frozen=True)
class TurnsForecast:
    """How many runs there are at least (the pilot) and at most, and how long they take."""

    least_runs: int
    most_runs: int
    least_s: float
    most_s: float


@dataclass(frozen=True)
class TurnsPlan:
    """What is compared, and when to stop.

    Attributes
    ----------
    a, b
        The arguments of either side's runs.
    metrics
        The figures to compare.
    conditions
        As ``parse_condition`` reads them; their figures decide how many runs there are, or IOPS
        if there are none.
    relative_half_width
        Half of the width of the change's interval, as a share.
    confidence
        Of the intervals.
    pilot
        After so many pairs their spread decides how many there will be (``planned_pairs``).
    most
        Never more pairs than this.
    seed
        Of the order within the pairs.
    runner, tool_version
        What measures, as ``--runner`` names it, and its version; ours if it is empty.

    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    metrics: tuple[str, ...] = DEFAULT_METRICS
    conditions: tuple[str, ...] = ()
    relative_half_width: float = 0.012
    confidence: float = 0.95
    pilot: int = 10
    most: int = 60
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    runner: str = "fathom"
    tool_version: str = ""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises
        ------
        ValueError
            If a value is out of its range; the message names it.

        """
        for metric in (*self.metrics, *self.deciding):
            metric_column(metric)
        if not LEAST_PAIRS <= self.pilot <= self.most:
            raise ValueError(f"the pilot has {LEAST_PAIRS} to {self.most} pairs, not {self.pilot}")
        for name, value in (
            ("precision", self.relative_half_width),
            ("confidence", self.confidence),
        ):
            if not 0 < value < 1:
                raise ValueError(f"a {name} is between 0 and 100 %, not {value:%}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the plan of an experiment."""
        lists = {name: tuple(data[name]) for name in ("a", "b", "metrics", "conditions")}
        return cls(**{**data, **lists})

    @property
    def deciding(self) -> tuple[str, ...]:
        """The figures whose spread decides how many runs there are."""
        asked = dict.fromkeys(parse_condition(one).metric for one in self.conditions)
        return tuple(asked) or ("iops",)

    @property
    def typical_run_s(self) -> float:
        """How long a run takes by experience, in seconds: the mean of both sides."""
        return sum(asked_run_s(side, self.runner) for side in (self.a, self.b)) / 2

    def forecast(self) -> TurnsForecast:
        """Say what it will take; how many pairs follow the pilot, the pilot alone can tell."""
        pilot, most = 2 * self.pilot, 2 * self.most
        each_s = self.typical_run_s
        return TurnsForecast(pilot, most, pilot * each_s, most * each_s)

    def order(self, pair: int) -> tuple[Side, Side]:
        """Return which side of a pair comes first, and which then."""
        is_b_first = np.random.default_rng([self.seed, pair]).integers(2)
        return ("b", "a") if is_b_first else ("a", "b")

    def foreseen_pairs(self, a: Values, b: Values) -> tuple[int, int]:
        """Return how many pairs there may be in the end, by those so far: 10 and 90 %."""
        differences = np.log(np.asarray(b, float)) - np.log(np.asarray(a, float))
        freedom = differences.size - 1
        deviation = float(differences.std(ddof=1))
        half = math.log1p(self.relative_half_width)

        def count(share: float) -> int:
            """Return the number for a spread that these differences exceed in such a share."""
            wide = deviation * math.sqrt(freedom / chdtri(freedom, share))
            spread = PooledSpread(wide, max(self.pilot - 1, freedom))
            return spread.count_for(half, 1, confidence=self.confidence)

        low, high = (min(max(count(one), self.pilot), self.most) for one in (0.1, 0.9))
        return low, high

    def planned_pairs(self, a: Values, b: Values) -> int:
        """Return how many pairs make the change known, by one figure of all runs so far.

        The pilot tells it (Stein's two stages), and is asked again once these have been made: of
        the spread of the pilot and that of all pairs the greater counts.
        """
        differences = np.log(np.asarray(b, float)) - np.log(np.asarray(a, float))
        planned = self.pilot
        while planned <= len(differences):
            made = differences[:planned]
            deviation = max(made.std(ddof=1), made[: self.pilot].std(ddof=1))
            spread = PooledSpread(float(deviation), self.pilot - 1)
            half = math.log1p(self.relative_half_width)
            wanted = min(spread.count_for(half, 1, confidence=self.confidence), self.most)
            if wanted <= planned:
                break
            planned = wanted
        return planned
