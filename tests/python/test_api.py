"""The lab from Python: the experiments as functions."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import fathom
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.progress import Progress

NULL = "-c16M -b4K -W0 -d1 --engine=null"


def test_nothing_of_the_experiments_is_loaded_before_one_is_asked_for() -> None:
    code = "import sys, fathom; print([one for one in sys.modules if 'numpy' in one][:1])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
    with pytest.raises(ValueError, match="one limit"):
        fathom.tune(NULL, p99_ns=1e6, mean_ns=1e6)
