"""Keeping to the time that was foreseen, whatever the storage does.

How much runs differ, and so how long each takes and how many there must be, is not known before
they are made. So what is foreseen is a budget: runs that take long are given less time the less of
it is left, rounds of confirmation that nobody must have are made as long as there is time, and left
out if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.experiments._run_times import START_S, expected_run_s

if TYPE_CHECKING:
    from fathom.experiments.tune.plan import TunePlan
    from fathom.runners import Figures

__all__ = ["TimeKept"]

# A run may take so many times its share of what is left, as most take less.
_GENEROUS = 1.6
# No run is cut shorter: the stop rule asks for two seconds behind the warm-up.
_SHORTEST_S = 3
# What must be is begun within this share of the budget.
_MOST = 1.15
# A first set-up that is longer makes or fills a file, which nobody can foresee.
_SET_UP_S = 1.0


@dataclass
class TimeKept:
    """What of the budget has been used; the same after a kill, but for the set-up of runs."""

    plan: TunePlan
    spent_s: float = 0.0
    runs: int = 0

    def add(self, figures: Figures | None, taken_s: float | None) -> None:
        """Count a run; ``taken_s`` is None if it was made before a kill."""
        measured_s = 0.0 if figures is None else figures.measured_s
        counted_s = START_S + measured_s if taken_s is None else taken_s
        if not self.runs:
            counted_s = min(counted_s, measured_s + _SET_UP_S)
        self.spent_s += counted_s
        self.runs += 1

    @property
    def run_s(self) -> float:
        """How long a further run takes, as far as one can tell."""
        return expected_run_s(self.plan.typical_run_s, self.spent_s, self.runs)

    def longest_s(self, runs_left: float) -> int:
        """Return the longest time of the next run, where there will be so many."""
        if self.plan.runner != "fathom":
            return self.plan.longest_s
        left_s = max(self.plan.budget_s - self.spent_s, 0.0)
        share_s = _GENEROUS * left_s / max(runs_left, 1.0)
        return min(max(round(share_s), _SHORTEST_S), self.plan.longest_s)

    def has_room(self, runs: int) -> bool:
        """Whether there is time for so many runs that nobody must have."""
        return self.spent_s + runs * self.run_s <= self.plan.budget_s

    def may_begin(self, runs: int) -> bool:
        """Whether so many runs that ought to be end near enough to what was foreseen."""
        return self.spent_s + runs * self.run_s <= _MOST * self.plan.budget_s

    def bounds(self, low_s: float, high_s: float) -> tuple[float, float]:
        """Return between what the remaining time is, given that without a budget; never nothing."""
        left_s = max(_MOST * self.plan.budget_s - self.spent_s, self.run_s)
        return min(low_s, left_s), max(min(high_s, left_s), self.run_s)
