"""An open store: the connections, and what each part of it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self, cast

from fathom._frames import Columns, Row, Tabular
from fathom._own_stores import note_store
from fathom._result_rows import INTERVALS, LATENCIES, TOTALS
from fathom._tables import (
    CELLS,
    METRICS,
    OF_EXPERIMENTS,
    TABLES,
    TableName,
    rows_of,
    rows_of_experiments,
)
from fathom.errors import InvalidRequestError
from fathom.store._baselines import Baselines
from fathom.store._database import Database
from fathom.store._experiments import Experiments
from fathom.store._imports import Imports
from fathom.store._migrate import bring_up_to_date
from fathom.store._runs import Runs
from fathom.store._summaries import run_columns
from fathom.store.overrides import Overrides
from fathom.store.where import store_url

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping

    from fathom._frames import Kind

__all__ = ["Store", "columns_of"]

_WAIT_S = 60.0
_LONGEST_WAIT_S = 86_400.0


def _of_runs(columns: Columns, *, kept: Collection[str]) -> Columns:
    """Return the columns of runs of any origin: imports tell less, but for those that are kept."""
    lacking = {
        name: kind if name in kept or kind.endswith("?") else cast("Kind", f"{kind}?")
        for name, kind in columns.items()
    }
    return {"run_id": "int", **lacking}


_OF_RUNS: Mapping[str, Columns] = {
    "totals": {"run_id": "int", **TOTALS},
    "intervals": _of_runs(INTERVALS, kept=("time_span", "direction", "start_ns")),
    "latencies": _of_runs(LATENCIES, kept=("time_span", "direction")),
}


class Store(Tabular):
    """An open store; safe to use from several threads, and beside other processes.

    Its tables (``rows``, ``to_pandas``, ``to_polars``, ``to_arrow``) are ``runs``, a row for each
    run with the figures of its first time span; ``intervals`` and ``latencies`` of all its runs;
    ``cells`` of its sweeps (these four are those of the command ``export``); and ``totals``, a row
    for reads, writes and both of each time span (``time_span`` counts from 0). The oldest run comes
    first.

    Attributes
    ----------
    runs, experiments, baselines, imports, overrides
        What it holds; ``imports`` are the files that imported runs came from, ``overrides`` what
        was allowed with ``--overwrite`` and ``--allow-write``.
    name
        Its file or address, without a password.
    files
        What must not be written while it is used: its file, or nothing of a server's database.

    """

    tables: ClassVar[tuple[str, ...]] = TABLES

    def __init__(
        self,
        where: str | os.PathLike[str] | None = None,
        *,
        wait_s: float = _WAIT_S,
        make: bool = True,
    ) -> None:
        """Open a store, and make or migrate its tables where needed.

        Parameters
        ----------
        where
            A file, or ``postgresql://user@host/database``; by default what FATHOM_STORE says, else
            a file in the user's data folder.
        wait_s
            How long, in seconds, to wait for others who keep it locked.
        make
            Whether a store that is not there yet is made; who only reads needs none.

        Raises
        ------
        InvalidRequestError
            If the time to wait is none.
        StoreError
            If it cannot be used; the kinds say why.
        NoStoreError
            If it is not there, and is not to be made.

        """
        is_number = isinstance(wait_s, int | float) and not isinstance(wait_s, bool)
        if not is_number or not 0 <= wait_s <= _LONGEST_WAIT_S:
            raise InvalidRequestError(
                f"a time to wait is a number of seconds from 0 to {_LONGEST_WAIT_S:g}, not "
                f"{wait_s!r}"
            )
        self._database = Database(store_url(where), wait_s=wait_s, make=make)
        try:
            bring_up_to_date(self._database, make=make)
        except BaseException:
            self._database.abandon()
            raise
        self.runs = Runs(self._database)
        self.experiments = Experiments(self._database)
        self.baselines = Baselines(self._database)
        self.imports = Imports(self._database)
        self.overrides = Overrides(self._database)
        self.name = self._database.name
        self.files = (self.name,) if self._database.is_sqlite else ()
        for file in self.files:
            note_store(file)

    def check_writable(self) -> None:
        """See whether something can be saved now, before a long measurement relies on it.

        Raises
        ------
        StoreError
            If it cannot.

        """
        self._database.check_writable()

    def close(self) -> None:
        """Close its connections; nothing can be read or saved from then on."""
        self._database.close()

    def __enter__(self) -> Self:
        """Use it for a while."""
        return self

    def __exit__(self, *_reason: object) -> None:
        """Close it."""
        self.close()

    def _rows(self, table: str) -> Iterable[Row]:
        if table in OF_EXPERIMENTS:
            ids = sorted(one.id for one in self.experiments.list(verb=OF_EXPERIMENTS[table]))
            return rows_of_experiments((self.experiments.get(one) for one in ids), table)
        found = self.runs.list()[::-1]
        if table == "runs":
            return [dict(run.columns) for run in found]
        return rows_of((self.runs.get(run.id) for run in found), cast("TableName", table))

    def _kinds(self, table: str) -> Columns:
        return columns_of(table)


def columns_of(table: str) -> Columns:
    """Return the columns that one of the tables of a store has in any case."""
    if table in OF_EXPERIMENTS:
        return CELLS if table == "cells" else METRICS
    return run_columns() if table == "runs" else _OF_RUNS[table]
