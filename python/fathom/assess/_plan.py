"""What is measured in an assessment, cell by cell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.workloads import find_workload, run_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.assess._target import AssessedTarget

__all__ = ["EFFORTS", "KNEE", "SEQUENTIAL_KNEE", "Cell", "Effort", "plan_cells"]

# Stands for the depth that the cells before have found.
KNEE = "{knee}"
SEQUENTIAL_KNEE = "{sequential_knee}"
_GIB = 1 << 30
_BLOCK = "-b4K"
_LARGE_BLOCK = "-b512K"
_RANDOM_DATA = "-Z1M"


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
    "quick": Effort(30, _GIB // 4, 3, (4, 16, 64), (1, 4, 16), (30,), (1 / 16,)),
    "default": Effort(120, _GIB, 2, (2, 4, 8, 16, 32, 64), (1, 4, 16), (30, 70), (1 / 64, 1 / 8)),
    "thorough": Effort(
        7200,
        64 * _GIB,
        1,
        (2, 4, 8, 16, 32, 64, 128, 256),
        (1, 2, 4, 8, 16, 32, 64),
        (5, 10, 30, 50, 70, 90),
        (1 / 256, 1 / 64, 1 / 16, 1 / 4),
    ),
}


@dataclass(frozen=True)
class Cell:
    """One run: ``key`` names it for the verdict, ``part`` for the reader.

    ``saturates`` is the family of rising depths to which it belongs; the rest of a family is
    skipped once its throughput has stopped growing. ``for_findings`` is false where what would be
    a finding is on purpose.
    """

    key: str
    part: str
    label: str
    arguments: tuple[str, ...]
    writes: bool = False
    saturates: str | None = None
    for_findings: bool = True


def plan_cells(
    target: AssessedTarget, effort: Effort, *, steady_seconds: int = 0
) -> tuple[list[Cell], list[Cell]]:
    """Return the cells of a target, and those that are left out because nothing may be written."""
    past = "-Sh" if target.is_direct else "-Sb"
    cells = [
        *_latency(past, plain="-Su" if target.is_direct else None),
        *_saturation(past, effort),
        *_threads(past),
        *_mixes(past, effort),
        *_caches(past, target, effort),
        *_workloads(past, target),
        *_steady(past, steady_seconds, writes=target.writes),
        _single_read("again", "baseline again", past),
    ]
    kept = [cell for cell in cells if target.writes or not cell.writes]
    return kept, [cell for cell in cells if cell not in kept]


def _random(write_percent: int, depth: int | str, past: str, threads: int = 1) -> tuple[str, ...]:
    data = (_RANDOM_DATA,) if write_percent else ()
    return (_BLOCK, "-r", f"-w{write_percent}", f"-t{threads}", f"-o{depth}", past, *data)


def _single_read(key: str, part: str, past: str) -> Cell:
    return Cell(key, part, "4K random read, depth 1", _random(0, 1, past))


def _latency(past: str, plain: str | None) -> list[Cell]:
    part = "baseline latency"
    label = "4K random write, depth 1"
    cells = [
        _single_read("read-1", part, past),
        Cell("write-1", part, f"{label}, write-through", _random(100, 1, past), writes=True),
    ]
    if plain is not None:
        arguments = _random(100, 1, plain)
        cells.append(Cell("plain-write-1", part, label, arguments, writes=True))
    return cells


def _saturation(past: str, effort: Effort) -> list[Cell]:
    random = [
        Cell(
            f"random-{depth}",
            "random saturation",
            f"4K random read, depth {depth}",
            _random(0, depth, past),
            saturates="random",
        )
        for depth in effort.depths
    ]
    sequential = [
        Cell(
            f"sequential-{depth}",
            "sequential saturation",
            f"512K sequential read, depth {depth}",
            (_LARGE_BLOCK, "-s", "-w0", "-t1", f"-o{depth}", past),
            saturates="sequential",
        )
        for depth in effort.sequential_depths
    ]
    written = (_LARGE_BLOCK, "-s", "-w100", "-t1", f"-o{SEQUENTIAL_KNEE}", past, _RANDOM_DATA)
    return [
        *random,
        Cell(
            "random-write",
            "random saturation",
            "4K random write at the knee",
            _random(100, KNEE, past),
            writes=True,
        ),
        *sequential,
        Cell(
            "sequential-write",
            "sequential saturation",
            "512K sequential write at the knee",
            written,
            writes=True,
        ),
    ]


def _threads(past: str) -> list[Cell]:
    count = os.cpu_count() or 1
    return [
        Cell(
            f"threads-{threads}",
            "thread scaling",
            f"4K random read, {threads} threads at the knee",
            _random(0, KNEE, past, threads),
        )
        for threads in (2, 4, 8, 16)
        if threads <= max(count, 2)
    ]


def _mixes(past: str, effort: Effort) -> list[Cell]:
    return [
        Cell(
            f"mix-{percent}",
            "read/write mixes",
            f"4K random, {percent} % writes at the knee",
            _random(percent, KNEE, past),
            writes=True,
        )
        for percent in effort.write_percents
    ]


def _caches(past: str, target: AssessedTarget, effort: Effort) -> list[Cell]:
    part = "cache effects"
    cells = []
    reaches = [max(int(target.size_bytes * share) >> 20, 1) for share in effort.working_sets]
    for reach in dict.fromkeys(reaches):
        label = f"4K random read, depth 1, first {reach} MiB"
        if reach << 20 < target.size_bytes:
            cells.append(Cell(f"set-{reach}", part, label, (*_random(0, 1, past), f"-f{reach}M")))
    if target.is_direct:
        # Little enough to be in the page cache soon.
        reach = min([*reaches, max(target.size_bytes >> 20, 1)])
        label = f"4K random read, depth 1, first {reach} MiB, page cache"
        cached = (*_random(0, 1, "-Sb"), f"-f{reach}M")
        cells.append(Cell("cached", part, label, cached, for_findings=False))
    return cells


def _workloads(past: str, target: AssessedTarget) -> list[Cell]:
    cells = []
    for key, name in (("oltp", "sql-oltp-70"), ("log", "sql-log"), ("backup", "sql-backup")):
        workload = find_workload(name)
        wishes: Sequence[str] = [past]
        arguments = run_arguments(workload, workload.steps[0], wishes, [str(target.path)])
        # Time, intervals and size are the assessment's own.
        own = ("-d", "-W", "-D", "-L", "-c")
        kept = tuple(one for one in arguments[:-1] if not one.startswith(own))
        cells.append(Cell(key, "workloads", workload.title, kept, writes=workload.writes))
    return cells


def _steady(past: str, seconds: int, *, writes: bool) -> list[Cell]:
    if not seconds:
        return []
    kind, percent = ("write", 100) if writes else ("read", 0)
    arguments = (*_random(percent, KNEE, past), f"-d{seconds}", "--stop-steady")
    label = f"4K random {kind} at the knee until steady"
    return [Cell("steady", "steady state", label, arguments, writes=writes)]
