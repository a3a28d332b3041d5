"""Who only reads makes no store: each verb says that there is none yet."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom.store import NoStoreError, Store

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.mark.parametrize(
    "read",
    [
        lambda where: fathom.Report(store=where),
        lambda where: fathom.Report("e1", store=where),
        lambda where: fathom.Report("x.json", store=where),
        lambda where: fathom.compare(1, 2, store=where),
    ],
)
def test_who_only_reads_in_python_makes_no_misspelt_store(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    with pytest.raises(NoStoreError, match="there is no store"):
        read(tmp_path / "typo" / "store.sqlite")
    assert [*tmp_path.iterdir()] == []


def test_a_report_of_files_needs_no_store(missing: Path, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    found = fathom.run(f"--engine=null -c1M -b4K -d1 -W0 --stop-ios=100 {tmp_path / 'x.dat'}")
    path.write_text(json.dumps(dict(found.raw)))
    assert "result.json" in fathom.Report(str(path)).markdown()
    assert not missing.exists()
