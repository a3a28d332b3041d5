"""What measures so many databases at once: pgbench on private clusters, or the engine on files."""

from __future__ import annotations

import os
import pwd
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom import engine, runners
from fathom._signals import held_back
from fathom.databases.account import Account, account_for, refuse_unreachable
from fathom.databases.folder import end_left, keep_folder, made_folder, remove_folder
from fathom.databases.pgbench import DatabaseFigures
from fathom.databases.postgresql import Databases, find_binaries
from fathom.experiments.density.outcome import Measured
from fathom.experiments.density.plan import POSTGRESQL
from fathom.findings.causes import disturbance_of
from fathom.host import limit_between, read_counters
from fathom.result import Direction
from fathom.runners import RunOutcome
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom.experiments.density.plan import DensityPlan
    from fathom.host import Counters
    from fathom.result import Latency, Result
    from fathom.runners import Runner
    from fathom.store import Store

__all__ = ["COUNT", "FilesRunner", "PostgresqlRunner", "runner_of"]

COUNT = "databases="
"""What stands before the number of databases in the argument of a step."""


@contextmanager
def runner_of(
    plan: DensityPlan,
    store: Store,
    *,
    keep: bool = False,
    tell: Callable[[str], None] = lambda _words: None,
) -> Iterator[Runner]:
    """Return what runs the steps of a plan; at the end all that it made is ended and removed.

    What commands that were killed have left in the folder is ended and removed first. ``keep``
    leaves the folder, and no process.

    Raises
    ------
    InvalidRequestError, RefusedError
        If there is no place for it.

    """
    place = Path(plan.folder)
    new = [one for one in (place, *place.parents) if not one.exists()]

    def told(folder: Path, ended: int) -> None:
        tell(f"removed {folder} with {ended} processes, which a command that was killed had left")

    end_left(place, told)
    is_postgresql = plan.kind == POSTGRESQL
    account = account_for(plan.account) if is_postgresql else _own_account()
    with held_back():
        folder = made_folder(place, account)
    databases = (
        Databases(folder, find_binaries(), account, plan.settings, tell) if is_postgresql else None
    )
    try:
        if databases is None:
            yield FilesRunner(plan, store, folder)
        else:
            refuse_unreachable(account, folder)
            yield PostgresqlRunner(plan, databases)
    finally:
        with held_back():
            if databases is not None:
                databases.close()
            if keep:
                keep_folder(folder)
                tell(f"kept {folder}")
            else:
                remove_folder(folder)
                # One in which somebody else has put something stays, with those above it.
                with suppress(OSError):
                    for one in new:
                        one.rmdir()


def _own_account() -> Account:
    uid = os.geteuid()
    try:
        return Account(pwd.getpwuid(uid).pw_name, uid, os.getegid())
    except KeyError:
        return Account(str(uid), uid, os.getegid())


# An event of the last second may come so late.
_LATE_S = 0.3


class PostgresqlRunner:
    """Loads private PostgreSQL clusters; its runs are no runs of the store."""

    def __init__(self, plan: DensityPlan, databases: Databases) -> None:
        """Measure with these; the first step makes them."""
        self._plan = plan
        self._databases = databases
        self._is_made = False

    def clock(self) -> float:
        """Return seconds of a clock that nobody sets."""
        return time.monotonic()

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Load so many databases at once; see ``Runner.run``."""
        del label, experiment_id, step_id
        if not self._is_made:
            self._databases.make_template()
            self._is_made = True
        self._databases.run(int(arguments[0].removeprefix(COUNT)))
        before: list[Counters] = []
        used: list[float] = []

        def began() -> None:
            used.append(self._databases.own_cpu_s())
            before.append(read_counters())

        found = self._databases.measure(self._plan.seconds, began)
        limit = limit_between(before[0], read_counters(), self._databases.own_cpu_s() - used[0])
        return RunOutcome(None, None, None, more=Measured(tuple(found), limit))


class FilesRunner:
    """Loads files through the engine, each in place of a database; each step is a run."""

    def __init__(self, plan: DensityPlan, store: Store, folder: Path) -> None:
        """Make the files in this folder."""
        self._plan = plan
        self._folder = folder
        self._native = runners.NativeRunner(store, on_event=self._look)
        self._read: list[tuple[Counters, float]] = []

    def clock(self) -> float:
        """Return seconds of a clock that nobody sets."""
        return self._native.clock()

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Load so many files at once; see ``Runner.run``."""
        count = int(arguments[0].removeprefix(COUNT))
        names = [str(self._folder / f"file{number}.dat") for number in range(1, count + 1)]
        words = self._plan.file_arguments(names)
        # Files are made before their load is measured, and not meanwhile.
        engine.run(self._plan.file_arguments(names, is_making=True))
        self._read = []
        found = self._native.run(words, label=label, experiment_id=experiment_id, step_id=step_id)
        if found.failure is not None or found.result is None or found.figures is None:
            return found
        (begun, used_then), *later = self._read
        # What is under way at the end is waited for behind it, which is no part of the load.
        within = [one for one in later if one[0].at_s - begun.at_s <= self._plan.seconds + _LATE_S]
        end, used = within[-1] if within else later[0]
        limit = limit_between(begun, end, used - used_then)
        databases = tuple(_of_targets(found.result))
        measured = Measured(databases, limit, disturbance_of(found.result))
        return RunOutcome(found.run_id, found.figures, None, found.result, measured)

    def _look(self, name: str, fields: dict[str, Any]) -> None:
        is_begun = name == "phase_started" and fields["phase"] == "measured"
        if is_begun or (self._read and name in ("live", "finished")):
            self._read.append(self._now())

    def _now(self) -> tuple[Counters, float]:
        return read_counters(), time.process_time()


def _of_targets(result: Result) -> Iterator[DatabaseFigures]:
    span = result.raw["time_spans"][0]
    parts = [one for thread in span["threads"] for one in thread["targets"]]
    for number in sorted({one["target"] for one in parts}):
        mine = [one for one in parts if one["target"] == number]
        both = [part for one in mine for part in (one["read"], one["write"])]
        total = Direction.merged(both, span["measured_ns"])
        synced = [one["sync"] for one in mine if one.get("sync")]
        syncs = Direction.merged(synced, span["measured_ns"])
        mean_ns = _mean_ns(total.latency, syncs.latency)
        yield DatabaseFigures(
            name=f"file{number + 1}",
            per_s=total.iops,
            latency_mean_ms=None if mean_ns is None else mean_ns / NS_PER_MS,
            count=total.ios,
            failed=total.errors,
        )


def _mean_ns(ios: Latency | None, syncs: Latency | None) -> float | None:
    """Return how long an I/O takes with its share of the syncs, which are part of a commit."""
    if ios is None:
        return None
    return (ios.sum_ns + (syncs.sum_ns if syncs else 0)) / ios.count
