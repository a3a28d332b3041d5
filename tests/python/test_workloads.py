"""Workloads: those of the package, the user's own, and what is wrong with a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from commands import command
from fathom.store import Store
from fathom.workloads import (
    WorkloadError,
    all_workloads,
    find_workload,
    read_workload,
    run_arguments,
)

if TYPE_CHECKING:
    from pathlib import Path

PACKAGED = [
    "crystaldiskmark",
    "etcd",
    "exchange",
    "file-server",
    "hyper-v",
    "postgresql",
    "postgresql-wal",
    "snia-iops",
    "snia-latency",
    "snia-throughput",
    "snia-wsat",
    "sql-backup",
    "sql-log",
    "sql-log-small",
    "sql-oltp-70",
    "sql-oltp-90",
    "sql-read-ahead",
    "sql-tempdb",
    "vdi-boot",
    "vdi-steady",
    "video",
]
GOOD = """
title = "My load"
reason = "Because."
sources = ["My notes"]
size = "1M"
arguments = ["-b4K", "-r", "-w0", "-L", "-d1", "-W0"]
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's own folder, empty."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("FATHOM_WORKLOADS", str(folder))
    return folder


def targets_of(name: str) -> list[dict[str, Any]]:
    """Return what each step of a workload does to its target."""
    profiles = [fathom.parse([*step.arguments, "x.dat"]) for step in find_workload(name).steps]
    return [profile["time_spans"][0]["targets"][0] for profile in profiles]


def test_the_packaged_ones_are_these_and_all_are_right() -> None:
    found = all_workloads()
    assert [one.name for one in found] == PACKAGED
    for one in found:
        assert one.sources
        assert one.reason
        for step in one.steps:
            span = fathom.parse([*step.arguments, "x.dat"])["time_spans"][0]
            assert span["measure_latency"], one.name


def test_loads_are_those_of_their_sources() -> None:
    (oltp,) = targets_of("sql-oltp-70")
    assert (oltp["block_bytes"], oltp["write_percent"]) == (8192, 30)
    (log,) = targets_of("sql-log")
    assert (log["block_bytes"], log["outstanding"], log["write_percent"]) == (60 * 1024, 1, 100)
    points = targets_of("snia-iops")
    assert len(points) == 56
    assert {one["write_percent"] for one in points} == {0, 5, 35, 50, 65, 95, 100}
    assert {one["block_bytes"] for one in points} == {
        kib * 512 for kib in (1, 8, 16, 32, 64, 128, 256, 2048)
    }
    (files,) = targets_of("file-server")
    sizes = {512: 10, 1024: 5, 2048: 5, 4096: 60, 8192: 2, 16384: 4, 32768: 4, 65536: 10}
    mix = files["extensions"]["block_mix"]
    assert {one["block_bytes"]: one["io_percent"] for one in mix} == sizes
    (etcd,) = targets_of("etcd")
    assert etcd["block_bytes"] == 2300
    assert etcd["extensions"]["sync"] == {"every_writes": 1, "data_only": True}
    latency = targets_of("snia-latency")
    assert {(one["outstanding"], one["threads"]) for one in latency} == {(1, 1)}
    assert len(latency) == 9
    marks = {
        (one["block_bytes"], one["outstanding"], one["write_percent"])
        for one in targets_of("crystaldiskmark")
    }
    mib = 1 << 20
    loads = ((mib, 8), (mib, 1), (4096, 32), (4096, 1))
    assert marks == {(*load, writes) for load in loads for writes in (0, 100)}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("title = ", "titel = "), "titel: no such key"),
        (('title = "My load"', "title = 5"), "title: is to be a text"),
        (('reason = "Because."', ""), "reason: is missing"),
        (('["My notes"]', "[]"), "sources: is empty"),
        (('["My notes"]', '"My notes"'), "sources: is to be a list of texts"),
        (('"1M"', '"1 gigabyte"'), "size: '1 gigabyte' is no size"),
        (('"-w0"', '"-w101"'), "arguments: .*-w101"),
        (('"-w0"', '"x.dat"'), "arguments: an argument begins with a dash"),
        (('"-w0"', '"-w0'), "line"),
    ],
)
def test_a_fault_names_file_and_key(own: Path, change: tuple[str, str], told: str) -> None:
    path = own / "mine.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(WorkloadError, match=rf"mine\.toml: .*{told}|mine\.toml: {told}"):
        read_workload(path)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("[[steps]]\nlabel = 'a'\n", "steps, number 1: has a label and arguments"),
        ("[[steps]]\nlabel = 'a'\narguments = ['-w200']\n", "steps, number 1: .*-w200"),
        ("[[steps]]\nlabel = 'a'\narguments = ['-w1']\n" * 2, "steps: 'a' is there twice"),
        ("[matrix]\nmix = ['-w0']\n", "matrix.mix: is to be a list of texts"),
        ("[matrix]\nmix = [['-w0'], ['-w0']]\n", "matrix: '-w0' is there twice"),
        ("[matrix]\n", "matrix: is to be a table"),
        ("[matrix]\nm = [['-w0']]\n[[steps]]\nlabel='a'\narguments=['-w0']\n", "not both"),
    ],
)
def test_a_fault_in_several_runs_names_file_and_key(own: Path, more: str, told: str) -> None:
    path = own / "mine.toml"
    path.write_text(GOOD + more)
    with pytest.raises(WorkloadError, match=rf"mine\.toml: .*{told}|mine\.toml: {told}"):
        read_workload(path)


