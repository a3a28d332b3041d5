"""The lab from Python: the experiments as functions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import fathom.store
import numpy as np
import pandas as pd
import pytest
from fabricated import fabricated
from fathom.experiments.prepare import filling
from fathom.experiments.repeat import resume_repeat
from fathom.store import StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments.progress import Progress

# What takes values of wrong types.
ANYHOW: Any = fathom
NULL = "-c16M -b4K -W0 -d1 --engine=null"


def test_nothing_of_the_experiments_is_loaded_before_one_is_asked_for() -> None:
    code = "import sys, fathom; print([one for one in sys.modules if 'numpy' in one][:1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("short_runs")
def test_a_sweep_tells_of_each_cell_and_is_saved(tmp_path: Path) -> None:
    told: list[Progress] = []
    with fathom.Store(tmp_path / "s.sqlite") as store:
        found = fathom.sweep(
            ["-c16M", "-b4K", "--engine=null", str(tmp_path / "x.dat")],
            {"depth": "1,2"},
            store=store,
            duration_s=1,
            warm_up_s=0,
            on_progress=told.append,
        )
        assert store.experiments.get(found.experiment_id).state == "complete"
    assert [cell.source for cell in found.cells] == ["measured", "measured"]
    assert [one.done for one in told] == [1, 2]


@pytest.mark.usefixtures("short_runs")
def test_what_is_repeated_can_be_compared_and_reported(tmp_path: Path) -> None:
    where = tmp_path / "s.sqlite"
    load = f"{NULL} {tmp_path / 'x.dat'}"
    a, b = (fathom.repeat(load, store=where, pilot=2, most=2) for _ in range(2))
    assert len(a.run_ids) == 2
    found = fathom.compare(f"e{a.experiment_id}", f"e{b.experiment_id}", store=where)
    assert "iops" in found.metrics
    report = fathom.Report(f"e{a.experiment_id}", store=where)
    assert report.html().startswith("<!")
    assert "IOPS" in report.markdown()


@pytest.mark.usefixtures("short_runs")
def test_an_experiment_that_is_cancelled_ends_as_by_ctrl_c(tmp_path: Path) -> None:
    cancel = threading.Event()
    with fathom.Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(fathom.ExperimentInterrupted):
            fathom.repeat(
                f"{NULL} {tmp_path / 'x.dat'}",
                store=store,
                pilot=5,
                on_run=lambda _done, _planned: cancel.set(),
                cancel=cancel,
            )
        (experiment,) = store.experiments.list()
        assert (experiment.state, experiment.run_count) == ("interrupted", 1)


def test_an_assessment_that_is_cancelled_before_it_began_saves_nothing(tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    target = tmp_path / "x.dat"
    target.write_bytes(bytes(1 << 20))
    with fathom.Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(fathom.ExperimentInterrupted):
            fathom.assess(target, store=store, effort="quick", cancel=cancel)
        assert store.experiments.list() == []


def test_a_file_is_prepared_with_data_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    found = fathom.prepare(path, size_bytes=1 << 20, store=tmp_path / "s.sqlite")
    assert path.stat().st_size == 1 << 20
    assert found.failure is None


def test_a_refused_target_is_refused_from_python_too(tmp_path: Path) -> None:
    path = tmp_path / "theirs.txt"
    path.write_text("do not lose me\n" * 4096)
    with pytest.raises(fathom.RefusedError):
        fathom.prepare(path, store=tmp_path / "s.sqlite")
    assert path.read_text().startswith("do not lose me")


def test_two_limits_of_latency_are_refused_before_anything_is_run() -> None:
    with pytest.raises(fathom.InvalidRequestError, match="one limit"):
        fathom.tune(NULL, p99_ns=1e6, mean_ns=1e6)


def test_what_is_public_is_listed_before_it_is_loaded() -> None:
    code = "import fathom; print(*dir(fathom))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == sorted(fathom.__all__)
    assert {"sweep", "Store", "TargetError"} <= set(done.stdout.split())


@pytest.mark.parametrize("no_arguments", [5, None, b"-b4K x.dat", {"-b": "4K"}.keys()])
def test_what_is_no_arguments_is_a_wrong_type(no_arguments: object) -> None:
    for function in (fathom.run, fathom.explain, fathom.parse):
        with pytest.raises(TypeError, match="one text or a list of words"):
            function(no_arguments)  # type: ignore[arg-type]


def test_a_quotation_without_an_end_is_a_wrong_request() -> None:
    with pytest.raises(fathom.InvalidRequestError, match="cannot be split: No closing quotation"):
        fathom.run("-b4K 'x.dat")


@pytest.mark.usefixtures("short_runs")
def test_parameters_may_be_numbers_lists_and_options(tmp_path: Path) -> None:
    found = fathom.sweep(
        f"-c16M -b4K --engine=null {tmp_path / 'x.dat'}",
        {"depth": 2, "threads": [1, 2], "-rs": ("50", 100)},
        store=tmp_path / "s.sqlite",
        duration_s=1,
        warm_up_s=0,
    )
    assert len(found.cells) == 4
    assert {cell.parameters["-rs"] for cell in found.cells} == {"50", "100"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, at: fathom.sweep(x, {"dept": "1..4"}, store=at), "there is no parameter 'dept'"),
        (lambda x, at: fathom.sweep(x, {"depth": 0}, store=at), "a value is at least 1"),
        (lambda x, at: fathom.sweep(x, {"depth": []}, store=at), "a value is missing"),
        (lambda x, at: fathom.tune(x, depths="a", store=at), "not a number"),
        (lambda x, at: fathom.tune(x, threads="", store=at), "a value is missing"),
        (lambda x, at: fathom.tune(x, p99_ns=1e6, mean_ns=1e6, store=at), "give one limit"),
        (lambda _, at: fathom.assess([], store=at), "there is no target"),
        (lambda x, at: fathom.assess(x, effort="slow", store=at), "no effort 'slow'; there are qu"),
        (lambda x, at: fathom.repeat(x, metric="foo", store=at), "there is no metric 'foo'"),
        (lambda x, at: fathom.repeat(x, pilot=9, most=3, store=at), "the pilot has 2 to 3 runs"),
        (lambda x, at: fathom.repeat(x, precision=-1, store=at), "between 0 and 100 %, not -100 %"),
        (lambda x, at: fathom.repeat(x, confidence=2, store=at), "between 0 and 100 %, not 200 %"),
        (lambda x, at: fathom.compare_interleaved(x, x, metrics=["f"], store=at), "no metric 'f'"),
        (lambda x, at: fathom.repeat(x, metric="p99", store=at), "no latency; add -L"),
        (
            lambda x, at: fathom.repeat(x, metric="read.mean", store=at),
            "read.mean would be missing",
        ),
        (
            lambda x, at: fathom.compare_interleaved(
                f"-L {x}", x, metrics=["iops", "p99"], store=at
            ),
            "p99 would be missing",
        ),
        (
            lambda x, at: ANYHOW.prepare(x, size_bytes=1.5, store=at),
            "size_bytes: 1.5 is no whole number",
        ),
        (
            lambda x, at: ANYHOW.prepare(x, size_bytes=True, store=at),
            "size_bytes: True is no whole number",
        ),
        (
            lambda x, at: ANYHOW.prepare(x, size_bytes="4G", store=at),
            "size_bytes: '4G' is no whole number",
        ),
        (
            lambda x, at: ANYHOW.prepare(x, compress_ratio="2", store=at),
            "compress_ratio: '2' is no number",
        ),
        (
            lambda x, at: ANYHOW.prepare(x, dedupe_ratio=True, store=at),
            "dedupe_ratio: True is no number",
        ),
        (lambda x, at: ANYHOW.prepare(x, overwrite="no", store=at), "overwrite is True or False"),
        (lambda x, at: ANYHOW.prepare(x, only_missing=1, store=at), "only_missing is True or"),
        (
            lambda x, at: ANYHOW.prepare(x, allow_write=None, store=at),
            "allow_write: None is no path",
        ),
        (lambda _, at: ANYHOW.prepare("", size_bytes=1, store=at), "'' is no path"),
        (lambda _, at: ANYHOW.prepare(None, store=at), "the path of a file or device, not None"),
        (
            lambda _, at: ANYHOW.prepare(b"x", size_bytes=1, store=at),
            "of a file or device, not b'x'",
        ),
        (lambda x, at: ANYHOW.prepare(x + "\0", size_bytes=1, store=at), "is no path"),
        (lambda x, at: ANYHOW.prepare(x + "/", size_bytes=1, store=at), "there is no such folder"),
        (lambda x, at: ANYHOW.assess([x, ""], store=at), "'' is no path"),
        (lambda _, at: ANYHOW.assess(None, store=at), "targets: None is no path"),
        (lambda x, at: ANYHOW.assess(x, writes="no", store=at), "writes is True or False"),
        (lambda x, at: ANYHOW.assess(x, allow_write=[5], store=at), "allow_write: 5 is no path"),
        # Arrays of several have an index that fails, and lists no place among names.
        (lambda x, at: ANYHOW.repeat(x, pilot=np.array([2, 3]), store=at), "pilot: array"),
        (lambda x, at: ANYHOW.prepare(x, size_bytes=np.array([9]), store=at), "size_bytes: array"),
        (lambda x, at: ANYHOW.assess(x, effort=["quick"], store=at), "no effort ..quick"),
    ],
)
def test_a_wrong_value_is_a_wrong_request_and_nothing_is_begun(
    tmp_path: Path, call: Callable[[str, Path], object], words: str
) -> None:
    target, store = tmp_path / "x.dat", tmp_path / "s.sqlite"
    with pytest.raises(fathom.InvalidRequestError, match=words):
        call(str(target), store)
    assert not target.exists()
    with fathom.Store(store) as opened:
        assert opened.experiments.list() == []


def test_a_file_is_not_made_for_a_store_that_can_only_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was made, with all its blocks, and then the store was looked at."""
    target = tmp_path / "x.dat"

    def refused(_self: fathom.Store) -> None:
        raise StoreError("the store can only be read")

    monkeypatch.setattr(fathom.Store, "check_writable", refused)
    with pytest.raises(StoreError, match="only be read"):
        fathom.prepare(target, size_bytes=1 << 20, store=tmp_path / "s.sqlite")
    assert not target.exists()


