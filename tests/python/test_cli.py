"""The command ``fathom``."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import fathom
import pytest
from commands import COMMAND, command
from fathom.cli.views.stop import stop_sentences
from support import interrupt_once_reading

FIXTURE = Path(__file__).parent / "fixtures/result.json"
RUN = ["-b4K", "-r", "-w30", "-o4", "-t2", "-d1", "-W0", "-L"]


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
    told = ("read", "write", "total", "  response")
    rows = [line.split() for line in paced.stdout.splitlines() if line.startswith(told)]
    names = [row[0] for row in rows]
    assert names == ["read", "response", "write", "response", "total", "response"]
    times = [[float(cell) for cell in row[-5:]] for row in rows]
    for service, response in zip(times[::2], times[1::2], strict=True):
        # An I/O is due no later than it is submitted, so no quantile of service time is greater.
        assert all(s <= r + 0.001 for s, r in zip(service, response, strict=True))


def test_it_prints_the_whole_result_as_json(tmp_path: Path) -> None:
    done = command("run", "--json", "-c4M", *RUN, str(tmp_path / "scratch.dat"))
    assert done.returncode == 0
    result = fathom.Result.from_json(done.stdout)
    assert result.total.ios > 0
    assert result.raw == json.loads(done.stdout)
    # Its number stands beside it, not in it.
    assert done.stderr.splitlines()[-1].startswith("Saved as run 1 in ")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["--stop-ios=5000"], ["when 5000 I/Os had completed."]),
        (["--stop-bytes=1M"], ["when 1048576 bytes had been transferred."]),
        (["--stop-steady=1000"], ["with its whole duration, before a stop rule was met."]),
        (
            ["--stop-steady=3:150:150", "--stop-interval=50", "--engine=null"],
            [
                "when the rate was steady by the SNIA's rule.",
                "The last 3 intervals of 50 ms had a mean of",
            ],
        ),
    ],
)
def test_it_says_what_ended_a_run_with_stop_rules(
    tmp_path: Path, rules: list[str], words: list[str]
) -> None:
    done = command("run", "--no-save", "-c4M", *RUN, *rules, str(tmp_path / "scratch.dat"))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    (first,) = [line for line in lines if line.startswith("The measured time ended at ")]
    assert first.endswith(words[0])
    for sentence in words[1:]:
        assert any(line.startswith(sentence) for line in lines)


def test_what_is_known_of_a_mean_is_told_as_diskspd_does() -> None:
    known = fathom.KnownMean(95.0, 1000.0, 990.0, 1010.0, 1.0, 2.0, 12.34, 3, 300_000_000)
    stop = fathom.Stop("confidence", 100_000_000, 43, None, known)
    span = replace(fathom.Result.from_json(FIXTURE.read_text()).time_spans[0], stop=stop)
    ended, sentence, cut, rare = stop_sentences(span)
    assert ended.endswith(" s, when the mean of the rate was known.")
    assert sentence == (
        "With 95 % confidence the mean is between 990.0 and 1010.0 IOPS, 1000.0 +- 1.00 % "
        "(requested: 2 %); 40 intervals of 100 ms were worth 12.3 independent ones."
    )
    assert "0.300 s" in cut
    assert rare.startswith("What happens less often than every ")
    assert stop_sentences(replace(span, stop=None)) == []


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
