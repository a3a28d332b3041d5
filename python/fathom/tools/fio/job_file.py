"""fio's job files and command lines, as sections of options (fio(1), "Job file format")."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.tools.fio.names import is_global, without_comment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.notes import Note

__all__ = ["FioJob", "job_file", "read_fio_arguments", "read_job_file", "with_options"]

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SECTION = re.compile(r"\[(.+)\]")
# Options that take a value have it behind = or in the next argument; these stand alone.
_FLAGS = (
    "thread",
    "group_reporting",
    "time_based",
    "stonewall",
    "new_group",
    "norandommap",
    "exitall",
    "zero_buffers",
    "refill_buffers",
    "minimal",
    "create_only",
    "do_verify",
    "randrepeat",
    "overwrite",
    "invalidate",
    "gtod_reduce",
    "exit_all_on_error",
    "debug",
    "help",
    "version",
    "append-terse",
    "numa",
)
# What belongs to the report of a command line, not to the load.
_OF_THE_COMMAND = (
    "output",
    "output-format",
    "eta",
    "eta-newline",
    "eta-interval",
    "status-interval",
    "bandwidth-log",
    "minimal",
    "append-terse",
    "section",
    "alloc-size",
    "warnings-fatal",
    "max-jobs",
    "readonly",
    "aux-path",
    "trigger-file",
)
_ALIASES = {
    "blocksize": "bs",
    "bssize": "bs",
    "rwmix": "rwmixread",
    "readwrite": "rw",
    "blockalign": "ba",
    "blocksize_range": "bsrange",
    "iomem": "mem",
    "file_size": "filesize",
    "io_limit": "io_size",
    "wait_for_previous": "stonewall",
    "timeout": "runtime",
    "buffer_size": "bs",
    "iodepth_batch": "iodepth_batch_submit",
}
# Each says the opposite of the other in the same words: the later one holds (fio(1)).
_OPPOSITES = {
    "rwmixread": "rwmixwrite",
    "rwmixwrite": "rwmixread",
    "direct": "buffered",
    "buffered": "direct",
}


@dataclass(frozen=True)
class FioJob:
    """One section of a job file; an option without a value has the value ``""``."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)


def job_file(jobs: Sequence[FioJob], notes: Sequence[Note] = ()) -> str:
    """Return a job file; what all jobs share stands in ``[global]``, and notes are comments."""
    lines = [f"# {note}" for note in notes]
    shared = _shared(jobs)
    sections = [("global", shared)] if shared else []
    for job in jobs:
        own = {key: value for key, value in job.options.items() if key not in shared}
        sections.append((job.name, own))
    for name, options in sections:
        lines += ["", f"[{name}]"]
        lines += [f"{key}={value}" if value else key for key, value in options.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def with_options(earlier: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    """Return the options that hold where some follow others; of two opposites, the later one."""
    found = dict(earlier)
    for name, value in later.items():
        _add(found, name, value)
    return found


def _add(options: dict[str, str], name: str, value: str) -> None:
    options.pop(_OPPOSITES.get(name, ""), None)
    options[name] = value


def _shared(jobs: Sequence[FioJob]) -> dict[str, str]:
    if len(jobs) == 1:
        return {}
    first = jobs[0].options
    # `stonewall` in [global] would hold for each job, which is not what it says of all of them.
    return {
        key: value
        for key, value in first.items()
        if key != "stonewall" and all(job.options.get(key) == value for job in jobs)
    }


def read_job_file(text: str) -> list[FioJob]:
    """Read a job file; each job has the options of the ``[global]`` sections before it.

    Raises
    ------
    InvalidRequestError
        If a line is no option of a section, if it names a variable that the environment has not,
        or if there is no job; line or variable is named.

    """
    shared: dict[str, str] = {}
    jobs: list[tuple[str, dict[str, str]]] = []
    current: dict[str, str] | None = None
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        section = _SECTION.fullmatch(line)
        if section and is_global(section[1]):
            current = shared
        elif section:
            current = dict(shared)
            jobs.append((section[1], current))
        elif current is None or line.startswith("["):
            raise InvalidRequestError(f"line {number} of the job file: {line!r} is in no section")
        else:
            _add(current, *_option(_VARIABLE.sub(_of_environment, line)))
    return _jobs(jobs)


def read_fio_arguments(arguments: Sequence[str]) -> list[FioJob]:
    """Read fio's command line, without the program's name.

    ``--name`` begins a job, and ``--name=global`` what holds for all jobs behind it.

    Raises
    ------
    InvalidRequestError
        If an argument is no option, or if there is no job.

    """
    shared: dict[str, str] = {}
    jobs: list[tuple[str, dict[str, str]]] = []
    current = shared
    rest = list(arguments)
    while rest:
        one = rest.pop(0)
        if not one.startswith("-"):
            raise InvalidRequestError(
                f"{one}: not an option of fio; give a job file alone, or options such as --rw=read"
            )
        name, value = _option(one.lstrip("-"))
        if "=" not in one and name not in _FLAGS and rest and not rest[0].startswith("--"):
            value = rest.pop(0)
        if name == "name" and is_global(value):
            current = shared
        elif name == "name":
            current = dict(shared)
            jobs.append((value, current))
        elif name not in _OF_THE_COMMAND:
            _add(current, name, value)
    return _jobs(jobs or ([("job", shared)] if shared else []))


def _of_environment(variable: re.Match[str]) -> str:
    """Return what fio puts there (fio(1), "Environment variables")."""
    value = os.environ.get(variable[1])
    if value is None:
        raise InvalidRequestError(
            f"{variable[0]} is no variable of this environment, and fio puts its value there: "
            f"set it, as in {variable[1]}=... fathom translate job.fio"
        )
    return value


def _jobs(found: Sequence[tuple[str, Mapping[str, str]]]) -> list[FioJob]:
    if not found:
        raise InvalidRequestError("there is no job: a job file has a section such as [job1]")
    return [FioJob(name, options) for name, options in found]


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    name = name.strip()
    return _ALIASES.get(name, name), without_comment(value.strip())
