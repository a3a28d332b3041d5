"""Who only reads makes no store: each verb says that there is none yet."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from commands import command
from fathom.store import NoStoreError, Store

LISTING = (["list"], ["list", "--experiments"], ["list", "--label", "x"], ["audit"])
LISTING_ALL = (*LISTING, ["baseline", "list"])
ASKING = (
    ["show", "1"],
    ["compare", "1", "2"],
    ["compare", "e1"],
    ["compare", "--resume", "last"],
    ["export"],
    ["report"],
    ["report", "e1", "--terminal"],
    ["plot", "list"],
    ["delete", "1", "--yes"],
    ["baseline", "set", "best", "1"],
    ["baseline", "remove", "best"],
    ["run", "@1"],
    ["repeat", "--resume", "last"],
    ["sweep", "--resume", "last"],
    ["tune", "--resume", "last"],
    ["prepare", "fill", "--resume", "last"],
    ["prepare", "condition", "--resume", "last"],
)


@pytest.fixture
def missing() -> Path:
    """Return the store that the environment names, which is not there."""
    path = Path(os.environ["FATHOM_STORE"])
    assert not path.exists()
    return path


@pytest.mark.parametrize("words", LISTING_ALL, ids=" ".join)
def test_a_list_says_that_there_is_no_store_yet(words: list[str], missing: Path) -> None:
    done = command(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"there is no store {missing} yet")
    done = command(*words, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "there is no store" in done.stderr
    assert not missing.parent.exists() or not [*missing.parent.glob(f"{missing.name}*")]


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_what_is_asked_of_no_store_is_not_found(
    words: list[str], missing: Path, tmp_path: Path
) -> None:
    done = command(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert f"there is no store {missing} yet" in done.stderr
    assert not missing.exists()


def test_an_empty_database_is_no_store_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    path.touch()
    assert "there is no store" in command("list", "--store", path).stdout
    assert path.stat().st_size == 0
    with pytest.raises(NoStoreError):
        Store(path, make=False)
    with Store(path):
        pass
    with Store(path, make=False) as store:
        assert store.runs.list() == []


def test_a_database_of_others_is_still_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    done = command("list", "--store", path)
    assert (done.returncode, "tables of another program" in done.stderr) == (1, True)
