"""Lists that are read without SQLAlchemy are those that `Store` reads, or `Store` is asked."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import fathom
import pytest
from fathom._own_stores import own_stores
from fathom.cli import app
from fathom.store import Store
from fathom.store._summaries import summaries
from fathom.store._tables import runs
from fathom.store.glance import QUESTION, newest_runs
from sqlalchemy.dialects import sqlite
from test_cli_help import loaded_by
from typer.testing import CliRunner

TEXT = (Path(__file__).parent / "fixtures/result.json").read_text()
RESULT = fathom.Result.from_json(TEXT)
LIMIT = 50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a store with a complete run, one that failed, and one without a first target."""
    place = tmp_path / "ours of 100%.sqlite"
    with Store(place) as store:
        store.runs.save(RESULT, ["-b8K"], label="oltp")
        store.runs.save(RESULT, ["-b8K", "x\udcff.dat"], failures=["no \x1b[31m room"])
        last = store.runs.save(RESULT, ["-b8K"])
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("DELETE FROM run_targets WHERE run_id = ?", (last,))
    connection.close()
    return place


def test_the_question_is_the_one_of_the_store() -> None:
    query = summaries().order_by(runs.c.id.desc())
    asked = query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    assert QUESTION.read_text().split() == [*str(asked).split(), "LIMIT", ":limit"]


def test_the_list_is_the_one_of_the_store(file: Path) -> None:
    with Store(file) as store:
        whole = store.runs.list(limit=LIMIT)
        assert newest_runs(file, LIMIT) == whole
        assert newest_runs(file, 2) == whole[:2]
        # Beside a writer that has not saved yet, it is what is saved.
        store.runs.save(RESULT, [])
        assert len(newest_runs(file, LIMIT) or []) == len(whole) + 1


def test_nothing_is_left_beside_the_store(file: Path) -> None:
    before = sorted(file.parent.iterdir())
    assert newest_runs(file, LIMIT)
    assert sorted(file.parent.iterdir()) == before == [file]


def test_a_store_that_was_listed_is_protected(file: Path) -> None:
    assert newest_runs(file, LIMIT)
    assert str(file) in own_stores()


def _older(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE fathom_version SET version_num = '0001'")
    connection.close()


def _without_log(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


def _foreign(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def _damaged(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


def _missing(file: Path) -> None:
    file.unlink()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "change", [_older, _without_log, _foreign, _damaged, _missing, _pipe, _folder]
)
def test_whatever_is_not_plain_is_left_to_the_store(file: Path, change: object) -> None:
    assert callable(change)
    change(file)
    assert newest_runs(file, LIMIT) is None
    assert file.exists() == (change is not _missing)


def test_a_store_that_somebody_keeps_locked_is_left_to_the_store(file: Path) -> None:
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    assert newest_runs(file, LIMIT) is None
    holder.close()
    assert newest_runs(file, LIMIT)


@pytest.mark.parametrize("address", ["postgresql://nobody@127.0.0.1:1/none", "nothing://"])
def test_an_address_is_left_to_the_store(address: str) -> None:
    assert newest_runs(address, LIMIT) is None


def test_a_number_beyond_what_databases_take_is_left_to_the_store(file: Path) -> None:
    assert newest_runs(file, 1 << 64) is None


def test_the_command_shows_the_same_both_ways(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(*more: str) -> str:
        done = CliRunner().invoke(app, ["list", "--store", str(file), *more])
        assert done.exit_code == 0, done.output
        return done.output

    quick, quick_json = shown(), shown("--json")
    monkeypatch.setattr("fathom.cli.commands.list.newest_runs", lambda *_: None)
    assert (shown(), shown("--json")) == (quick, quick_json)
    assert "oltp" in quick


def test_a_list_loads_no_database_toolkit(file: Path) -> None:
    heavy = {"sqlalchemy", "alembic", "numpy", "scipy"}
    assert not loaded_by("list", "--store", str(file)) & heavy
    # The other way round, so that the names are those of modules.
    assert "sqlalchemy" in loaded_by("list", "--store", str(file), "--label", "oltp")
