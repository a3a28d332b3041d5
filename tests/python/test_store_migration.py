"""An older store opens with everything that it held."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import fathom.imported
import pytest
import sqlalchemy as sa
from alembic import command
from fathom.store import Store
from fathom.store._database import Database
from fathom.store._migrate import _APPLICATION_ID, MIGRATIONS, alembic_config
from fathom.store._tables import REVISION
from fathom.store.packing import pack_json
from fathom.store.where import store_url

if TYPE_CHECKING:
    from conftest import Server

RESULT = fathom.Result.from_json((Path(__file__).parent / "fixtures/result.json").read_text())


RUN = """
INSERT INTO runs (id, uid, experiment_id, label, started_at_unix_s, saved_at_unix_s, outcome,
arguments_json, command_line, profile_json, result_schema_version, result_json_zlib, warning_count,
block_bytes, thread_count, outstanding_per_thread, write_percent, random_percent, time_span_count,
measured_s, cpu_percent, ios, bytes, total_iops)
VALUES (1, 'u', 1, 'old', 5, 6, 'complete', '[]', 'diskspd', '{}', 1, :result, 0, 4096, 1, 2, 30,
100, 1, 1.5, 7, 11, 12, 150.5)
"""
BEFORE = """
INSERT INTO experiments VALUES (1, 'repeat', 'old', 'complete', NULL, 1, 2, '0', '{}', NULL)
"""
BEHIND = """
INSERT INTO provenances VALUES (1, '0.1', 'h', 'k', 'c', 2, 'g', 3, 'io_uring');
INSERT INTO run_targets (run_id, position, path, kind, size_bytes) VALUES (1, 0, 'x', 'file', 4096);
INSERT INTO baselines VALUES ('good', 1, NULL, 5)
"""


# Each that a published version may have left; a new one joins by its file.
EARLIER = sorted(file.name[:4] for file in MIGRATIONS.glob("versions/[0-9]*.py"))[:-1]


def old_store(path: Path, version: str = "0001") -> None:
    """Make a store of an earlier layout, with a run in an experiment and a baseline."""
    database = Database(store_url(path))
    with database.writing() as connection:
        command.upgrade(alembic_config(connection), "0001")
        connection.exec_driver_sql(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.exec_driver_sql(BEFORE)
        connection.execute(sa.text(RUN), {"result": pack_json(RESULT.raw)})
        for statement in BEHIND.split(";"):
            connection.exec_driver_sql(statement)
        command.upgrade(alembic_config(connection), version)
    database.close()


def test_every_layout_before_this_one_is_tried() -> None:
    assert EARLIER[0] == "0001"
    assert REVISION not in EARLIER
    assert int(REVISION) == len(EARLIER) + 1


@pytest.mark.parametrize("version", EARLIER)
def test_an_old_store_keeps_its_runs_and_takes_imports(tmp_path: Path, version: str) -> None:
    path = tmp_path / "old.sqlite"
    old_store(path, version)
    with Store(path) as store:
        found = store.runs.get(1)
        assert found.result == RESULT
        assert found.imported is None
        columns = found.summary.columns
        assert (columns["origin"], columns["total_iops"]) == ("native", 150.5)
        # The rows of other tables, which refer to it, are still there.
        assert (columns["kernel"], columns["target_path"]) == ("k", "x")
        assert store.baselines.run_ids("good") == [1]
        assert store.experiments.get(1).run_count == 1
        imported = fathom.imported.ImportedResult(origin="fio-json", tool="fio")
        run_id = store.runs.save_imported(imported)
        assert store.runs.get(run_id).summary.columns["block_bytes"] is None


def test_an_old_store_of_a_server_takes_labels_of_any_length(server: Server) -> None:
    address = server.new_database()
    database = Database(store_url(address))
    with database.writing() as connection:
        command.upgrade(alembic_config(connection), "0004")
    database.close()
    with Store(address) as store:
        saved = store.runs.save(RESULT, [], label="".join(map(str, range(5000))))
        assert [run.id for run in store.runs.list()] == [saved]


def test_the_constraints_that_stay_still_hold(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old_store(path)
    Store(path).close()
    engine = sa.create_engine(store_url(path))
    with engine.connect() as connection:
        definition = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE name = 'runs'"
        ).scalar_one()
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        assert not connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    engine.dispose()
    assert "label TEXT NOT NULL" in definition
    assert "ck_runs_outcome" in definition
    assert "fk_runs_experiment_id" in definition
