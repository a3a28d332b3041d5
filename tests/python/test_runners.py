"""fio and another DiskSpd behind the seam: guarded, saved, and measured as they say themselves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import jsonschema  # type: ignore[import-untyped]
import pytest
from commands import COMMAND
from fathom.cli.views.stop import stop_sentences
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.runners import stored_figures
from fathom.runners.known_mean import known_mean
from fathom.store import Store
from fathom.tools.choose import foreign_runner
from fio_traces import needs_fio
from support import diskspd

if TYPE_CHECKING:
    from fathom.tools.foreign import ForeignRunner

LOAD = ["-b4K", "-r", "-w30", "-t2", "-o2", "-g200i", "-d1", "-W1", "-L"]
SCHEMA = Path(__file__).parents[2] / "schema/result.schema.json"


@pytest.fixture(autouse=True)
def _no_file_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give runners a folder for their files in which a test can look."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "scratch.dat"


def runner(name: str, store: Store | None = None) -> ForeignRunner:
    found = foreign_runner(name, store)
    assert found is not None
    return found


def own_diskspd() -> str:
    """Return our own command, which stands for another DiskSpd: it speaks the same XML."""
    return str(diskspd())


# Two threads of 200 I/Os per second each; a disk that others use does not give it in each second.
RATE = 400
TRIES = 3
NAMES = [pytest.param("fio", marks=needs_fio), "diskspd"]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_another_tool_is_saved_as_one_of_ours(
    name: str, target: Path, tmp_path: Path
) -> None:
    with Store(None) as store:
        tool = runner(own_diskspd() if name == "diskspd" else name, store)
        for _ in range(TRIES):
            done = tool.measure(["-c4M", *LOAD, str(target)], label="other")
            assert done.failure is None
            assert done.run_id is not None
            stored = store.runs.get(done.run_id)
            if stored.result.total.iops > 0.9 * RATE:
                break
    jsonschema.validate(stored.result.raw, json.loads(SCHEMA.read_text()))
    # Which tool measured, and its version.
    named = stored.result.raw["tool"]
    assert f"{named['name']} {named['version']}" == tool.name
    assert stored.summary.columns["tool_version"] == named["version"]
    assert stored.result.request == fathom.parse(["-c4M", *LOAD, str(target)])
    assert stored.result.raw["profile"] == stored.result.raw["request"]["profile"]
    assert stored.result.total.iops == pytest.approx(RATE, rel=0.1)
    assert stored.result.write.ios / stored.result.total.ios == pytest.approx(0.3, abs=0.1)
    # Behind its warm-up fio counts the I/Os that it issues, and the bytes of those that end.
    in_flight = 2 * 2
    ios = stored.result.total.ios
    assert stored.result.total.bytes / 4096 == pytest.approx(ios, abs=in_flight)
    latency = stored.result.total.latency
    assert latency is not None
    assert latency.count == pytest.approx(ios, abs=in_flight)
    assert latency.min_ns <= latency.quantile_ns(0.5) <= latency.max_ns
    figures = stored_figures(stored.result)
    assert figures.cpu_percent is not None
    assert figures.latency_p999_ns is not None
    # Our engine made the file, and nothing else is left behind.
    assert target.stat().st_size == 4 << 20
    assert not [*(tmp_path / "tmp").iterdir()]


@needs_fio
def test_percentiles_are_those_that_fio_tells_itself(target: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    tool = runner("fio")
    whole = tool._tool.measured

    def watched(load: object, folder: Path, run: object) -> object:
        seen.append((folder / "report.json").read_text())
        return whole(load, folder, run)  # type: ignore[arg-type]

    tool._tool.measured = watched  # type: ignore[method-assign,assignment]
    arguments = ["-c1M", "-b4K", "-r", "-o1", "-t1", "-d1", "-W0", "-g500i", "-L"]
    result = tool.measure([*arguments, str(target)]).result
    report = json.loads(seen[0])["jobs"][0]["read"]
    latency = result.read.latency
    assert latency is not None
    assert result.read.ios == report["total_ios"]
    assert result.read.bytes == report["io_bytes"]
    assert result.read.iops == pytest.approx(report["iops"], rel=1e-3)
    assert (latency.min_ns, latency.max_ns) == (report["lat_ns"]["min"], report["lat_ns"]["max"])
    assert latency.mean_ns == pytest.approx(report["lat_ns"]["mean"], rel=1e-3)
    for percent, value_ns in report["lat_ns"]["percentile"].items():
        # A bin of fio is 1/64 wide, and our quantiles end at the greatest latency.
        expected = min(value_ns, latency.max_ns)
        assert latency.quantile_ns(float(percent) / 100) == pytest.approx(expected, rel=0.02)
    assert not [*(tmp_path / "tmp").iterdir()]


@needs_fio
def test_a_sweep_with_fio_keeps_which_tool_measured(target: Path) -> None:
    tool = runner("fio")
    axes = parse_axes({"depth": "1,2"})
    arguments = ["-c1M", "-b4K", "-r", "-g300i", "-L", str(target)]
    named = {"runner": "fio", "tool_version": tool.name}
    plan, _ = plan_sweep(
        arguments, axes, mode="fixed", duration_s=1, warm_up_s=0, tolerance=0.0, **named
    )
    with Store(None) as store:
        found = sweep(store, runner("fio", store), plan)
        experiment = store.experiments.get(found.experiment_id)
        assert experiment.state == "complete"
        assert {**named}.items() <= experiment.plan.items()
        assert found.count("measured") == 2
        for cell in found.cells:
            assert cell.run_id is not None
            assert cell.iops == pytest.approx(300, rel=0.25)
            # How well the mean is known, from the course of the rate.
            assert cell.iops_low is not None
            assert cell.iops_high is not None
            assert cell.iops_low < cell.iops_high
            stored = store.runs.get(cell.run_id)
            assert stored.result.raw["tool"]["name"] == "fio"


@needs_fio
def test_what_our_guard_refuses_no_other_tool_writes(target: Path) -> None:
    words = b"#!/bin/sh\n" + b"echo these words are dear to somebody\n" * 4000
    target.write_bytes(words)
    with pytest.raises(fathom.RefusedError, match=r"scratch\.dat"):
        runner("fio").measure(["-b4K", "-r", "-w100", "-d1", "-W0", str(target)])
    assert target.read_bytes() == words
    # The same file is read: the guard minds writes alone.
    assert runner("fio").measure(["-b4K", "-r", "-d1", "-W0", str(target)]).failure is None
    assert target.read_bytes() == words


@needs_fio
def test_no_other_tool_writes_the_store_that_is_in_use() -> None:
    with Store(None) as store:
        path = next(iter(store.files))
        arguments = ["-b4K", "-w100", "-d1", "-W0", "--overwrite", path]
        with pytest.raises(fathom.RefusedError):
            runner("fio", store).measure(arguments)
        assert not store.runs.list()


@needs_fio
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-C5", "-b4K"], "-C"),
        (["-r", "-w30", "--ratio=exact"], "--ratio=exact"),
        (["-Xprofile.xml"], "fathom translate"),
    ],
)
def test_a_load_that_fio_cannot_make_is_refused_before_anything_is_made(
    arguments: list[str], words: str, target: Path
) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=words):
        runner("fio").measure(["-c1M", *arguments, str(target)])
    assert not target.exists()


def test_another_diskspd_is_given_none_of_our_long_options(target: Path) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=r"--skew=zipf:1\.1"):
        runner(own_diskspd()).measure(["-c1M", "-r", "--skew=zipf:1.1", str(target)])
    assert not target.exists()


@pytest.mark.parametrize("name", ["fio", "nowhere/diskspd", sys.executable, "true"])
def test_a_runner_that_is_missing_or_something_else_is_told_before_anything_starts(
    name: str, target: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "true").symlink_to(shutil.which("true") or "/bin/true")
    done = subprocess.run(
        [*COMMAND, "sweep", "--runner", name,
         "--depth", "1,2", "-c1M", "-b4K", str(target)],
        env={**os.environ, "PATH": str(folder)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert name in done.stderr
    assert not target.exists()
    with Store(None) as store:
        assert not store.experiments.list()


FAILING = """#!{python}
import sys
if "--version" in sys.argv:
    print("fio-3.99")
    sys.exit()
