"""The verbs of the store: list, show, export, delete, baseline."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import fathom.store as stores
import openpyxl
import pytest
from commands import COMMAND, command
from fathom._export import FORMATS
from fathom.store import Store
from fathom.store._tables import runs
from pyarrow import parquet
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LIGHT = """
import runpy, sys
sys.argv = ["fathom", *sys.argv[1:]]
from fathom.cli import main
try:
    main()
except SystemExit:
    pass
heavy = "numpy scipy sqlalchemy alembic psycopg pyarrow openpyxl platformdirs pandas".split()
loaded = [name for name in heavy if name in sys.modules]
assert not loaded, loaded
assert "typer" in sys.modules
"""


@pytest.fixture
def filled() -> Iterator[Store]:
    """Return the store that the command uses too, with three runs, two of an experiment."""
    with Store(os.environ["FATHOM_STORE"]) as store:
        experiment_id = store.experiments.begin("repeat", "ten times", {}, [("first", {"n": 1})])
        (step,) = store.experiments.get(experiment_id).steps
        store.runs.save(RESULT, ["-b8K", "=evil.dat"], label="[red]oltp")
        store.runs.save(RESULT, ["x"], experiment_id=experiment_id, step_id=step.id)
        store.runs.save(RESULT, ["x"], experiment_id=experiment_id)
        yield store


def test_a_measured_run_is_saved_and_found_again(tmp_path: Path) -> None:
    args = ["-c4M", "-b4K", "-r", "-d1", "-W0", "-L", str(tmp_path / "scratch.dat")]
    done = command("run", "--label", "first try", *args)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Saved as run 1" in done.stdout
    with Store() as store:
        run = store.runs.get(1)
        assert (run.arguments, run.summary.label) == (tuple(args), "first try")
        assert run.result.total.ios > 0
    assert "first try" in command("list").stdout


def test_a_run_is_not_saved_if_so_asked(tmp_path: Path) -> None:
    args = ["-c1M", "-b4K", "-d1", "-W0", str(tmp_path / "scratch.dat")]
    assert command("run", "--no-save", *args).returncode == 0
    assert not Path(os.environ["FATHOM_STORE"]).exists()


def test_a_failed_run_is_saved_as_failed(tmp_path: Path) -> None:
    assert command("run", "-d1", "-W0", str(tmp_path / "missing.dat")).returncode == 1
    with Store() as store:
        (run,) = store.runs.list()
    assert run.outcome == "failed"
    assert "missing.dat" in str(run.failure)


def test_a_store_that_cannot_be_used_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch.dat"
    done = command("run", "--store", str(tmp_path), "-c1M", "-d1", "-W0", str(scratch))
    assert done.returncode == 1
    assert "cannot be opened" in done.stderr
    assert not scratch.exists()


def test_runs_are_listed_as_a_table_and_as_json(filled: Store) -> None:
    table = command("list").stdout
    assert "[red]oltp" in table
    assert f"{RESULT.total.iops:,.0f}" in table
    found = json.loads(command("list", "--json", "--limit", "2").stdout)
    assert [run["id"] for run in found] == [3, 2]
    assert json.loads(command("list", "--json", "--label", "*oltp").stdout)[0]["id"] == 1
    assert "no such runs" in command("list", "--label", "nothing").stdout
    experiments = json.loads(command("list", "--experiments", "--json").stdout)
    assert [(one["id"], one["run_count"]) for one in experiments] == [(1, 2)]
    assert filled.name in command("list", "--label", "nothing").stdout


@pytest.mark.usefixtures("filled")
def test_a_run_is_shown_with_its_provenance() -> None:
    shown = command("show", "1").stdout
    for words in ("-b8K =evil.dat", RESULT.raw["host"]["kernel"], "IOPS", "Warning: "):
        assert words in shown
    (whole,) = json.loads(command("show", "1", "--json").stdout)
    assert whole["result"] == RESULT.raw


@pytest.mark.usefixtures("filled")
def test_an_experiment_is_shown_with_its_steps() -> None:
    shown = command("show", "e1").stdout
    assert "ten times" in shown
    assert "done" in shown
    whole = json.loads(command("show", "e1", "--json").stdout)
    assert [run["id"] for run in whole["runs"]] == [3, 2]
    assert whole["steps"][0]["parameters"] == {"n": 1}


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("verb", [["show"], ["export"], ["delete", "--yes"]])
def test_unknown_references_have_the_exit_code_3(verb: list[str]) -> None:
    for reference in ("999", "silver", "e999"):
        done = command(*verb, reference)
        assert done.returncode == 3
        assert done.stderr.startswith("error: ")


@pytest.mark.usefixtures("filled")
def test_every_form_of_export_holds_the_same(tmp_path: Path) -> None:
    assert {*FORMATS} == {"csv", "json", "parquet", "xlsx"}, "read the new form here as well"
    page = (ROOT / "docs/store.md").read_text(encoding="utf-8")
    assert [form for form in FORMATS if f".{form}" not in page] == [], "name it in docs/store.md"
    files = {form: tmp_path / f"runs.{form}" for form in FORMATS}
    for path in files.values():
        assert command("export", "--output", str(path)).returncode == 0
    expected = json.loads(files["json"].read_text())
    assert [row["id"] for row in expected] == [1, 2, 3]
    assert expected[0]["total_iops"] == pytest.approx(RESULT.total.iops)
    assert parquet.read_table(files["parquet"]).to_pylist() == expected
    sheet = openpyxl.load_workbook(files["xlsx"]).active
    assert sheet is not None
    names, *rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert [dict(zip(names, row, strict=True)) for row in rows] == [
        {
            name: pytest.approx(value) if isinstance(value, float) else value or None
            for name, value in row.items()
        }
        | {"warning_count": row["warning_count"]}
        for row in expected
    ]
    lines = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [line["id"] for line in lines] == ["1", "2", "3"]
    assert float(lines[0]["total_iops"]) == expected[0]["total_iops"]


@pytest.mark.usefixtures("filled")
def test_histograms_and_intervals_are_exported_whole() -> None:
    buckets = json.loads(command("export", "1", "--table", "latencies", "--format", "json").stdout)
    service = [row for row in buckets if row["clock"] == "latency"]
    assert sum(row["ios"] for row in service) == RESULT.total.ios
    rows = csv.DictReader(io.StringIO(command("export", "1", "--table", "intervals").stdout))
    cells = [
        target[direction]["series"]["cells"]
        for thread in RESULT.raw["time_spans"][0]["threads"]
        for target in thread["targets"]
        for direction in ("read", "write")
    ]
    assert sum(int(row["ios"]) for row in rows) == sum(
        cell["ios"] for series in cells for cell in series
    )
    (whole,) = json.loads(command("export", "1", "--table", "whole", "--format", "json").stdout)
    assert whole["result"] == RESULT.raw


def test_a_table_without_rows_was_exported_without_its_columns(
    filled: Store, tmp_path: Path
) -> None:
    for table in ("cells", "metrics"):
        names = [*stores.columns_of(table)]
        shown = command("export", "--table", table, "--store", filled.name).stdout
        assert [*csv.reader(io.StringIO(shown))] == [names]
        file = tmp_path / f"{table}.parquet"
        assert command("export", "--table", table, "-o", file).returncode == 0
        assert parquet.read_schema(file).names == names


def test_a_column_without_a_value_had_no_type_so_that_files_could_not_be_read_as_one(
    filled: Store, tmp_path: Path
) -> None:
    with filled._database.writing() as connection:
        connection.execute(runs.update().where(runs.c.id == 2).values(sync_iops=1.0))
    for number in (1, 2):
        assert command("export", str(number), "-o", tmp_path / f"{number}.parquet").returncode == 0
    one, other = (parquet.read_schema(tmp_path / f"{number}.parquet") for number in (1, 2))
    assert one == other
    assert parquet.read_table(tmp_path).column("sync_iops").to_pylist() == [None, 1.0]


@pytest.mark.usefixtures("filled")
def test_a_name_that_looks_like_a_formula_is_none(tmp_path: Path) -> None:
    with Store() as store:
        store.runs.save(RESULT, [], label="=1+1\x07")
    path = tmp_path / "runs.xlsx"
    assert command("export", "4", "-o", str(path)).returncode == 0
    sheet = openpyxl.load_workbook(path).active
    assert sheet is not None
    (cell,) = [cell for row in sheet.iter_rows() for cell in row if "1+1" in str(cell.value)]
    assert (cell.data_type, cell.value) == ("s", "=1+1\ufffd")


@pytest.mark.usefixtures("filled")
def test_an_export_replaces_no_file_unasked(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("precious")
    done = command("export", "-o", str(path))
    assert (done.returncode, path.read_text()) == (1, "precious")
    assert "--overwrite" in done.stderr
    assert command("export", "-o", str(path), "--overwrite").returncode == 0
    assert path.read_text().startswith("id,")
    assert [one.name for one in tmp_path.iterdir()] == ["runs.csv"]
    done = command("export", "-o", str(tmp_path / "runs.doc"))
    assert (done.returncode, "end it with .csv" in done.stderr) == (1, True)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("form", "library"), [("parquet", "pyarrow"), ("xlsx", "openpyxl")])
def test_a_missing_library_is_told_with_the_way_to_get_it(
    tmp_path: Path, form: str, library: str
) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; {COMMAND[2]}"
    args = ["export", "-o", str(tmp_path / f"runs.{form}")]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"pip install 'fathom-storage[{form}]'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_deleting_asks_first(filled: Store) -> None:
    refused = command("delete", "1")
    assert refused.returncode == 3
    assert "--yes" in refused.stderr
    assert command("delete", "--yes", "1").returncode == 0
    assert [run.id for run in filled.runs.list()] == [3, 2]
    assert command("delete", "--yes", "e1").returncode == 0
    assert (filled.runs.list(), filled.experiments.list()) == ([], [])


def test_what_changes_the_store_tells_it_as_json(filled: Store) -> None:
    found = json.loads(command("baseline", "set", "golden", "e1", "--json").stdout)
    assert (found["name"], found["experiment_id"]) == ("golden", 1)
    found = json.loads(command("baseline", "remove", "golden", "--json").stdout)
    assert found == {"removed": "golden"}
    before = {run.id for run in filled.runs.list()}
    found = json.loads(command("delete", "--yes", "--json", "e1").stdout)["deleted"]
    assert found["experiment_ids"] == [1]
    assert found["runs"] == len(before) - len(filled.runs.list()) > 0


def test_delete_counted_the_runs_of_an_experiment_twice(filled: Store) -> None:
    done = command("delete", "--yes", "2", "e1", "e01")
    assert (done.returncode, done.stdout) == (0, "deleted 2 runs and 1 experiment\n")
    assert [run.id for run in filled.runs.list()] == [1]


def test_a_list_of_experiments_lost_its_runs_and_kept_its_experiments(filled: Store) -> None:
    filled.experiments.begin("sweep", "another", {})
    done = command("delete", "--yes", "e1,e2")
    assert (done.returncode, done.stdout) == (0, "deleted 2 runs and 2 experiments\n")
    assert filled.experiments.list() == []


def test_a_refused_experiment_did_not_keep_the_runs_beside_it_from_being_deleted(
    filled: Store,
) -> None:
    filled.baselines.set("golden", "e1")
    done = command("delete", "--yes", "1", "e1")
    assert (done.returncode, "golden" in done.stderr) == (1, True)
    assert len(filled.runs.list()) == 3


def test_a_no_deletes_nothing(filled: Store) -> None:
    master, slave = os.openpty()
    os.write(master, b"n\n")
    done = subprocess.run(
        [*COMMAND, "delete", "1"], stdin=slave, capture_output=True, text=True, check=False
    )
    os.close(master)
    os.close(slave)
    assert (done.returncode, "ended by the user" in done.stderr) == (130, True)
    assert "Traceback" not in done.stderr
    assert len(filled.runs.list()) == 3


def test_baselines_are_set_listed_and_removed(filled: Store) -> None:
    assert command("baseline", "set", "golden", "e1").returncode == 0
    assert "golden" in command("baseline", "list").stdout
    (listed,) = json.loads(command("baseline", "list", "--json").stdout)
    assert (listed["name"], listed["experiment_id"]) == ("golden", 1)
    kept = command("delete", "--yes", "e1")
    assert kept.returncode == 1
    assert "golden" in kept.stderr
    assert command("baseline", "remove", "golden").returncode == 0
    assert filled.baselines.list() == []


@pytest.mark.parametrize(
    "args",
    [["--help"], ["--version"], ["run", "--help"], ["repeat", "--help"], ["compare", "--help"]],
)
def test_nothing_heavy_is_loaded_for_help(args: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, *args], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_tables_for_another_program_have_a_line_for_each_row_and_no_lines_of_their_own(
    tmp_path: Path,
) -> None:
    name = "long-" * 30
    environment = {"FATHOM_STORE": str(tmp_path / "s.sqlite"), "COLUMNS": "40"}
    run = ["run", "--label", name, "-W0", "-d1", "-c64K", "-b4K", str(tmp_path / "t.dat")]
    for arguments in (run, ["list"]):
        told = command(*arguments, environment=environment)
        assert told.returncode == 0
    heading, row = told.stdout.splitlines()
    assert heading.split()[:3] == ["run", "started", "label"]
    assert row.split()[0] == "1"
    assert row.split()[3] == name


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("words", ["export ,", "compare , 1", "show ,", "report ,", "show 1,"])
def test_a_comma_was_taken_for_a_run_without_a_name(words: str) -> None:
    done = command(*words.split())
    assert done.returncode == 3
    assert "names nothing: write runs such as 12,14" in done.stderr
    assert "''" not in done.stderr


def test_an_export_of_all_runs_ended_at_the_first_that_nobody_can_read(
    filled: Store, tmp_path: Path
) -> None:
    with filled._database.writing() as connection:
        connection.execute(runs.update().where(runs.c.id == 2).values(result_json_zlib=b"x"))
    done = command("export", "--format", "json", cwd=tmp_path)
    assert [one["id"] for one in json.loads(done.stdout)] == [1, 2, 3]
    assert (done.returncode, done.stderr) == (0, "")
    for words in ([], ["1,2,3"], ["e1", "1"]):
        done = command(
            "export", *words, "--table", "totals", "-o", "t.json", "--overwrite", cwd=tmp_path
        )
        assert {one["run_id"] for one in json.loads((tmp_path / "t.json").read_text())} == {1, 3}
        assert (done.returncode, done.stderr.count("error: left out: run 2 was")) == (1, 1)
    done = command("export", "2", "--table", "totals", "-o", "none.json", cwd=tmp_path)
    assert (done.returncode, "run 2 was" in done.stderr) == (1, True)
    assert not (tmp_path / "none.json").exists()
