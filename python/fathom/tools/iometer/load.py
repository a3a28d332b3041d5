"""From Iometer's configurations (``.icf``) to DiskSpd's arguments.

The form is that of Iometer's ``AccessSpecList.cpp``, ``Manager.cpp`` and ``PageSetup.cpp``
(https://sourceforge.net/projects/iometer/): a line that begins with an apostrophe names what stands
in the next one. Each access specification is a load of its own, as Iometer runs them in turn.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from fathom._numbers import whole_number
from fathom.errors import InvalidRequestError
from fathom.tools._arguments import target_argument
from fathom.tools.notes import Note, Notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "IometerLoads",
    "access_arguments",
    "access_line",
    "from_iometer",
    "looks_like_icf",
]

_SECTOR_BYTES = 512
_ALL = 100
_CELLS = 8
_NO_TARGET = "iobw.tst"
_DRIVE = re.compile(r"([A-Za-z]):.*")
_PHYSICAL = re.compile(r"PHYSICALDRIVE:? ?(\d+).*", re.IGNORECASE)
_NAMES = ("size", "share", "reads", "random", "delay", "burst", "align", "reply")


@dataclass(frozen=True)
class IometerLoads:
    """What a configuration asks for: DiskSpd's arguments, a list for each load, its notes."""

    command_lines: list[list[str]]
    notes: list[Note]


@dataclass
class _Worker:
    outstanding: int = 1
    sectors: int = 0
    first_sector: int = 0
    specifications: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


_Line = dict[str, int]


def looks_like_icf(text: str) -> bool:
    """Whether a text is a configuration of Iometer."""
    return "'ACCESS SPECIFICATIONS ===" in text


def from_iometer(text: str) -> IometerLoads:
    """Return DiskSpd's arguments for a configuration.

    Raises
    ------
    InvalidRequestError
        If it has no access specification that is whole.

    """
    lines = [line.strip() for line in text.splitlines()]
    specifications = _specifications(lines)
    if not specifications:
        raise InvalidRequestError(
            "this configuration of Iometer has no whole access specification: save it once more"
        )
    workers = [*_workers(lines)] or [_Worker()]
    notes = Notes()
    _setup_notes(lines, notes)
    asked = [name for worker in workers for name in worker.specifications]
    found = []
    for name, parts in specifications.items():
        if asked and name not in asked:
            notes.remark(name, "is assigned to no worker, and left out")
            continue
        own = [one for one in workers if not asked or name in one.specifications]
        common = _common(own, lines, notes)
        found += [[*access, *common] for access in _access(name, parts, notes)]
    if not found:
        raise InvalidRequestError("no access specification of this configuration is assigned")
    return IometerLoads(found, notes.found)


def access_line(cells: Sequence[str]) -> _Line | None:
    """Return the figures of a line of an access specification; None if it is not whole."""
    figures = [number for cell in cells if (number := whole_number(cell)) is not None]
    if not len(cells) == len(figures) == _CELLS:
        return None
    return dict(zip(_NAMES, figures, strict=True))


def _specifications(lines: Sequence[str]) -> dict[str, list[_Line]]:
    """Return the whole lines of each access specification, by its name."""
    found: dict[str, list[_Line]] = {}
    name, is_open = "", False
    for line, behind in pairwise([*lines, ""]):
        if line.startswith("'Access specification name"):
            name = behind.rpartition(",")[0]
        is_open = line.startswith("'size,") or (is_open and not line.startswith("'"))
        if is_open and (figures := access_line(line.split(","))) is not None:
            found.setdefault(name, []).append(figures)
    return {name: parts for name, parts in found.items() if all(one["size"] for one in parts)}


def _workers(lines: Sequence[str]) -> Iterator[_Worker]:
    """Return the workers that have disks."""
    worker: _Worker | None = None
    is_list = False
    for line, behind in pairwise([*lines, ""]):
        if line == "'Worker":
            worker = _Worker()
        elif worker is None:
            continue
        elif line == "'End worker":
            yield worker
            worker = None
        elif line == "'Worker type" and behind != "DISK":
            worker = None
        elif line in {"'Assigned access specs", "'End assigned access specs"}:
            is_list = line == "'Assigned access specs"
        elif is_list and not line.startswith("'"):
            worker.specifications.append(line)
        else:
            _setting(worker, line, behind)


def _setting(worker: _Worker, line: str, behind: str) -> None:
    numbers = [whole_number(one) or 0 for one in behind.split(",")]
    if re.match(r"'(?:Number|#) of outstanding IOs", line):
        worker.outstanding = numbers[0] or 1
    elif line.startswith("'Disk maximum size,starting sector"):
        worker.sectors, worker.first_sector = (*numbers, 0)[:2]
    elif line == "'Target":
        worker.targets.append(behind)


