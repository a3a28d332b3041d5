"""No run writes a store of results, whatever is typed and wherever it saves."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom import RefusedError
from fathom._files import replacing
from fathom._own_stores import own_stores
from fathom.store import Store
from support import diskspd

if TYPE_CHECKING:
    from collections.abc import Iterator

WRITES = ["-w100", "--overwrite", "-d1", "-W0", "-b4K"]


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Return three stores with an experiment: by default, of the environment, and another one.

    They are made by another process: this one has opened none of them.
    """
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    found = {
        "default": tmp_path / "data/fathom/runs.sqlite",
        "environment": tmp_path / "named.sqlite",
        "other": tmp_path / "other.sqlite",
    }
    code = (
        "import sys\nfrom fathom.store import Store\nfor path in sys.argv[1:]: Store(path).close()"
    )
    subprocess.run([sys.executable, "-c", code, *map(str, found.values())], check=True)
    monkeypatch.setenv("FATHOM_STORE", str(found["environment"]))
    return found


@pytest.fixture
def untouched(stores: dict[str, Path]) -> Iterator[None]:
    """Compare what all stores hold before and after, but for the lines on overrides."""
    before = {path: held(path) for path in stores.values()}
    yield
    assert before == {path: held(path) for path in stores.values()}


def held(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [line for line in connection.iterdump() if "overrides" not in line]


@pytest.mark.usefixtures("untouched")
def test_break_3_fathom_does_not_destroy_its_own_store(
    stores: dict[str, Path], tmp_path: Path
) -> None:
    other = ["--store", str(stores["other"])]
    for target, more in (
        ("environment", []),
        ("environment", other),
        ("default", []),
        ("default", other),
        ("other", other),
    ):
        done = command("run", "--no-save", *more, *WRITES, str(stores[target]))
        assert (done.returncode, "is protected" in done.stderr) == (2, True), done.stderr
    assert command("run", *other, *WRITES, str(stores["environment"])).returncode == 2
    (tmp_path / "link").symlink_to(stores["environment"])
    (tmp_path / "same").hardlink_to(stores["environment"])
    for name in ("link", "same", "named.sqlite", "./data/../named.sqlite"):
        done = command("run", "--no-save", *WRITES, name, cwd=tmp_path)
        assert (done.returncode, "is protected" in done.stderr) == (2, True), done.stderr


@pytest.mark.usefixtures("untouched")
def test_the_python_calls_do_not_destroy_a_store_either(stores: dict[str, Path]) -> None:
    for name in ("environment", "default"):
        for arguments in (WRITES, ["-c4K", *WRITES], ["-c1M", *WRITES, "-Sm"]):
            with pytest.raises(RefusedError, match="is protected"):
                fathom.run([*arguments, str(stores[name])])
        assert not fathom.explain([*WRITES, str(stores[name])])["would_run"]
    # One that was open once stays ours.
    Store(stores["other"]).close()
    with pytest.raises(RefusedError, match="is protected"):
        fathom.run([*WRITES, str(stores["other"])])


def test_no_other_verb_destroys_a_store(stores: dict[str, Path]) -> None:
    store, other = str(stores["environment"]), str(stores["other"])
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("CREATE TABLE room AS SELECT zeroblob(2000000) AS bytes")
        connection.commit()
    before = stores["environment"].read_bytes()
    for words in (
        ["prepare", "fill", "--overwrite", "--store", other, store],
        ["assess", "--quick", "--write", "--overwrite", "--store", other, store],
        ["repeat", "--store", other, *WRITES, store],
    ):
        done = command(*words)
        assert (done.returncode, "protected" in done.stderr) == (2, True), done.stderr
    assert stores["environment"].read_bytes() == before


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_what_sqlite_would_read_beside_a_store_was_made_by_a_load(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load made the write-ahead log of a store, which SQLite then played back into it."""
    store, link = tmp_path / "s.sqlite", tmp_path / "link"
    monkeypatch.setenv("FATHOM_STORE", str(store))
    link.symlink_to(tmp_path)
    for folder in (tmp_path, link):
        for words in (
            [f"{folder}/s.sqlite{end}"],
            [f"--protect={folder}/p.db", f"{folder}/p.db{end}"],
        ):
            done = subprocess.run(
                [diskspd(), "-c64K", "-w100", "-d1", "-W0", *words],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, "it is protected" in done.stderr) == (2, True), done.stderr
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link"]


def test_what_sqlite_keeps_beside_a_store_is_protected_too(stores: dict[str, Path]) -> None:
    path = stores["environment"]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS more (x)")
        connection.commit()
        for end in ("-wal", "-shm"):
            beside = Path(f"{path}{end}")
            before = beside.read_bytes()
            with pytest.raises(RefusedError, match="is protected"):
                fathom.run([*WRITES, str(beside)])
            assert beside.read_bytes() == before
        os.truncate(f"{path}-wal", 0)
        done = command("prepare", "fill", "--size", "1M", f"{path}-wal")
        assert (done.returncode, "it is protected" in done.stderr) == (2, True), done.stderr
    done = command("prepare", "fill", "--size", "1M", f"{path}-journal")
    assert (done.returncode, "it is protected" in done.stderr) == (2, True), done.stderr
    assert not Path(f"{path}-journal").exists()


def test_addresses_of_stores_are_files_or_nothing_to_protect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address, file in (
        (f"sqlite:///{tmp_path}/x.sqlite", tmp_path / "x.sqlite"),
        ("~/x.sqlite", Path.home() / "x.sqlite"),
        ("postgresql://user@host/database", None),
        ("nonsense://x", None),
    ):
        monkeypatch.setenv("FATHOM_STORE", address)
        found = own_stores()
        assert file is None or str(file) in found
        assert not [one for one in found if "://" in one]


@pytest.mark.usefixtures("untouched")
def test_a_report_took_the_place_of_what_a_database_keeps_beside_it(
    stores: dict[str, Path], tmp_path: Path
) -> None:
    """Only what begins as a database did was known: its log with the newest runs did not."""
    with Store(stores["other"]):
        pass
    for number, path in enumerate(stores.values()):
        log = Path(f"{path}-wal")
        log.write_bytes(b"runs")
        link = tmp_path / f"link-{number}"
        link.symlink_to(log)
        for place in (log, link, Path(f"{path}-journal")):
            with pytest.raises(OSError, match="is protected"), replacing(place) as unfinished:
                unfinished.write_text("a report", encoding="utf-8")
        assert log.read_bytes() == b"runs"
        assert not Path(f"{path}-journal").exists()
        log.unlink()
    with replacing(tmp_path / "report.md") as unfinished:
        unfinished.write_text("a report", encoding="utf-8")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "a report"
