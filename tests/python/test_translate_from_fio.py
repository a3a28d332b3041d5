"""A fio job becomes the load that fio itself makes of it, or a note says that it does not."""

from __future__ import annotations

from pathlib import Path

import fathom
import pytest
from fathom.tools import Note, from_fio, read_job_file
from fathom.tools.fio.read import fio_results
from fio_traces import FILE_BYTES, Io, needs_fio, run_jobs


def ours(text: str) -> tuple[list[list[str]], list[Note]]:
    """Return DiskSpd's command lines for a job file, and the notes that say another load."""
    found = from_fio(read_job_file(text))
    for line in found.command_lines:
        fathom.parse(line)
    return found.command_lines, [note for note in found.notes if note.changes_load]


def fios(text: str, folder: Path) -> list[list[Io]]:
    """Return what fio does with a job file, job by job, on files of 4 MiB."""
    for name in ("a", "b"):
        (folder / name).write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    return run_jobs(read_job_file(text), folder)


MIX_TWICE = """\
[global]
rw=randrw
norandommap
rwmixwrite=30
direct=1
time_based
runtime=1
filename=a
[one]
rwmixread=90
buffered=1
invalidate=0
"""


def test_a_job_that_says_the_share_by_its_other_name_does_not_keep_that_of_global() -> None:
    ((line,), notes) = ours(MIX_TWICE)
    assert "-w10" in line
    assert not [one for one in line if one.startswith("-S")]
    assert not notes
    # Of the two, the later one holds, whichever it is.
    ((line,), _) = ours(MIX_TWICE.replace("rwmixwrite=30", "rwmixread=30\nbuffered=1"))
    assert "-w10" in line
    ((line,), _) = ours(MIX_TWICE.replace("rwmixread=90", "group_reporting"))
    assert "-w30" in line


@needs_fio
def test_fio_lets_the_later_of_two_opposite_options_hold(tmp_path: Path) -> None:
    text = MIX_TWICE.replace("time_based\n", "") + "io_size=4m\n"
    (ios,) = fios(text, tmp_path)
    writes = sum(one.kind == "write" for one in ios) / len(ios)
    # Five standard deviations of a share of 1024 I/Os.
    assert writes == pytest.approx(0.1, abs=0.05)


def test_a_result_has_the_share_that_its_job_set_over_that_of_global() -> None:
    job = {"jobname": "one", "job options": {"rw": "randrw", "rwmixread": "90"}}
    document = {
        "fio version": "fio-3.33",
        "global options": {"rwmixwrite": "30"},
        "jobs": [{**job, "read": {"total_ios": 9}, "write": {"total_ios": 1}}],
    }
    (result,) = fio_results(document)
    assert result.load.write_percent == 10
