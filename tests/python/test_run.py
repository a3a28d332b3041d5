"""Runs through the Python face, on real files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import fathom
import pytest
from fathom.cli import app
from typer.testing import CliRunner

if TYPE_CHECKING:
    from pathlib import Path

RUN = "-b4K -r -w30 -o4 -t2 -d1 -W0 -L -D250"


def test_a_run_returns_numbers_that_add_up(tmp_path: Path) -> None:
    result = fathom.run(f"-c16M {RUN} {tmp_path / 'scratch.dat'}")
    total = result.total
    assert total.ios == result.read.ios + result.write.ios > 0
    assert total.bytes == total.ios * 4096
    assert total.latency is not None
    assert total.latency.count == total.ios
    assert total.latency.min_ns <= total.latency.quantile_ns(0.5) <= total.latency.max_ns
    assert total.iops == pytest.approx(total.ios * 1e9 / result.time_spans[0].measured_ns)
    assert result.time_spans[0].complete


def test_parse_touches_nothing() -> None:
    profile = fathom.parse("-b8K -r /nowhere/at/all.dat")
    target = profile["time_spans"][0]["targets"][0]
    assert (target["block_bytes"], target["access"]["random_percent"]) == (8192, 100)


def test_wrong_arguments_say_what_is_wrong() -> None:
    with pytest.raises(fathom.InvalidRequestError, match="-w101"):
        fathom.run(["-w101", "x.dat"])


def test_a_missing_file_fails_with_its_name(tmp_path: Path) -> None:
    missing = tmp_path / "missing.dat"
    with pytest.raises(fathom.RunFailedError, match=r"missing\.dat") as caught:
        fathom.run(["-d1", "-W0", str(missing)])
    assert not caught.value.result.time_spans[0].complete
    assert not missing.exists()


def test_somebodys_document_is_refused_and_unchanged(tmp_path: Path) -> None:
    document = tmp_path / "letter.txt"
    document.write_text("Dear reader, these are my only notes.\n" * 400)
    before = hashlib.sha256(document.read_bytes()).digest()
    with pytest.raises(fathom.RefusedError, match=r"letter\.txt"):
        fathom.run(f"-c1M -w100 -d1 -W0 {document}")
    assert hashlib.sha256(document.read_bytes()).digest() == before


def test_the_command_runs_and_shows_a_table(tmp_path: Path) -> None:
    target = str(tmp_path / "scratch.dat")
    outcome = CliRunner().invoke(app, ["run", "-c4M", *RUN.split(), target])
    assert outcome.exit_code == 0, outcome.output
    assert "IOPS" in outcome.output


def test_the_command_tells_its_version() -> None:
    outcome = CliRunner().invoke(app, ["--version"])
    assert (outcome.exit_code, outcome.output) == (0, f"fathom {fathom.__version__}\n")


def test_the_command_refuses_wrong_arguments_with_code_3() -> None:
    outcome = CliRunner().invoke(app, ["run", "-w101", "x.dat"])
    assert outcome.exit_code == 3
