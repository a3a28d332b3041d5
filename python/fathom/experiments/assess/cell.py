"""What a cell of an assessment is, and how many of them an effort has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fathom.units import GIB

__all__ = [
    "EFFORTS",
    "KNEE",
    "LARGE_RANDOM_DATA",
    "PARTS",
    "RANDOM_DATA",
    "SEQUENTIAL_KNEE",
    "Cell",
    "Effort",
    "Role",
]

# Stands for the depth that the cells before have found.
KNEE = "{knee}"
SEQUENTIAL_KNEE = "{sequential_knee}"

# Later cells read what those before wrote: data from a small buffer would be there many times over.
# New data for each write take about 0.2 us a KiB; large blocks are taken from a large buffer.
RANDOM_DATA = "-Zr"
LARGE_RANDOM_DATA = "-Z64M"

Role = Literal[
    "baseline",
    "saturation",
    "thread_scaling",
    "mix",
    "cache_step",
    "workload",
    "preconditioning",
    "steady_round",
    "baseline_again",
]
PARTS: dict[str, Role] = {
    "baseline latency": "baseline",
    "random saturation": "saturation",
    "sequential saturation": "saturation",
    "thread scaling": "thread_scaling",
    "read/write mixes": "mix",
    "cache effects": "cache_step",
    "workloads": "workload",
    "preconditioning": "preconditioning",
    "steady state": "steady_round",
    "baseline again": "baseline_again",
}
"""The parts in their order, as the reader knows them, and the role of their cells."""


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Attributes
    ----------
    seconds
        Of all cells of one target together; most cells end before their share of it is over.
    size_bytes
        Of a scratch file.
    precision_percent
        A cell ends as soon as its mean is known to within this, at 95 % confidence.
    depths, sequential_depths
        Outstanding I/Os of the saturation, in rising order.
    write_percents
        Of the mixes.
    working_sets
        Shares of the target that are read for themselves.

    """

    seconds: float
    size_bytes: int
    precision_percent: int
    depths: tuple[int, ...]
    sequential_depths: tuple[int, ...]
    write_percents: tuple[int, ...]
    working_sets: tuple[float, ...]


EFFORTS = {
    "quick": Effort(30, GIB // 4, 3, (4, 16, 64), (1, 4, 16), (30,), (1 / 16,)),
    "default": Effort(120, GIB, 2, (2, 4, 8, 16, 32, 64), (1, 4, 16), (30, 70), (1 / 64, 1 / 8)),
    "thorough": Effort(
        7200,
        64 * GIB,
        1,
        (2, 4, 8, 16, 32, 64, 128, 256),
        (1, 2, 4, 8, 16, 32, 64),
        (5, 10, 30, 50, 70, 90),
        (1 / 256, 1 / 64, 1 / 16, 1 / 4),
    ),
}


@dataclass(frozen=True)
class Cell:
    """One run that is planned.

    Attributes
    ----------
    key
        Names it within its target, such as ``random-16``.
    part, label
        What it belongs to and what it is, for the reader.
    arguments
        DiskSpd's, without time, target and guard.
    writes
        Whether it writes.
    saturates
        The family of rising depths to which it belongs; the rest of a family is skipped once its
        throughput has stopped growing.
    for_findings
        False where what would be a finding is on purpose: then only what befalls a run counts.
    seconds
        Its own time at most; None if it gets a share of the target's.
    place
        The part's place and its own within it; cells of several targets at one place are
        measured one after the other.

    """

    key: str
    part: str
    label: str
    arguments: tuple[str, ...]
    writes: bool = False
    saturates: str | None = None
    for_findings: bool = True
    seconds: int | None = None
    place: tuple[int, int] = (0, 0)

    @property
    def role(self) -> Role:
        """What the cell is for, as the outcome names it."""
        return PARTS[self.part]
