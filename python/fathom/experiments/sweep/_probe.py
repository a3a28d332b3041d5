"""Short looks at the cells that a sweep did not measure, which find one that stands apart.

A surface through the neighbours says nothing of a cell that is broken alone. So each is run for a
quarter of a second, which is no measurement: what all looks have in common, as the start of a run,
is taken out, and only a cell that differs from all others is measured. A look that failed tells
nothing, nor do few looks: where few cells are left, these are measured instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LEAST_LOOKS", "PROBE_S", "Probes", "probe_arguments"]

PROBE_S = 0.25
# A look ends after the I/Os of its time, or where these do not come, after a second.
_LONGEST_S = 1
# Looks take at most this share of the time that measuring has taken.
_TIME_SHARE = 0.5
_DEVIATIONS = 4.0
_MAD_TO_DEVIATION = 1.4826

LEAST_LOOKS = 5
"""Fewer looks do not tell what they have in common."""


def probe_arguments(cell_arguments: Iterable[str], expected_iops: float) -> list[str]:
    """Return the arguments of a look at a cell, given those that measure it."""
    timed = ("-d", "-W", "--stop-")
    rest = [one for one in cell_arguments if not one.startswith(timed)]
    ios = max(math.ceil(expected_iops * PROBE_S), 1)
    # Before the rest, as options stand before targets.
    return [f"-d{_LONGEST_S}", "-W0", f"--stop-ios={ios}", *rest]


@dataclass
class Probes:
    """What the looks found.

    Attributes
    ----------
    found
        The logarithm of the rate of each cell; None where the look failed.
    suspicious
        The cells that stood apart, and are measured.
    spent_s
        How long all looks took.

    """

    found: dict[int, float | None] = field(default_factory=dict)
    suspicious: set[int] = field(default_factory=set)
    spent_s: float = 0.0

    def may_go_on(self, measuring_s: float) -> bool:
        """Whether there is time for another look, given how long measuring has taken."""
        return self.spent_s <= _TIME_SHARE * measuring_s

    def telling(self, cells: Iterable[int]) -> set[int]:
        """Return at which cells of a slice a look succeeded; none if they are too few to tell."""
        succeeded = {cell for cell in cells if self.found.get(cell) is not None}
        return succeeded if len(succeeded) >= LEAST_LOOKS else set()

    def apart(self, expected: Mapping[int, float], tolerance: float) -> set[int]:
        """Return which cells of a slice differ from what is expected of them as no other does.

        ``expected`` and ``tolerance`` are logarithms of rates.
        """
        told = self.telling(expected)
        away = {cell: (self.found[cell] or 0.0) - expected[cell] for cell in told}
        if not away:
            return set()
        every = np.array(list(away.values()))
        middle = float(np.median(every))
        deviation = _MAD_TO_DEVIATION * float(np.median(np.abs(every - middle)))
        limit = max(_DEVIATIONS * deviation, tolerance)
        return {cell for cell, one in away.items() if abs(one - middle) > limit}

    def unclear(self, cells: Iterable[int]) -> set[int]:
        """Return which cells of a slice got a look that tells nothing, and are to be measured.

        They are those whose look failed, and all if too few succeeded to compare them. Where most
        looks fail, looking does not work here, which is no reason to measure a cell.
        """
        looked = {cell for cell in cells if cell in self.found}
        failed = {cell for cell in looked if self.found[cell] is None}
        return set() if 2 * len(failed) > len(looked) else looked - self.telling(looked)