def test_a_file_that_was_made_is_taken_back_where_no_plan_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, empty = tmp_path / "new.dat", tmp_path / "empty.dat"
    empty.touch()

    def full(*_told: object) -> int:
        raise StoreFullError("the store has no room left")

    monkeypatch.setattr(filling, "begin", full)
    for target in (new, empty):
        with pytest.raises(StoreFullError):
            fathom.prepare(target, size_bytes=1 << 20, store=tmp_path / "s.sqlite")
    assert (new.exists(), empty.stat().st_size, empty.stat().st_blocks) == (False, 0, 0)


@pytest.mark.usefixtures("short_runs")
def test_a_wrong_confidence_of_saved_runs_is_a_wrong_request(tmp_path: Path) -> None:
    where, load = tmp_path / "s.sqlite", f"{NULL} {tmp_path / 'x.dat'}"
    fathom.repeat(load, store=where, pilot=2, most=2)
    for wrong in ({"confidence": 2}, {"metrics": ["foo"]}):
        with pytest.raises(fathom.InvalidRequestError):
            fathom.compare("e1", "e1", store=where, **wrong)


def test_a_target_that_cannot_be_measured_is_one_error_for_all_experiments(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(fathom.TargetError):
        fathom.assess(tmp_path / "none" / "x.dat", store=tmp_path / "s.sqlite")
    with pytest.raises(fathom.TargetError):
        fathom.sweep(
            f"-b4K -r {folder}", {"depth": "1,2"}, store=tmp_path / "s.sqlite", duration_s=1
        )


def test_one_path_that_is_protected_is_no_list_of_letters(tmp_path: Path) -> None:
    path = tmp_path / "theirs.dat"
    path.write_bytes(b"do not lose me\n" * 4096)
    load = f"-w100 -b4K -d1 -W0 {path}"
    for one in (str(path), path, [path]):
        with pytest.raises(fathom.RefusedError):
            fathom.run(load, overwrite=True, protect=one)
        with pytest.raises(fathom.RefusedError):
            fathom.WriteGrant(load, overwrite=True, protect=one)
        assert not fathom.explain(load, overwrite=True, protect=one)["would_run"]
    assert path.read_bytes() == b"do not lose me\n" * 4096


@pytest.mark.parametrize("name", ["keep", "keep/", "./keep/.", "../{}/keep", "link"])
def test_a_folder_is_not_taken_for_what_is_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A folder protected nothing in it on the command line, and was refused in Python."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep").mkdir()
    (tmp_path / "link").symlink_to("keep")
    name = name.format(tmp_path.name)
    load = "-c64K -b4K -w100 -d1 -W0 --stop-ios=3 keep/x.dat"
    (tmp_path / "more").mkdir()
    given: list[str | list[str | Path]] = [name, ["more", Path(name)]]
    for protect in given:
        for function in (fathom.run, fathom.WriteGrant):
            with pytest.raises(fathom.RefusedError, match="lies below the protected"):
                function(load, protect=protect)
        with fathom.RunHandle(load, protect=protect) as handle:
            handle.start()
            with pytest.raises(fathom.RefusedError, match="lies below the protected"):
                handle.result()
        assert not fathom.explain(load, protect=protect)["would_run"]
    with pytest.raises(fathom.RefusedError, match="lies below the protected"):
        fathom.run(f"--protect={name} {load}")
    assert not (tmp_path / "keep" / "x.dat").exists()
    fathom.run(load.replace("keep/", ""), protect=name)
    assert (tmp_path / "x.dat").exists()


