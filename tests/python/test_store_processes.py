"""Several processes and one store; processes that die."""

from __future__ import annotations

import gc
import json
import os
import random
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection, wait
from pathlib import Path

import fathom
import pytest
from commands import command
from fathom.cli.commands._import_one import Imported, import_one
from fathom.cli.common import LaterStore
from fathom.store import NotAStoreError, NotFoundError, Store
from store_worker import CONTEXT, RESULT, save_runs

FIXTURES = Path(__file__).parent / "fixtures"
FIO = {
    "fio version": "fio-3.33",
    "global options": {"bs": "4k"},
    "jobs": [{"jobname": "j", "read": {"io_bytes": 4096, "iops": 1.0, "total_ios": 1}}],
}
WRITERS = 8
RUNS_OF_EACH = 12
KILLS = 20
# Longer than opening a new store takes, so that all moments are met: migration, saving, between.
LATEST_KILL_S = 0.4
LATEST_OF_MIGRATION_S = 0.15


def told_ids(channel: Connection) -> list[int]:
    """Return all ids that a process has told."""
    ids = []
    try:
        while True:
            message = channel.recv()
            if message != "ready":
                ids.append(message)
    except EOFError:
        return ids


def killed_after(seconds: float, address: str, least: int = 0) -> list[int]:
    """Kill a process so long after it began to open the store, or had saved the least.

    Return the ids that it told.
    """
    mine, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=save_runs, args=(address, "doomed", 100_000, theirs))
    process.start()
    theirs.close()
    wait([mine])
    told: list[int] = []
    while len(told) < least:
        message = mine.recv()
        told += [] if message == "ready" else [message]
    time.sleep(seconds)
    process.kill()
    process.join()
    return told + told_ids(mine)


def test_eight_writers_at_once_lose_nothing(address: str) -> None:
    # They meet an empty database, so that all of them want to make the tables too.
    channels, processes = [], []
    for number in range(WRITERS):
        mine, theirs = CONTEXT.Pipe(duplex=False)
        args = (address, f"writer {number}", RUNS_OF_EACH, theirs)
        process = CONTEXT.Process(target=save_runs, args=args)
        process.start()
        theirs.close()
        channels.append(mine)
        processes.append(process)
    told = [told_ids(channel) for channel in channels]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * WRITERS
    with Store(address) as store:
        found = {run.id: run.label for run in store.runs.list()}
        expected = {one: f"writer {number}" for number, ids in enumerate(told) for one in ids}
        assert len(expected) == WRITERS * RUNS_OF_EACH
        assert found == expected
        assert all(store.runs.get(one).result == RESULT for one in found)


def test_processes_killed_at_random_moments_lose_no_saved_run(address: str) -> None:
    moments = random.Random(5)  # noqa: S311 - No secret.
    saved: list[int] = []
    for number in range(KILLS):
        # Every second one dies behind a run that it has saved.
        saved += killed_after(moments.uniform(0, LATEST_KILL_S), address, least=number % 2)
    assert len(saved) >= KILLS // 2
    with Store(address) as store:
        found = {run.id for run in store.runs.list()}
        assert set(saved) <= found
        # A process may die between saving a run and telling it: at most one each.
        assert len(found) - len(set(saved)) <= KILLS
        assert all(store.runs.get(one).result == RESULT for one in found)
        for one in found:
            # Each has its provenance and its targets, as they were saved in one transaction.
            assert store.runs.get(one).summary.columns["kernel"]
            assert store.runs.get(one).targets
        store.runs.save(RESULT, [])
    if "://" not in address:
        with closing(sqlite3.connect(address)) as raw:
            check = raw.execute("PRAGMA integrity_check").fetchall()
        assert check == [("ok",)]


def test_a_process_killed_while_it_makes_the_tables_leaves_a_store_that_opens(
    tmp_path: Path,
) -> None:
    moments = random.Random(6)  # noqa: S311 - No secret.
    for number in range(KILLS):
        address = str(tmp_path / f"{number}.sqlite")
        saved = killed_after(moments.uniform(0, LATEST_OF_MIGRATION_S), address)
        with Store(address) as store:
            assert set(saved) <= {run.id for run in store.runs.list()}
            store.runs.save(RESULT, [])


def test_runs_saved_by_others_are_not_lost_where_a_store_is_opened_twice(tmp_path: Path) -> None:
    """Closing any descriptor of a file takes all locks of the process from it (fcntl(2))."""
    path = tmp_path / "store.sqlite"
    arguments = ["-c64K", "-b4K", "-W0", "-d1", "--stop-ios=5", str(tmp_path / "x.dat")]
    keep = Store(path)
    saved = len(fathom.repeat(arguments, store=keep, pilot=2, most=2).run_ids)
    for _ in range(2):
        with Store(path) as again:
            assert again.runs.count() == saved
        with pytest.raises(NotFoundError):
            fathom.compare("e9", "e9", store=path)
        assert _locks(path) > 0
        done = command("run", *arguments, "--store", path)
        assert "Saved as run" in done.stdout, done.stderr
        saved += 1 + len(fathom.repeat(arguments, store=keep, pilot=2, most=2).run_ids)
    assert keep.runs.count() == saved
    keep.close()
    with Store(path) as other:
        assert other.runs.count() == saved


@pytest.mark.parametrize("end", ["", "-shm"])
def test_a_store_found_among_files_to_import_lost_its_locks_and_runs(
    tmp_path: Path, end: str
) -> None:
    path = tmp_path / "store.sqlite"
    with LaterStore(str(path)) as later:
        later.made().runs.save(RESULT, ["x"])
        file = Path(f"{path}{end}")
        before = _locks(file)
        found = import_one(later, str(file), None, None, again=False, is_named=False)
        assert (found.runs, found.error) == ([], None)
        assert _locks(file) == before > 0


@pytest.mark.parametrize("form", ["own", "fio"])
def test_a_file_imported_by_several_at_once_was_saved_several_times(
    address: str, form: str, tmp_path: Path
) -> None:
    Store(address).close()
    file = FIXTURES / "result.json"
    if form == "fio":
        file = tmp_path / "fio.json"
        file.write_text(json.dumps(FIO))

    def imported(_number: int) -> Imported:
        with LaterStore(address) as later:
            # All of them look for it before one has saved it.
            looked.wait()
            later.known = lambda: None  # type: ignore[method-assign]
            return import_one(later, str(file), None, None, again=False, is_named=True)

    looked = threading.Barrier(4)
    with ThreadPoolExecutor(4) as threads:
        found = [*threads.map(imported, range(4))]
    assert [one.error for one in found] == [None] * 4
    assert sorted(one.runs + one.before for one in found) == [[1]] * 4
    assert sum(len(one.runs) for one in found) == 1
    with Store(address) as store:
        assert store.runs.count() == 1


def _locks(path: Path) -> int:
    """Return how many locks this process has on a file."""
    mine = f" {os.getpid()} "
    file = f":{path.stat().st_ino} "
    locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return sum(mine in line and file in line for line in locks)


def test_a_store_that_nobody_closes_leaves_no_descriptor(tmp_path: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    (tmp_path / "text").write_text("no store")
    Store(tmp_path / "0.sqlite").close()
    before = count()
    for number in range(10):
        Store(tmp_path / f"{number}.sqlite").runs.count()
        with pytest.raises(NotAStoreError):
            Store(tmp_path / "text").runs.count()
    gc.collect()
    assert count() <= before
