"""What fio really does with a job: the offsets that it writes into its log."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from fathom.tools import FioJob, job_file, read_load, to_fio

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.tools import Note

__all__ = ["Io", "needs_fio", "run_jobs", "translated"]

needs_fio = pytest.mark.skipif(
    shutil.which("fio") is None, reason="fio is not installed (Debian: fio)"
)
KIB = 1 << 10
MIB = 1 << 20
FILE_BYTES = 4 * MIB


@dataclass(frozen=True)
class Io:
    """One I/O of fio's log."""

    kind: str
    offset: int
    length: int


def translated(arguments: str) -> tuple[list[FioJob], list[Note]]:
    """Return fio's jobs for DiskSpd arguments."""
    return to_fio(read_load(shlex.split(arguments)))


def run_jobs(jobs: list[FioJob], folder: Path) -> list[list[Io]]:
    """Run the job file with fio in a folder, and return the I/Os of each job in their order."""
    traced = [
        FioJob(job.name, {**job.options, "write_iolog": f"trace{number}"})
        for number, job in enumerate(jobs)
    ]
    # fio appends to a log that is there.
    for number in range(len(jobs)):
        (folder / f"trace{number}").unlink(missing_ok=True)
    path = folder / "exported.fio"
    path.write_text(job_file(traced))
    done = subprocess.run(
        [shutil.which("fio") or "fio", "--output=report.txt", path.name],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr + (folder / "report.txt").read_text()
    return [_trace(folder / f"trace{number}") for number in range(len(jobs))]


def _trace(path: Path) -> list[Io]:
    """Read fio's log of version 3: time, file, what, offset, length."""
    found = []
    for line in path.read_text().splitlines():
        words = line.rsplit(maxsplit=3)
        if len(words) == 4 and words[1] in ("read", "write", "sync", "datasync"):
            found.append(Io(words[1], int(words[2]), int(words[3])))
    return found
