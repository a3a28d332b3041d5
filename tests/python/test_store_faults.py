"""A store that cannot be used says why and what to do, and is not changed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from commands import command
from fathom import InvalidRequestError
from fathom._signals import ending_in_good_order
from fathom.store import (
    NotAStoreError,
    Store,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreTooNewError,
    _database,
)
from fathom.store.where import store_url
from store_worker import RESULT

if TYPE_CHECKING:
    from collections.abc import Callable


def change(address: str, *statements: str) -> None:
    """Change a database behind Fathom's back."""
    engine = sa.create_engine(store_url(address))
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def test_a_store_of_a_later_version_is_left_alone(address: str) -> None:
    Store(address).close()
    change(address, "UPDATE fathom_version SET version_num = '9999'")
    with pytest.raises(StoreTooNewError, match=r"later version.*9999.*knows up to 0005"):
        Store(address)
    change(address, "UPDATE fathom_version SET version_num = '0005'")
    Store(address).close()


def test_tables_of_another_program_are_left_alone(address: str) -> None:
    change(address, "CREATE TABLE runs (marathon TEXT)", "INSERT INTO runs VALUES ('Berlin')")
    with pytest.raises(NotAStoreError, match="another program"):
        Store(address)
    engine = sa.create_engine(store_url(address))
    assert sa.inspect(engine).get_table_names() == ["runs"]
    engine.dispose()


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, these are my only notes.\n" * 400)
    before = letter.read_bytes()
    with pytest.raises(NotAStoreError, match=r"letter\.txt is no store"):
        Store(letter)
    assert letter.read_bytes() == before
    assert list(tmp_path.iterdir()) == [letter]


def test_a_damaged_store_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    with pytest.raises(StoreError, match=r"store\.sqlite"):
        Store(path)


@pytest.mark.parametrize(
    ("text", "spoilt", "words"),
    [
        (b"total_latency_mean_ns", b"tntal_latency_mean_ns", r"no such column: runs\.total_lat\w+"),
        (b"CREATE TABLE runs (", b"CREATE TABL\xc5 runs (", "'utf-8' codec can't decode .*"),
        (b"a label", b"a l\xe1bel", "Could not decode to UTF-8 column 'label'"),
    ],
)
def test_a_store_with_one_wrong_bit_was_not_said_to_be_damaged(
    tmp_path: Path, text: bytes, spoilt: bytes, words: str
) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        store.runs.save(RESULT, [], label="a label")
    whole = path.read_bytes()
    assert text in whole
    path.write_bytes(whole.replace(text, spoilt))
    wanted = rf"is damaged \({words}\): put back a copy"
    with pytest.raises(StoreError, match=wanted), Store(path) as store:
        store.runs.list()


