"""The figures by which runs are judged: one value of each run, or a series within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom import _packages
from fathom.units import MIB, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom._claims import Unit
    from fathom.imported import ImportedResult
    from fathom.result import Result
    from fathom.stats.floats import FloatArray
    from fathom.store import RunSummary

__all__ = [
    "METRICS",
    "RATES",
    "check_share",
    "higher_is_better",
    "imported_series",
    "interval_series",
    "is_latency",
    "metric_column",
    "quantile_of",
    "run_buckets",
    "run_value",
    "unit_of",
]

_KINDS = ("read", "write", "total")
_COLUMNS = {
    "iops": "iops",
    "mib_per_s": "mib_per_s",
    "mean": "latency_mean_ns",
    "p50": "latency_p50_ns",
    "p95": "latency_p95_ns",
    "p99": "latency_p99_ns",
    "p999": "latency_p999_ns",
    "max": "latency_max_ns",
}
METRICS = (*_COLUMNS, *(f"{kind}.{name}" for kind in ("read", "write") for name in _COLUMNS))
RATES: Mapping[str, Unit] = {"iops": "IOPS", "mib_per_s": "MiB/s"}
"""The units of rates; all other figures are latencies, in nanoseconds."""

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_IN_SERIES = ("iops", "mib_per_s", "mean")


def check_share(name: str, value: float) -> None:
    """Refuse what is no share of a whole, such as a precision or a confidence.

    Raises
    ------
    ValueError
        If it is not between 0 and 1; the message has it in percent.

    """
    if not 0 < value < 1:
        raise ValueError(f"a {name} is between 0 and 100 %, not {100 * value:g} %")


def metric_column(metric: str) -> str:
    """Return the summary column of a metric, such as ``p99`` or ``read.iops``.

    Raises
    ------
    ValueError
        If there is no such metric.

    """
    kind, dot, name = metric.rpartition(".")
    if name not in _COLUMNS or (dot and kind not in _KINDS):
        raise ValueError(
            f"there is no metric {metric!r}; there are {', '.join(_COLUMNS)}, also as read.p99 "
            "or write.iops"
        )
    return f"{kind or 'total'}_{_COLUMNS[name]}"


def is_latency(metric: str) -> bool:
    """Whether runs have it only where latency was measured (``-L``)."""
    return "_latency_" in metric_column(metric)


def higher_is_better(metric: str) -> bool:
    """Whether more of it is what one wants: of rates it is, of latencies not."""
    return unit_of(metric) != "ns"


def unit_of(metric: str) -> Unit:
    """Return the unit that the values of a figure are in."""
    return RATES.get(metric.rpartition(".")[2], "ns")


def quantile_of(metric: str) -> float | None:
    """Return the share of I/Os that a percentile stands for; None of another figure."""
    return _QUANTILES.get(metric.rpartition(".")[2])


def run_buckets(result: Result, metric: str) -> Mapping[int, int] | None:
    """Return the histogram that a run's percentile comes from; None if there is none."""
    direction = getattr(result, metric.rpartition(".")[0] or "total")
    latency = direction.latency
    return latency.buckets if latency is not None and latency.buckets else None


def run_value(run: RunSummary, metric: str) -> float | None:
    """Return a run's value of a metric; None if the run has none."""
    value = run.columns[metric_column(metric)]
    return None if value is None or value == 0 else float(value)


def imported_series(imported: ImportedResult, metric: str) -> FloatArray | None:
    """Return the series of an imported run that has even intervals; None if it has none such."""
    kind, _, name = metric.rpartition(".")
    what = "latency_ns" if name == "mean" else name
    for series in imported.series:
        if (series.what, series.direction) == (what, kind or "total") and series.interval_s:
            return _packages.np.array([value for _end_s, value in series.points], float)
    return None


def interval_series(result: Result, metric: str) -> FloatArray | None:
    """Return a rate or the mean latency of each interval of the first time span, over all threads.

    None if the run kept no series (``-D``), or the metric is not one of ``iops``, ``mib_per_s`` and
    ``mean``, which are all that intervals tell. The last interval is left out where it is shorter,
    and those without any I/O have no latency.
    """
    kind, _, name = metric.rpartition(".")
    if name not in _IN_SERIES or not result.raw["time_spans"]:
        return None
    span = result.raw["time_spans"][0]
    interval_ns = span["interval_ns"]
    whole = span["measured_ns"] // interval_ns if interval_ns else 0
    if not whole:
        return None
    kinds = (kind,) if kind in ("read", "write") else ("read", "write")
    sums = _packages.np.zeros((3, whole))
    for thread in span["threads"]:
        for target in thread["targets"]:
            for one in kinds:
                cells = target[one]["series"]["cells"][:whole]
                table = [(cell["ios"], cell["bytes"], cell["latency_ns_sum"]) for cell in cells]
                if table:
                    sums[:, : len(table)] += _packages.np.array(table, float).T
    ios, transferred, latency_ns = sums
    if name == "mean":
        busy = ios > 0
        return _packages.np.asarray(latency_ns[busy] / ios[busy])
    counts = transferred / MIB if name == "mib_per_s" else ios
    return _packages.np.asarray(counts * NS_PER_S / interval_ns)