@pytest.mark.parametrize("wrong", ["", "none", ["keep", ""], b"keep", 5, None, [Path("keep"), 7]])
def test_what_is_not_there_is_not_taken_for_what_is_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str | list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keep").mkdir()
    load = "-c64K -b4K -w100 -d1 -W0 --stop-ios=3 x.dat"
    for function in (fathom.run, fathom.explain, fathom.WriteGrant):
        with pytest.raises(fathom.InvalidRequestError, match=r"is no path|protects nothing"):
            function(load, protect=wrong)
    assert not (tmp_path / "x.dat").exists()


def test_runs_are_named_by_their_numbers_too(tmp_path: Path) -> None:
    where = tmp_path / "s.sqlite"
    found = fathom.repeat(f"{NULL} -D100 {tmp_path / 'x.dat'}", store=where, pilot=2, most=2)
    first, second = found.run_ids
    assert "iops" in fathom.compare(first, second, store=where).metrics
    assert fathom.Report(first, store=where).html().startswith("<!")


def test_numbers_of_a_table_of_pandas_were_those_of_no_run(store: fathom.Store) -> None:
    """SQLite took a number of numpy for a blob, and said that there is no such run."""
    told = [store.runs.save(fabricated(), ["x.dat"]) for _ in range(3)]
    limit: Any = np.int64(1)
    first, second, third = store.to_pandas("runs")["id"].to_numpy()
    assert store.runs.get(first).summary.id == told[0]
    assert [one.id for one in store.runs.list(before=third, limit=limit)] == [told[1]]
    assert store.runs.series(second)
    store.runs.delete(np.array([first, second]))
    assert [one.id for one in store.runs.list()] == [told[2]]
    with pytest.raises(fathom.store.NotFoundError):
        store.runs.get(first)


