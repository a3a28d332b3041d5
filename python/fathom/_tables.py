"""Runs as tables: one row for each run, interval or bucket of a histogram.

They are lists of flat dictionaries, so that pandas, polars and pyarrow take them as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fathom.store import Experiment, StoredRun

__all__ = ["TABLES", "TableName", "cells_of", "rows_of"]

TableName = Literal["runs", "intervals", "latencies"]
TABLES: tuple[TableName, ...] = ("runs", "intervals", "latencies")

_DIRECTIONS = ("read", "write")


def rows_of(runs: Iterable[StoredRun], table: TableName) -> Iterator[dict[str, Any]]:
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


def cells_of(experiments: Iterable[Experiment]) -> Iterator[dict[str, Any]]:
    """Return a row for each cell of sweeps, whether it was measured or not: ``source`` says it.

    Latencies of cells that were interpolated are estimates, with their limits behind them.
    """
    for experiment in experiments:
        for cell in (experiment.outcome or {}).get("cells", ()):
            if "source" not in cell:
                continue
            figures = cell.get("figures") or {}
            latencies = {key: one for key, one in figures.items() if key.startswith("latency")}
            for key, one in (cell.get("estimated_latency") or {}).items():
                latencies |= {key: one["value_ns"]}
                latencies |= {f"{key}_{end}": one[f"{end}_ns"] for end in ("low", "high")}
            yield {
                "experiment_id": experiment.id,
                **cell["parameters"],
                "source": cell["source"],
                **{key: cell[key] for key in _CELL},
                **latencies,
            }


_CELL = ("iops", "iops_low", "iops_high", "mib_per_s", "is_precise", "run_id", "failure")


def _summary(run: StoredRun) -> Iterator[dict[str, Any]]:
    yield dict(run.summary.columns)


def _parts(run: StoredRun) -> Iterator[tuple[dict[str, Any], Mapping[str, Any], int]]:
    """Return where each part was measured, the part, and the length of its intervals."""
    for number, span in enumerate(run.result.raw["time_spans"]):
        for thread in span["threads"]:
            for target in thread["targets"]:
                for direction in _DIRECTIONS:
                    place = {
                        "run_id": run.summary.id,
                        "time_span": number,
                        "thread": thread["index"],
                        "target": span["targets"][target["target"]]["path"],
                        "direction": direction,
                    }
                    yield place, target[direction], span["interval_ns"]


def _imported_intervals(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Return the points of series; each tells one figure, which its column is named after."""
    for series in run.imported.series if run.imported else ():
        place = {"run_id": run.summary.id, "time_span": 0, "direction": series.direction}
        for end_s, value in series.points:
            start_s = end_s - (series.interval_s or 0.0)
            yield {**place, "start_ns": round(start_s * NS_PER_S), series.what: value}


def _imported_latencies(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Return bins, named by the value that they stand for, and percentiles as documented."""
    for name in _DIRECTIONS:
        found = getattr(run.imported, name, None)
        if found is None or found.latency is None:
            continue
        place = {"run_id": run.summary.id, "time_span": 0, "direction": name, "clock": "latency"}
        for value_ns, ios in (found.latency.histogram or {}).items():
            yield {**place, "bucket_ns": value_ns, "ios": ios}
        for percent, value_ns in found.latency.percentiles_ns.items():
            yield {**place, "percentile": percent, "latency_ns": value_ns}


def _intervals(run: StoredRun) -> Iterator[dict[str, Any]]:
    yield from _imported_intervals(run)
    for place, part, interval_ns in _parts(run):
        for index, cell in enumerate(part["series"]["cells"]):
            yield {**place, "start_ns": index * interval_ns, **cell}


def _latencies(run: StoredRun) -> Iterator[dict[str, Any]]:
    yield from _imported_latencies(run)
    for place, part, _interval_ns in _parts(run):
        for clock in ("latency", "response"):
            histogram = part.get(clock)
            if not histogram:
                continue
            pairs = zip(histogram["bucket_lower_ns"], histogram["bucket_counts"], strict=True)
            for lower_ns, count in pairs:
                yield {**place, "clock": clock, "bucket_lower_ns": lower_ns, "ios": count}
