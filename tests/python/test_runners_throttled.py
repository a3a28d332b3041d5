"""The same run through our engine and through fio, on a device that the kernel holds at a rate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import COMMAND
from fathom.experiments.compare.saved import compare_runs
from fathom.report import gather
from fathom.store import Store
from fathom.tools import job_file, read_load, to_fio
from fio_traces import needs_fio
from reported import figures
from support import loop_device

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOP = Path("/dev/loop14")
GROUPS = Path("/sys/fs/cgroup/blkio")
# Slow, so that a busy processor is not the limit.
RATE = 200
TRIES = 3


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Path]:
    """Return a control group whose processes read from a loop device at a fixed rate."""
    if not (GROUPS / "blkio.throttle.read_bps_device").exists():
        pytest.skip(f"the kernel has no throttling of block devices below {GROUPS}")
    image = tmp_path / "image"
    image.write_bytes(os.urandom(16 << 20))
    group = GROUPS / f"fathom-{os.getpid()}"
    with loop_device(LOOP, image):
        try:
            group.mkdir()
            number = LOOP.stat().st_rdev
            limit = f"{os.major(number)}:{os.minor(number)} {RATE}"
            (group / "blkio.throttle.read_iops_device").write_text(limit)
            yield group
        finally:
            if group.exists():
                group.rmdir()


def experiment(group: Path, runner: str, arguments: list[str]) -> list[dict[str, float]]:
    """Sweep within the group, and return the cells."""

    def enter() -> None:
        (group / "tasks").write_text("0")

    done = subprocess.run(
        [*COMMAND, "sweep", "--runner", runner, "--json", *arguments, str(LOOP)],
        check=True, capture_output=True, preexec_fn=enter,
    )  # fmt: skip
    cells: list[dict[str, float]] = json.loads(done.stdout)["cells"]
    return cells


@needs_fio
def test_our_engine_and_fio_agree_on_a_throttled_device(group: Path) -> None:
    arguments = ["--depth", "4,8", "--duration", "2", "--warm-up", "1", "-b4K", "-r", "-Su", "-L"]
    # Whose process did not get a CPU for a while has a figure of that.
    for _try in range(TRIES):
        ours = experiment(group, "fathom", arguments)
        fios = experiment(group, "fio", arguments)
        rates = [cell["iops"] for cell in (*ours, *fios)]
        if rates == pytest.approx([RATE] * 4, rel=0.08):
            break
    else:
        pytest.fail(f"{rates} of {RATE} IOPS")
    with Store(None) as store:
        second, first = store.experiments.list()[:2]
        found = compare_runs(store, f"e{first.id}", f"e{second.id}")
        tools = [store.runs.get(store.runs.list(experiment_id=one.id)[0].id).result.raw["tool"]
                 for one in (first, second)]  # fmt: skip
    # Both are there, with what a report needs to name them.
    assert (first.plan["runner"], second.plan["runner"]) == ("fathom", "fio")
    assert second.plan["tool_version"] == f"fio {tools[1]['version']}"
    assert tools[0]["name"] != tools[1]["name"]
    with Store(None) as store:
        shown = figures(gather(store, [f"e{first.id}", f"e{second.id}"]))["same-loads"]
    # The report shows both, with the figures of the store.
    assert "fio 3" in shown.caption
    for name, values in (("IOPS", "iops"), ("Mean latency [ms]", "latency_mean_ns")):
        rows = [row for row in shown.table.rows if row[1] == name]
        scale = 1 if values == "iops" else 1e6
        for at, experiment_ in ((2, first), (3, second)):
            assert experiment_.outcome is not None
            cells = experiment_.outcome["cells"]
            assert [row[at] for row in rows] == [cell["figures"][values] / scale for cell in cells]
    # Held by the kernel, rates do not vary at all: what is reported is how near they are.
    assert abs(found.metrics["iops"].change) < 0.1
    assert any(sentence.startswith("The tool differs: ") for sentence in found.differences)


@needs_fio
def test_what_fios_mean_has_beyond_ours_waited_before_the_measured_time(
    group: Path, tmp_path: Path
) -> None:
    """What docs/lab.md says of fio's mean latency, I/O by I/O from fio's log."""
    depth = 8
    jobs, _ = to_fio(read_load([f"-o{depth}", "-b4K", "-r", "-Su", "-L", "-d2", "-W1", str(LOOP)]))
    text = f"{job_file(jobs)}\nwrite_lat_log=each\n"
    (tmp_path / "job.fio").write_text(text)
    fio = [str(shutil.which("fio")), "--output-format=json", "--output=report.json", "job.fio"]
    subprocess.run(
        fio, check=True, capture_output=True, cwd=tmp_path,
        preexec_fn=lambda: (group / "tasks").write_text("0"),
    )  # fmt: skip
    (job,) = json.loads((tmp_path / "report.json").read_text())["jobs"]
    lines = (tmp_path / "each_lat.1.log").read_text().splitlines()
    ended_ns, waited_ns = zip(*(_ended_and_waited_ns(line) for line in lines), strict=True)
    assert sum(waited_ns) / len(lines) == pytest.approx(job["read"]["lat_ns"]["mean"], rel=1e-6)
    # As many I/Os are under way all the time, so that they wait so much within it, and no more.
    possible_ns = depth * job["read"]["runtime"] * 1_000_000
    before_ns = sum(
        max(waited - ended, 0) for ended, waited in zip(ended_ns, waited_ns, strict=True)
    )
    assert before_ns > 0
    assert sum(waited_ns) - before_ns == pytest.approx(possible_ns, rel=0.01)


def _ended_and_waited_ns(line: str) -> tuple[int, int]:
    """Read a line of fio's log: time in ms since the warm-up, latency in ns, and more."""
    words = line.split(",")
    return int(words[0]) * 1_000_000, int(words[1])