if "--iodepth=2" in sys.argv:
    print("fio: the depth of 2 is not to my taste", file=sys.stderr)
    sys.exit(1)
{rest}
"""


def _false_fio(folder: Path, rest: str) -> str:
    """Return a program that says that it is fio."""
    folder.mkdir()
    path = folder / "fio"
    path.write_text(FAILING.format(python=sys.executable, rest=rest))
    path.chmod(0o755)
    return str(path)


@needs_fio
def test_a_failure_of_the_tool_is_a_failed_cell_with_its_words(
    target: Path, tmp_path: Path
) -> None:
    real = shutil.which("fio")
    name = _false_fio(tmp_path / "bin", f"import os; os.execv({real!r}, sys.argv)")
    plan, _ = plan_sweep(
        ["-c1M", "-b4K", "-r", "-g300i", str(target)],
        parse_axes({"depth": "2,4"}), mode="fixed", duration_s=1, tolerance=0.0,
    )  # fmt: skip
    with Store(None) as store:
        found = sweep(store, runner(name, store), plan)
        states = {cell.parameters["depth"]: cell.source for cell in found.cells}
        failures = [cell.failure for cell in found.cells if cell.failure]
        runs = store.runs.list(experiment_id=found.experiment_id)
    assert states == {"2": "failed", "4": "measured"}
    assert failures == ["fio ended with code 1: fio: the depth of 2 is not to my taste"]
    assert {run.outcome for run in runs} == {"failed", "complete"}
    assert not [*(tmp_path / "tmp").iterdir()]


def test_a_tool_that_leaves_nonsense_is_a_failure(target: Path, tmp_path: Path) -> None:
    name = _false_fio(tmp_path / "bin", "open('report.json', 'w').write('{\"jobs\": [')")
    done = runner(name).measure(["-c1M", "-b4K", "-o4", "-d1", "-W0", str(target)])
    assert "fio left no report" in (done.failure or "")


@needs_fio
def test_ctrl_c_ends_the_tool_and_keeps_what_was_measured(target: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "repeat", "--runner", "fio", "-c1M", "-b4K", "-r", "-L",
         "-g500i", "-d60", "-W0", str(target)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    child = _child(process.pid)
    # fio counts from here on; a second has something to keep.
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert not Path(f"/proc/{child}").exists()
    assert not [*(tmp_path / "tmp").iterdir()]
    with Store(None) as store:
        (experiment,) = store.experiments.list()
        (run,) = store.runs.list(experiment_id=experiment.id)
        stored = store.runs.get(run.id)
    assert experiment.state == "interrupted"
    assert experiment.plan["runner"] == "fio"
    assert run.outcome == "interrupted"
    assert stored.result.read.ios > 100


def _child(pid: int) -> int:
    """Return fio's process once it does I/O."""
    for _ in range(600):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in children:
            line = Path(f"/proc/{one}/cmdline")
            # Not the question for its version, which comes first.
            if line.exists() and b"--output=report.json" in line.read_bytes():
                return int(one)
        time.sleep(0.05)
    pytest.fail("fio did not start")


