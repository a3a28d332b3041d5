"""Stores of both kinds are checked, compacted and moved, whatever happens meanwhile."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from commands import COMMAND, command
from fabricated import fabricated
from fathom._names import give_new_name
from fathom.store import (
    NoStoreError,
    Store,
    StoreError,
    StoreInUseError,
    check_store,
    compact_store,
    copy_store,
    move_store,
    moving,
)
from fathom.store._database import Database
from fathom.store._tables import runs, shared_texts
from fathom.store.sharing import drop_unused_texts
from fathom.store.where import store_url
from store_worker import CONTEXT, RESULT, move_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Server

RUNS = 12
KILLS = 8
SMALL_BYTES = 256 << 10


def fill(address: str) -> None:
    """Save runs of two series, an experiment and a baseline."""
    with Store(address) as store:
        for at in range(RUNS):
            target = f"/mnt/{at % 2}.dat"
            result = fabricated(rates=1000.0 + at, latency_ns=100.0, path=target, depth=8)
            store.runs.save(result, ["-o8", target], label=f"l{at % 3}")
        one = store.experiments.begin("repeat", "r", {"arguments": []})
        store.experiments.finish(one, "complete")
        store.baselines.set("golden", "1")


def whole(address: str | Path) -> list[object]:
    """Return all results, with what stands beside them."""
    with Store(address, make=False) as store:
        found = [store.runs.get(one.id) for one in store.runs.list()]
        return [(one.summary.label, dict(one.result.raw), one.arguments) for one in found]


def change(address: str, *statements: str) -> None:
    """Do to a store what no Fathom does."""
    with Store(address) as store, store._database.writing() as connection:
        for one in statements:
            connection.exec_driver_sql(one)


def test_both_kinds_are_checked_and_what_is_damaged_is_told(address: str) -> None:
    fill(address)
    done = command("store", "check", "--store", address)
    assert (done.returncode, done.stdout) == (0, f"read {RUNS} runs and 1 experiment\n")
    byte = "x'00ff'" if "://" not in address else r"'\x00ff'::bytea"
    change(
        address,
        f"UPDATE runs SET result_json_zlib = {byte} WHERE id = 3",  # noqa: S608 - Ours.
        "UPDATE runs SET profile_json = 'sha256:0' WHERE id = 4",
        "UPDATE experiments SET plan_json = '{' WHERE id = 1",
        "DELETE FROM provenances WHERE run_id = 5",
    )
    done = command("store", "check", "--store", address)
    assert done.returncode == 1
    for words in (
        "run 3: its result",
        "run 4: its request",
        "experiment e1: its plan",
        "run 5 has lost the facts",
    ):
        assert words in done.stdout
    assert command("store", "compact", "--store", address).returncode == 0


def test_both_kinds_become_smaller_and_stay_what_they_were(address: str) -> None:
    fill(address)
    before = whole(address)
    # As earlier versions left them, and with rows that were deleted since.
    with Store(address) as store, store._database.writing() as connection:
        texts = {
            f"sha256:{one.sha256}": one.content
            for one in connection.execute(sa.select(shared_texts))
        }
        for row in connection.execute(sa.select(runs.c.id, runs.c.profile_json)).all():
            text = texts[row.profile_json] + " " * 60_000
            values = {"profile_json": text, "series_key": None}
            connection.execute(runs.update().where(runs.c.id == row.id).values(values))
        connection.execute(shared_texts.delete())
        filler = [{"sha256": str(at), "content": os.urandom(40_000).hex()} for at in range(20)]
        connection.execute(shared_texts.insert(), filler)
    done = compact_store(address)
    assert done.after_bytes < done.before_bytes / 2
    assert whole(address) == before
    assert check_store(address).faults == []
    with Store(address) as store, store._database.reading() as connection:
        assert (
            connection.execute(sa.select(sa.func.count()).select_from(shared_texts)).scalar() == 2
        )
        assert len(store.runs.series(RUNS)) == RUNS // 2
    assert command("store", "compact", "--store", address).stdout.startswith("packed 0 runs; ")


@pytest.mark.parametrize("ways", ["file to server", "server to file", "server to server"])
def test_a_store_moves_between_file_and_server(ways: str, tmp_path: Path, server: Server) -> None:
    def place(kind: str) -> str:
        return (
            str(tmp_path / f"{time.monotonic_ns()}.sqlite")
            if kind == "file"
            else server.new_database()
        )

    source, target = (place(one) for one in ways.split(" to "))
    fill(source)
    before = whole(source)
    done = command("store", "move", source, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"moved {RUNS} runs and 1 experiment")
    assert whole(target) == before
    assert not Path(source).exists()
    if "server to" in ways:
        # It stays, and a second move adds nothing.
        assert whole(source) == before
    with Store(target) as store:
        assert store.baselines.list()[0].name == "golden"


def test_a_new_number_was_one_that_a_copied_run_had_taken(tmp_path: Path, server: Server) -> None:
    source, target = str(tmp_path / "a.sqlite"), server.new_database()
    fill(source)
    with Store(target) as there:
        there.runs.save(RESULT, ["x"], label="of others")
        with Store(source) as here:
            done = copy_store(here, there)
        assert done.runs == {**{at: at for at in range(2, RUNS + 1)}, 1: RUNS + 1}
        assert there.runs.save(RESULT, ["x"]) == RUNS + 2


def test_what_a_server_has_already_stays_beside_what_is_moved_there(
    tmp_path: Path, server: Server
) -> None:
    source, target = str(tmp_path / "a.sqlite"), server.new_database()
    fill(source)
    with Store(target) as there:
        there.runs.save(RESULT, ["x"], label="of others")
        # A move that was ended before.
        with Store(source) as here:
            copy_store(here, there, ["3,4"])
    done = command("store", "move", source, target)
    assert (done.returncode, done.stderr) == (0, "")
    assert not Path(source).exists()
    with Store(target) as there:
        assert len(there.runs.list()) == RUNS + 1
        assert "of others" in {one.label for one in there.runs.list()}


def test_a_run_saved_while_the_store_was_moved_went_to_a_file_that_nobody_had(
    tmp_path: Path,
) -> None:
    source = tmp_path / "a.sqlite"
    fill(str(source))
    told: list[object] = []
    with Store(source) as waiting:

        def save() -> None:
            try:
                told.append(waiting.runs.save(RESULT, ["x"], label="late"))
            except StoreError as error:
                told.append(str(error))

        with closing(sqlite3.connect(source, isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            saver = threading.Thread(target=save)
            saver.start()
            time.sleep(0.3)
            # What a move does at its end, while it keeps the store.
            source.rename(tmp_path / "b.sqlite")
        saver.join()
    assert "removed or replaced while it was in use" in str(told[0])


def test_a_store_in_which_an_experiment_goes_on_is_not_moved(tmp_path: Path) -> None:
    source = tmp_path / "a.sqlite"
    with Store(source) as store:
        one = store.experiments.begin("sweep", "s", {})
        with pytest.raises(StoreInUseError, match=f"e{one} goes on"):
            move_store(source, tmp_path / "b.sqlite")
        store.experiments.finish(one, "complete")
    move_store(source, tmp_path / "b.sqlite")
    assert [one.name for one in tmp_path.iterdir()] == ["b.sqlite"]


def test_a_move_that_was_killed_left_a_file_that_kept_the_next_one_from_its_place(
    tmp_path: Path,
) -> None:
    source, target = tmp_path / "a.sqlite", tmp_path / "far/b.sqlite"
    fill(str(source))
    before = whole(source)
    chance = random.Random(22)  # noqa: S311 - Nothing secret.
    for _ in range(KILLS):
        process = CONTEXT.Process(target=move_to, args=(str(source), str(target)))
        process.start()
        process.join(chance.uniform(0.0, 0.25))
        process.kill()
        process.join()
        if not source.exists():
            break
        assert whole(source) == before
        if target.exists():
            # Killed between the last two steps: both are whole, and one of them goes.
            assert whole(target) == before
            target.unlink()
    if source.exists():
        move_store(source, target)
    assert whole(target) == before
    assert [one.name for one in target.parent.iterdir()] == ["b.sqlite"]


def test_a_store_named_by_a_link_lost_its_link_and_stayed(tmp_path: Path) -> None:
    kept = tmp_path / "store.sqlite"
    fill(str(kept))
    before = whole(kept)
    link, there = tmp_path / "link.sqlite", tmp_path / "new.sqlite"
    link.symlink_to(kept)
    move_store(link, there)
    assert [one for one in (kept, link) if os.path.lexists(one)] == []
    assert whole(there) == before


def test_a_move_removed_a_store_that_another_had_just_made_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.sqlite"
    with Store(old) as store:
        store.runs.save(RESULT, ["x"])
    remove = moving._remove

    def removed(file: Path) -> None:
        remove(file)
        with Store(old) as store:
            store.runs.save(RESULT, ["x"], label="next")

    monkeypatch.setattr(moving, "_remove", removed)
    move_store(old, tmp_path / "new.sqlite")
    with Store(old, make=False) as store:
        assert [run.label for run in store.runs.list(limit=9)] == ["next"]


def test_a_run_was_saved_into_a_store_that_a_move_had_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move had lost its locks, so that who listed the store took away the log."""
    kept, told = tmp_path / "store.sqlite", []
    fill(str(kept))

    def put(unfinished: Path, new: Path) -> None:
        assert command("list", "--store", kept).returncode == 0
        with closing(sqlite3.connect(kept, timeout=0)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                told.append(str(error))
        give_new_name(unfinished, new)

    monkeypatch.setattr(moving, "_put", put)
    move_store(kept, tmp_path / "new.sqlite")
    assert told == ["database is locked"]


def test_compacting_counted_what_is_only_there_while_a_store_is_open(tmp_path: Path) -> None:
    kept = tmp_path / "store.sqlite"
    fill(str(kept))
    compact_store(kept)
    done = compact_store(kept)
    assert done.before_bytes == done.after_bytes == kept.stat().st_size


def test_two_moves_at_once_end_with_one_store(tmp_path: Path) -> None:
    source = tmp_path / "a.sqlite"
    fill(str(source))
    before = whole(source)
    words = [
        [*COMMAND, "store", "move", str(source), str(tmp_path / name)]
        for name in ("b.sqlite", "c.sqlite")
    ]
    both = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for one in words]
    told = [one.communicate() for one in both]
    assert sorted(one.returncode == 0 for one in both) == [False, True]
    assert not any(b"Traceback" in error for _, error in told)
    left = [*tmp_path.iterdir()]
    assert len(left) == 1, (left, told)
    assert whole(left[0]) == before


