"""The command ``fathom``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import fathom
import pytest
from support import interrupt_once_reading

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-c", "from fathom.cli import main; main()"]
RUN = ["-b4K", "-r", "-w30", "-o4", "-t2", "-d1", "-W0", "-L"]


def command(*args: str) -> subprocess.CompletedProcess[str]:
    """Run ``fathom``."""
    return subprocess.run([*COMMAND, *args], capture_output=True, text=True, check=False)


def test_it_shows_a_table_and_the_warnings(tmp_path: Path) -> None:
    done = command("run", "-c4M", *RUN, str(tmp_path / "scratch.dat"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "IOPS" in done.stdout
    # A file that was just written is read from the page cache.
    assert "Warning: " in done.stdout
    assert "-Su" in done.stdout


def test_a_paced_load_shows_response_time_beside_service_time(tmp_path: Path) -> None:
    target = str(tmp_path / "scratch.dat")
    unpaced = command("run", "-c4M", *RUN, target)
    paced = command("run", "-c4M", *RUN, "-g100i", target)
    assert (unpaced.returncode, paced.returncode) == (0, 0)
    assert "response" not in unpaced.stdout
    rows = [line.split("│") for line in paced.stdout.splitlines() if line.startswith("│")]
    names = [row[1].strip() for row in rows]
    assert names == ["read", "response", "write", "response", "total", "response"]
    times = [[float(cell) for cell in row[4:9]] for row in rows]
    for service, response in zip(times[::2], times[1::2], strict=True):
        # An I/O is due no later than it is submitted, so no quantile of service time is greater.
        assert all(s <= r + 0.001 for s, r in zip(service, response, strict=True))


def test_it_prints_the_whole_result_as_json(tmp_path: Path) -> None:
    done = command("run", "--json", "-c4M", *RUN, str(tmp_path / "scratch.dat"))
    assert done.returncode == 0
    result = fathom.Result.from_json(done.stdout)
    assert result.total.ios > 0
    assert result.raw == json.loads(done.stdout)


def test_names_of_files_are_no_markup(tmp_path: Path) -> None:
    folder = tmp_path / "[" / "bold]"
    folder.mkdir(parents=True)
    target = str(folder / "[red]scratch.dat")
    done = command("run", "-c4M", *RUN, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Warning: {target}: " in done.stdout


def test_it_tells_its_version() -> None:
    done = command("--version")
    assert (done.returncode, done.stdout) == (0, f"fathom {fathom.__version__}\n")


@pytest.mark.parametrize(
    "args",
    [[], ["fly"], ["--nonsense"], ["run"], ["run", "-w101", "x.dat"], ["run", "--json=x", "x.dat"]],
)
def test_wrong_arguments_have_the_exit_code_3(args: list[str]) -> None:
    done = command(*args)
    assert done.returncode == 3
    assert done.stdout if not args else done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_refusal_has_the_exit_code_2(tmp_path: Path) -> None:
    document = tmp_path / "letter.txt"
    document.write_text("Dear reader, these are my only notes.\n" * 400)
    done = command("run", "-c1M", *RUN, str(document))
    assert done.returncode == 2
    assert "letter.txt" in done.stderr


def test_a_failure_has_the_exit_code_1(tmp_path: Path) -> None:
    done = command("run", *RUN, str(tmp_path / "missing.dat"))
    assert done.returncode == 1
    assert "missing.dat" in done.stderr


def test_a_doubtful_request_is_told_as_a_sentence(tmp_path: Path) -> None:
    done = command("run", "-c1M", "-d1", "-W0", "-t2", str(tmp_path / "scratch.dat"))
    assert done.returncode == 0
    assert [line[:9] for line in done.stderr.splitlines()] == ["warning: "]


def test_an_interruption_shows_the_partial_result(tmp_path: Path) -> None:
    args = ["-c1M", "-b4K", "-r", "-o1", "-d600", "-W0", "-L", str(tmp_path / "scratch.dat")]
    process = subprocess.Popen(
        [*COMMAND, "run", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    interrupt_once_reading(process.pid)
    stdout, stderr = process.communicate()
    assert process.returncode == 130
    assert "IOPS" in stdout
    assert "interrupted" in stderr