def _common(workers: Sequence[_Worker], lines: Sequence[str], notes: Notes) -> list[str]:
    """Return the arguments that the access specification does not decide."""
    first = workers[0]
    if any(one.outstanding != first.outstanding for one in workers):
        notes.load("# of Outstanding I/Os", "differs between workers; that of the first is taken")
    if any(
        (one.sectors, one.first_sector) != (first.sectors, first.first_sector) for one in workers
    ):
        notes.load("Starting Disk Sector", "differs between workers; that of the first is taken")
    per_target = Counter(target for one in workers for target in one.targets)
    threads = max(per_target.values(), default=len(workers))
    if len(set(per_target.values())) > 1:
        notes.load("Workers", f"not as many at each target; each has {threads}")
    arguments = [f"-t{threads}", f"-o{first.outstanding}", "-Su", "-L", *_times(lines, notes)]
    if first.first_sector:
        arguments.append(f"-B{first.first_sector * _SECTOR_BYTES}")
    if first.sectors:
        arguments.append(f"-f{(first.first_sector + first.sectors) * _SECTOR_BYTES}")
    return [*arguments, *_targets(per_target, notes)]


def _targets(names: Counter[str], notes: Notes) -> Iterator[str]:
    if not names:
        notes.remark("Disk Targets", f"none is assigned; {_NO_TARGET} stands for them")
        yield _NO_TARGET
    for name in names:
        if match := _PHYSICAL.fullmatch(name):
            yield f"#{match[1]}"
        elif match := _DRIVE.fullmatch(name):
            # On a drive with a file system Iometer makes and uses this file.
            yield f"{match[1]}:\\{_NO_TARGET}"
        else:
            notes.remark("Disk Targets", f"{name!r} is taken for a path; put the right one there")
            yield target_argument(name.split(" [")[0])


def _times(lines: Sequence[str], notes: Notes) -> list[str]:
    arguments = []
    for line, behind, further in zip(lines, lines[1:], lines[2:], strict=False):
        numbers = [number for one in further.split() if (number := whole_number(one)) is not None]
        if line == "'Run Time" and len(numbers) == 3:  # noqa: PLR2004 - Hours, minutes, seconds.
            seconds = (numbers[0] * 60 + numbers[1]) * 60 + numbers[2]
            if seconds:
                arguments.append(f"-d{seconds}")
            else:
                notes.remark("Run Time", "is without end; DiskSpd's default is 10 s")
        elif line.startswith("'Ramp Up Time") and whole_number(behind) is not None:
            arguments.append(f"-W{behind}")
    return arguments


def _setup_notes(lines: Sequence[str], notes: Notes) -> None:
    for line, behind in pairwise(lines):
        if line == "'Test Type" and behind != "NORMAL":
            words = "is not NORMAL: workers, targets or outstanding I/Os change from run to run"
            notes.load("Test Type", f"{words}; fathom sweep does that")


def _access(name: str, parts: Sequence[_Line], notes: Notes) -> Iterator[list[str]]:
    """Return the arguments of an access specification, mostly one list."""
    first = parts[0]
    same = all(
        [one[key] for key in _NAMES[2:]] == [first[key] for key in _NAMES[2:]] for one in parts
    )
    if any(one["reply"] for one in parts):
        notes.load(name, "has replies, which only network workers send")
    if len(parts) == 1 or not same:
        if len(parts) > 1:
            notes.load(
                name,
                f"mixes {len(parts)} lines that differ in more than their sizes, which one load "
                "cannot say; each has a line of its own",
            )
        for part in parts:
            yield [f"-b{part['size']}", *access_arguments(name, part, part["size"], notes)]
        return
    shares: Counter[int] = Counter()
    for part in parts:
        shares[part["size"]] += part["share"]
    mix = ",".join(f"{size}:{share}" for size, share in shares.items())
    biggest = max(shares)
    yield [f"-b{biggest}", f"--block-mix={mix}", *access_arguments(name, first, biggest, notes)]


def access_arguments(name: str, part: _Line, size: int, notes: Notes) -> Iterator[str]:
    """Return what a line of an access specification says beside the sizes."""
    yield f"-w{_ALL - part['reads']}"
    # 0 aligns at sectors; the size itself at multiples of it, which is DiskSpd's own rule.
    align = part["align"] or _SECTOR_BYTES
    if part["random"]:
        yield "-r" if align == size else f"-r{align}"
        if part["random"] < _ALL:
            yield f"-rs{part['random']}"
    elif size % align:
        notes.load(
            name, f"goes in order, aligned at {align} bytes; here there is no gap between I/Os"
        )
    if part["delay"]:
        yield f"-i{part['burst'] or 1}"
        yield f"-j{part['delay']}"
