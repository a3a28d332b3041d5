"""A line in the store for each override: who allowed to destroy what, and when."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from alembic import command as alembic
from commands import command
from fathom._permission import Permission
from fathom.runners.measure import measure
from fathom.store import Store, StoreError
from fathom.store._database import Database
from fathom.store._migrate import _APPLICATION_ID, alembic_config
from fathom.store.where import store_url

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ["-w100", "-b4K", "-d1", "-W0"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    return tmp_path


@pytest.fixture
def theirs(here: Path) -> Path:
    """Return the database of another program."""
    path = here / "theirs.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE wages AS SELECT zeroblob(100000) AS x")
    connection.commit()
    connection.close()
    return path


def audited() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(command("audit", "--json").stdout)
    return told


def test_each_override_is_noted_with_who_what_and_when(here: Path, theirs: Path) -> None:
    inode, began_s = theirs.stat().st_ino, time.time()
    assert command("run", *SHORT, str(theirs)).returncode == 2
    assert audited() == []
    assert command("run", *SHORT, "--overwrite", str(theirs)).returncode == 0
    (line,) = audited()
    assert (line["permission"], line["target_path"], line["run_id"]) == (
        "--overwrite",
        str(theirs),
        1,
    )
    assert (line["user_id"], f"inode {inode}," in line["target_identity"]) == (os.getuid(), True)
    assert began_s <= line["at_unix_s"] <= time.time()
    assert command("run", "--no-save", *SHORT, "--overwrite", str(theirs)).returncode == 0
    assert [one["run_id"] for one in audited()] == [None, 1]
    shown = command("audit").stdout
    assert all(words in shown for words in ("--overwrite", str(theirs), f"({os.getuid()})"))
    # It stays when the run is deleted.
    assert command("delete", "--yes", "1").returncode == 0
    assert len(audited()) == 2
    del here


def test_what_cannot_be_noted_is_not_run(here: Path, theirs: Path) -> None:
    before = theirs.read_bytes()
    Store().close()
    with closing(sqlite3.connect(here / "store.sqlite")) as raw, raw:
        raw.execute(
            "CREATE TRIGGER full BEFORE INSERT ON overrides BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    raw.close()
    with Store() as opened:
        for store in (None, opened):
            with pytest.raises(StoreError):
                measure(store, [*SHORT, str(theirs)], permission=Permission(overwrite=True))
    assert theirs.read_bytes() == before


def test_an_experiment_that_was_allowed_something_asks_again(here: Path, theirs: Path) -> None:
    with Store() as store:
        policy = {"metric": "iops", "relative_half_width": 0.5, "confidence": 0.9, "pilot": 2}
        plan = {"arguments": [*SHORT, str(theirs)], "label": "", "most": 2, **policy}
        number = store.experiments.begin("repeat", "repeat", plan)
        store.overrides.note(Permission(overwrite=True), plan["arguments"], number)  # type: ignore[arg-type]
        assert store.experiments.get(number).once_allowed == ("--overwrite",)
        store.experiments.finish(number, "interrupted")
    done = command("repeat", "--resume", f"e{number}")
    assert (done.returncode, "type it again" in done.stderr) == (2, True)
    assert command("repeat", "--resume", f"e{number}", "--overwrite").returncode == 0
    del here


def test_a_store_of_the_version_before_gets_the_table(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    database = Database(store_url(path))
    with database.writing() as connection:
        alembic.upgrade(alembic_config(connection), "0002")
        connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.exec_driver_sql(
            "INSERT INTO experiments VALUES "
            "(1, 'run', 'old', 'complete', NULL, 1, 2, '0', '{}', NULL)"
        )
    database.close()
    with Store(path) as store:
        assert store.experiments.get(1).name == "old"
        (number,) = store.overrides.note(Permission(overwrite=True), ["-w1", "x.dat"], 1)
        store.overrides.ended([number], 7)
        (line,) = store.overrides.list()
        assert (line.run_id, line.target_identity) == (7, "new")
    assert fathom.version()