@needs_fio
def test_a_run_of_fixed_length_tells_its_mean_without_a_rule_that_nobody_gave(
    target: Path,
) -> None:
    arguments = ["-c1M", "-b4K", "-r", "-g400i", "-d1", "-W0"]
    (span,) = runner("fio").measure([*arguments, str(target)]).result.time_spans
    (sentence,) = stop_sentences(span)
    assert sentence.startswith("With 95 % confidence the mean is between ")
    assert "requested" not in sentence


def test_a_mean_of_fewer_than_no_ios_was_thought_possible() -> None:
    span = {"stop": {"confidence": None}}
    series = [40.0, 0.0, 9_000.0, 0.0, 25.0, 0.0, 30_000.0, 10.0]
    found = known_mean(series, 100, span)
    assert found is not None
    known = found["confidence"]
    assert known["precision_percent"] > 100
    assert known["iops_low"] == 0


@needs_fio
def test_a_rule_that_fio_lacks_becomes_the_longest_time_and_a_known_mean(target: Path) -> None:
    arguments = ["-c1M", "-b4K", "-r", "-g400i", "-d1", "-W0", "--stop-confidence=90:5"]
    result = runner("fio").measure([*arguments, str(target)]).result
    stop = result.time_spans[0].stop
    assert stop is not None
    assert stop.cause == "duration"
    assert stop.confidence is not None
    assert (stop.confidence.level_percent, stop.confidence.precision_percent_limit) == (90, 5)
    assert stop.confidence.iops_low <= stop.confidence.iops_mean <= stop.confidence.iops_high
    assert stored_figures(result).relative_half_width == pytest.approx(
        stop.confidence.precision_percent / 100
    )