def test_opening_a_store_that_was_just_moved_away_makes_no_empty_one(tmp_path: Path) -> None:
    source = tmp_path / "a.sqlite"
    fill(str(source))
    database = Database(store_url(source), make=False)
    move_store(source, tmp_path / "b.sqlite")
    with pytest.raises(NoStoreError, match=r"there is no store .*a\.sqlite"), database.reading():
        pass
    database.close()
    assert [one.name for one in tmp_path.iterdir()] == ["b.sqlite"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a file system that is nearly full."""
    place = tmp_path / "small"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "none", str(place)]
    if os.getuid() != 0 or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system")
    yield place
    subprocess.run(["umount", place], check=True)  # noqa: S607 - Debian's.


def test_where_there_is_no_room_a_store_stays_as_it_was(small: Path, tmp_path: Path) -> None:
    source, near = tmp_path / "a.sqlite", small / "b.sqlite"
    fill(str(source))
    before = whole(source)
    (small / "much").write_bytes(bytes(SMALL_BYTES - (64 << 10)))
    done = command("store", "move", source, near)
    assert (done.returncode, "it stays" in done.stderr) == (1, True), done.stderr
    assert whole(source) == before
    assert [one.name for one in small.iterdir()] == ["much"]
    (small / "much").unlink()
    move_store(source, near)
    (small / "much").write_bytes(bytes(SMALL_BYTES - near.stat().st_size - (60 << 10)))
    done = command("store", "compact", "--store", near)
    assert "Traceback" not in done.stderr
    assert (done.returncode, "no room left" in done.stderr) == (1, True), done.stderr
    assert whole(near) == before


@pytest.mark.parametrize("what", ["folder", "link", "in a file", "long", "itself"])
def test_a_place_that_will_not_do_is_told_and_never_a_traceback(what: str, tmp_path: Path) -> None:
    source = tmp_path / "a.sqlite"
    fill(str(source))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    places = {"in a file": source / "b.sqlite", "long": tmp_path / ("x" * 300), "itself": source}
    done = command("store", "move", source, places.get(what, tmp_path / what))
    assert (
        done.returncode in (1, 3),
        done.stderr.count("error: "),
        "Traceback" in done.stderr,
    ) == (
        True,
        1,
        False,
    ), done.stderr
    assert check_store(source).runs == RUNS


def test_a_store_that_moved_kept_its_mode(tmp_path: Path) -> None:
    source, target = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    fill(str(source))
    source.chmod(0o640)
    move_store(source, target)
    assert target.stat().st_mode & 0o777 == 0o640


def test_compacting_removed_a_text_that_a_run_was_being_saved_with(server: Server) -> None:
    address = server.new_database()
    with Store(address) as one, Store(address) as other:
        first = one.runs.save(RESULT, ["x"])
        one.runs.delete([first])
        # The text of its profile is there, and no run means it.
        begun, done = threading.Event(), threading.Event()

        def compacts() -> None:
            begun.wait()
            with other._database.writing() as connection:
                drop_unused_texts(connection)
            done.set()

        thread = threading.Thread(target=compacts)
        thread.start()
        database = one._database
        original = database.engine

        @sa.event.listens_for(original, "after_cursor_execute")
        def after(_c: object, _d: object, statement: str, *_more: object) -> None:
            if "shared_texts" in statement and not begun.is_set():
                begun.set()
                done.wait(0.5)

        one.runs.save(RESULT, ["x"], label="kept")
        thread.join()
    assert check_store(address).faults == []
