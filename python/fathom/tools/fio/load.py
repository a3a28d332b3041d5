"""From fio's jobs to DiskSpd's arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.tools._arguments import target_argument
from fathom.tools._units import fio_number
from fathom.tools.fio._load_access import access_arguments
from fathom.tools.fio._load_rest import engine_arguments, rest_notes, time_arguments
from fathom.tools.fio.names import files_of
from fathom.tools.notes import Note, Notes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.tools.fio.job_file import FioJob

__all__ = ["FioLoads", "from_fio"]


@dataclass(frozen=True)
class FioLoads:
    """What fio's jobs ask for.

    Attributes
    ----------
    command_lines
        DiskSpd's arguments, one list for what runs at one time; the lists run one after the other.
    notes
        What DiskSpd cannot say.

    """

    command_lines: list[list[str]]
    notes: list[Note]


@dataclass(frozen=True)
class _Job:
    name: str
    arguments: list[str]
    targets: list[str]
    waits: bool


def from_fio(jobs: Sequence[FioJob]) -> FioLoads:
    """Return DiskSpd's arguments for fio's jobs; jobs of one load become one command line.

    Raises
    ------
    InvalidRequestError
        If a job has no file or pattern that DiskSpd knows; the message names the job.

    """
    notes = Notes()
    read = [_read(job, notes) for job in jobs]
    lines: list[list[str]] = []
    for group in _groups(read):
        first = group[0]
        same = [job for job in group if job.arguments == first.arguments]
        lines.append([*first.arguments, *(path for job in same for path in job.targets)])
        for other in group:
            if other.arguments == first.arguments:
                continue
            notes.load(
                other.name,
                f"runs at the same time as {first.name} with another load, which one command line "
                "cannot say; it has a line of its own",
            )
            lines.append([*other.arguments, *other.targets])
    return FioLoads(lines, notes.found)


def _groups(jobs: Sequence[_Job]) -> list[list[_Job]]:
    groups: list[list[_Job]] = []
    for job in jobs:
        if job.waits or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups


def _read(job: FioJob, notes: Notes) -> _Job:
    options = {name: value.strip("'\"") for name, value in job.options.items()}
    waits = options.pop("stonewall", None) is not None
    threads = fio_number("numjobs", options.get("numjobs", "1"))
    try:
        targets = _targets(job.name, options, notes)
        access = access_arguments(options, notes)
        writes = any(one.startswith("-w") for one in access)
        arguments = [
            *access,
            *engine_arguments(options, notes, writes=writes),
            *time_arguments(options, threads, notes),
        ]
    except InvalidRequestError as error:
        raise InvalidRequestError(f"job {job.name}: {error}") from error
    rest_notes(options, notes)
    return _Job(job.name, arguments, targets, waits)


def _targets(name: str, options: dict[str, str], notes: Notes) -> list[str]:
    """Return the files; without ``filename`` fio makes names from the job's (fio(1), directory)."""
    folder = options.pop("directory", "")
    given = options.pop("filename", None)
    if given == "":
        raise InvalidRequestError("filename names no file; behind ';' and '#' fio reads a comment")
    if given:
        paths = files_of(given)
    else:
        paths = [f"{name}.0.0"]
        if options.get("numjobs", "1") != "1":
            notes.load("filename", "fio makes a file for each thread; DiskSpd's threads share one")
    if len(paths) > 1:
        notes.load("filename", "a fio job spreads its iodepth over its files; DiskSpd's -o is for "
                   "each file")  # fmt: skip
    return [target_argument(f"{folder}/{path}" if folder else path) for path in paths]
