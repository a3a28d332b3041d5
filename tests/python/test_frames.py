"""Results, sweeps, repetitions and stores as data frames: one way, with the same values in each."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom import Result
from fathom._frames import Tabular
from fathom.cli.commands.export import TableChoice
from fathom.experiments.repeat import Repetition
from fathom.experiments.sweep.result import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIXTURES = Path(__file__).parent / "fixtures"
_LOAD = "--engine=null -c1M -b4K -r -w50 -L -D200 -W0 -d1"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[fathom.Store]:
    folder: Path = tmp_path_factory.mktemp("frames")
    with fathom.Store(folder / "s.sqlite") as opened:
        words = ["--engine=null", "-c1M", "-b4K", "-L", str(folder / "x.dat")]
        fathom.sweep(words, {"depth": "2,1"}, store=opened, duration_s=1, warm_up_s=0)
        fathom.repeat(f"{_LOAD} {folder / 'x.dat'}", store=opened, pilot=2, most=2)
        yield opened


def _same_in_all(found: Tabular, table: str) -> list[dict[str, object]]:
    """Return the rows of a table, once each library has shown the same."""
    rows = found.rows(table)
    names = list(dict.fromkeys(name for row in rows for name in row))
    wanted = [{name: row.get(name) for name in names} for row in rows]
    assert found.to_arrow(table).to_pylist() == wanted
    assert found.to_polars(table).to_dicts() == wanted
    pandas = found.to_pandas(table)
    assert list(pandas.columns) == names
    assert len(pandas) == len(rows)
    for name in names:
        for shown, row in zip(pandas[name], wanted, strict=True):
            # What is unknown among numbers is NaN there, which is not even equal to itself.
            is_nothing = shown is None or math.isnan(shown) if row[name] is None else False
            assert is_nothing or shown == row[name]
    return rows


@pytest.mark.parametrize("table", Result.tables)
def test_a_result_is_the_same_in_each_library(table: str) -> None:
    result = Result.from_json((_FIXTURES / "result.json").read_text())
    rows = _same_in_all(result, table)
    if table == "totals":
        assert [row["direction"] for row in rows[:3]] == ["read", "write", "total"]
        assert rows[2]["ios"] == result.total.ios
        assert rows[2]["iops"] == result.total.iops
    if table == "latencies":
        count = sum(row["ios"] for row in rows if row["clock"] == "latency")  # type: ignore[misc]
        assert result.total.latency is not None
        assert count == result.total.latency.count


@pytest.mark.parametrize("table", fathom.Store.tables)
def test_a_store_is_the_same_in_each_library(store: fathom.Store, table: str) -> None:
    rows = _same_in_all(store, table)
    assert rows
    if table == "runs":
        assert [row["id"] for row in rows] == [1, 2, 3, 4]


@pytest.mark.usefixtures("short_runs")
def test_the_cells_of_a_sweep_are_rows_and_their_counts_numbers(tmp_path: Path) -> None:
    words = ["--engine=null", "-c1M", str(tmp_path / "x.dat")]
    parameters = {"depth": "2,16", "block": "4K"}
    with fathom.Store(tmp_path / "s.sqlite") as opened:
        found = fathom.sweep(words, parameters, store=opened, duration_s=1, warm_up_s=0)
        (saved, _other) = opened.rows("cells")
    rows = _same_in_all(found, "cells")
    assert [(row["depth"], row["source"]) for row in rows] == [(2, "measured"), (16, "measured")]
    assert [row["iops"] for row in rows] == [cell.iops for cell in found.cells]
    assert rows[0] == saved | {"depth": 2}


def test_the_figures_of_a_repetition_are_rows(tmp_path: Path) -> None:
    told: list[int] = []
    found = fathom.repeat(
        f"{_LOAD} {tmp_path / 'x.dat'}",
        store=tmp_path / "s.sqlite",
        pilot=2,
        most=2,
        on_progress=lambda progress: told.append(progress.done),
    )
    rows = _same_in_all(found, "metrics")
    assert {row["metric"]: row["mean"] for row in rows}["iops"] == found.metrics[
        "iops"
    ].estimate.mean
    assert told == [1, 2]


def _types(found: Tabular, table: str) -> list[dict[str, str]]:
    """Return the type of each column in each library."""
    arrow = found.to_arrow(table).schema
    return [
        {str(name): str(one) for name, one in found.to_pandas(table).dtypes.items()},
        {name: str(one) for name, one in found.to_polars(table).schema.items()},
        {field.name: str(field.type) for field in arrow},
    ]


@pytest.mark.parametrize("table", fathom.Store.tables)
def test_a_table_without_rows_has_its_columns_and_their_types(
    store: fathom.Store, tmp_path: Path, table: str
) -> None:
    """It had none, so that what counts a column failed where nothing was measured."""
    with fathom.Store(tmp_path / "empty.sqlite") as empty:
        assert empty.rows(table) == []
        for bare, filled in zip(_types(empty, table), _types(store, table), strict=True):
            assert bare
            assert {name: filled[name] for name in bare} == bare
            # Parameters are columns of the sweeps that have them.
            assert filled.keys() - bare.keys() <= {"depth"}


@pytest.mark.parametrize("table", Result.tables)
def test_types_are_those_of_any_result_whatever_it_lacks(tmp_path: Path, table: str) -> None:
    """A latency that was not measured made a column of objects, or of no type."""
    load = f"--engine=null -c1M -b4K -W0 -d1 --stop-ios=50 {tmp_path / 'x.dat'}"
    bare, full = fathom.run(load), fathom.run(f"-L -D100 -w50 {load}")
    assert _types(bare, table) == _types(full, table)
    if table == "totals":
        assert {row["latency_p99_ns"] for row in bare.rows(table)} == {None}
        assert _types(bare, table)[0]["latency_p99_ns"] == "float64"
        assert _types(bare, table)[1]["latency_p99_ns"] == "Int64"
        assert _types(bare, table)[2]["latency_p99_ns"] == "int64"


def test_an_interval_without_an_io_has_no_least_latency(tmp_path: Path) -> None:
    """It was 0, as if an I/O had taken no time."""
    load = f"--engine=null -c1M -b4K -W0 -d1 -D100 --rate=3 {tmp_path / 'x.dat'}"
    rows = _same_in_all(fathom.run(load), "intervals")
    assert {bool(row["ios"]) for row in rows} == {True, False}
    for row in rows:
        ends = (row["latency_ns_min"], row["latency_ns_max"])
        assert all(ends) if row["ios"] else ends == (None, None)


@pytest.mark.usefixtures("short_runs")
def test_cells_of_a_store_have_the_types_of_those_of_a_sweep(tmp_path: Path) -> None:
    """Depths were texts in the store, and numbers in the sweep."""
    words = ["--engine=null", "-c1M", str(tmp_path / "x.dat")]
    with fathom.Store(tmp_path / "s.sqlite") as opened:
        found = fathom.sweep(
            words, {"depth": "2,16", "block": "4K"}, store=opened, duration_s=1, warm_up_s=0
        )
        assert opened.rows("cells") == found.rows()
        assert _types(opened, "cells") == _types(found, "cells")
        # A sweep of something else has no depth, and makes no text of the others'.
        fathom.sweep(words, {"block": "4K,8K"}, store=opened, duration_s=1, warm_up_s=0)
        assert [row["depth"] for row in opened.rows("cells")] == [2, 16, None, None]


def test_each_time_span_of_a_run_has_rows_in_a_store(tmp_path: Path) -> None:
    """The table of runs has the first one alone."""
    profile = fathom.parse(f"--engine=null -c1M -b4K -W0 -d1 --stop-ios=50 {tmp_path / 'x.dat'}")
    one = profile.profile.time_spans[0]
    other = replace(one, targets=(replace(one.targets[0], block_bytes=8192),))
    asked = replace(profile, profile=replace(profile.profile, time_spans=(one, other)))
    with fathom.Store(tmp_path / "s.sqlite") as opened:
        result = fathom.run(asked)
        run_id = opened.runs.save(result, ["x"])
        rows = [row for row in opened.rows("totals") if row["direction"] == "total"]
        assert [(row["run_id"], row["time_span"]) for row in rows] == [(run_id, 0), (run_id, 1)]
        assert [row["bytes"] for row in rows] == [one.total.bytes for one in result.time_spans]
        assert [row["bytes"] for row in opened.rows("runs")] == [result.total.bytes]


def test_a_table_that_is_not_there_is_named_with_those_that_are(store: fathom.Store) -> None:
    with pytest.raises(ValueError, match="no table 'run'; there are runs, intervals"):
        store.to_pandas("run")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_missing_is_named_with_what_does_without(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    result = Result.from_json((_FIXTURES / "result.json").read_text())
    convert = getattr(result, f"to_{library.removeprefix('py')}")
    with pytest.raises(ImportError, match=rf"{library} is not installed.*rows\(\)"):
        convert()


def test_no_library_is_loaded_before_one_is_asked_for() -> None:
    code = (
        "import sys, fathom; fathom.Result, fathom.Store\n"
        "print({'pandas', 'polars', 'pyarrow'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def _tabular() -> list[type[Tabular]]:
    return [fathom.Result, fathom.Store, Repetition, Sweep]


def test_each_table_of_the_api_can_be_exported_and_each_export_is_a_frame() -> None:
    """``export`` had no totals and no figures of repetitions, which frames had."""
    exported = {one.value for one in TableChoice} - {"whole"}
    assert exported == {*fathom.Store.tables}
    assert {name for one in _tabular() for name in one.tables} == exported
    assert {*_tabular()} == {*Tabular.__subclasses__()}


@pytest.mark.parametrize("table", fathom.Store.tables)
def test_what_is_exported_is_what_the_frame_shows(store: fathom.Store, table: str) -> None:
    done = command("export", "--table", table, "--format", "json", "--store", store.name)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    frame = store.rows(table)
    assert len(rows) == len(frame) > 0
    for row, shown in zip(rows, frame, strict=True):
        assert {name: shown.get(name) for name in row} == row


def test_the_figures_of_a_repetition_are_the_same_in_the_store(
    store: fathom.Store, tmp_path: Path
) -> None:
    found = fathom.repeat(f"{_LOAD} {tmp_path / 'x.dat'}", store=store, pilot=2, most=2)
    name = f"e{found.experiment_id}"
    done = command("export", name, "--table", "metrics", "--format", "json", "--store", store.name)
    assert json.loads(done.stdout) == found.rows()
    wrong = command("export", "e1", "--table", "metrics", "--store", store.name)
    assert (wrong.returncode, wrong.stderr) == (
        3,
        "error: experiment e1 is no repeat: it has no metrics\n",
    )


@pytest.mark.usefixtures("short_runs")
def test_a_seed_of_64_bits_was_lost_in_polars_and_broke_arrow(tmp_path: Path) -> None:
    seeds = ["1", str(2**64 - 1)]
    with fathom.Store(tmp_path / "s.sqlite") as store:
        found = fathom.sweep(
            f"--engine=null -c16M -b4K -r -L {tmp_path / 'x.dat'}",
            {"-z": seeds, "depth": [2]},
            store=store,
            duration_s=1,
            warm_up_s=0,
        )
        for each in (found, store):
            arrow = each.to_arrow("cells")
            assert arrow["-z"].to_pylist() == seeds
            assert arrow["depth"].to_pylist() == [2, 2]
            assert each.to_polars("cells")["-z"].to_list() == seeds
            assert list(each.to_pandas("cells")["-z"]) == seeds
