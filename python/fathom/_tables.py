"""Runs as tables: one row for each run, direction, interval or bucket of a histogram.

They are lists of flat dictionaries, which ``_frames`` makes data frames of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from fathom._result_rows import interval_rows, latency_rows
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fathom._frames import Columns, Row
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


__all__ = [
    "CELLS",
    "METRICS",
    "OF_EXPERIMENTS",
    "TABLES",
    "TableName",
    "cell_rows",
    "cells_of",
    "metric_rows",
    "rows_of",
    "rows_of_experiments",
]

TableName = Literal["runs", "totals", "intervals", "latencies"]
OF_EXPERIMENTS: Mapping[str, str] = {"cells": "sweep", "metrics": "repeat"}
"""The tables that experiments have, each with the verb of those."""
TABLES: tuple[str, ...] = ("runs", "intervals", "latencies", "cells", "totals", "metrics")
"""All tables of a store: its frames, and what can be exported."""
METRICS: Columns = {
    "experiment_id": "int",
    "metric": "str",
    "mean": "float?",
    "low": "float?",
    "high": "float?",
    "confidence": "float?",
    "runs": "int",
    "median": "float?",
    "coefficient_of_variation": "float?",
}
CELLS: Columns = {
    "experiment_id": "int",
    "source": "str",
    "iops": "float?",
    "iops_low": "float?",
    "iops_high": "float?",
    "mib_per_s": "float?",
    "is_precise": "bool?",
    "run_id": "int?",
    "failure": "str?",
    "latency_ios": "int?",
    **dict.fromkeys(
        [f"latency_{name}_ns" for name in ("mean", "p50", "p95", "p99", "p999")], "float?"
    ),
}

# Of 64 bits with a sign; Python reads no number of thousands of digits.
_GREATEST, _DIGITS = 2**63 - 1, 19


def rows_of(runs: Iterable[_Run], table: TableName) -> Iterator[Row]:
    """Return the rows of several runs.

    Parameters
    ----------
    runs
        The runs.
    table
        ``runs`` has the summary, whose figures are those of the first time span; ``totals`` reads,
        writes and both of each time span; ``intervals`` the I/Os of each interval of the time
        series, which ``-D`` keeps; ``latencies`` the buckets of the histograms, each with its least
        value. Of imported runs they have what the source has: one figure of a series in a row, bins
        by the value that they stand for (``bucket_ns``), and percentiles.

    """
    look = {
        "runs": _summary,
        "totals": _totals,
        "intervals": _intervals,
        "latencies": _latencies,
    }[table]
    for run in runs:
        yield from look(run)


def cells_of(experiments: Iterable[_Experiment]) -> Iterator[Row]:
    """Return a row for each cell of sweeps, whether it was measured or not: ``source`` says it.

    Latencies of cells that were interpolated are estimates, with their limits behind them. A
    parameter whose values are all whole numbers is a number, if it fits in 64 bits.
    """
    cells = [
        (experiment.id, cell)
        for experiment in experiments
        for cell in (experiment.outcome or {}).get("cells", ())
        if "source" in cell
    ]
    return cell_rows(cells)


def metric_rows(experiment_id: int, metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Return a row for each figure of a repetition, of the form in which it is saved."""
    for name, one in metrics.items():
        found = one["estimate"]
        yield {
            "experiment_id": experiment_id,
            "metric": name,
            **{key: found.get(key) for key in ("mean", "low", "high", "confidence", "runs")},
            "median": one.get("median"),
            "coefficient_of_variation": one.get("coefficient_of_variation"),
        }


def rows_of_experiments(experiments: Iterable[_Experiment], table: str) -> Iterator[Row]:
    """Return the rows of one of ``OF_EXPERIMENTS``."""
    if table == "cells":
        yield from cells_of(experiments)
        return
    for experiment in experiments:
        yield from metric_rows(experiment.id, (experiment.outcome or {}).get("metrics", {}))


def cell_rows(cells: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Row]:
    """Return the rows of cells, of the form in which sweeps are saved, with their experiments."""
    parameters = [cell["parameters"] for _, cell in cells]
    names = {name for one in parameters for name in one}
    counts = {name for name in names if all(_is_count(one.get(name, "0")) for one in parameters)}
    for experiment_id, cell in cells:
        row = _cell_row(experiment_id, cell)
        yield row | {name: int(cell["parameters"][name]) for name in counts & {*cell["parameters"]}}


def _is_count(value: object) -> bool:
    """Whether a value is a whole number that the columns of all libraries hold."""
    text = str(value)
    return text.isdecimal() and len(text) <= _DIGITS and int(text) <= _GREATEST


def _cell_row(experiment_id: int, cell: Mapping[str, Any]) -> Row:
    figures = cell.get("figures") or {}
    latencies = {key: one for key, one in figures.items() if key.startswith("latency")}
    for key, one in (cell.get("estimated_latency") or {}).items():
        latencies |= {key: one["value_ns"]}
        latencies |= {f"{key}_{end}": one[f"{end}_ns"] for end in ("low", "high")}
    return {
        "experiment_id": experiment_id,
        **cell["parameters"],
        "source": cell["source"],
        **{key: cell.get(key) for key in _CELL},
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


def _totals(run: _Run) -> Iterator[Row]:
    yield from ({"run_id": run.summary.id, **row} for row in run.result.rows("totals"))


def _intervals(run: _Run) -> Iterator[Row]:
    yield from _imported_intervals(run)
    yield from ({"run_id": run.summary.id, **row} for row in interval_rows(run.result.raw))


def _latencies(run: _Run) -> Iterator[Row]:
    yield from _imported_latencies(run)
    yield from ({"run_id": run.summary.id, **row} for row in latency_rows(run.result.raw))
