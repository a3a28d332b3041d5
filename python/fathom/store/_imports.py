"""Imports in the store: the sources, each kept whole and once."""

from __future__ import annotations

import hashlib
import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fathom.imported.errors import ImportFormatError
from fathom.store._import_rows import (
    imported_provenance_row,
    imported_run_row,
    imported_target_rows,
)
from fathom.store._own_rows import own_rows
from fathom.store._rows import add_run
from fathom.store._tables import import_sources, runs
from fathom.store.errors import NotFoundError
from fathom.store.sharing import insert_missing, wait_for_copies

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy.engine import Connection

    from fathom.imported import ImportedResult, OwnRun
    from fathom.store._database import Database

__all__ = ["Imports", "add_imported", "drop_unused_sources"]


class Imports:
    """The imported runs of a store, by their sources."""

    def __init__(self, database: Database) -> None:
        """Work in this database."""
        self._database = database

    def run_ids(self, content: bytes) -> list[int]:
        """Return the runs that were imported from the same content before."""
        query = sa.select(runs.c.id).where(runs.c.source_sha256 == _sha256(content))
        with self._database.reading() as connection:
            return [*connection.execute(query.order_by(runs.c.id)).scalars()]

    def save(
        self,
        results: Sequence[ImportedResult],
        content: bytes,
        name: str,
        *,
        label: str | None = None,
        again: bool = False,
    ) -> list[int]:
        """Save all results of a source in one transaction, and return their runs.

        Parameters
        ----------
        results
            What an importer read from the content. Raises ``ImportFormatError`` if they have a
            number that no store holds.
        content, name
            The source, whole, and the name of its file.
        label
            The label of all runs; by default each result's own title.
        again
            Save what was imported before once more; otherwise nothing is returned for it.

        """
        with self._database.writing() as connection, _told_if_too_large():
            # Who imports the same at this moment is waited for here, and seen then.
            known = _runs_of(connection, _source(connection, content, name))
            if known and not again:
                return []
            return [
                add_imported(
                    connection,
                    result,
                    content,
                    name,
                    label=result.title if label is None else label,
                    position=position,
                )
                for position, result in enumerate(results)
            ]

    def save_own(
        self,
        found: Sequence[OwnRun],
        content: bytes,
        name: str,
        *,
        label: str | None = None,
        again: bool = False,
    ) -> list[tuple[int, bool]]:
        """Save runs of our own JSON in one transaction.

        Returns each run's id, and whether it is new: a run has the same ``uid`` in all stores, and
        one that is there already is left as it is. The parameters are those of ``save``.

        Raises
        ------
        ImportFormatError
            If one of them has not the shape of a result; then none is saved.

        """
        rows = [_own_rows(own, label) for own in found]
        saved: list[tuple[int, bool]] = []
        with self._database.writing() as connection, _told_if_too_large():
            source = _source(connection, content, name)
            before = _runs_of(connection, source)
            for position, (own, (row, host, targets)) in enumerate(zip(found, rows, strict=True)):
                known = sa.select(runs.c.id).where(runs.c.uid == own.uid)
                there = connection.execute(known).scalar() if own.uid else before.get(position)
                if there is not None and not again:
                    saved.append((there, False))
                    continue
                more: dict[str, Any] = {"uid": own.uid} if own.uid and there is None else {}
                more |= {"source_sha256": source}
                more |= {"experiment_id": None, "step_id": None, "source_position": position}
                saved.append((add_run(connection, {**row, **more}, host, targets), True))
            if not any(is_new for _, is_new in saved):
                drop_unused_sources(connection)
        return saved

    def content(self, run_id: int) -> bytes:
        """Return the whole source that a run was imported from.

        Raises
        ------
        NotFoundError
            If there is no such run, or it was not imported.

        """
        query = sa.select(import_sources.c.content_zlib).join(runs).where(runs.c.id == run_id)
        with self._database.reading() as connection:
            packed = connection.execute(query).scalar()
        if packed is None:
            raise NotFoundError(f"{self._database.name} has no source of a run {run_id}")
        return zlib.decompress(packed)


def add_imported(  # noqa: PLR0913 - All but the first four have names.
    connection: Connection,
    result: ImportedResult,
    content: bytes | None,
    name: str,
    *,
    label: str,
    position: int = 0,
    arguments: Sequence[str] = (),
    failures: Sequence[str] = (),
    experiment_id: int | None = None,
    step_id: int | None = None,
) -> int:
    """Add an imported run, and its source unless that is there already; return the run's id."""
    row = imported_run_row(result, arguments, label, failures)
    row |= {"experiment_id": experiment_id, "step_id": step_id}
    if content is not None:
        row |= {"source_sha256": _source(connection, content, name), "source_position": position}
    return add_run(connection, row, imported_provenance_row(result), imported_target_rows(result))


def _own_rows(
    own: OwnRun, label: str | None
) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    try:
        return own_rows(own, label)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else f"{error}"
        raise ImportFormatError(f"it is no whole result of Fathom: {what}") from error


@contextmanager
def _told_if_too_large() -> Iterator[None]:
    """Tell in words what no column holds; nothing of the source is saved then.

    It stands within the transaction, which has words of its own for what it does not find.
    """
    try:
        yield
    except (OverflowError, sa.exc.DataError) as error:
        why = error.orig if isinstance(error, sa.exc.DataError) else error
        raise ImportFormatError(
            f"it has a value that the store cannot hold ({why}), and nothing of it was imported"
        ) from error


def drop_unused_sources(connection: Connection) -> None:
    """Delete the sources of which no run is left."""
    used = sa.select(runs.c.source_sha256).where(runs.c.source_sha256.is_not(None))
    connection.execute(import_sources.delete().where(import_sources.c.sha256.not_in(used)))


def _source(connection: Connection, content: bytes, name: str) -> str:
    wait_for_copies(connection)
    sha256 = _sha256(content)
    known = sa.select(import_sources.c.sha256).where(import_sources.c.sha256 == sha256)
    if connection.execute(known).first() is None:
        values = {
            "sha256": sha256,
            "name": name,
            "size_bytes": len(content),
            "imported_at_unix_s": time.time(),
            "content_zlib": zlib.compress(content),
        }
        connection.execute(insert_missing(connection, import_sources).values(values))
    return sha256


def _runs_of(connection: Connection, source: str) -> dict[int | None, int]:
    """Return the runs of a source by their places in it, each the one that was saved first."""
    query = sa.select(runs.c.source_position, runs.c.id).where(runs.c.source_sha256 == source)
    found = connection.execute(query.order_by(runs.c.id.desc()))
    return {row.source_position: int(row.id) for row in found}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
