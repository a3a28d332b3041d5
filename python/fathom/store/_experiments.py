"""Experiments in the store: several runs with one question, step by step."""

from __future__ import annotations

import json
import shlex
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom import _fathom
from fathom._finite import json_words
from fathom._permission import refuse_permissions
from fathom._processes import folder_here, is_gone, this_folder, this_process
from fathom._text import json_of
from fathom.store._imports import drop_unused_sources
from fathom.store._once_allowed import permissions_in, without_permissions_in
from fathom.store._rows import as_text
from fathom.store._tables import baselines, experiments, overrides, runs, steps
from fathom.store.errors import NotFoundError, StoreError, StoreInUseError
from fathom.store.records import Experiment, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.engine import Connection, RowMapping

    from fathom.store._database import Database
    from fathom.store.records import ExperimentState, StepState

__all__ = ["Experiments", "delete_experiment"]

# More in one statement than any database takes as parameters is changed in pieces.
_PIECE = 500
# Keys of a plan that are no verb's: which process runs it, and the folder its names are of.
_PROCESS = "process"
_FOLDER = "begun_in"


class Experiments:
    """The experiments of a store."""

    def __init__(self, database: Database) -> None:
        """Work in this database."""
        self._database = database

    def begin(
        self,
        verb: str,
        name: str,
        plan: Mapping[str, Any],
        planned_steps: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> int:
        """Save the plan before its first run, and return the experiment's id.

        ``planned_steps`` are the label and the parameters of each; more may be added later.

        Raises
        ------
        RefusedError
            If the plan allows what only a person may allow, for one run.

        """
        row = {
            "verb": verb,
            "name": as_text(name),
            "state": "running",
            "started_at_unix_s": time.time(),
            "tool_version": _fathom.version(),
            "plan_json": json.dumps({**plan, _FOLDER: this_folder(), _PROCESS: this_process()}),
        }
        for kept in (plan, *(parameters for _, parameters in planned_steps)):
            refuse_permissions(permissions_in(kept), "the plan of an experiment")
        with self._database.writing() as connection:
            insert = experiments.insert().values(row).returning(experiments.c.id)
            experiment_id = int(connection.execute(insert).scalar_one())
            _add_steps(connection, experiment_id, 0, planned_steps)
        return experiment_id

    def add_steps(
        self, experiment_id: int, more: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> list[int]:
        """Add steps behind those that there are, and return their ids."""
        with self._database.writing() as connection:
            self._row(connection, experiment_id)
            last = sa.select(sa.func.coalesce(sa.func.max(steps.c.position), -1))
            mine = steps.c.experiment_id == experiment_id
            first = int(connection.execute(last.where(mine)).scalar_one()) + 1
            _add_steps(connection, experiment_id, first, more)
            new = sa.select(steps.c.id).where(mine, steps.c.position >= first)
            return list(connection.execute(new.order_by(steps.c.position)).scalars())

    def set_step(self, step_id: int, state: StepState, failure: str | None = None) -> None:
        """Note how a step ended; saving a run with its step's id does it by itself."""
        with self._database.writing() as connection:
            values = {"state": state, "failure": failure}
            done = connection.execute(steps.update().where(steps.c.id == step_id).values(values))
            if not done.rowcount:
                raise NotFoundError(f"there is no step {step_id} in {self._database.name}")

    def skip_steps(self, step_ids: Collection[int]) -> None:
        """Note that steps will not be run, all at once."""
        with self._database.writing() as connection:
            for first in range(0, len(step_ids), _PIECE):
                piece = sorted(step_ids)[first : first + _PIECE]
                update = steps.update().where(steps.c.id.in_(piece))
                connection.execute(update.values(state="skipped", failure=None))

    def finish(
        self,
        experiment_id: int,
        state: ExperimentState,
        *,
        failure: str | None = None,
        outcome: Mapping[str, Any] | None = None,
    ) -> None:
        """Note how an experiment ended and what it found; ``running`` takes it up again.

        Without an outcome, the one that it had stays. Who takes it up is noted, too.

        Raises
        ------
        StoreInUseError
            If it is to be taken up, and another process still runs it.

        """
        values: dict[str, Any] = {
            "state": state,
            "failure": failure,
            "ended_at_unix_s": None if state == "running" else time.time(),
        }
        if outcome is not None:
            values["outcome_json"] = json_words(outcome, indent=None)
        with self._database.writing() as connection:
            row = self._row(connection, experiment_id)
            if state == "running":
                values["plan_json"] = self._taken_up(row)
            mine = experiments.c.id == experiment_id
            connection.execute(experiments.update().where(mine).values(values))

    def _taken_up(self, row: RowMapping) -> str:
        """Return the plan with this process as the one that runs it."""
        plan = self._plan(row)
        noted, mine = plan.get(_PROCESS), this_process()
        is_run = row["state"] == "running" and is_gone(noted) is False
        if is_run and noted is not None and noted != mine:
            raise StoreInUseError(
                f"experiment e{row['id']} is still run by process {noted['pid']}: wait for its "
                "end, or end it"
            )
        return json.dumps({**plan, _PROCESS: mine})

    def _plan(self, row: RowMapping) -> dict[str, Any]:
        return self._read(row, "plan_json", "plan") or {}

    def _read(self, row: Mapping[Any, Any], column: str, what: str) -> dict[str, Any] | None:
        """Return what a column holds.

        Raises
        ------
        StoreError
            If it is damaged.

        """
        if row[column] is None:
            return None
        with suppress(ValueError, TypeError, RecursionError):
            found = json_of(row[column])
            if isinstance(found, dict):
                return found
        raise StoreError(
            f"the {what} of experiment e{row['id']} in {self._database.name} is damaged; its runs "
            f"are whole (fathom list), and fathom delete e{row['id']} removes it with them"
        )

    def get(self, experiment_id: int) -> Experiment:
        """Return one experiment with its steps.

        Raises
        ------
        NotFoundError
            If the store has no such experiment.
        StoreError
            If what it holds of it is damaged.

        """
        with self._database.reading() as connection:
            row = self._row(connection, experiment_id)
            query = steps.select().where(steps.c.experiment_id == experiment_id)
            found = connection.execute(query.order_by(steps.c.position)).mappings()
            steps_found = [self._step(row, step) for step in found]
            plan = self._plan(row)
            kept = [plan, *(step.parameters for step in steps_found)]
            once = dict.fromkeys(words for one in kept for words in permissions_in(one))
            mine = overrides.c.experiment_id == experiment_id
            noted = connection.execute(sa.select(overrides.c.permission).where(mine)).scalars()
            once |= dict.fromkeys(words for one in noted for words in shlex.split(one))
            plan = without_permissions_in(plan)
            whole = _experiment(row, plan, self._outcome(row), steps_found)
            return replace(whole, once_allowed=tuple(once))

    def list(self, *, verb: str | None = None, limit: int | None = None) -> list[Experiment]:
        """Return experiments without their steps, the newest first.

        What is damaged of one does not keep the others from being listed: it is left out.
        """
        query = _counted().order_by(experiments.c.id.desc()).limit(limit)
        if verb is not None:
            query = query.where(experiments.c.verb == verb)
        with self._database.reading() as connection:
            return [self._listed(row) for row in connection.execute(query).mappings()]

    def count(self) -> int:
        """Return how many there are."""
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count(experiments.c.id))).scalar_one())

    def under_way(self) -> Sequence[int]:
        """Return the numbers of those whose process is known to be there, on this machine."""
        query = _counted().where(experiments.c.state == "running")
        found = []
        with self._database.reading() as connection:
            for row in connection.execute(query).mappings():
                with suppress(StoreError):
                    if is_gone(self._plan(row).get(_PROCESS)) is False:
                        found.append(int(row["id"]))
        return found

    def _listed(self, row: RowMapping) -> Experiment:
        plan: dict[str, Any] = {}
        outcome = None
        with suppress(StoreError):
            plan = self._plan(row)
        with suppress(StoreError):
            outcome = self._outcome(row)
        return _experiment(row, plan, outcome, [])

    def _outcome(self, row: RowMapping) -> dict[str, Any] | None:
        return self._read(row, "outcome_json", "outcome")

    def _step(self, row: RowMapping, step: RowMapping) -> Step:
        named = {"id": row["id"], "parameters_json": step["parameters_json"]}
        what = f"step {step['position'] + 1}"
        return Step(
            id=step["id"],
            position=step["position"],
            label=step["label"],
            parameters=self._read(named, "parameters_json", what) or {},
            state=step["state"],
            failure=step["failure"],
        )

    def delete(self, experiment_id: int) -> None:
        """Delete an experiment with its steps and runs.

        Raises
        ------
        NotFoundError
            If the store has no such experiment.
        StoreInUseError
            If a baseline names it or one of its runs.

        """
        with self._database.writing() as connection:
            delete_experiment(connection, experiment_id, self._database.name)
            drop_unused_sources(connection)

    def _row(self, connection: Connection, experiment_id: int) -> RowMapping:
        return _row(connection, experiment_id, self._database.name)


