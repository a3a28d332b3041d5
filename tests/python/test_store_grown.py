"""A store that grows: packed results, shared profiles, series by key, and looking after it."""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from commands import command
from fabricated import fabricated
from fathom.store import Store, StoreError, check_store, compact_store, move_store
from fathom.store.packing import is_small, pack_json, repack, unpack_json

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 12


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return a store with runs of two series."""
    path = tmp_path / "store.sqlite"
    with Store(path) as store:
        for at in range(RUNS):
            target = f"/mnt/{at % 2}.dat"
            result = fabricated(rates=1000.0 + at, latency_ns=100.0 + at, path=target, depth=8)
            store.runs.save(result, ["-o8", target], label=f"l{at % 3}")
        one = store.experiments.begin("repeat", "r", {"arguments": []})
        store.experiments.finish(one, "complete")
        store.baselines.set("golden", "1")
    return path


def as_before(path: Path) -> None:
    """Bring rows to the form in which earlier versions left them."""
    with closing(sqlite3.connect(path)) as store:
        texts = dict(store.execute("SELECT 'sha256:' || sha256, content FROM shared_texts"))
        rows = store.execute("SELECT id, result_json_zlib, profile_json FROM runs").fetchall()
        for number, packed, profile in rows:
            values = [zlib.compress(unpack_json(packed).encode()), texts[profile], number]
            store.execute(
                "UPDATE runs SET result_json_zlib = ?, profile_json = ?, series_key = NULL "
                "WHERE id = ?",
                values,
            )
        store.execute("DELETE FROM shared_texts")
        store.commit()


def whole(path: Path) -> list[object]:
    with Store(path) as store:
        return [dict(store.runs.get(one.id).result.raw) for one in store.runs.list()]


def test_what_is_packed_comes_back_exactly() -> None:
    several: tuple[dict[str, object], ...] = (
        {"latency": {"bucket_lower_ns": [5, 7, 7000], "bucket_counts": [1, 2, 3]}},
        {"bucket_lower_ns": []},
        # The layout of buckets up to its greatest, and ends that are none of it.
        {"bucket_lower_ns": [0, 1, 2047, 2048, 2050, 4092, 4096, 2047 << 53]},
        {"bucket_lower_ns": [2049]},
        {"name": '"bucket_steps":[1,2]', "other": "\u2028"},
        # Of another's making: it is left as it is.
        {"bucket_steps": [1, 2, 3]},
    )
    for data in several:
        packed = pack_json(data)
        assert json.loads(unpack_json(packed)) == data
        assert repack(packed) == packed or not is_small(packed)


def test_older_rows_are_read_and_compacting_packs_them(kept: Path) -> None:
    before = whole(kept)
    as_before(kept)
    assert whole(kept) == before
    assert check_store(kept).faults == []
    with closing(sqlite3.connect(kept)) as raw:
        old = raw.execute("SELECT sum(length(result_json_zlib) + length(profile_json)) FROM runs")
        (old_bytes,) = old.fetchone()
    done = compact_store(kept)
    assert done.runs == RUNS
    with closing(sqlite3.connect(kept)) as raw:
        new = raw.execute("SELECT sum(length(result_json_zlib) + length(profile_json)) FROM runs")
        (new_bytes,) = new.fetchone()
        (texts,) = raw.execute("SELECT count(*) FROM shared_texts").fetchone()
    assert new_bytes < old_bytes / 2
    # One for each target.
    assert texts == 2
    assert whole(kept) == before
    assert compact_store(kept).runs == 0
    with Store(kept) as store:
        assert len(store.runs.series(RUNS)) == RUNS // 2
        assert [count for _, count in store.runs.newest_of_each_series(limit=9)] == [6, 6]


def test_lists_page_by_page_and_by_the_newest_of_each_label(kept: Path) -> None:
    with Store(kept) as store:
        first = store.runs.list(limit=5)
        second = store.runs.list(limit=5, before=first[-1].id)
        assert [one.id for one in first + second] == [*range(12, 2, -1)]
        assert [one.id for one in store.runs.newest_of_each_label(limit=2)] == [12, 11]
        assert {one.label for one in store.runs.list(label="l1")} == {"l1"}


def test_what_is_damaged_is_told(kept: Path) -> None:
    with closing(sqlite3.connect(kept)) as raw:
        raw.execute("UPDATE runs SET result_json_zlib = x'00ff' WHERE id = 3")
        raw.execute("UPDATE runs SET profile_json = 'sha256:0' WHERE id = 4")
        raw.execute("UPDATE experiments SET plan_json = '{' WHERE id = 1")
        raw.commit()
    done = command("store", "check", "--store", kept)
    assert done.returncode == 1
    assert f"read {RUNS} runs and 1 experiment" in done.stdout
    for words in ("run 3: its result", "run 4: its request", "experiment e1: its plan"):
        assert words in done.stdout
    # What is damaged keeps nobody from packing the rest.
    assert command("store", "compact", "--store", kept).returncode == 0


def test_a_store_is_moved_whole_or_stays(kept: Path, tmp_path: Path) -> None:
    before = whole(kept)
    there = tmp_path / "far/new.sqlite"
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(StoreError, match="already"):
        move_store(kept, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
    with closing(sqlite3.connect(kept)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError):
            move_store(kept, there, wait_s=0.2)
    assert (kept.exists(), there.exists()) == (True, False)
    done = command("store", "move", kept, there)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"moved {RUNS} runs" in done.stdout
    assert not kept.exists()
    assert whole(there) == before
    with Store(there) as store:
        assert store.baselines.list()[0].name == "golden"
