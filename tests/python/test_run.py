"""Runs through the Python face, on real files."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING

import fathom
import pytest
from support import interrupt_once_reading

if TYPE_CHECKING:
    from pathlib import Path

RUN = "-b4K -r -w30 -o4 -t2 -d1 -W0 -L -D250"


def test_a_run_returns_numbers_that_add_up(tmp_path: Path) -> None:
    result = fathom.run(f"-c16M {RUN} {tmp_path / 'scratch.dat'}")
    total = result.total
    assert total.ios == result.read.ios + result.write.ios > 0
    assert total.bytes == total.ios * 4096
    assert total.latency is not None
    # What was in flight at the end for longer than usual counts with its age.
    assert total.latency.count - total.ios in range(1 + 4 * 2)
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


def test_wrong_data_are_an_error_that_carries_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = fathom.run("--verify -c1M -b4K -w100 -o4 -d1 -W0 t.dat")
    assert good.faulty_blocks == 0
    contents = bytearray((tmp_path / "t.dat").read_bytes())
    contents[5000] ^= 1
    (tmp_path / "t.dat").write_bytes(contents)
    with pytest.raises(fathom.DataFaultError, match="faulty") as caught:
        fathom.run("--verify -b4K -o4 -d1 -W0 t.dat")
    result = caught.value.result
    fault = result.raw["verification"]["first_faults"][0]
    assert (fault["kind"], fault["offset_bytes"]) == ("corrupt", 4096)
    assert result.faulty_blocks == result.raw["verification"]["targets"][0]["corrupt_blocks"] > 0
    assert fathom.run("--verify -b4K -o4 -d1 -W0 t.dat", check=False).faulty_blocks > 0


def test_a_doubtful_request_warns_the_caller() -> None:
    # Several threads that read the same sequential blocks.
    with pytest.warns(UserWarning, match="-si") as caught:
        fathom.parse("-t2 /nowhere/at/all.dat")
    assert [one.filename for one in caught] == [__file__]


def test_a_seed_of_its_own_differs_from_run_to_run() -> None:
    seeds = {fathom.parse("-z x.dat")["time_spans"][0]["random_seed"] for _ in range(4)}
    assert len(seeds) == 4


def test_options_that_belong_to_the_other_command_are_refused(tmp_path: Path) -> None:
    target, json_file = tmp_path / "scratch.dat", tmp_path / "result.json"
    for option in (f"--json={json_file}", "-Rptext", "--live"):
        with pytest.raises(fathom.InvalidRequestError, match=r"use parse|belongs to the command"):
            fathom.run(["-c1M", "-d1", "-W0", option, str(target)])
    assert not list(tmp_path.iterdir())


def test_an_interruption_carries_what_was_measured(tmp_path: Path) -> None:
    target = tmp_path / "scratch.dat"
    watcher = threading.Thread(target=interrupt_once_reading, args=[os.getpid()])
    watcher.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        fathom.run(f"-c1M -b4K -r -o1 -d600 -W0 -L {target}")
    watcher.join()
    assert isinstance(caught.value, fathom.RunInterrupted)
    span = caught.value.result.time_spans[0]
    assert not span.complete
    assert span.failure is None
    assert span.total.ios > 0


def test_a_stop_rule_ends_a_run_with_exactly_its_count(tmp_path: Path) -> None:
    args = f"-c16M -b4K -r -o4 -t2 -d60 -W0 --stop-ios=1000 {tmp_path / 'scratch.dat'}"
    assert fathom.parse(args)["time_spans"][0]["stop"]["ios"] == 1000
    (span,) = fathom.run(args).time_spans
    assert span.complete
    assert span.stop is not None
    assert (span.total.ios, span.stop.cause) == (1000, "ios")
    assert span.measured_ns < 60_000_000_000


def test_a_run_without_stop_rules_has_no_stop(tmp_path: Path) -> None:
    (span,) = fathom.run(f"-c1M -d1 -W0 {tmp_path / 'scratch.dat'}").time_spans
    assert span.stop is None


def test_the_mean_is_known_as_well_as_was_asked_for() -> None:
    # A rate that the engine keeps exactly is known as soon as there are enough intervals.
    args = "--engine=null -d60 -W0 --rate=2000 --stop-interval=20 --stop-confidence=95:5 x.dat"
    (span,) = fathom.run(args).time_spans
    assert span.stop is not None
    assert (span.stop.cause, span.stop.interval_ns, span.stop.steady) == (
        "confidence",
        20_000_000,
        None,
    )
    known = span.stop.confidence
    assert known is not None
    assert known.iops_low <= known.iops_mean <= known.iops_high
    assert known.precision_percent <= known.precision_percent_limit == 5.0
    assert known.level_percent == 95.0
    assert span.measured_ns >= (80 * span.stop.interval_ns)
