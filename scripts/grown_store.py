"""Makes a store as it is after years, and measures how long people wait for it.

    python scripts/grown_store.py /tmp/grown.sqlite --runs 100000 --experiments 1000

A few results are measured with the null engine; their rows are then multiplied by SQL, with labels,
targets, instants and figures of their own. Lists, filters, trends and pages are timed, each in this
process and the fastest of three; the limit is 0.3 s.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
from fathom.report import gather, page_content
from fathom.store import Store, check_store
from fathom.trends import find_trend

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 0.3
_HOSTS, _TARGETS, _LABELS = 5, 20, 50
_BETWEEN_S = 600.0
_ROUNDS = 3


def seed(store: Store, folder: Path) -> list[int]:
    """Measure what is multiplied, and return the numbers of the runs."""
    loads = (
        "-b4K -r -o8 -t2",
        "-b8K -r -w30 -o4 -t4",
        "-b64K -s -o2 -t1",
        "-b4K -r -o32 -t1 -w100",
    )
    ids = []
    for number, load in enumerate(loads):
        words = [*load.split(), "-L", "-D", "-d1", "-W0", "-c8M", "--engine=null"]
        words += [str(folder / f"seed{number}.dat")]
        ids.append(store.runs.save(fathom.run(words, overwrite=True), words, label="seed"))
    return ids


def grow(path: Path, runs: int, experiments: int) -> None:
    """Fill a new store."""
    with Store(path) as store:
        ids = seed(store, path.parent)
    with closing(sqlite3.connect(path)) as store_file:
        store_file.execute("PRAGMA synchronous = off")
        _add_experiments(store_file, experiments)
        _add_runs(store_file, ids, runs - len(ids), experiments)
        store_file.commit()
        store_file.execute("PRAGMA optimize")


def _add_experiments(store: sqlite3.Connection, count: int) -> None:
    plan = json.dumps({"arguments": ["-b4K"], "axes": {}})
    rows = [
        ("repeat", f"nightly {at}", "complete", 1e9 + at, 1e9 + at + 60, plan)
        for at in range(count)
    ]
    store.executemany(
        "INSERT INTO experiments (verb, name, state, started_at_unix_s, ended_at_unix_s, "
        "tool_version, plan_json) VALUES (?, ?, ?, ?, ?, '0.1.0', ?)",
        rows,
    )


def _add_runs(store: sqlite3.Connection, ids: list[int], count: int, experiments: int) -> None:
    store.row_factory = sqlite3.Row
    chance = random.Random(7)  # noqa: S311 - Nothing secret.
    for table, key in (("runs", "id"), ("provenances", "run_id"), ("run_targets", "run_id")):
        seeds = [
            dict(store.execute(f"SELECT * FROM {table} WHERE {key} = ?", [one]).fetchone())  # noqa: S608
            for one in ids
        ]
        names = [*seeds[0]]
        places = ", ".join("?" for _ in names)
        rows = (
            [
                *_row(
                    table, seeds[at % len(seeds)], at, max(ids) + 1 + at, experiments, chance
                ).values()
            ]
            for at in range(count)
        )
        store.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})", rows)  # noqa: S608


def _row(  # noqa: PLR0913, PLR0917 - What tells a row.
    table: str,
    like: dict[str, object],
    at: int,
    number: int,
    experiments: int,
    chance: random.Random,
) -> dict[str, object]:
    row = dict(like)
    series = at % (_HOSTS * _TARGETS * 4)
    if table == "provenances":
        return {**row, "run_id": number, "host_name": f"host-{series % _HOSTS}"}
    if table == "run_targets":
        return {**row, "run_id": number, "path": f"/mnt/disk{series % _TARGETS}/x.dat"}
    level = 1.0 if at < 60_000 else 0.8  # noqa: PLR2004 - One change, for the trend.
    iops = float(str(row["total_iops"])) * level * chance.gauss(1.0, 0.02)
    return {
        **row,
        "id": number,
        "uid": f"{number:036d}",
        "label": f"load-{at % _LABELS}",
        "started_at_unix_s": 1.6e9 + at * _BETWEEN_S,
        "saved_at_unix_s": 1.6e9 + at * _BETWEEN_S,
        "experiment_id": at % experiments + 1 if at % 4 == 0 else None,
        "total_iops": iops,
        "series_key": f"{series:032d}",
    }


def timed(path: Path) -> dict[str, float]:
    """Return how many seconds each of what people do takes."""
    with Store(path) as store:
        newest = store.runs.list(limit=1)[0].id

        def page() -> object:
            return page_content(gather(store, [str(newest)]))

        asked: dict[str, Callable[[], object]] = {
            "list of 50 runs": lambda: store.runs.list(limit=50),
            "a page in the middle": lambda: store.runs.list(limit=50, before=newest // 2),
            "runs by label": lambda: store.runs.list(label="load-7", limit=50),
            "runs by a pattern": lambda: store.runs.list(label="*oad-1*", limit=50),
            "runs by a label that is none": lambda: store.runs.list(label="nothing", limit=50),
            "runs by device": lambda: store.runs.list(device="disk7/", limit=50),
            "runs of an experiment": lambda: store.runs.list(experiment_id=9),
            "list of 50 experiments": lambda: store.experiments.list(limit=50),
            "all experiments": store.experiments.list,
            "all series": lambda: store.runs.newest_of_each_series(limit=200),
            "newest of each label": lambda: store.runs.newest_of_each_label(limit=200),
            "trend of 250 runs": lambda: find_trend(store, str(newest)),
            "page of a run": page,
        }
        return {name: min(_seconds(work) for _ in range(_ROUNDS)) for name, work in asked.items()}


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> int:
    """Make it unless it is there, and time it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("path", type=Path)
    asked.add_argument("--runs", type=int, default=100_000)
    asked.add_argument("--experiments", type=int, default=1_000)
    asked.add_argument("--check", action="store_true", help="also read all of it")
    given = asked.parse_args()
    if not given.path.exists():
        grow(given.path, given.runs, given.experiments)
    print(f"{given.path.stat().st_size / given.runs:,.0f} bytes per run")
    found = timed(given.path)
    for name, seconds in found.items():
        print(f"{seconds:8.3f} s  {name}{'  too slow' if seconds > LIMIT_S else ''}")
    if given.check:
        began = time.perf_counter()
        print(check_store(given.path), f"{time.perf_counter() - began:.1f} s")
    return int(max(found.values()) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
