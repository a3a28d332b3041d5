"""Copying runs, experiments and baselines from one store to another, of either kind.

What is there already is recognised: a run by its ``uid``, an experiment by its verb, name and the
instant of its start. So a copy that was ended can be repeated, and goes on where it was. An
experiment is copied in one transaction with its steps and runs: it is there whole, or not at all.
A run or an experiment keeps its number where that is free; else it gets a new one, also where its
plan and its outcome name it.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom._text import json_of
from fathom.store._tables import (
    baselines,
    experiments,
    import_sources,
    overrides,
    provenances,
    run_targets,
    runs,
    shared_texts,
    steps,
)
from fathom.store.errors import NotFoundError
from fathom.store.references import experiment_number
from fathom.store.sharing import share, shared

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, RowMapping

    from fathom.store._database import Database
    from fathom.store.store import Store

__all__ = ["Copied", "copy_store"]

# So many runs without an experiment are copied in one transaction.
_PIECE = 100
_NUMBERED = (experiments, steps, runs, overrides)
_COUNT_ON = (
    "SELECT setval(name, greatest(highest, coalesce(pg_sequence_last_value(name), 1))) FROM ("
    "SELECT pg_get_serial_sequence('{table}', 'id')::regclass AS name, "
    "(SELECT max(id) FROM {table}) AS highest) AS known WHERE highest IS NOT NULL"
)
_EXPERIMENT = ("verb", "name", "started_at_unix_s", "tool_version")
# What names another experiment in plans and outcomes; a preparation says for which one it is.
_EXPERIMENT_NUMBERS = ("experiment_id", "for_experiment")
_OVERRIDE = ("at_unix_s", "user_id", "host_name", "permission", "target_path", "command")


@dataclass
class Copied:
    """What a copy did; runs and experiments by their numbers, there by here.

    Those that are new there are known by their numbers there.
    ``left`` says of each baseline that has another meaning there why it was not copied.
    """

    runs: dict[int, int] = field(default_factory=dict)
    experiments: dict[int, int] = field(default_factory=dict)
    new_runs: list[int] = field(default_factory=list)
    new_experiments: list[int] = field(default_factory=list)
    new_baselines: int = 0
    left: list[str] = field(default_factory=list)


def copy_store(
    source: Store,
    target: Store,
    references: Sequence[str] = (),
    *,
    on_copied: Callable[[Copied], None] | None = None,
) -> Copied:
    """Copy what is named, or all of it, with what belongs to it.

    Parameters
    ----------
    source, target
        The stores; the first is only read.
    references
        Runs (``12``), experiments (``e3``) and baselines by name; all if there are none. A run that
        is named alone comes without its experiment.
    on_copied
        Told after each transaction how far it is.

    Raises
    ------
    StoreError
        If one of them cannot be used, or has not what is named. What was copied before stays.

    """
    target.check_writable()
    copying = _Copying(source._database, target._database, on_copied)  # noqa: SLF001 - The same room.
    chosen = copying.all() if not references else copying.named(source, references)
    copying.copy(*chosen)
    return copying.done


class _Copying:
    """One copy under way."""

    def __init__(
        self, source: Database, target: Database, tell: Callable[[Copied], None] | None
    ) -> None:
        self._source = source
        self._target = target
        self._tell = tell or (lambda _done: None)
        self.done = Copied()

    def all(self) -> tuple[list[int], list[int], list[str] | None]:
        """Return all experiments, the runs that belong to none, and None for all baselines."""
        with self._source.reading() as here:
            alone = sa.select(runs.c.id).where(runs.c.experiment_id.is_(None)).order_by(runs.c.id)
            found = sa.select(experiments.c.id).order_by(experiments.c.id)
            return [*here.execute(found).scalars()], [*here.execute(alone).scalars()], None

    def named(
        self, source: Store, references: Sequence[str]
    ) -> tuple[list[int], list[int], list[str] | None]:
        """Return the experiments, the runs and the baselines that references name."""
        known = {one.name: one for one in source.baselines.list()}
        wanted: dict[int, None] = {}
        alone: dict[int, None] = {}
        names: list[str] = []
        for part in (one.strip() for each in references for one in each.split(",")):
            if part in known:
                names.append(part)
                number = known[part].experiment_id
            else:
                number = experiment_number(part)
            if number is None:
                alone |= dict.fromkeys(source.baselines.run_ids(part))
            else:
                wanted[source.experiments.get(number).id] = None
        # What belongs to another one was begun after it, and is to know its number there.
        return sorted(wanted), [*alone], names

    def copy(
        self, experiment_ids: Sequence[int], run_ids: Sequence[int], names: list[str] | None
    ) -> None:
        for experiment_id in experiment_ids:
            with self._source.reading() as here, self._writing_alone() as there:
                self._experiment(here, there, experiment_id, is_named=names is not None)
            self._tell(self.done)
        for first in range(0, len(run_ids), _PIECE):
            with self._source.reading() as here, self._writing_alone() as there:
                self._runs(here, there, run_ids[first : first + _PIECE], {}, None)
            self._tell(self.done)
        with self._source.reading() as here, self._writing_alone() as there:
            self._baselines(here, there, names)
            self._overrides(here, there, is_all=names is None)

    @contextmanager
    def _writing_alone(self) -> Iterator[Connection]:
        """Write while nobody else takes numbers, which a server hands out to all at once."""
        with self._target.writing() as there:
            if not self._target.is_sqlite:
                # Who saves begins with these, so that nobody waits for one who waits for him.
                names = ", ".join(one.name for one in (shared_texts, *_NUMBERED))
                there.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
            yield there
            for table in _NUMBERED:
                _count_on(there, table)

    def _experiment(
        self, here: Connection, there: Connection, experiment_id: int, *, is_named: bool
    ) -> None:
        row = next(iter(_rows(here, experiments, experiments.c.id == experiment_id)), None)
        if row is None:
            # It was deleted meanwhile, and is none of all any more.
            if is_named:
                raise NotFoundError(
                    f"there is no experiment e{experiment_id} in {self._source.name} any more"
                )
            return
        same = [experiments.c[name] == row[name] for name in _EXPERIMENT]
        known = there.execute(sa.select(experiments).where(*same)).mappings().first()
        number = known["id"] if known else _insert(there, experiments, row)
        self.done.experiments[experiment_id] = number
        if known is None:
            self.done.new_experiments.append(number)
        is_newer = known is None or _is_newer(row, known)
        numbers = self._steps(here, there, (experiment_id, number), is_newer=is_newer)
        mine = sa.select(runs.c.id).where(runs.c.experiment_id == experiment_id)
        run_ids = [*here.execute(mine.order_by(runs.c.id)).scalars()]
        for first in range(0, len(run_ids), _PIECE):
            self._runs(here, there, run_ids[first : first + _PIECE], numbers, number)
        if is_newer:
            values = {name: row[name] for name in row if name != "id"}
            values |= self._renumbered_json(row, ("plan_json", "outcome_json"))
            there.execute(experiments.update().where(experiments.c.id == number).values(values))
        self._renumber_steps(there, number)

    @staticmethod
    def _steps(
        here: Connection, there: Connection, experiment: tuple[int, int], *, is_newer: bool
    ) -> dict[int, int]:
        """Copy the steps of an experiment, here and there, and return their numbers there.

        What failed there may have been tried again since, where what is here ``is_newer``.
        """
        experiment_id, number = experiment
        mine = steps.c.experiment_id == number
        known = {
            row["position"]: row for row in there.execute(steps.select().where(mine)).mappings()
        }
        numbers = {}
        for row in _rows(here, steps, steps.c.experiment_id == experiment_id):
            values = {**row, "experiment_id": number}
            found = known.get(row["position"])
            if found is None:
                numbers[row["id"]] = _insert(there, steps, values)
                continue
            numbers[row["id"]] = found["id"]
            if found["state"] == "pending" or (is_newer and row["state"] != "pending"):
                changed = {name: row[name] for name in ("state", "failure")}
                there.execute(steps.update().where(steps.c.id == found["id"]).values(changed))
        return numbers

    def _renumber_steps(self, there: Connection, number: int) -> None:
        if all(old == new for old, new in self.done.runs.items()):
            return
        for row in _rows(there, steps, steps.c.experiment_id == number):
            values = self._renumbered_json(row, ("parameters_json",))
            if values["parameters_json"] != row["parameters_json"]:
                there.execute(steps.update().where(steps.c.id == row["id"]).values(values))

    def _runs(
        self,
        here: Connection,
        there: Connection,
        run_ids: Sequence[int],
        step_numbers: Mapping[int, int],
        experiment_number_there: int | None,
    ) -> None:
        rows = _rows(here, runs, runs.c.id.in_(run_ids))
        query = sa.select(runs.c.uid, runs.c.id, runs.c.experiment_id)
        found = there.execute(query.where(runs.c.uid.in_([row["uid"] for row in rows])))
        known = {row["uid"]: row for row in found.mappings()}
        fresh = [row for row in rows if row["uid"] not in known]
        _copy_sources(here, there, {row["source_sha256"] for row in fresh} - {None})
        free = _free(there, runs, [row["id"] for row in fresh])
        new: dict[int, int] = {}
        # Those that keep their number come first, so that no new number takes it.
        for row in sorted(rows, key=lambda one: one["id"] not in free):
            place = {"experiment_id": experiment_number_there}
            place |= {"step_id": step_numbers.get(row["step_id"])}
            if row["uid"] in known:
                there_row = known[row["uid"]]
                self.done.runs[row["id"]] = there_row["id"]
                if experiment_number_there is not None and there_row["experiment_id"] is None:
                    # It was copied alone before.
                    mine = runs.c.id == there_row["id"]
                    there.execute(runs.update().where(mine).values(place))
                continue
            profile = row["profile_json"]
            # What is damaged stays as it is, and keeps nothing else from being copied.
            with suppress(ValueError):
                profile = share(there, shared(here, profile))
            values = {**row, **place, "profile_json": profile}
            new[row["id"]] = _insert(there, runs, values, is_free=row["id"] in free)
        self.done.runs |= new
        self.done.new_runs += new.values()
        for table in (provenances, run_targets):
            more = _rows(here, table, table.c.run_id.in_([*new]))
            if more:
                there.execute(
                    table.insert(), [{**row, "run_id": new[row["run_id"]]} for row in more]
                )

    def _baselines(self, here: Connection, there: Connection, names: list[str] | None) -> None:
        known = {row["name"]: row for row in _rows(there, baselines)}
        for row in _rows(here, baselines):
            wanted = row["name"] in names if names is not None else True
            run_id = self.done.runs.get(row["run_id"])
            number = self.done.experiments.get(row["experiment_id"])
            if not wanted or (run_id is None and number is None):
                continue
            values = {**row, "run_id": run_id, "experiment_id": number}
            there_row = known.get(row["name"])
            if there_row is None:
                there.execute(baselines.insert().values(values))
                self.done.new_baselines += 1
            elif any(there_row[name] != values[name] for name in ("run_id", "experiment_id")):
                stands = there_row["run_id"] or f"e{there_row['experiment_id']}"
                self.done.left.append(
                    f"baseline {row['name']} stands for {stands} in {self._target.name}, and was "
                    "left so: fathom baseline set moves it"
                )

    def _overrides(self, here: Connection, there: Connection, *, is_all: bool) -> None:
        """Copy what was allowed: all of it, or what belongs to what was copied."""
        for row in _rows(here, overrides):
            number = self.done.experiments.get(row["experiment_id"])
            run_id = self.done.runs.get(row["run_id"])
            if not is_all and number is None and run_id is None:
                continue
            same = [overrides.c[name] == row[name] for name in _OVERRIDE]
            if there.execute(sa.select(overrides.c.id).where(*same)).first() is None:
                _insert(there, overrides, {**row, "experiment_id": number, "run_id": run_id})

    def _renumbered_json(self, row: Mapping[Any, Any], names: Collection[str]) -> dict[str, object]:
        """Return JSON with the numbers that runs and experiments have there."""
        values: dict[str, object] = {}
        for name in names:
            text = row[name]
            values[name] = text
            if text is None or not self._has_changed:
                continue
            try:
                data = json_of(text)
            except (ValueError, RecursionError):
                # It is damaged, and stays as it is: who reads it is told.
                continue
            values[name] = json.dumps(self._renumbered(data))
        return values

    @property
    def _has_changed(self) -> bool:
        numbers = (self.done.runs, self.done.experiments)
        return any(old != new for one in numbers for old, new in one.items())

    def _renumbered(self, data: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON.
        if isinstance(data, dict):
            return {key: self._renumbered(one, key) for key, one in data.items()}
        if isinstance(data, list):
            return [self._renumbered(one, name) for one in data]
        if isinstance(data, int) and not isinstance(data, bool):
            if name.endswith(("run_id", "run_ids")):
                return self.done.runs.get(data, data)
            if name.endswith(_EXPERIMENT_NUMBERS):
                return self.done.experiments.get(data, data)
        return data


def _is_newer(row: Mapping[Any, Any], known: Mapping[Any, Any]) -> bool:
    """Whether an experiment went on after it was copied."""
    if known["state"] == "running" and row["state"] != "running":
        return True
    return (row["ended_at_unix_s"] or 0.0) > (known["ended_at_unix_s"] or 0.0)


def _rows(
    connection: Connection, table: sa.Table, *where: sa.ColumnElement[bool]
) -> Sequence[RowMapping]:
    query = table.select().where(*where).order_by(*table.primary_key.columns)
    return connection.execute(query).mappings().all()


def _one(connection: Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> RowMapping:
    (row,) = _rows(connection, table, where)
    return row


def _free(connection: Connection, table: sa.Table, ids: Sequence[int]) -> set[int]:
    taken = connection.execute(sa.select(table.c.id).where(table.c.id.in_(ids))).scalars()
    return {*ids} - {*taken}


def _insert(
    connection: Connection, table: sa.Table, row: Mapping[Any, Any], *, is_free: bool | None = None
) -> int:
    """Insert a row under its own number where that is free, else under a new one."""
    if is_free is None:
        is_free = bool(_free(connection, table, [row["id"]]))
    if not is_free:
        _count_on(connection, table)
        row = {name: value for name, value in row.items() if name != "id"}
    insert = table.insert().returning(table.c.id)
    return int(connection.execute(insert, dict(row)).scalar_one())


def _count_on(connection: Connection, table: sa.Table) -> None:
    """Let a server go on behind the numbers that were inserted: it counts only those it gave."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_COUNT_ON.format(table=table.name))


def _copy_sources(here: Connection, there: Connection, sums: Collection[str]) -> None:
    for one in sums:
        mine = import_sources.c.sha256 == one
        if there.execute(sa.select(import_sources.c.sha256).where(mine)).first() is None:
            there.execute(import_sources.insert().values(_one(here, import_sources, mine)))