def test_a_name_is_small_letters_and_dashes(own: Path) -> None:
    path = own / "My Load.toml"
    path.write_text(GOOD)
    with pytest.raises(WorkloadError, match="small letters"):
        read_workload(path)


def test_ones_own_stand_before_those_of_the_package(own: Path) -> None:
    (own / "mine.toml").write_text(GOOD)
    (own / "etcd.toml").write_text(GOOD)
    assert find_workload("mine").title == find_workload("etcd").title == "My load"
    assert [one.name for one in all_workloads()] == sorted([*PACKAGED, "mine"])
    with pytest.raises(WorkloadError, match=r"no workload 'nothing'.*crystaldiskmark"):
        find_workload("nothing")


def test_a_matrix_is_every_combination(own: Path) -> None:
    (own / "mine.toml").write_text(
        GOOD + "[matrix]\nblock = [['-b4K'], ['-b8K']]\nmix = [['-w0'], ['-w50', '-Zr']]\n"
    )
    steps = find_workload("mine").steps
    assert [step.label for step in steps] == [
        "-b4K -w0",
        "-b4K -w50 -Zr",
        "-b8K -w0",
        "-b8K -w50 -Zr",
    ]
    assert steps[1].arguments[-3:] == ("-b4K", "-w50", "-Zr")


def test_a_wish_takes_the_place_of_the_workloads_own(tmp_path: Path) -> None:
    workload = find_workload("sql-oltp-70")
    (step,) = workload.steps
    there = tmp_path / "there.dat"
    there.touch()
    made = run_arguments(workload, step, ["-Su", "-si", "-b64K", "-d5"], [str(there)])
    (target,) = fathom.parse(made)["time_spans"][0]["targets"]
    assert (target["block_bytes"], target["access"]["random_percent"]) == (65536, 0)
    assert not {"-Sh", "-r", "-b8K", "-d60", "-c4G"} & set(made)
    # So do those that exclude it.
    (step,) = find_workload("etcd").steps
    made = run_arguments(workload, step, ["--fsync=8", "--block-mix=4K:50,8K:50"], [str(there)])
    assert not {"--fdatasync=1", "-b2300"} & set(made)
    # Only a file that is missing is created.
    missing = str(tmp_path / "missing.dat")
    assert run_arguments(workload, step, [], [missing])[0] == "-c4G"
    assert "-c4G" not in run_arguments(workload, step, ["-c64M"], [missing])


def test_a_workload_is_run_by_name(own: Path, tmp_path: Path) -> None:
    (own / "mine.toml").write_text(GOOD)
    scratch = tmp_path / "scratch.dat"
    done = command("run", "mine", "-b8K", str(scratch))
    assert (done.returncode, done.stderr) == (0, "")
    assert scratch.stat().st_size == 1 << 20
    with Store() as store:
        (run,) = store.runs.list()
    assert (run.label, run.columns["block_bytes"], run.experiment_id) == ("mine", 8192, None)


def test_the_syncs_of_a_workload_are_shown(tmp_path: Path) -> None:
    done = command("run", "etcd", "-c1M", "-d1", "-W0", str(tmp_path / "scratch.dat"))
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("sync")]
    name, iops, mib_per_s, mean_ms, *percentiles = row.split()
    assert (name, mib_per_s, len(percentiles)) == ("sync", "-", 4)
    assert float(iops.replace(",", "")) > 0
    assert float(mean_ms) > 0


def test_several_runs_are_an_experiment_and_go_on_behind_a_failure(
    own: Path, tmp_path: Path
) -> None:
    # The second one cannot be run past the page cache: its blocks are no multiple of a sector.
    steps = [("first", "-b4K"), ("odd", "-b1000b"), ("last", "-b8K")]
    texts = [
        f"[[steps]]\nlabel = '{one}'\narguments = ['{b[:-1] if b[-1] == 'b' else b}']\n"
        for one, b in steps
    ]
    (own / "mine.toml").write_text(GOOD.replace('"-L"', '"-L", "-Su"') + "".join(texts))
    done = command("run", "mine", str(tmp_path / "scratch.dat"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: odd: ")
    with Store() as store:
        (experiment,) = store.experiments.list()
        found = store.experiments.get(experiment.id)
        assert [step.state for step in found.steps] == ["done", "failed", "done"]
        assert found.state == "failed"
        labels = [run.label for run in store.runs.list() if run.outcome == "complete"]
        assert labels == ["mine last", "mine first"]


def test_what_cannot_be_meant_is_told(own: Path, tmp_path: Path) -> None:
    (own / "mine.toml").write_text(GOOD)
    done = command("run", "mine", "-b8K")
    assert (done.returncode, "needs a target" in done.stderr) == (3, True)
    (tmp_path / "mine").write_text("a file of the same name")
    done = command("run", "mine", "x.dat", cwd=tmp_path)
    assert (done.returncode, "./mine" in done.stderr) == (3, True)


def test_workloads_are_listed_and_shown(own: Path) -> None:
    (own / "mine.toml").write_text(GOOD)
    listed = command("workloads").stdout
    assert "My load" in listed
    assert "snia-iops" in listed
    assert str(own) in listed
    shown = command("workloads", "etcd").stdout
    for words in ("Sources:", "Left out:", "--fdatasync=1", "diskspd -b2300"):
        assert words in shown
    names = [one["name"] for one in json.loads(command("workloads", "--json").stdout)]
    assert names == sorted([*PACKAGED, "mine"])
    (own / "bad.toml").write_text("title = 5")
    done = command("workloads")
    assert (done.returncode, "bad.toml" in done.stderr) == (3, True)
