"""Baselines: names for a run, or for the runs of an experiment, to compare with."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from fathom.store._tables import baselines, experiments, runs
from fathom.store.errors import BadNameError, NotFoundError
from fathom.store.records import Baseline
from fathom.store.references import experiment_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.engine import Connection

    from fathom.store._database import Database

__all__ = ["Baselines"]

_RUN = re.compile(r"r?([0-9]{1,18})")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")


class Baselines:
    """The baselines of a store, and what references stand for."""

    def __init__(self, database: Database) -> None:
        """Work in this database."""
        self._database = database

    def set(self, name: str, reference: str) -> None:
        """Give a run (``12``) or an experiment (``e3``) a name; one that is in use moves.

        Raises
        ------
        BadNameError
            If the name could be taken for a run or an experiment, or has other characters than
            letters, digits, dots, dashes and underscores.
        NotFoundError
            If there is no such run or experiment.

        """
        is_taken = _RUN.fullmatch(name) or experiment_number(name) is not None
        if not _NAME.fullmatch(name) or is_taken:
            raise BadNameError(
                f"{name!a} cannot be a baseline's name: begin with a letter, go on with letters, "
                "digits, dots, dashes or underscores, and do not look like r12 or e3"
            )
        with self._database.writing() as connection:
            run_id, experiment_id = self._one(connection, reference)
            connection.execute(baselines.delete().where(baselines.c.name == name))
            connection.execute(
                baselines.insert().values(
                    name=name,
                    run_id=run_id,
                    experiment_id=experiment_id,
                    set_at_unix_s=time.time(),
                )
            )

    def list(self) -> list[Baseline]:
        """Return all, by name."""
        with self._database.reading() as connection:
            rows = connection.execute(baselines.select().order_by(baselines.c.name)).mappings()
            return [Baseline(**row) for row in rows]

    def delete(self, name: str) -> None:
        """Remove a name; its runs stay.

        Raises
        ------
        NotFoundError
            If there is no such baseline.

        """
        with self._database.writing() as connection:
            done = connection.execute(baselines.delete().where(baselines.c.name == name))
            if not done.rowcount:
                raise NotFoundError(f"there is no baseline {name} in {self._database.name}")

    def run_ids(self, reference: str) -> Sequence[int]:
        """Return the runs that ``12``, ``r12``, ``e3``, ``12,14,15`` or a baseline's name means.

        They are in the order in which they were saved.

        Raises
        ------
        NotFoundError
            If there is no such run, experiment or baseline.

        """
        with self._database.reading() as connection:
            found: dict[int, None] = {}
            for part in reference.split(","):
                if not part.strip():
                    raise NotFoundError(
                        f"{reference!r} names nothing: write runs such as 12,14, an experiment "
                        "such as e3, or a baseline"
                    )
                run_id, experiment_id = self._one(connection, part.strip())
                if run_id is not None:
                    found[run_id] = None
                else:
                    mine = sa.select(runs.c.id).where(runs.c.experiment_id == experiment_id)
                    found |= dict.fromkeys(connection.execute(mine).scalars())
            return sorted(found)

    def _one(self, connection: Connection, reference: str) -> tuple[int | None, int | None]:
        """Return the id of the run, or that of the experiment."""
        if match := _RUN.fullmatch(reference):
            query = sa.select(runs.c.id, sa.null()).where(runs.c.id == int(match[1]))
        elif (number := experiment_number(reference)) is not None:
            mine = experiments.c.id == number
            query = sa.select(sa.null(), experiments.c.id).where(mine)
        else:
            columns = (baselines.c.run_id, baselines.c.experiment_id)
            query = sa.select(*columns).where(baselines.c.name == reference)
        row = connection.execute(query).first()
        if row is None:
            raise NotFoundError(
                f"{reference!r} is no run, experiment or baseline in {self._database.name}; "
                "fathom list shows what there is"
            )
        return row[0], row[1]
