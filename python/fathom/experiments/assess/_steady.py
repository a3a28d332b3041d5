"""Steady state by the rounds of the SNIA: which cells they have, and whether they were steady."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.assess.cell import LARGE_RANDOM_DATA, RANDOM_DATA, Cell
from fathom.stats import find_steady_state

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fathom.experiments.assess.target import AssessedTarget
    from fathom.stats import SteadyState

__all__ = [
    "LEAST_ROUNDS",
    "POINTS",
    "ROUND_LIMIT",
    "STEADY_LEAST_S",
    "round_of",
    "rounds_counted",
    "rounds_of",
    "steady_cells",
    "steady_state",
    "wanted_bytes",
]

# SNIA SSS PTS 2.0.2: at most 25 rounds; each point of a round takes a minute.
ROUND_LIMIT = 25
_POINT_S = 60
_LEAST_POINT_S = 1
LEAST_ROUNDS = 5
STEADY_LEAST_S = 20
"""Five rounds of a second for each point, and some preconditioning."""
POINTS = {
    "4k": ("4K random write", ("-b4K", "-w100")),
    "64k": ("64K random, 35 % writes", ("-b64K", "-w35")),
    "1m": ("1M random read", ("-b1M", "-w0")),
}
"""The three points that the specification's test of IOPS tracks: what they are, and how."""
_READ_POINTS = {key: (f"{key.upper()} random read", (f"-b{key.upper()}", "-w0")) for key in POINTS}
# What the specification recommends for enterprise devices.
_LOAD = ("-r", "-t4", "-o32")


def steady_cells(past: str, target: AssessedTarget, seconds: int) -> list[Cell]:
    """Return the preconditioning and the rounds, which take at most so many seconds together.

    The preconditioning is the specification's WIPC: twice the capacity, in order, in blocks of
    128 KiB. Where nothing may be written there is none, and the rounds only read.

    Raises
    ------
    InvalidRequestError
        If the seconds are too few for five rounds.

    """
    if not seconds:
        return []
    if seconds < STEADY_LEAST_S:
        raise InvalidRequestError(
            f"a steady state (--steady) takes at least {STEADY_LEAST_S}s: the SNIA's rule looks at "
            "five rounds"
        )
    points = POINTS if target.writes else _READ_POINTS
    # Rounds get at least what five of them need, and the preconditioning what is left.
    least_s = LEAST_ROUNDS * len(points) * _LEAST_POINT_S
    rounds_s = max(seconds // 2, min(seconds - 1, least_s)) if target.writes else seconds
    first = [_preconditioning(past, target, seconds - rounds_s)] if target.writes else []
    point_s = min(max(rounds_s // (ROUND_LIMIT * len(points)), _LEAST_POINT_S), _POINT_S)
    count = min(max(rounds_s // (len(points) * point_s), LEAST_ROUNDS), ROUND_LIMIT)
    rounds = [
        Cell(
            f"steady-{number}-{key}",
            "steady state",
            f"round {number}: {label}",
            (*how, *_LOAD, past, *(() if "-w0" in how else (RANDOM_DATA,))),
            writes="-w0" not in how,
            for_findings=False,
            seconds=point_s,
        )
        for number in range(1, count + 1)
        for key, (label, how) in points.items()
    ]
    return [*first, *rounds]


def _preconditioning(past: str, target: AssessedTarget, seconds: int) -> Cell:
    until = f"--stop-bytes={wanted_bytes(target)}"
    return Cell(
        "precondition",
        "preconditioning",
        "128K sequential write, up to twice the size",
        ("-b128K", "-s", "-w100", "-t1", "-o32", past, LARGE_RANDOM_DATA, until),
        writes=True,
        for_findings=False,
        seconds=seconds,
    )


def wanted_bytes(target: AssessedTarget) -> int:
    """Return how many bytes the preconditioning has to write: twice the capacity."""
    return 2 * target.size_bytes


def round_of(cell: Cell) -> int:
    """Return which round a cell belongs to."""
    return int(cell.key.split("-")[1])


def rounds_counted(keys: Collection[str]) -> range:
    """Return the numbers of the rounds that count, by the cells that were measured.

    Those are rounds of which all points are known, one behind the other. A window reaches over no
    round that lacks a point: behind that one they are counted from the start, and those before it
    count only as long as there are too few behind it for the rule, and enough before.
    """
    complete = [
        number
        for number in range(1, ROUND_LIMIT + 1)
        if all(f"steady-{number}-{point}" in keys for point in POINTS)
    ]
    series = [
        range(first, next(end for end in range(first, ROUND_LIMIT + 2) if end not in complete))
        for first in complete
        if first - 1 not in complete
    ]
    enough = [one for one in series if len(one) >= LEAST_ROUNDS]
    return (enough or series or [range(1, 1)])[-1]


def rounds_of(iops_by_key: Mapping[str, float]) -> dict[str, list[float]]:
    """Return the IOPS of each point in the rounds that count."""
    counted = rounds_counted(iops_by_key.keys())
    return {
        point: [iops_by_key[f"steady-{number}-{point}"] for number in counted] for point in POINTS
    }


def steady_state(series: Mapping[str, Sequence[float]]) -> SteadyState | None:
    """Return whether all points were steady in one window; None before there are five rounds."""
    if min(len(one) for one in series.values()) < LEAST_ROUNDS:
        return None
    return find_steady_state(series)
