"""No name of a target leads another tool to a file that nobody has checked."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom import InvalidRequestError
from fathom.tools import from_fio, job_file, read_job_file, read_load, to_fio
from fathom.tools.choose import foreign_runner
from fio_traces import needs_fio

if TYPE_CHECKING:
    from pathlib import Path

_THEIRS = b"Ada's thesis\n" * 2000
# Each name, and what fio makes of it where it stands in `filename` as it is.
_READ_OTHERWISE = {
    "thesis;new.dat": "thesis",
    "thesis#new.dat": "thesis",
    "thesis ; new.dat": "thesis",
    "thesis\t": "thesis",
    "thesis\x01": "thesis",
    "thesis ": "thesis",
    "a\\b": "a\\\\b",
    "a:b": "a",
    ";": "",
}


@needs_fio
@pytest.mark.parametrize("name", [*_READ_OTHERWISE, "a\\:b", "#1", "$jobname", "a=b,c", "-"])
def test_fio_writes_the_file_that_was_checked_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    other = tmp_path / _READ_OTHERWISE.get(name, "thesis")
    if other != tmp_path:
        other.write_bytes(_THEIRS)
    path = tmp_path / name
    fathom.run(["-c64K", "-w0", "-d1", "-W0", "--stop-ios=1", f"./{name}"])
    before = path.read_bytes()
    runner = foreign_runner("fio", None)
    assert runner is not None
    found = runner.run(["-w100", "-b4K", "-d1", "-W0", "-g100i", f"./{name}"])
    assert found.failure is None
    assert found.figures is not None
    assert found.figures.iops > 0
    assert path.read_bytes() != before
    assert other == tmp_path or other.read_bytes() == _THEIRS
    assert {one.name for one in tmp_path.iterdir()} <= {other.name, name}


@pytest.mark.parametrize("name", [one for one in _READ_OTHERWISE if one not in ("a:b", "a\\b")])
def test_a_job_file_names_no_file_that_fio_reads_otherwise(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="fio cannot be told"):
        to_fio(read_load(["-d1", f"/mnt/{name}"]))


@needs_fio
@pytest.mark.parametrize("name", ["a:b", "a\\b", "a\\:b", ":b", "a:", "é"])
def test_a_job_file_names_the_file_that_was_meant(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    jobs, notes = to_fio(read_load(["-c64K", "-w100", "-d1", "-W0", str(path)]))
    text = job_file(jobs, notes)
    (tmp_path / "job.fio").write_text(text, encoding="utf-8")
    again = read_job_file(text)
    assert again[0].options["filename"] == jobs[0].options["filename"]
    short = ["--runtime=1", "--size=64k", "--time_based=0"]
    subprocess.run(["fio", *short, "job.fio"], cwd=tmp_path, capture_output=True, check=False)  # noqa: S607
    assert {one.name for one in tmp_path.iterdir()} == {name, "job.fio"}


def test_what_fio_takes_for_a_comment_is_no_part_of_a_value() -> None:
    jobs = read_job_file("[job]\nrw=read # not write\nsize=1m;2m\nfilename=/mnt/x\n")
    assert jobs[0].options == {"rw": "read", "size": "1m", "filename": "/mnt/x"}


@pytest.mark.parametrize("filename", ["#3", ";", " # x"])
def test_a_name_that_is_a_comment_is_refused_as_fio_does(filename: str) -> None:
    with pytest.raises(InvalidRequestError, match="names no file"):
        from_fio(read_job_file(f"[one]\nrw=read\nfilename={filename}\n"))