def test_a_series_of_pandas_was_taken_for_a_request() -> None:
    words = pd.Series(["-b4K", "-d1", "x.dat"])
    for function in (fathom.run, fathom.explain, fathom.repeat):
        with pytest.raises(TypeError, match="a list of words, and no Series"):
            function(words)


@pytest.mark.parametrize("wrong", [ValueError("mine"), KeyError("mine"), TypeError("mine")])
@pytest.mark.usefixtures("short_runs")
def test_what_a_callback_raises_is_raised_and_no_damage_of_the_store(
    tmp_path: Path, wrong: Exception
) -> None:
    def raising(*_told: object) -> None:
        raise wrong

    where, load = tmp_path / "s.sqlite", f"{NULL} --stop-ios=100 {tmp_path / 'x.dat'}"
    for call in (
        lambda: fathom.repeat(load, store=where, pilot=2, most=2, on_run=raising),
        lambda: fathom.repeat(load, store=where, pilot=2, most=2, on_progress=raising),
        lambda: fathom.compare_interleaved(load, load, store=where, on_progress=raising),
        lambda: fathom.tune(
            load.replace(" --stop-ios=100", "").replace(" -W0 -d1", ""),
            threads=1,
            depths=[1, 2],
            store=where,
            on_progress=raising,
        ),
    ):
        with pytest.raises(type(wrong), match="mine"):
            call()


@pytest.mark.parametrize("end", [SystemExit(3), asyncio.CancelledError()])
def test_an_experiment_of_a_program_that_ended_was_noted_as_running(
    tmp_path: Path, end: BaseException
) -> None:
    """A handler of SIGTERM that calls ``sys.exit``, and a task that is cancelled, raise such."""

    def raising(*_told: object) -> None:
        raise end

    load = f"{NULL} --stop-ios=100 {tmp_path / 'x.dat'}"
    with fathom.Store(tmp_path / "s.sqlite") as store:
        with pytest.raises(type(end)):
            fathom.repeat(load, store=store, pilot=3, most=3, on_progress=raising)
        (experiment,) = store.experiments.list()
        assert (experiment.state, experiment.failure) == ("interrupted", None)
        assert len(resume_repeat(store, experiment.id).run_ids) == 3
