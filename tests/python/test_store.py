"""The store, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from fathom import store as package
from fathom.store import NotAStoreError, NotFoundError, Store, StoreError, StoreInUseError
from fathom.store._database import Database
from fathom.store._migrate import alembic_config
from fathom.store._tables import REVISION, VERSION_TABLE, metadata, run_targets, runs
from fathom.store.packing import pack_json
from fathom.store.where import default_store, store_url
from sqlalchemy import delete, inspect, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy.engine import Connection

TEXT = (Path(__file__).parent / "fixtures/result.json").read_text()
RESULT = fathom.Result.from_json(TEXT)
ARGUMENTS = ["-b8K", "-r", 'it\'s "quoted".dat']


def test_a_run_comes_back_whole(store: Store) -> None:
    run_id = store.runs.save(RESULT, ARGUMENTS, label="oltp")
    found = store.runs.get(run_id)
    assert found.arguments == tuple(ARGUMENTS)
    assert found.result == RESULT
    # Histograms and series are part of it, bucket by bucket.
    assert found.result.raw == json.loads(TEXT)
    assert (found.summary.label, found.summary.outcome, found.summary.failure) == (
        "oltp",
        "complete",
        None,
    )


def test_the_summary_repeats_the_result(store: Store) -> None:
    store.runs.save(RESULT, ARGUMENTS)
    (summary,) = store.runs.list()
    columns = summary.columns
    target = RESULT.raw["request"]["profile"]["time_spans"][0]["targets"][0]
    assert columns["block_bytes"] == target["block_bytes"]
    assert columns["write_percent"] == target["write_percent"]
    assert columns["outstanding_per_thread"] == target["outstanding"]
    assert columns["thread_count"] == len(RESULT.time_spans[0].threads)
    for name in ("read", "write", "total"):
        direction = getattr(RESULT, name)
        assert columns[f"{name}_iops"] == pytest.approx(direction.iops)
        assert columns[f"{name}_mib_per_s"] == pytest.approx(direction.mib_per_s)
        assert columns[f"{name}_latency_p99_ns"] == direction.latency.quantile_ns(0.99)
        assert columns[f"{name}_latency_max_ns"] == direction.latency.max_ns
    assert columns["warning_count"] == len(RESULT.warnings)


def test_mixed_sizes_are_summarised_by_their_mean(store: Store) -> None:
    raw = json.loads(TEXT)
    target = raw["request"]["profile"]["time_spans"][0]["targets"][0]
    mixes = {
        "block_mix": [
            {"block_bytes": 4096, "io_percent": 75},
            {"block_bytes": 8192, "io_percent": 25},
        ],
        "write_block_mix": [{"block_bytes": 65536, "io_percent": 100}],
    }
    target |= {"write_percent": 50, "extensions": mixes}
    store.runs.save(fathom.Result.from_json(json.dumps(raw)), ARGUMENTS)
    (run,) = store.runs.list()
    assert run.columns["block_bytes"] == (5120 + 65536) / 2


def test_provenance_is_kept(store: Store, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch.dat"
    args = f"-c1M -b4K -r -d1 -W0 -L {scratch}".split()
    run_id = store.runs.save(fathom.run(args), args)
    run = store.runs.get(run_id)
    columns = run.summary.columns
    assert columns["tool_version"] == fathom.__version__
    assert columns["kernel"].startswith("Linux")
    assert columns["memory_bytes"] > 0
    assert columns["io_backends"]
    (target,) = run.targets
    assert (target["path"], target["size_bytes"]) == (str(scratch), 1 << 20)
    assert target["file_system"]


def test_what_became_of_a_run_is_kept(store: Store) -> None:
    raw = json.loads(TEXT)
    raw["time_spans"][0]["outcome"] = "interrupted"
    interrupted = fathom.Result.from_json(json.dumps(raw))
    raw["time_spans"] = []
    empty = fathom.Result.from_json(json.dumps(raw))
    ids = [
        store.runs.save(interrupted, ARGUMENTS),
        store.runs.save(empty, ARGUMENTS, failures=["the disk", "is gone"]),
    ]
    found = [store.runs.get(one).summary for one in ids]
    assert [one.outcome for one in found] == ["interrupted", "failed"]
    assert [one.failure for one in found] == [None, "the disk; is gone"]
    assert found[1].columns["total_iops"] is None


def test_a_result_of_another_version_is_told_and_still_listed(store: Store) -> None:
    run_id = store.runs.save(RESULT, ARGUMENTS)
    with store._database.writing() as connection:
        packed = pack_json(json.loads(TEXT) | {"schema_version": 99})
        connection.execute(runs.update().values(result_json_zlib=packed))
    with pytest.raises(StoreError, match=f"run {run_id} was saved by another version"):
        store.runs.get(run_id)
    assert len(store.runs.list()) == 1


def test_lists_are_filtered(store: Store) -> None:
    first = store.runs.save(RESULT, ARGUMENTS, label="sql_oltp")
    second = store.runs.save(RESULT, ARGUMENTS, label="sqlxoltp")
    third = store.runs.save(RESULT, ARGUMENTS, label="log")

    def ids(**filters: str) -> list[int]:
        return [run.id for run in store.runs.list(**filters)]  # type: ignore[arg-type]

    assert ids() == [third, second, first]
    assert ids(label="sql*") == [second, first]
    # An underscore means itself.
    assert ids(label="sql_oltp") == [first]
    assert len(store.runs.list(limit=2)) == 2
    path = RESULT.raw["time_spans"][0]["targets"][0]["path"]
    assert ids(device=path) == [third, second, first]
    assert ids(device="no such device") == []


def test_a_server_refused_a_run_that_was_measured_for_the_length_of_its_label(
    store: Store,
) -> None:
    """The index of labels held at most 2704 bytes. Neither chance nor serials compress well."""
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9000)  # noqa: S311
    long = "".join(letters)
    saved = store.runs.save(RESULT, ARGUMENTS, label=long)
    store.runs.save(RESULT, ARGUMENTS, label=long[:-1])
    assert [run.id for run in store.runs.list(label=long)] == [saved]
    assert store.runs.get(saved).summary.label == long
    with store._database.writing() as connection:
        connection.execute(run_targets.update().values(device_serial=long))


def test_a_server_did_not_find_a_label_of_bytes_by_its_beginning(store: Store) -> None:
    saved = store.runs.save(RESULT, ARGUMENTS, label="gr\udcfcn \\ 1")
    for words in ("gr\udcfc*", "gr\udcfcn \\*"):
        assert [run.id for run in store.runs.list(label=words)] == [saved]


def test_a_number_beyond_64_bits_was_a_fault_of_the_server(store: Store) -> None:
    for ask in (store.runs.get, store.experiments.get, lambda one: store.runs.delete([one])):
        with pytest.raises(NotFoundError, match="no number as large"):
            ask(2**63)


def test_deleting_takes_all_or_none(store: Store) -> None:
    ids = [store.runs.save(RESULT, ARGUMENTS) for _ in range(3)]
    with pytest.raises(NotFoundError, match=r"999.*nothing was deleted"):
        store.runs.delete([ids[0], 999])
    assert len(store.runs.list()) == 3
    store.runs.delete(ids[:2])
    assert [run.id for run in store.runs.list()] == [ids[2]]
    with pytest.raises(NotFoundError, match="no run"):
        store.runs.get(ids[0])


def test_ids_are_never_used_again(store: Store) -> None:
    last = store.runs.save(RESULT, ARGUMENTS)
    store.runs.delete([last])
    assert store.runs.save(RESULT, ARGUMENTS) > last


def test_an_experiment_goes_step_by_step(store: Store) -> None:
    plan: Mapping[str, object] = {"block": ["4K", "8K"], "target": "x.dat"}
    cells = [("4K", {"block": "4K"}), ("8K", {"block": "8K"})]
    experiment_id = store.experiments.begin("sweep", "blocks", plan, cells)
    experiment = store.experiments.get(experiment_id)
    assert (experiment.plan, experiment.state, experiment.run_count) == (plan, "running", 0)
    assert [(one.position, one.label, one.state) for one in experiment.steps] == [
        (0, "4K", "pending"),
        (1, "8K", "pending"),
    ]
    first, second = (step.id for step in experiment.steps)
    where = {"experiment_id": experiment_id}
    store.runs.save(RESULT, ARGUMENTS, **where, step_id=first)  # type: ignore[arg-type]
    store.runs.save(RESULT, ARGUMENTS, **where, step_id=second, failures=["full"])  # type: ignore[arg-type]
    (third,) = store.experiments.add_steps(experiment_id, [("16K", {"block": "16K"})])
    store.experiments.set_step(third, "skipped", "past the knee")
    store.experiments.finish(experiment_id, "complete", outcome={"knee": "8K"})
    experiment = store.experiments.get(experiment_id)
    assert [(one.label, one.state, one.failure) for one in experiment.steps] == [
        ("4K", "done", None),
        ("8K", "failed", "full"),
        ("16K", "skipped", "past the knee"),
    ]
    assert (experiment.state, experiment.outcome) == ("complete", {"knee": "8K"})
    assert experiment.run_count == 2
    assert len(store.runs.list(experiment_id=experiment_id)) == 2
    store.experiments.delete(experiment_id)
    assert (store.experiments.list(), store.runs.list()) == ([], [])


def test_unknown_experiments_are_told(store: Store) -> None:
    for attempt in (
        lambda: store.experiments.get(7),
        lambda: store.experiments.delete(7),
        lambda: store.experiments.finish(7, "complete"),
        lambda: store.experiments.add_steps(7, []),
        lambda: store.experiments.set_step(7, "done"),
    ):
        with pytest.raises(NotFoundError):
            attempt()


def test_references_name_runs(store: Store) -> None:
    experiment_id = store.experiments.begin("repeat", "ten times", {})
    first = store.runs.save(RESULT, ARGUMENTS)
    mine = [store.runs.save(RESULT, ARGUMENTS, experiment_id=experiment_id) for _ in range(2)]
    store.baselines.set("before-upgrade", f"e{experiment_id}")
    store.baselines.set("golden", str(first))
    resolve = store.baselines.run_ids
    assert resolve(f"{first}") == resolve(f"r{first}") == resolve("golden") == [first]
    assert resolve(f"e{experiment_id}") == resolve("before-upgrade") == mine
    assert resolve(f"golden,{mine[1]}") == [first, mine[1]]
    store.baselines.set("golden", f"r{mine[0]}")
    assert resolve("golden") == [mine[0]]
    assert [one.name for one in store.baselines.list()] == ["before-upgrade", "golden"]
    for unknown in ("silver", "999", "e999", ""):
        with pytest.raises(NotFoundError):
            resolve(unknown)


@pytest.mark.parametrize("name", ["12", "r12", "e3", "a,b", "", "-x", "x" * 101])
def test_names_of_baselines_cannot_be_mistaken(store: Store, name: str) -> None:
    run_id = store.runs.save(RESULT, ARGUMENTS)
    with pytest.raises(StoreError, match="baseline's name"):
        store.baselines.set(name, str(run_id))


def test_what_a_baseline_names_is_kept(store: Store) -> None:
    experiment_id = store.experiments.begin("repeat", "ten times", {})
    run_id = store.runs.save(RESULT, ARGUMENTS, experiment_id=experiment_id)
    store.baselines.set("golden", str(run_id))
    with pytest.raises(StoreInUseError, match="golden"):
        store.runs.delete([run_id])
    with pytest.raises(StoreInUseError, match="golden"):
        store.experiments.delete(experiment_id)
    assert store.runs.get(run_id)
    store.baselines.delete("golden")
    store.experiments.delete(experiment_id)
    with pytest.raises(NotFoundError):
        store.baselines.delete("golden")


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    with pytest.raises(StoreError):
        # No such step: the run must not be saved without it.
        store.runs.save(RESULT, ARGUMENTS, step_id=999)
    assert store.runs.list() == []


def test_a_store_that_lost_its_version_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        run_id = store.runs.save(RESULT, ARGUMENTS)
        with store._database.writing() as connection:
            connection.execute(delete(table(VERSION_TABLE)))
    with pytest.raises(NotAStoreError, match="does not say of which version they are"):
        Store(path)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT id FROM runs").fetchall() == [(run_id,)]


def _tables(connection: Connection) -> dict[str, object]:
    """Return all that the database knows of our tables, in any order."""
    look = inspect(connection)

    def told(found: Iterable[Mapping[str, Any]], without: str = "") -> set[str]:
        return {repr(sorted(item for item in one.items() if item[0] != without)) for one in found}

    return {
        name: [
            look.get_pk_constraint(name),
            told(look.get_columns(name)),
            # SQLite does not tell the name of one that came with its column.
            told(look.get_foreign_keys(name), without="name"),
            told(look.get_unique_constraints(name)),
            told(look.get_check_constraints(name)),
            told(look.get_indexes(name)),
        ]
        for name in look.get_table_names()
    }


def test_the_migrations_make_the_tables_that_the_code_knows_and_a_new_store_has(
    address: str,
) -> None:
    with Store(address) as store, store._database.reading() as connection:
        made = _tables(connection)
    database = Database(store_url(address))
    with database.writing() as connection:
        metadata.drop_all(connection)
        connection.exec_driver_sql(f"DROP TABLE {VERSION_TABLE}")
        assert _tables(connection) == {}
        command.upgrade(alembic_config(connection), REVISION)
        assert _tables(connection) == made
        assert len(made) == len(metadata.tables) + 1
        options = {"version_table": VERSION_TABLE}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == REVISION
        assert ScriptDirectory.from_config(alembic_config(connection)).get_heads() == [REVISION]
    database.close()
    # Who opened it first made it, and said which version it has.
    with Store(address) as store, store._database.reading() as connection:
        assert _tables(connection) == made


def test_an_open_store_opens_again(address: str) -> None:
    with Store(address) as store:
        run_id = store.runs.save(RESULT, ARGUMENTS)
        with Store(address) as other:
            assert other.runs.get(run_id).result == RESULT


def test_the_default_is_a_file_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FATHOM_STORE")
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere/data")
    assert str(default_store()) == "/somewhere/data/fathom/runs.sqlite"
    assert store_url().database == str(default_store())
    monkeypatch.setenv("FATHOM_STORE", "postgresql://lab@db/fathom")
    assert store_url().drivername == "postgresql+psycopg"
    assert store_url("other.sqlite").database == str(Path("other.sqlite").absolute())


def test_the_public_names_are_these() -> None:
    assert package.__all__ == sorted(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)
    assert issubclass(StoreError, fathom.FathomError)


def test_a_run_of_a_deleted_experiment_failed_by_a_constraint(store: Store) -> None:
    experiment = store.experiments.begin("sweep", "mine", {})
    store.experiments.delete(experiment)
    with pytest.raises(StoreError, match="its experiment was deleted meanwhile"):
        store.runs.save(RESULT, ARGUMENTS, experiment_id=experiment)
