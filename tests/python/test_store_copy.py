"""Stores travel: copies of both kinds are whole, can be repeated, and read-only stores are read."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from commands import command
from fathom.store import Copied, Store, StoreError, _database, _imports, copy_store
from fathom.store._runs import Runs
from fathom.store._tables import metadata, provenances, run_targets, runs
from fathom.tools.formats import read_source
from store_worker import CONTEXT, RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from conftest import Server

COUNT = 1000
# A user of no rights, who can read what everybody can.
NOBODY = 65534
AS_NOBODY = f"""
import os, sys
os.environ["HOME"] = "/nonexistent"
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
"""


def values(address: str) -> dict[str, list[dict[str, Any]]]:
    """Return all that a store has, value by value."""
    with Store(address) as store, store._database.reading() as connection:
        found = {}
        for table in metadata.sorted_tables:
            query = table.select().order_by(*table.primary_key.columns)
            rows = connection.execute(query).mappings()
            found[table.name] = [{name: _value(one) for name, one in row.items()} for row in rows]
        return found


def _value(one: object) -> object:
    return bytes(one) if isinstance(one, memoryview) else one


def _multiply(store: Store, run_id: int, count: int) -> None:
    """Save a run so many times more, all of them in one transaction."""
    with store._database.writing() as connection:

        def row_of(table: sa.Table, column: str) -> dict[str, Any]:
            query = table.select().where(table.c[column] == run_id)
            return dict(connection.execute(query).mappings().one())

        first, host, target = (
            row_of(runs, "id"),
            row_of(provenances, "run_id"),
            row_of(run_targets, "run_id"),
        )
        ids = range(run_id + 1, run_id + count + 1)
        connection.execute(
            runs.insert(),
            [first | {"id": at, "uid": str(uuid.uuid4()), "label": f"Ω {at}"} for at in ids],
        )
        connection.execute(provenances.insert(), [host | {"run_id": at} for at in ids])
        connection.execute(run_targets.insert(), [target | {"run_id": at} for at in ids])


def fill(address: str, count: int = COUNT) -> None:
    """Make a store with an experiment, its baseline, an import and many runs."""
    with Store(address) as store:
        one = store.experiments.begin("sweep", "Ω sweep", {"n": 1}, [("a", {"at": 0}), ("b", {})])
        first, _second = store.experiments.get(one).steps
        ids = [
            store.runs.save(RESULT, ["x"], label="a", experiment_id=one, step_id=first.id)
            for _ in range(2)
        ]
        outcome = {"cells": [{"run_id": ids[0]}, {"run_id": ids[1]}], "run_ids": ids}
        store.experiments.finish(one, "complete", outcome={**outcome, "experiment_id": one})
        store.baselines.set("golden", f"e{one}")
        alone = store.runs.save(RESULT, ["y"], label="=alone")
        store.baselines.set("alone", str(alone))
        _multiply(store, alone, count - 3)


@pytest.fixture
def filled(tmp_path: Path) -> str:
    address = str(tmp_path / "filled.sqlite")
    fill(address)
    return address


@pytest.fixture
def another(server: Server) -> str:
    return server.new_database()


def test_a_thousand_runs_go_to_a_server_and_back_value_by_value(
    filled: str, another: str, tmp_path: Path
) -> None:
    before = values(filled)
    assert len(before["runs"]) == COUNT
    done = command("store", "copy", filled, another)
    assert (done.returncode, done.stderr) == (0, f"{COUNT} runs copied\n")
    assert f"Copied {COUNT} runs, 1 experiment and 2 baselines" in done.stdout
    assert values(another) == before
    back = str(tmp_path / "back.sqlite")
    assert command("store", "copy", another, back).returncode == 0
    assert values(back) == before
    # Once more: nothing is new, nothing is changed.
    done = command("store", "copy", filled, back)
    assert (
        f"Copied 0 runs, 0 experiments and 0 baselines to {back}; {COUNT} runs were" in done.stdout
    )
    assert values(back) == before
    # The server goes on counting behind what was copied.
    with Store(another) as store:
        assert store.runs.save(RESULT, ["z"]) == COUNT + 1
        assert store.experiments.begin("run", "next", {}) == 2


def _copy_and_stop(source: str, target: str, told: Connection) -> None:
    """Copy, and wait for the end once some of it is there."""

    def tell(done: Copied) -> None:
        told.send(len(done.new_runs))
        if len(done.new_runs) > COUNT // 3:
            time.sleep(60)

    with Store(source) as here, Store(target) as there:
        copy_store(here, there, on_copied=tell)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_copy_that_is_killed_is_repeated(
    filled: str, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    target = str(tmp_path / "copy.sqlite")
    if kind == "postgresql":
        target = request.getfixturevalue("another")
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_copy_and_stop, args=(filled, target, theirs))
    process.start()
    while ours.recv() <= COUNT // 3:
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    there = len(values(target)["runs"])
    assert COUNT // 3 < there < COUNT
    assert command("store", "copy", filled, target).returncode == 0
    assert values(target) == values(filled)


def test_what_has_a_number_already_gets_another_and_the_outcome_names_it(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    fill(first, 10)
    fill(second, 5)
    done = command("store", "copy", first, second)
    assert done.returncode == 0
    assert "e1 is e2 there" in done.stdout
    assert "1 is 6 there" in done.stdout
    assert "baseline golden stands for e1" in done.stderr
    with Store(second) as store:
        copied = store.experiments.get(2)
        assert copied.outcome is not None
        ids = [run.id for run in store.runs.list(experiment_id=2)]
        assert sorted(one["run_id"] for one in copied.outcome["cells"]) == sorted(ids)
        assert copied.outcome["experiment_id"] == 2
        assert [step.label for step in copied.steps] == ["a", "b"]
    assert len(values(second)["runs"]) == 15
    again = values(second)
    assert command("store", "copy", first, second).returncode == 0
    assert values(second) == again


def test_an_experiment_that_went_on_is_brought_up_to_date(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    with Store(first) as store:
        one = store.experiments.begin("sweep", "s", {}, [("a", {}), ("b", {})])
        a, b = store.experiments.get(one).steps
        store.runs.save(RESULT, ["x"], experiment_id=one, step_id=a.id)
        assert command("store", "copy", first, second).returncode == 0
        store.runs.save(RESULT, ["x"], experiment_id=one, step_id=b.id)
        store.experiments.finish(one, "complete", outcome={"n": 2})
    assert command("store", "copy", first, second, "e1").returncode == 0
    assert values(second) == values(first)


def test_a_step_that_failed_and_was_tried_again_stayed_failed_in_the_copy(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    with Store(first) as store:
        one = store.experiments.begin("sweep", "s", {}, [("a", {})])
        (step,) = store.experiments.get(one).steps
        store.experiments.set_step(step.id, "failed", "no such file")
        store.experiments.finish(one, "complete")
        assert command("store", "copy", first, second).returncode == 0
        store.experiments.finish(one, "running")
        store.runs.save(RESULT, ["x"], experiment_id=one, step_id=step.id)
        store.experiments.finish(one, "complete")
    assert command("store", "copy", first, second).returncode == 0
    assert values(second) == values(first)


def test_a_copied_preparation_was_that_of_another_experiment(tmp_path: Path) -> None:
    with Store(tmp_path / "1.sqlite") as first, Store(tmp_path / "2.sqlite") as second:
        second.experiments.begin("repeat", "another", {})
        one = first.experiments.begin("repeat", "r", {})
        first.experiments.begin("prepare", "wipc", {"for_experiment": one})
        for references in (["e2", "e1"], []):
            done = copy_store(first, second, references)
            assert done.experiments == {1: 2, 2: 3}
            assert second.experiments.get(3).plan == {"for_experiment": 2}


def test_a_run_that_came_alone_finds_its_experiment_later(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    fill(first, 6)
    done = command("store", "copy", first, second, "1", "alone")
    assert "Copied 2 runs, 0 experiments and 1 baseline" in done.stdout
    assert command("store", "copy", first, second).returncode == 0
    assert values(second) == values(first)


def test_a_run_that_is_damaged_kept_a_store_from_being_copied(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    fill(first, 6)
    with Store(first) as store, store._database.writing() as connection:
        damaged = runs.update().where(runs.c.id == 2).values(profile_json="sha256:0")
        connection.execute(damaged)
    told = command("store", "check", "--store", first)
    assert (told.returncode, "error: 1 fault; what is whole can be" in told.stderr) == (1, True)
    done = command("store", "copy", first, second)
    assert (done.returncode, done.stderr) == (0, "")
    assert values(second) == values(first)


def test_an_experiment_is_one_file_that_import_takes(tmp_path: Path) -> None:
    first, second = str(tmp_path / "1.sqlite"), str(tmp_path / "2.sqlite")
    fill(first, 6)
    file = tmp_path / "e1.sqlite"
    done = command("export", "e1", "golden", "-o", file, "--store", first)
    assert (done.returncode, done.stdout) == (0, f"Exported 2 runs and 1 experiment to {file}\n")
    assert not [one for one in tmp_path.iterdir() if one.name.startswith("e1.sqlite-")]
    assert command("export", "e1", "-o", file, "--store", first).returncode == 3
    done = command("import", file, "--store", second)
    assert (done.returncode, done.stderr) == (0, "")
    assert "experiment e1" in done.stdout
    assert "imported before, as run 1, 2" in command("import", file, "--store", second).stdout
    with Store(first) as a, Store(second) as b:
        assert a.experiments.get(1) == b.experiments.get(1)
        assert [one.name for one in b.baselines.list()] == ["golden"]


def test_a_store_that_is_missing_is_told_and_not_made(tmp_path: Path) -> None:
    done = command("store", "copy", tmp_path / "none.sqlite", tmp_path / "to.sqlite")
    assert done.returncode == 3
    assert "there is no store" in done.stderr
    assert not [*tmp_path.iterdir()]


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a store that others can read, in a folder that they can enter."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    # Others cannot enter the folders of pytest.
    folder = Path(tempfile.mkdtemp(prefix="fathom-shared-"))
    folder.chmod(0o755)
    fill(str(folder / "store.sqlite"), 5)
    (folder / "store.sqlite").chmod(0o444)
    yield folder / "store.sqlite"
    for one in folder.iterdir():
        one.unlink()
    folder.rmdir()


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_a_store_that_can_only_be_read_is_listed_and_shown(shared: Path, mode: int) -> None:
    shared.parent.chmod(mode)
    for words in (["list"], ["list", "--experiments"], ["show", "1"], ["show", "e1"]):
        done = command(*words, "--store", shared, before=AS_NOBODY)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert "alone" in command("list", "--store", shared, before=AS_NOBODY).stdout
    copy = shared.parent / "copy.sqlite"
    assert command("store", "copy", shared, copy).returncode == 0
    assert values(str(copy)) == values(str(shared))


def test_a_store_whose_tables_are_older_by_number_alone_was_not_readable(shared: Path) -> None:
    with sqlite3.connect(shared) as store:
        store.execute("UPDATE fathom_version SET version_num = '0004'")
    store.close()
    done = command("show", "1", "--store", shared, before=AS_NOBODY)
    assert (done.returncode, done.stderr) == (0, "")
    with sqlite3.connect(shared) as store:
        assert store.execute("SELECT version_num FROM fathom_version").fetchall() == [("0004",)]
        store.execute("UPDATE fathom_version SET version_num = '0003'")
    store.close()
    assert "version 0003" in command("show", "1", "--store", shared, before=AS_NOBODY).stderr


@pytest.fixture
def link(shared: Path) -> Iterator[Path]:
    """Return a link to it in a folder that everybody may write."""
    folder = Path(tempfile.mkdtemp(prefix="fathom-links-"))
    folder.chmod(0o777)
    (folder / "store.sqlite").symlink_to(shared)
    yield folder / "store.sqlite"
    (folder / "store.sqlite").unlink()
    folder.rmdir()


@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_the_newest_runs_were_missing_where_a_store_was_read_by_a_link(
    shared: Path, link: Path, mode: int
) -> None:
    shared.chmod(mode)
    with Store(shared) as store:
        store.runs.save(RESULT, ["x"], label="newest")
        done = command("list", "--label", "newest", "--store", link, before=AS_NOBODY)
    assert (done.returncode, done.stderr) == (0, "")
    assert "newest" in done.stdout


def test_a_store_in_a_folder_whose_name_is_no_text_was_not_read_by_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    fill(str(tmp_path / "there.sqlite"), 5)
    (tmp_path / "there.sqlite").rename(folder / "there.sqlite")
    (tmp_path / "link.sqlite").symlink_to(folder / "there.sqlite")
    monkeypatch.setattr(_database, "_is_writable", lambda _path: False)
    with Store(tmp_path / "link.sqlite", make=False) as reader:
        assert reader.runs.count()


def test_who_may_only_read_never_saw_what_was_saved_later(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "_is_writable", lambda _path: False)
    with Store(shared, make=False) as reader:
        count = reader.runs.count()
        monkeypatch.undo()
        with Store(shared) as store:
            saved = store.runs.save(RESULT, ["x"])
            assert reader.runs.count() == count + 1
        assert reader.runs.get(saved).summary.id == saved


@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_run_finds_a_store_that_cannot_be_written_before_it_measures(
    shared: Path, mode: int
) -> None:
    shared.parent.chmod(mode)
    target = Path(tempfile.gettempdir()) / f"fathom-unmade-{uuid.uuid4()}.dat"
    measure = ("run", "-c64K", "-b4K", "-d1", "-W0", target)
    done = command(*measure, "--store", shared, before=AS_NOBODY)
    assert done.returncode == 1
    assert "can only be read" in done.stderr
    # Nothing was begun: the file of the run is not there.
    assert not target.exists()


def test_a_role_that_may_only_read_lists_and_shows_and_does_not_measure(
    another: str, tmp_path: Path
) -> None:
    fill(another, 5)
    engine = sa.create_engine(another.replace("postgresql://", "postgresql+psycopg://"))
    role = f"reader_{uuid.uuid4().hex[:8]}"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN")
        connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    engine.dispose()
    address = another.replace("fathom@", f"{role}@")
    for words in (["list"], ["show", "1"], ["show", "e1"], ["baseline", "list"]):
        done = command(*words, "--store", address)
        assert (done.returncode, done.stderr) == (0, ""), words
    target = tmp_path / "unmade.dat"
    done = command("run", "-c64K", "-b4K", "-d1", "-W0", target, "--store", address)
    assert done.returncode == 1
    assert "can only be read" in done.stderr
    assert not target.exists()
    copy = tmp_path / "copy.sqlite"
    assert command("store", "copy", address, copy).returncode == 0
    assert values(str(copy)) == values(another)


@pytest.mark.parametrize("what", ["import", "delete"])
def test_a_copy_and_who_wrote_meanwhile_waited_for_each_other(
    what: str, another: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each had locked what the other one needed next, and the server ended one of them."""
    content = (Path(__file__).parents[1] / "golden/diskspd/runs/03-plain-read.txt").read_bytes()
    results = read_source(content).results
    began, goes_on = threading.Event(), threading.Event()

    def pausing(call: Callable[..., Any]) -> Callable[..., Any]:
        def paused(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - Of any call.
            found = call(*given, **named)
            if threading.current_thread() is not threading.main_thread():
                began.set()
                goes_on.wait(20)
            return found

        return paused

    with Store(tmp_path / "here.sqlite") as here, Store(another) as there:
        here.imports.save(results, content, "a.txt")
        here.experiments.begin("run", "copied", {})
        number = there.experiments.begin("run", "mine", {})
        run_id = there.runs.save(RESULT, ["x"])
        if what == "import":
            monkeypatch.setattr(_imports, "_source", pausing(_imports._source))
            other: Callable[[], object] = partial(there.imports.save, results, content, "a.txt")
        else:
            monkeypatch.setattr(Runs, "_delete", pausing(Runs._delete))
            other = partial(there.runs.delete, [run_id], experiment_ids=[number])
        with ThreadPoolExecutor() as pool:
            under_way = pool.submit(other)
            assert began.wait(20)
            # By then the copy has its locks, or waits for the other one to end.
            threading.Timer(1, goes_on.set).start()
            copy_store(here, there)
            under_way.result(30)
        runs_there = there.runs.list()
    assert len(runs_there) == (3 if what == "import" else 1)


def test_a_copy_ended_with_a_traceback_where_an_experiment_was_deleted_meanwhile(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "here") as here, Store(tmp_path / "there") as there:
        for number in (1, 2, 3):
            here.experiments.begin("sweep", f"of {number}", {})
            here.experiments.finish(number, "complete")
        gone = [2, 3]

        def delete(_done: Copied) -> None:
            if gone:
                here.experiments.delete(gone.pop())

        with pytest.raises(StoreError, match=r"no experiment e3 in .* any more"):
            copy_store(here, there, ["e1", "e3"], on_copied=delete)
        assert copy_store(here, there, on_copied=delete).experiments == {1: 1}