def test_a_file_system_without_shared_memory_was_an_error_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as FUSE with direct I/O, where mmap(MAP_SHARED) ends with ENODEV."""
    path = tmp_path / "store.sqlite"
    Store(path).close()

    def unshared(*_any: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMMAP
        raise error

    monkeypatch.setattr(_database, "_set_up_sqlite", unshared)
    with pytest.raises(StoreError, match=r"does not share memory between programs .*local one"):
        Store(path)


def test_a_file_system_without_locks_was_another_program_that_keeps_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes ENOLCK for a lock of somebody else, so that each command waited for a minute."""
    path = tmp_path / "store.sqlite"
    Store(path).close()

    def unlocked(*_any: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", unlocked)
    for place in (path, tmp_path / "new.sqlite"):
        with pytest.raises(StoreError, match=r"has no locks .*put it on a local one"):
            Store(place)
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"{tmp_path} cannot be opened"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file" / "store.sqlite")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.touch()
    with Store(path) as store:
        assert store.runs.list() == []


def test_a_locked_store_is_told_after_the_time_to_wait(address: str) -> None:
    with Store(address, wait_s=0.2) as store:
        store.runs.save(RESULT, [])
        engine = sa.create_engine(store_url(address))
        with engine.connect() as connection:
            lock = (
                "LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"
                if engine.dialect.name == "postgresql"
                else "BEGIN EXCLUSIVE"
            )
            connection.exec_driver_sql(lock)
            with pytest.raises(StoreLockedError, match=r"locked for 0\.2 s"):
                store.runs.save(RESULT, [])
        engine.dispose()
        store.runs.save(RESULT, [])
        assert len(store.runs.list()) == 2


def test_lists_do_not_wait_for_somebody_who_saves(tmp_path: Path) -> None:
    address = str(tmp_path / "store.sqlite")
    with Store(address, wait_s=0.2) as store:
        store.runs.save(RESULT, [])
        other = sqlite3.connect(address, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert len(store.runs.list()) == 1
        other.close()


FILL_THE_DISK = """
import sys
from fathom.store import Store, StoreFullError
from store_worker import RESULT
store = Store(sys.argv[1], wait_s=1)
saved = []
try:
    while True:
        saved.append(store.runs.save(RESULT, ["x" * 100_000]))
except StoreFullError as error:
    assert "no room left" in str(error), error
    store.close()
store = Store(sys.argv[1])
assert sorted(run.id for run in store.runs.list()) == saved and saved, saved
assert all(store.runs.get(run_id).result == RESULT for run_id in saved)
print("full after", len(saved))
"""


def test_a_full_disk_is_told_and_what_was_saved_is_whole(tmp_path: Path) -> None:
    # A small file system of its own, in a mount namespace that ends with the command.
    mounted = f"mount -t tmpfs -o size=2M none {tmp_path}"
    unshare = ["unshare", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, mounted], capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root and unshare")
    command = f'{mounted} && exec "$0" "$@"'
    done = subprocess.run(
        [*unshare, command, sys.executable, "-c", FILL_THE_DISK, str(tmp_path / "store.sqlite")],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("full after ")


def test_a_full_disk_left_an_empty_file_where_a_store_was_to_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken for a store that is there. What others have put there, or use, stays."""
    place, instead = tmp_path / "new.sqlite", tmp_path / "instead"

    def opened(act: Callable[[], object]) -> None:
        def full(*_: object, **__: object) -> None:
            act()
            raise StoreFullError("no room left")

        monkeypatch.setattr("fathom.store.store.bring_up_to_date", full)
        with pytest.raises(StoreFullError):
            Store(place)

    opened(lambda: None)
    assert not [*tmp_path.iterdir()]
    opened(lambda: place.write_bytes(b"theirs"))
    assert place.read_bytes() == b"theirs"
    place.unlink()
    instead.touch()
    opened(lambda: instead.rename(place))
    assert place.exists()
    place.unlink()
    held = []

    def used() -> None:
        held.append(sqlite3.connect(place, isolation_level=None))
        held[0].execute("BEGIN IMMEDIATE")

    opened(used)
    assert place.exists()
    held[0].close()
    # Nor is one removed that was there, empty, before.
    opened(lambda: None)
    assert place.exists()


@pytest.mark.parametrize(
    "where",
    ["mysql://host/db", "postgresql://[", "sqlite://", "sqlite:///:memory:", "://"],
)
def test_other_addresses_are_told(where: str) -> None:
    with pytest.raises(StoreError):
        Store(where)


def test_a_server_that_is_away_is_told_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used") as caught:
        Store(f"postgresql://me:secret@/db?host={tmp_path}")
    assert "secret" not in str(caught.value)


def test_a_missing_driver_is_told_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'fathom-storage\[postgresql\]'"):
        Store("postgresql://me@host/db")


MAKE_ON_A_FULL_DISK = """
import os, sys
from pathlib import Path
from fathom.store import Store, StoreFullError

folder = Path(sys.argv[1])
for left in (0, 4096, 40_000):
    with open(folder / "fill", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            file.truncate(file.tell() - left)
    try:
        Store(folder / "new.sqlite")
        raise AssertionError(left)
    except StoreFullError:
        pass
    assert os.listdir(folder) == ["fill"], (left, os.listdir(folder))
"""


def test_a_store_on_a_full_disk_leaves_no_file_of_its_own(tmp_path: Path) -> None:
    """Where not even a first page had room, the lock of whoever cleans up had none either."""
    mounted = f"mount -t tmpfs -o size=256k none {tmp_path}"
    unshare = ["unshare", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, mounted], capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root and unshare")
    command = f'{mounted} && exec "$0" "$@"'
    done = subprocess.run(
        [*unshare, command, sys.executable, "-c", MAKE_ON_A_FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "wrong",
    [":memory:", "a\0b", "\ud800.sqlite", "gr\udcfcn.sqlite", 5, b"x.sqlite", ["a"], True, ""],
)
def test_what_names_no_file_is_refused_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: object
) -> None:
    """A file ":memory:" was made, and a zero byte ended in the words of Python."""
    monkeypatch.chdir(tmp_path)
    anyhow: Any = Store
    with pytest.raises(StoreError, match=r"store"):
        anyhow(wrong)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "1", None, True])
def test_a_time_to_wait_is_a_number_of_seconds(tmp_path: Path, wrong: object) -> None:
    anyhow: Any = Store
    with pytest.raises(InvalidRequestError, match="a number of seconds"):
        anyhow(tmp_path / "new.sqlite", wait_s=wrong)
    assert [*tmp_path.iterdir()] == []


def test_a_closed_store_is_closed(tmp_path: Path) -> None:
    """It went on working, on connections that nobody closed."""
    store = Store(tmp_path / "store.sqlite")
    run_id = store.runs.save(RESULT, ["x"])
    store.close()
    store.close()
    for use in (
        store.runs.list,
        store.rows,
        store.check_writable,
        store.experiments.list,
        lambda: store.runs.get(run_id),
        lambda: store.runs.save(RESULT, ["x"]),
        lambda: store.baselines.set("best", str(run_id)),
    ):
        with pytest.raises(StoreError, match="was closed: open it again"):
            use()
    with Store(tmp_path / "store.sqlite") as again:
        assert [run.id for run in again.runs.list()] == [run_id]


def test_an_import_with_too_large_a_number_was_told_that_the_store_has_nothing(
    address: str, tmp_path: Path
) -> None:
    raw = json.loads(json.dumps(RESULT.raw))
    raw["time_spans"][0]["targets"][0]["size_bytes"] = 2**64 - 1
    file = tmp_path / "result.json"
    file.write_text(json.dumps(raw))
    done = command("import", file, "--store", address)
    assert done.returncode == 3
    assert "it has a value that the store cannot hold" in done.stderr
    with Store(address) as store:
        assert store.runs.count() == 0


def test_a_signal_while_a_store_is_closed_printed_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path / "store.sqlite")
    close = store._database.engine.dialect.do_close

    def interrupted(connection: Any) -> None:  # noqa: ANN401 - A driver's object.
        os.kill(os.getpid(), signal.SIGTERM)
        close(connection)

    monkeypatch.setattr(store._database.engine.dialect, "do_close", interrupted)
    with pytest.raises(KeyboardInterrupt), ending_in_good_order():
        store.close()
    assert caplog.records == []
