"""Iometer's results (CSV) and configurations (``.icf``).

The forms are those of Iometer's ``ManagerList.cpp`` (``SaveResults``), ``AccessSpecList.cpp`` and
``PageSetup.cpp`` (https://sourceforge.net/projects/iometer/), versions 2003 to 1.1. Its ``MBps``
are MiB/s under another name, as are ``MBps (Binary)`` and ``MiBps (Binary)``. Its terms are
DiskSpd's as Carlo Mancini's dictionary has them: transfer request size is ``-b``, the part of
writes ``-w``, random ``-r``, outstanding I/Os per target ``-o``, and a worker is a thread.
"""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fathom._numbers import whole_number
from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
    ImportedRow,
    ImportedTarget,
    Reading,
    UnparsedLine,
)
from fathom.tools._lines import decimal, raw_lines
from fathom.tools.iometer.load import access_arguments, access_line
from fathom.tools.notes import Notes
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "looks_like_iometer_csv",
    "read_iometer_csv",
    "read_iometer_icf",
]

# Size, share of the accesses, reads and random I/Os: the first cells of a specification.
_SHARES = 4
_HEAD = "'Target Type"
_SPECS = "'Access specifications"
_SPEC_NAME = "'Access specification name"
_SPEC_LINE = "'size,% of size"
_BIN = re.compile(r" ?(?:>= )?[\d.]+ (?:to [\d.]+ )?[um]?S", re.IGNORECASE)
_RATES = ("MiBps (Binary)", "MBps (Binary)", "MBps")
# Names whose value is the next line.
_FACTS = {"'Version": "version", "'Time Stamp": "time stamp", "'Test Type,Test Description": "test"}

_Specs = dict[str, list[list[str]]]


class _Test(NamedTuple):
    """The row of a test, and what stood before it: a file may have been appended to."""

    number: int
    row: dict[str, str]
    facts: dict[str, str]
    specs: _Specs


def looks_like_iometer_csv(text: str) -> bool:
    """Whether a text has the head of Iometer's tables."""
    return "'Target Type,Target Name,Access Specification Name" in text


def read_iometer_csv(data: bytes) -> Reading:
    """Return one result for each test, with a row for each manager, worker and disk."""
    lines = raw_lines(data.decode("utf-8", "replace"))
    specs: _Specs = {}
    facts: dict[str, str] = {}
    tests: list[_Test] = []
    rows: dict[int, list[dict[str, str]]] = {}
    head: list[str] = []
    unparsed: list[UnparsedLine] = []
    _all, known = _specs(lines)
    starts = [at for at, line in enumerate(lines) if line.startswith(_SPECS)]
    sections = {start: lines[start:end] for start, end in pairwise([*starts, len(lines)])}
    for number, line in enumerate(lines, start=1):
        if number - 1 in sections:
            specs, _known = _specs(sections[number - 1])
        cells = _cells(line)
        if cells[:2] == [_HEAD, "Target Name"]:
            head = cells
        elif number > 1 and lines[number - 2] in _FACTS:
            facts[_FACTS[lines[number - 2]]] = line
        elif number in known or not line.strip(" ,") or line.startswith("'"):
            continue
        elif head and (row := _row(head, cells)) is not None:
            if cells[0] == "ALL":
                tests.append(_Test(number, row, dict(facts), specs))
            elif tests:
                rows.setdefault(tests[-1].number, []).append(row)
        else:
            unparsed.append(UnparsedLine(number, line, is_within=bool(tests)))
    results = [_result(test, rows.get(test.number, [])) for test in tests]
    return Reading(tuple(results), tuple(unparsed))


def _cells(line: str) -> list[str]:
    """Return the cells of a line; none of one that is no CSV, such as one without any end."""
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _row(head: Sequence[str], cells: Sequence[str]) -> dict[str, str] | None:
    """Return a row by the names of its columns; None if it is none.

    Rows of processors have a fixed number of empty cells before their figures, whatever the columns
    of the version (``Manager::SaveResults``), so these are known by their order.
    """
    if not cells:
        return None
    if cells[0] == "PROCESSOR":
        figures = [one for one in cells[2:] if one.strip()]
        if len(figures) < len(_CPU) or any(decimal(one) is None for one in figures):
            return None
        return dict(zip((*head[:2], *_CPU), (*cells[:2], *figures), strict=False))
    if cells[0] in _KINDS and len(head) - 1 <= len(cells) <= len(head) + 1:
        return dict(zip(head, cells, strict=False))
    return None


_CPU = ("% CPU Utilization", "% User Time", "% Privileged Time")
_KINDS = {"ALL", "MANAGER", "WORKER", "DISK", "PROCESSOR", "TCP", "VI", "NETWORK"}


def _result(test: _Test, parts: Sequence[Mapping[str, str]]) -> ImportedResult:
    number, row, facts, specs = test
    name = row.get("Access Specification Name", "")
    disks = dict.fromkeys(part["Target Name"] for part in parts if part[_HEAD] == "DISK")
    others = [part for part in parts if part[_HEAD] != "PROCESSOR"]
    return ImportedResult(
        origin="iometer-csv",
        tool="Iometer",
        tool_version=facts.get("version", "").removeprefix("Version").strip(),
        title=name,
        load=_load(row, parts, specs.get(name, [])),
        targets=tuple(ImportedTarget(disk) for disk in disks),
        read=_direction(row, "Read "),
        write=_direction(row, "Write "),
        total=_direction(row, ""),
        cpus=tuple(_cpu(part) for part in parts if part[_HEAD] == "PROCESSOR"),
        cpu_average=_cpu(row) if row.get("% CPU Utilization", "").strip() else None,
        rows=tuple(
            ImportedRow(
                f"{part[_HEAD]} {part['Target Name']}",
                part["Target Name"],
                {
                    side: one
                    for side, prefix in (("read", "Read "), ("write", "Write "), ("total", ""))
                    if (one := _direction(part, prefix)) is not None
                },
            )
            for part in others
        ),
        options={
            **facts,
            "latency_bins": {name.strip(): row[name] for name in row if _BIN.fullmatch(name)},
        },
        notes=_errors(row),
        lines=(number, number + len(parts)),
    )


