"""Runs in the store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom._permission import without_permissions
from fathom._text import json_of
from fathom.imported.model import ImportedResult
from fathom.imported.view import result_view
from fathom.result import Result
from fathom.store._experiments import delete_experiment
from fathom.store._imports import add_imported, drop_unused_sources
from fathom.store._rows import add_run, as_text
from fathom.store._series import (
    NEWEST_FIRST,
    failed_after,
    newest_by,
    newest_of_each,
    series_keys,
    series_of,
)
from fathom.store._summaries import summaries
from fathom.store._tables import (
    NATIVE,
    baselines,
    provenances,
    run_targets,
    runs,
)
from fathom.store.damage import run_damage_told
from fathom.store.errors import NotFoundError, StoreInUseError
from fathom.store.packing import unpack_json
from fathom.store.records import StoredRun, run_summary
from fathom.store.sharing import wait_for_copies
from fathom.store.summary import provenance_row, run_row, series_target, target_rows

if TYPE_CHECKING:
    import builtins
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.engine import Connection, RowMapping

    from fathom.store._database import Database
    from fathom.store.records import RunSummary

__all__ = ["Runs"]

# More in one statement than any database takes as parameters is requested in pieces.
_PIECE = 500
# So many names of targets are looked at for another one of a file that has several.
_NAMES = 200


class Runs:
    """The runs of a store."""

    def __init__(self, database: Database) -> None:
        """Work in this database."""
        self._database = database

    def save(  # noqa: PLR0913 - All but the first two have defaults and names.
        self,
        result: Result,
        arguments: Sequence[str],
        *,
        label: str = "",
        failures: Sequence[str] = (),
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> int:
        """Save a run with its provenance in one transaction, and return its id.

        The step to which it belongs becomes done, or failed if the run failed, in the same
        transaction; a run that was interrupted leaves it as it is.
        """
        # What somebody allowed for this run is no part of its load: who repeats it is asked again.
        row = run_row(result, without_permissions(arguments), label, failures)
        row |= {"experiment_id": experiment_id, "step_id": step_id}
        provenance, targets = provenance_row(result), target_rows(result)
        names = {str(one["path"]): self._series_name(provenance, one) for one in targets}
        with self._database.writing() as connection:
            return add_run(connection, row, provenance, targets, names)

    def _series_name(self, provenance: Mapping[str, Any], target: Mapping[str, Any]) -> str:
        """Return the one name of a target, which earlier runs may have under another."""
        query = (
            sa.select(run_targets.c.path)
            .join(provenances, provenances.c.run_id == run_targets.c.run_id)
            .where(
                provenances.c.host_name == provenance["host_name"],
                run_targets.c.size_bytes == target["size_bytes"],
            )
            .group_by(run_targets.c.path)
            .order_by(sa.func.min(run_targets.c.run_id))
            .limit(_NAMES)
        )

        def earlier() -> list[str]:
            with self._database.reading() as connection:
                return [str(one) for one in connection.execute(query).scalars()]

        return series_target(str(target["path"]), earlier)

    def save_imported(  # noqa: PLR0913 - All but the first two have defaults and names.
        self,
        result: ImportedResult,
        arguments: Sequence[str] = (),
        *,
        content: bytes | None = None,
        label: str = "",
        failures: Sequence[str] = (),
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> int:
        """Save what another tool measured, such as for a step of an experiment; return its id.

        ``arguments`` are those that the tool was started with, ``content`` what it wrote, to be
        kept whole. ``Store.imports`` saves files instead, and no file twice.
        """
        with self._database.writing() as connection:
            return add_imported(
                connection,
                result,
                content,
                label,
                label=label,
                arguments=arguments,
                failures=failures,
                experiment_id=experiment_id,
                step_id=step_id,
            )

    def count(self) -> int:
        """Return how many there are."""
        with self._database.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count(runs.c.id))).scalar_one())

    def list(
        self,
        *,
        label: str | None = None,
        experiment_id: int | None = None,
        device: str | None = None,
        before: int | None = None,
        limit: int | None = None,
    ) -> list[RunSummary]:
        """Return summaries, the newest first.

        Parameters
        ----------
        label
            Only runs with this label, such as a workload's name; ``*`` stands for any text, and
            capital letters differ from small ones.
        experiment_id
            Only runs of this experiment.
        device
            Only runs on a device or path of which any name, model or serial contains this.
        before
            Only runs with a smaller number, such as those of the next page.
        limit
            Not more than this many.

        """
        query = summaries().order_by(runs.c.id.desc()).limit(limit)
        if label is not None:
            # Its index alone is read for them.
            named = _is_labelled(label, is_sqlite=self._database.is_sqlite)
            query = query.where(runs.c.id.in_(sa.select(runs.c.id).where(named)))
        if experiment_id is not None:
            query = query.where(runs.c.experiment_id == experiment_id)
        if before is not None:
            query = query.where(runs.c.id < before)
        if device is not None:
            query = query.where(runs.c.id.in_(_on_device(device)))
        with self._database.reading() as connection:
            return [run_summary(row) for row in connection.execute(query).mappings()]

    def series(self, run_id: int, *, limit: int | None = None) -> builtins.list[RunSummary]:
        """Return the complete runs of one run's load on its target and host, the oldest first.

        Not more than the newest ``limit``. What was imported has no load to go by, and is a series
        of its own.

        Raises
        ------
        NotFoundError
            If the store has no such run.

        """
        with self._database.reading() as connection:
            return series_of(connection, run_id, limit, self._database.name)

    def failed_after(
        self, series: Sequence[RunSummary], *, limit: int | None = None
    ) -> builtins.list[RunSummary]:
        """Return the runs of a series that failed after its newest one, the oldest first.

        ``series`` are its complete runs, the oldest first; not more than the newest ``limit``.
        """
        if not series:
            return []
        with self._database.reading() as connection:
            return failed_after(connection, series[-1], limit)

    def count_series(self, run_ids: Sequence[int]) -> int:
        """Return of how many series these runs are; what was imported is of none."""
        with self._database.reading() as connection:
            keys = (series_keys(connection, piece) for piece in _pieces(run_ids))
            return len(set().union(*keys))

    def newest_of_each_series(self, *, limit: int) -> builtins.list[tuple[RunSummary, int]]:
        """Return the newest complete run of each series with its number of runs.

        The newest is the one that began last; series with the newest runs come first.
        """
        with self._database.reading() as connection:
            return newest_of_each(connection, limit)

    def newest_of_each_label(self, *, limit: int) -> builtins.list[RunSummary]:
        """Return the run of each label that began last; those of the newest ``limit`` labels."""
        newest = newest_by(runs.c.label)
        ids = (
            sa.select(newest.c.id)
            .join(runs, runs.c.id == newest.c.id)
            .order_by(*NEWEST_FIRST)
            .limit(limit)
        )
        with self._database.reading() as connection:
            found = [*connection.execute(ids).scalars()]
            query = summaries().where(runs.c.id.in_(found)).order_by(*NEWEST_FIRST)
            return [run_summary(row) for row in connection.execute(query).mappings()]

    def get(self, run_id: int) -> StoredRun:
        """Return one run, whole.

        Raises
        ------
        NotFoundError
            If the store has no such run.
        StoreError
            If its result is of a version of the format that this package does not read.

        """
        with self._database.reading() as connection:
            query = summaries().add_columns(runs.c.arguments_json, runs.c.result_json_zlib)
            row = connection.execute(query.where(runs.c.id == run_id)).mappings().first()
            if row is None:
                raise NotFoundError(f"there is no run {run_id} in {self._database.name}")
            beneath = run_targets.select().where(run_targets.c.run_id == run_id)
            targets = connection.execute(beneath.order_by(run_targets.c.position)).mappings()
            found = tuple(dict(target) for target in targets)
            with run_damage_told(run_id):
                return _stored(row, found)

    def delete(self, run_ids: Collection[int], *, experiment_ids: Collection[int] = ()) -> None:
        """Delete runs, and experiments with theirs: all or none.

        Raises
        ------
        NotFoundError
            If the store lacks one of them.
        StoreInUseError
            If a baseline names one of them.

        """
        with self._database.writing() as connection:
            wait_for_copies(connection)
            for piece in _pieces(sorted(run_ids)):
                self._delete(connection, piece)
            for experiment_id in sorted(experiment_ids):
                delete_experiment(connection, experiment_id, self._database.name)
            drop_unused_sources(connection)

    def _delete(self, connection: Connection, run_ids: Sequence[int]) -> None:
        named = baselines.select().where(baselines.c.run_id.in_(run_ids))
        for baseline in connection.execute(named).mappings():
            raise StoreInUseError(
                f"run {baseline['run_id']} is the baseline {baseline['name']}: remove or move "
                "the baseline first"
            )
        done = connection.execute(
            runs.delete().where(runs.c.id.in_(run_ids)).returning(runs.c.id)
        ).scalars()
        missing = sorted(set(run_ids) - set(done))
        if missing:
            words = ", ".join(map(str, missing))
            raise NotFoundError(
                f"there is no run {words} in {self._database.name}; nothing was deleted"
            )


def _stored(row: RowMapping, targets: tuple[dict[str, Any], ...]) -> StoredRun:
    packed = row["result_json_zlib"]
    imported = None if row["origin"] == NATIVE else _imported(packed)
    result = Result.from_json(unpack_json(packed)) if imported is None else result_view(imported)
    return StoredRun(
        summary=run_summary(row),
        # Earlier versions kept what was allowed, too.
        arguments=tuple(without_permissions([*map(str, json_of(row["arguments_json"]))])),
        result=result,
        targets=targets,
        imported=imported,
    )


def _imported(packed: bytes) -> ImportedResult:
    return ImportedResult.from_dict(json_of(unpack_json(packed)))


def _on_device(words: str) -> sa.Select[Any]:
    pattern = _pattern(f"*{words}*")
    table = run_targets.c
    names = (table.path, table.device_names, table.device_model, table.device_serial)
    # As LIKE does in SQLite alone: nobody has to know how a vendor writes its models.
    found = [name.ilike(pattern, escape="\\") for name in names]
    return sa.select(table.run_id).where(sa.or_(*found))


def _is_labelled(label: str, *, is_sqlite: bool) -> sa.ColumnElement[bool]:
    """Return whether runs have a label; LIKE of SQLite would take ``NIGHTLY`` for ``nightly``."""
    if "*" not in label:
        return runs.c.label == label
    if is_sqlite:
        return runs.c.label.op("GLOB", is_comparison=True)(re.sub(r"[\[?]", r"[\g<0>]", label))
    return runs.c.label.like(_pattern(label), escape="\\")


def _pattern(words: str) -> str:
    # Escapes of bytes that are no text are part of the name, and none of the pattern's.
    escaped = as_text(words).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%")


def _pieces(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + _PIECE] for start in range(0, len(ids), _PIECE)]