def delete_experiment(connection: Connection, experiment_id: int, store: str) -> None:
    """Delete an experiment with its steps and runs, as `Experiments.delete`."""
    _row(connection, experiment_id, store)
    mine = sa.select(runs.c.id).where(runs.c.experiment_id == experiment_id)
    named = sa.select(baselines.c.name).where(
        (baselines.c.experiment_id == experiment_id) | baselines.c.run_id.in_(mine)
    )
    name = connection.execute(named).scalars().first()
    if name is not None:
        raise StoreInUseError(
            f"experiment e{experiment_id} belongs to the baseline {name}: remove or move "
            "the baseline first"
        )
    connection.execute(experiments.delete().where(experiments.c.id == experiment_id))


def _row(connection: Connection, experiment_id: int, store: str) -> RowMapping:
    query = _counted().where(experiments.c.id == experiment_id)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no experiment e{experiment_id} in {store}")
    return row


def _add_steps(
    connection: Connection,
    experiment_id: int,
    first: int,
    more: Sequence[tuple[str, Mapping[str, Any]]],
) -> None:
    rows = [
        {
            "experiment_id": experiment_id,
            "position": position,
            "label": label,
            "parameters_json": json.dumps(parameters),
            "state": "pending",
        }
        for position, (label, parameters) in enumerate(more, start=first)
    ]
    if rows:
        connection.execute(steps.insert(), rows)


def _counted() -> sa.Select[Any]:
    count = sa.select(sa.func.count()).where(runs.c.experiment_id == experiments.c.id)
    return sa.select(experiments, count.scalar_subquery().label("run_count"))


def _experiment(
    row: RowMapping,
    plan: dict[str, Any],
    outcome: dict[str, Any] | None,
    found: Sequence[Step],
) -> Experiment:
    process, folder = plan.pop(_PROCESS, None), plan.pop(_FOLDER, None)
    return Experiment(
        id=row["id"],
        verb=row["verb"],
        name=row["name"],
        state=row["state"],
        failure=row["failure"],
        started_at_unix_s=row["started_at_unix_s"],
        ended_at_unix_s=row["ended_at_unix_s"],
        plan=plan,
        outcome=outcome,
        run_count=row["run_count"],
        steps=tuple(found),
        is_abandoned=row["state"] == "running" and is_gone(process) is True,
        begun_in=folder_here(folder),
    )