def _errors(row: Mapping[str, str]) -> tuple[str, ...]:
    names = ("Errors", "Read Errors", "Write Errors")
    errors, reads, writes = (whole_number(row.get(name, "")) or 0 for name in names)
    words = f"Iometer counted {errors:,} errors, {reads:,} of reads and {writes:,} of writes."
    return (words,) if errors else ()


def _direction(row: Mapping[str, str], prefix: str) -> ImportedDirection | None:
    iops = decimal(row.get(f"{prefix}IOps", ""))
    if iops is None:
        return None
    rates = [row[f"{prefix}{name}"] for name in _RATES if f"{prefix}{name}" in row]
    mean, most = (
        decimal(row.get(f"{kind} {prefix}Response Time", "")) for kind in ("Average", "Maximum")
    )
    counts = {"Read ": ("Read I/Os", "Bytes Read"), "Write ": ("Write I/Os", "Bytes Written")}
    sides = [prefix] if prefix else ["Read ", "Write "]
    ios, size = (_sum([row.get(counts[side][index], "") for side in sides]) for index in range(2))
    return ImportedDirection(
        ios=ios,
        bytes=size,
        iops=iops,
        mib_per_s=decimal(rates[0]) if rates else None,
        latency=ImportedLatency(
            "as Iometer tells it",
            ios,
            None if mean is None else mean * NS_PER_MS,
            max_ns=None if most is None else most * NS_PER_MS,
        )
        if iops
        else None,
        texts={"iops": row[f"{prefix}IOps"], **({"mib_per_s": rates[0]} if rates else {})},
    )


def _sum(texts: Sequence[str]) -> int | None:
    known = [number for text in texts if (number := whole_number(text)) is not None]
    return sum(known) if len(known) == len(texts) else None


def _cpu(row: Mapping[str, str]) -> ImportedCpu:
    usage, user, kernel = (decimal(row.get(name, "")) for name in _CPU)
    number = re.search(r"\d+", row["Target Name"])
    label = number[0] if row[_HEAD] == "PROCESSOR" and number else "avg."
    return ImportedCpu(label, usage, user, kernel, None)


def _load(
    row: Mapping[str, str], parts: Sequence[Mapping[str, str]], spec: list[list[str]]
) -> ImportedLoad:
    workers = decimal(row.get("# Workers", ""))
    depths = {part.get("Queue Depth", "") for part in (row, *parts)} - {"", "0"}
    depth = decimal(depths.pop()) if len(depths) == 1 else None
    size, writes, place = _shares(spec)
    return ImportedLoad(
        block_bytes=size,
        threads=None if workers is None else round(workers),
        outstanding=None if depth is None else round(depth),
        write_percent=writes,
        random_percent=place,
    )


def _shares(spec: list[list[str]]) -> tuple[int | None, float | None, float | None]:
    """Return block size, writes and random I/Os in percent, of a specification of one line."""
    if len(spec) != 1 or len(spec[0]) < _SHARES:
        return None, None, None
    size, _share, reads, place = (decimal(cell) for cell in spec[0][:_SHARES])
    return (
        None if size is None else round(size),
        None if reads is None else 100.0 - reads,
        place,
    )


def _specs(lines: Sequence[str]) -> tuple[_Specs, set[int]]:
    """Return the access specifications by name, and the numbers of their lines."""
    found: _Specs = {}
    known: set[int] = set()
    name, is_open = "", False
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.startswith("'"):
            is_open = text.startswith(_SPEC_LINE)
            if number > 1 and lines[number - 2].strip().startswith(_SPEC_NAME):
                continue
        elif number > 1 and lines[number - 2].strip().startswith(_SPEC_NAME):
            name = text.rpartition(",")[0]
            found[name] = []
            known.add(number)
        elif is_open and name and text[:1].isdigit():
            found[name].append([cell.strip() for cell in text.split(",")])
            known.add(number)
    return found, known


def read_iometer_icf(data: bytes) -> Reading:
    """Return the loads of a configuration as DiskSpd's arguments; it has no results."""
    lines = raw_lines(data.decode("utf-8", "replace"))
    specs, _known = _specs(lines)
    return Reading((), configurations=tuple(_configurations(specs, *_workers(lines))))


def _workers(lines: Sequence[str]) -> tuple[int, int | None]:
    """Return how many workers there are, and their outstanding I/Os if all have the same."""
    count = sum(line.strip() == "'Worker" for line in lines)
    depths = {
        behind.strip().split(",")[0]
        for line, behind in pairwise(lines)
        if re.match(r"'(?:Number|#) of outstanding IOs", line.strip())
    }
    depth = depths.pop() if len(depths) == 1 else ""
    return max(count, 1), whole_number(depth)


def _configurations(
    specs: _Specs, workers: int, depth: int | None
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, spec in specs.items():
        part = access_line(spec[0]) if len(spec) == 1 else None
        if part is None:
            # Several lines are a mix, which one line of DiskSpd's arguments cannot say.
            yield name, ()
            continue
        size = part["size"]
        arguments = [f"-b{size}", *access_arguments(name, part, size, Notes()), f"-t{workers}"]
        yield name, (*arguments, *([] if depth is None else [f"-o{depth}"]))
