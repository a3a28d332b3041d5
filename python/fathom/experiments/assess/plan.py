"""What is measured in an assessment, cell by cell."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from fathom.experiments.assess._steady import steady_cells
from fathom.experiments.assess.cell import (
    KNEE,
    LARGE_RANDOM_DATA,
    PARTS,
    RANDOM_DATA,
    SEQUENTIAL_KNEE,
    Cell,
)
from fathom.workloads import find_workload, run_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.assess.cell import Effort
    from fathom.experiments.assess.target import AssessedTarget

__all__ = ["plan_cells"]

_BLOCK = "-b4K"
_LARGE_BLOCK = "-b512K"


def plan_cells(
    target: AssessedTarget, effort: Effort, *, steady_seconds: int = 0
) -> tuple[list[Cell], list[Cell]]:
    """Return the cells of a target, and those that are left out because nothing may be written."""
    # Where the page cache is in the way, too, a write has to end on the device.
    past = "-Sh" if target.is_direct else "-Sbw"
    cells = [
        *_latency(past, target),
        *_saturation(past, effort),
        *_threads(past),
        *_mixes(past, effort),
        *_caches(past, target, effort),
        *_workloads(past, target),
        *steady_cells(past, target, steady_seconds),
        _single_read("again", "baseline again", past),
    ]
    order = list(PARTS)
    numbers = {part: count() for part in order}
    placed = [
        replace(cell, place=(order.index(cell.part), next(numbers[cell.part]))) for cell in cells
    ]
    kept = [cell for cell in placed if target.writes or not cell.writes]
    return kept, [cell for cell in placed if cell not in kept]


def _random(write_percent: int, depth: int | str, past: str, threads: int = 1) -> tuple[str, ...]:
    data = (RANDOM_DATA,) if write_percent else ()
    return (_BLOCK, "-r", f"-w{write_percent}", f"-t{threads}", f"-o{depth}", past, *data)


def _single_read(key: str, part: str, past: str) -> Cell:
    return Cell(key, part, "4K random read, depth 1", _random(0, 1, past))


def _latency(past: str, target: AssessedTarget) -> list[Cell]:
    part = "baseline latency"
    label = "4K random write, depth 1"
    read = _single_read("read-1", part, past)
    durable = Cell("write-1", part, f"{label}, write-through", _random(100, 1, past), writes=True)
    # What the guard refuses is refused by the first write: before anything is measured.
    cells = [read, durable] if target.is_scratch else [durable, read]
    if target.is_direct:
        arguments = _random(100, 1, "-Su")
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
    written = (_LARGE_BLOCK, "-s", "-w100", "-t1", f"-o{SEQUENTIAL_KNEE}", past, LARGE_RANDOM_DATA)
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
    # This host has no page cache for what another one serves.
    if target.is_direct and target.kind != "network":
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
