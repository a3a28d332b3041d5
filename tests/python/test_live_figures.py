"""Live figures: on a terminal, in a file for the node exporter, and as lines of JSON."""

from __future__ import annotations

import errno
import json
import os
import pty
import subprocess
import time
from typing import TYPE_CHECKING, NoReturn

import fathom.metrics_text as figures
import pytest
from commands import COMMAND, command
from fathom import RunEvent
from fathom.cli.views.progress import RunLines, sparkline
from fathom.metrics_text import kept_in, live_samples, metrics_text
from prometheus_client.parser import text_string_to_metric_families
from support import diskspd

if TYPE_CHECKING:
    from pathlib import Path

LOAD = ["-c4M", "-b4K", "-r", "-o4", "-L", "-W0", "--engine=null"]


def on_a_terminal(cwd: Path, *words: str, **environment: str) -> str:
    """Return what a terminal gets on the error output of a command."""
    master, end = pty.openpty()
    done = subprocess.Popen(
        [*COMMAND, *words],
        stdout=subprocess.DEVNULL,
        stderr=end,
        cwd=cwd,
        env={**os.environ, "FATHOM_STORE": str(cwd / "s.sqlite"), **environment},
    )
    os.close(end)
    shown = b""
    try:
        while piece := os.read(master, 65536):
            shown += piece
    except OSError:
        pass
    os.close(master)
    assert done.wait() == 0, shown
    return shown.decode()


def test_a_sparkline_stands_for_rates() -> None:
    assert sparkline([0, 1, 2, 4, 8]) == "\u2581\u2582\u2583\u2585\u2588"
    assert sparkline([0, 0]) == sparkline([]) == ""


def test_a_terminal_shows_each_target_with_percentiles_and_a_sparkline(tmp_path: Path) -> None:
    words = ["run", *LOAD, "-d3", "a.dat", "b.dat"]
    shown = on_a_terminal(tmp_path, *words, TERM="xterm", COLUMNS="120", LANG="C.UTF-8")
    for part in ("IOPS", "p50", "p99", "a.dat", "b.dat", "\u2588"):
        assert part in shown, part


def test_a_terminal_that_moves_no_cursor_gets_lines(tmp_path: Path) -> None:
    shown = on_a_terminal(tmp_path, "run", *LOAD, "-d2", "a.dat", TERM="dumb")
    assert "\x1b" not in shown
    assert "IOPS" in shown
    assert "p99" in shown


def test_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    tell = RunLines()
    second = {"second": 1, "ios": 10, "bytes": 4096, "latency_ns_p50": 1e6, "latency_ns_p99": 2e6}
    for _ in range(100):
        tell("live", second)
    assert capsys.readouterr().err.count("10 IOPS") == 1


def test_a_file_for_the_node_exporter_has_the_run_and_then_its_end(tmp_path: Path) -> None:
    place = tmp_path / "x.prom"
    hear = (
        "import fathom.metrics_text as m\n"
        "def kept(path, samples, write=m._write):\n"
        "    import shutil\n"
        "    write(path, samples)\n"
        f"    shutil.copy(path, {str(tmp_path)!r} + f'/{{len(samples)}}.copy')\n"
        "m._write = kept"
    )
    words: list[str | Path] = [
        "--label",
        'odd "name"',
        "--metrics-file",
        place,
        *LOAD,
        "-d3",
        tmp_path / "a.dat",
    ]
    done = command("run", *words, before=hear)
    assert done.returncode == 0, done.stderr
    live = max(tmp_path.glob("*.copy"), key=lambda one: int(one.stem)).read_text()
    found = {one.name: one.samples for one in text_string_to_metric_families(live)}
    assert found["fathom_iops"][0].value > 0
    assert found["fathom_up"][0].labels == {"label": 'odd "name"'}
    assert {one.labels["quantile"] for one in found["fathom_latency_seconds"]} == {
        "0.5", "0.99", "0.999",
    }  # fmt: skip
    assert 'fathom_up{label="odd \\"name\\""} 0.0' in place.read_text()


def test_a_target_that_is_named_twice_had_two_samples_with_the_same_labels() -> None:
    one = {"ios": 5, "bytes": 5, "latency_ns_p50": 1e6}
    second = {**one, "targets": [{"target": name, **one} for name in ("a", "b", "a")]}
    found = metrics_text(live_samples(second, [("label", "x")]))
    samples = [
        (sample.name, *sorted(sample.labels.items()))
        for family in text_string_to_metric_families(found)
        for sample in family.samples
    ]
    assert len({*samples}) == len(samples)
    assert 'fathom_target_iops{label="x",target="b"} 5.0' in found
    assert 'fathom_target_iops{label="x",target="a",number="3"} 5.0' in found


def test_a_run_seemed_to_go_on_for_ever_where_the_disk_was_full_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "x.prom"

    def full(*_given: object, **_more: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with kept_in(place, ""):
        assert "fathom_up 1.0" in place.read_text()
        monkeypatch.setattr(figures, "replacing", full)
    assert not place.exists()


def test_the_figures_of_another_program_were_replaced(tmp_path: Path) -> None:
    place = tmp_path / "x.prom"
    place.write_text("# HELP node_time_seconds Of others.\n")
    done = command("run", "--metrics-file", place, *LOAD, "-d1", tmp_path / "a.dat")
    assert (done.returncode, "no file of Fathom's figures" in done.stderr) == (3, True)
    assert place.read_text() == "# HELP node_time_seconds Of others.\n"
    assert not (tmp_path / "a.dat").exists()


def test_two_runs_wrote_their_figures_into_one_file(tmp_path: Path) -> None:
    place = tmp_path / "x.prom"
    words = ["run", "--metrics-file", str(place), *LOAD]
    first = subprocess.Popen(
        [*COMMAND, *words, "-d60", str(tmp_path / "a.dat")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (place.exists() and "fathom_iops" in place.read_text()):
            assert first.poll() is None
            time.sleep(0.05)
        second = [*words, "-d1", str(tmp_path / "b.dat")]
        done = command(*second)
        assert (done.returncode, "another run keeps" in done.stderr) == (3, True)
        assert not (tmp_path / "b.dat").exists()
    finally:
        first.kill()
        first.wait()
    # What was killed keeps it no more.
    assert "fathom_up 1.0" in place.read_text()
    assert command(*second).returncode == 0
    assert "fathom_up 0.0" in place.read_text()


@pytest.mark.parametrize("name", ["x.txt", "missing/x.prom"])
def test_a_file_that_nobody_would_read_is_refused_before_the_run(tmp_path: Path, name: str) -> None:
    words: list[str | Path] = ["--metrics-file", tmp_path / name, *LOAD, "-d1", tmp_path / "a.dat"]
    done = command("run", *words)
    assert done.returncode == 3
    assert not (tmp_path / "a.dat").exists()


def test_diskspd_tells_each_event_as_json(tmp_path: Path) -> None:
    targets = [str(tmp_path / name) for name in ("a.dat", "b.dat")]
    words = [str(diskspd()), *LOAD, "-d2", "--live=json", *targets]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    events = [RunEvent.from_json(line) for line in done.stderr.splitlines()]
    live = [one for one in events if one.name == "live"]
    assert live
    for one in live:
        told = one.fields["targets"]
        assert [part["target"] for part in told] == targets
        assert (
            sum(part["ios"] for part in told) == one.fields["ios"] == one.fields["latency"]["count"]
        )
    json.dumps([one.to_json() for one in events])
    wrong = subprocess.run([*words[:-2], "--live=xml", *targets], capture_output=True, check=False)
    assert wrong.returncode != 0
