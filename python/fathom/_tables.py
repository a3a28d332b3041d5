"""Runs as tables: one row for each run, interval or bucket of a histogram.

They are lists of flat dictionaries, which ``_frames`` makes data frames of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from fathom._result_rows import interval_rows, latency_rows
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fathom._frames import Row
    from fathom.imported import ImportedResult
    from fathom.result import Result

    # The shapes of what the store has: it imports this, and so this knows it by its shape alone.
    class _Summary(Protocol):
        @property
        def id(self) -> int: ...
        @property
        def columns(self) -> Mapping[str, object]: ...

    class _Run(Protocol):
        @property
        def summary(self) -> _Summary: ...
        @property
        def result(self) -> Result: ...
        @property
        def imported(self) -> ImportedResult | None: ...

    class _Experiment(Protocol):
        @property
        def id(self) -> int: ...
        @property
        def outcome(self) -> Mapping[str, Any] | None: ...


__all__ = ["TABLES", "TableName", "cell_row", "cells_of", "rows_of"]

TableName = Literal["runs", "intervals", "latencies"]
TABLES: tuple[TableName, ...] = ("runs", "intervals", "latencies")


def rows_of(runs: Iterable[_Run], table: TableName) -> Iterator[Row]:
    """Return the rows of several runs.

    Parameters
    ----------
    runs
        The runs.
    table
        ``runs`` has the summary; ``intervals`` the I/Os of each interval of the time series, which
        ``-D`` keeps; ``latencies`` the buckets of the histograms, each with its least value. Of
        imported runs they have what the source has: one figure of a series in a row, bins by the
        value that they stand for (``bucket_ns``), and percentiles.

    """
    look = {"runs": _summary, "intervals": _intervals, "latencies": _latencies}[table]
    for run in runs:
        yield from look(run)


def cells_of(experiments: Iterable[_Experiment]) -> Iterator[Row]:
    """Return a row for each cell of sweeps, whether it was measured or not: ``source`` says it.

    Latencies of cells that were interpolated are estimates, with their limits behind them.
    """
    for experiment in experiments:
        for cell in (experiment.outcome or {}).get("cells", ()):
            if "source" in cell:
                yield cell_row(experiment.id, cell)


def cell_row(experiment_id: int, cell: Mapping[str, Any]) -> Row:
    """Return the row of one cell, of the form in which sweeps are saved."""
    figures = cell.get("figures") or {}
    latencies = {key: one for key, one in figures.items() if key.startswith("latency")}
    for key, one in (cell.get("estimated_latency") or {}).items():
        latencies |= {key: one["value_ns"]}
        latencies |= {f"{key}_{end}": one[f"{end}_ns"] for end in ("low", "high")}
    return {
        "experiment_id": experiment_id,
        **cell["parameters"],
        "source": cell["source"],
        **{key: cell[key] for key in _CELL},
        **latencies,
    }


_CELL = ("iops", "iops_low", "iops_high", "mib_per_s", "is_precise", "run_id", "failure")


def _summary(run: _Run) -> Iterator[Row]:
    yield dict(run.summary.columns)


def _imported_intervals(run: _Run) -> Iterator[Row]:
    """Return the points of series; each tells one figure, which its column is named after."""
    for series in run.imported.series if run.imported else ():
        place = {"run_id": run.summary.id, "time_span": 0, "direction": series.direction}
        for end_s, value in series.points:
            start_s = end_s - (series.interval_s or 0.0)
            yield {**place, "start_ns": round(start_s * NS_PER_S), series.what: value}


def _imported_latencies(run: _Run) -> Iterator[Row]:
    """Return bins, named by the value that they stand for, and percentiles as documented."""
    for name in ("read", "write"):
        found = getattr(run.imported, name, None)
        if found is None or found.latency is None:
            continue
        place = {"run_id": run.summary.id, "time_span": 0, "direction": name, "clock": "latency"}
        for value_ns, ios in (found.latency.histogram or {}).items():
            yield {**place, "bucket_ns": value_ns, "ios": ios}
        for percent, value_ns in found.latency.percentiles_ns.items():
            yield {**place, "percentile": percent, "latency_ns": value_ns}


def _intervals(run: _Run) -> Iterator[Row]:
    yield from _imported_intervals(run)
    yield from ({"run_id": run.summary.id, **row} for row in interval_rows(run.result.raw))


def _latencies(run: _Run) -> Iterator[Row]:
    yield from _imported_latencies(run)
    yield from ({"run_id": run.summary.id, **row} for row in latency_rows(run.result.raw))
