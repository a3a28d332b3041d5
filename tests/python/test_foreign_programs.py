"""Programs of others that hang, talk without end, die or answer nonsense: each ends in words."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commands import command
from fathom.errors import InvalidRequestError
from fathom.tools import _process
from fathom.tools._process import ToolRun, told_by
from fathom.tools.choose import foreign_runner
from fathom.tools.diskspd.run import DiskspdExe
from fathom.tools.diskspd.write import words_of
from fathom.tools.fio.run import Fio
from fathom.tools.load import read_load

if TYPE_CHECKING:
    from collections.abc import Callable

HANG = "sleep 600"
# What it started holds its output open.
HANG_WITH_A_CHILD = "sleep 600 & echo $! > child; wait"
LEFT_A_CHILD = "sleep 600 & echo $! > child; echo fio-3.33"
NAMES = ("fio", "diskspd.exe")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Return what makes a program of a name and a script."""
    monkeypatch.setattr(_process, "_TELLING_S", 0.5)
    monkeypatch.chdir(tmp_path)

    def make(name: str, script: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def is_gone(pid: int) -> bool:
    """Whether a process has ended, at the latest within a second."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("script", [HANG, HANG_WITH_A_CHILD])
def test_a_version_that_hangs_ends_with_words_after_a_limit(
    name: str, script: str, program: Callable[[str, str], str], tmp_path: Path
) -> None:
    path = program(name, script)
    began_s = time.monotonic()
    with pytest.raises(InvalidRequestError, match=r"has not ended within 0\.5 s"):
        foreign_runner(path, None)
    assert time.monotonic() - began_s < 30
    if "child" in script:
        assert is_gone(int((tmp_path / "child").read_text()))


def test_what_a_program_leaves_behind_holds_nobody_up_and_ends(
    program: Callable[[str, str], str], tmp_path: Path
) -> None:
    found = foreign_runner(program("fio", LEFT_A_CHILD), None)
    assert found is not None
    assert found.name == "fio 3.33"
    assert is_gone(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", "stop talking|within"),
        ("kill -SEGV $$", "signal SIGSEGV"),
        ("exit 0", "is not fio 3|it is no runner"),
        ("printf 'fio-2.1\\033[2J\\377\\n'", "is not fio 3|it is no runner"),
    ],
    ids=["endless", "signal", "silent", "garbage"],
)
def test_a_version_that_is_none_is_told_in_words(
    name: str, script: str, words: str, program: Callable[[str, str], str]
) -> None:
    with pytest.raises(InvalidRequestError, match=words) as told:
        foreign_runner(program(name, script), None)
    assert "\x1b" not in str(told.value)


def test_a_file_that_is_no_program_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "fio"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    with pytest.raises(InvalidRequestError, match="cannot be started"):
        foreign_runner(str(path), None)
    done = command("run", "--runner", path, "-c1M", "-d1", tmp_path / "x.dat")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)


def test_all_that_a_program_says_is_read(program: Callable[[str, str], str]) -> None:
    path = program(
        "talker", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo >&2 e"
    )
    output, errors = told_by(path, "-?")
    assert output.splitlines()[-1] == "line 2999"
    assert errors == "e\n"


DIRECTION: dict[str, Any] = {
    "total_ios": 10, "io_bytes": 40960, "short_ios": 0, "runtime": 1000,
    "lat_ns": {"min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "bins": {"5": 10}},
}  # fmt: skip
JOB: dict[str, Any] = {
    "error": 0, "usr_cpu": 1.0, "sys_cpu": 1.0, "job_runtime": 1000,
    "job options": {"ioengine": "sync"}, "read": DIRECTION, "write": DIRECTION,
}  # fmt: skip


def fio_told(folder: Path, report: str) -> str | None:
    """Return the failure that the runner takes from a report."""
    (folder / "report.json").write_text(report)
    load = read_load(["-d1", "-W0", "-L", "-w50", str(folder / "x.dat")])
    return Fio("fio", "3.33").measured(load, folder, ToolRun(0, "")).failure


def test_a_whole_report_of_fio_is_read(tmp_path: Path) -> None:
    assert fio_told(tmp_path, json.dumps({"jobs": [JOB]})) is None


@pytest.mark.parametrize("part", [*JOB, *(f"read.{one}" for one in DIRECTION if one != "lat_ns")])
@pytest.mark.parametrize("value", ["missing", None, [], {"a": []}, -1, 1e300, "x", True])
def test_a_report_of_fio_without_a_part_is_told_in_words(
    part: str, value: object, tmp_path: Path
) -> None:
    job = json.loads(json.dumps(JOB))
    *above, last = part.split(".")
    place = job[above[0]] if above else job
    if value == "missing":
        del place[last]
    else:
        place[last] = value
    failure = fio_told(tmp_path, json.dumps({"jobs": [job]}))
    if value == "missing" and part in ("error", "job options"):
        assert failure is None
    else:
        assert failure is not None
        assert failure.startswith("fio's report cannot be read: jobs[0]")


@pytest.mark.parametrize(
    "latencies",
    [[], {"bins": []}, {"bins": {"x": 1}}, {"bins": {"-1": 1}}, {"bins": {"1": 0.5}}, {"min": "a"}],
)
def test_latencies_of_fio_that_are_none_are_told_in_words(
    latencies: object, tmp_path: Path
) -> None:
    job = {**JOB, "read": {**DIRECTION, "lat_ns": latencies}}
    failure = fio_told(tmp_path, json.dumps({"jobs": [job]}))
    assert failure is not None
    assert "its 'read'" in failure


@pytest.mark.parametrize(
    "report", ["", "{", "[1]", "{}", '{"jobs": 1}', "{" * 100_000, '{"jobs":{}}']
)
def test_what_is_no_report_of_fio_is_told_in_words(report: str, tmp_path: Path) -> None:
    assert "fio" in (fio_told(tmp_path, report) or "")


def test_a_damaged_log_of_fio_makes_no_mean(tmp_path: Path) -> None:
    rows = "".join(f"{at}, 100, 0, 0, 0\n" for at in range(100, 1100, 100))
    (tmp_path / "report.json").write_text(json.dumps({"jobs": [JOB]}))
    load = read_load(["-d1", "-W0", "-L", "-w50", str(tmp_path / "x.dat")])
    log = tmp_path / "intervals_iops.1.log"
    stops = []
    for text in (rows, f"{rows}half of a li", f"{rows}\udcff,,\n"):
        log.write_bytes(os.fsencode(text))
        stops.append(Fio("fio", "3.33").measured(load, tmp_path, ToolRun(0, "")).stop)
    assert stops[0] is not None
    assert stops[1:] == [None, None]


@pytest.mark.parametrize(
    "result",
    [
        "",
        "<Results/>",
        "<Results><TimeSpan><TestTimeSeconds>x</TestTimeSeconds></TimeSpan></Results>",
        "<Results><TimeSpan><TestTimeSeconds>inf</TestTimeSeconds></TimeSpan></Results>",
        (
            "<Results><TimeSpan><TestTimeSeconds>1</TestTimeSeconds><Thread><Target><ReadCount>many"
            "</ReadCount></Target></Thread></TimeSpan></Results>"
        ),
    ],
)
def test_a_damaged_result_of_diskspd_is_told_in_words(result: str, tmp_path: Path) -> None:
    (tmp_path / "stdout").write_text(result)
    load = read_load(["-d1", "-W0", "-L", str(tmp_path / "x.dat")])
    found = DiskspdExe("diskspd.exe", "2.2").measured(load, tmp_path, ToolRun(0, ""))
    assert (found.failure or "").startswith("DiskSpd left no result")


def test_dashes_before_a_name_were_taken_for_an_option_of_ours(tmp_path: Path) -> None:
    """Requests of experiments have them, so that a name stands for itself."""
    load = read_load(words_of(read_load(["-b4K", "-d1", f"{tmp_path}/x"]).request))
    command = DiskspdExe("diskspd.exe", "2.2").command(load, tmp_path)
    assert "--" not in command
    assert command[-2:] == ["-Rxml", f"{tmp_path}/x"]
    named = read_load(["-b4K", "--", "--rate=5"])
    assert DiskspdExe("diskspd.exe", "2.2").command(named, tmp_path)[-1].endswith("/--rate=5")
    with pytest.raises(InvalidRequestError, match="no --rate=5"):
        DiskspdExe("diskspd.exe", "2.2").command(read_load(["--rate=5", "x"]), tmp_path)
