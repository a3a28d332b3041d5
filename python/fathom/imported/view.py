"""An imported result seen as a ``Result``, for code that works with both.

The view has what the source told. Where a field of ``Result`` cannot be None, an unknown count is
0 and an unknown rate is NaN; code that must tell them apart asks the ``ImportedResult`` itself, or
the summary columns of the store, which are None there. There are no threads, warnings or stop
rules. The rows of its table ``totals`` have None for all that is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fathom._numbers import whole_number
from fathom._result_rows import TOTALS
from fathom.imported.merge import known_percentile_ns, percentile_ns
from fathom.imported.model import ImportedDirection, ImportedLatency
from fathom.result import Direction, Latency, Result, TimeSpan
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fathom._frames import Columns, Row
    from fathom.imported.model import ImportedResult

__all__ = ["DocumentedDirection", "DocumentedLatency", "DocumentedResult", "result_view"]


@dataclass(frozen=True)
class DocumentedLatency(Latency):
    """A histogram of another tool; what its source says of percentiles and mean stands first."""

    documented_mean_ns: float | None
    documented_ns: Mapping[float, float]

    @property
    def mean_ns(self) -> float:
        """The mean as documented."""
        known = self.documented_mean_ns
        return self.sum_ns / self.count if known is None else known

    def quantile_ns(self, quantile: float) -> int:
        """Return the documented percentile, or read it off the histogram as fio does.

        Raises
        ------
        ValueError
            If ``quantile`` is not within 0 to 1.

        """
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {quantile}")
        for percent, value_ns in self.documented_ns.items():
            if math.isclose(percent, 100 * quantile, rel_tol=1e-12):
                return round(value_ns)
        found = round(percentile_ns(self.buckets, 100 * quantile))
        return min(max(found, self.min_ns), self.max_ns)


@dataclass(frozen=True)
class DocumentedDirection(Direction):
    """A direction whose rates are those of the source."""

    documented_iops: float | None
    documented_mib_per_s: float | None

    @property
    def iops(self) -> float:
        """I/Os per second as documented; NaN if unknown."""
        return math.nan if self.documented_iops is None else self.documented_iops

    @property
    def mib_per_s(self) -> float:
        """MiB per second as documented; NaN if unknown."""
        return math.nan if self.documented_mib_per_s is None else self.documented_mib_per_s


@dataclass(frozen=True)
class DocumentedResult(Result):
    """An imported result as a ``Result``; its totals are what the source tells, and no more."""

    imported: ImportedResult = field(repr=False, hash=False, compare=False)

    def _rows(self, table: str) -> Iterable[Row]:
        return _totals(self.imported) if table == "totals" else super()._rows(table)

    def _kinds(self, table: str) -> Columns:
        return TOTALS if table == "totals" else super()._kinds(table)


def _totals(imported: ImportedResult) -> Iterator[Row]:
    """Return reads, writes and both, with None for what the source does not tell."""
    for name in ("read", "write", "total"):
        found = getattr(imported, name) or ImportedDirection()
        yield {
            "time_span": 0,
            "direction": name,
            "measured_s": imported.measured_s,
            **{one: getattr(found, one) for one in ("ios", "bytes")},
            "errors": None,
            **{one: getattr(found, one) for one in ("iops", "mib_per_s")},
            **_latencies(found.latency or ImportedLatency()),
        }


def _latencies(one: ImportedLatency) -> Row:
    shares = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
    known = {name: known_percentile_ns(one, percent) for name, percent in shares.items()}
    whole = {name: value if value is None else round(value) for name, value in known.items()}
    most_ns = None if one.max_ns is None else round(one.max_ns)
    told: Row = {"mean": one.mean_ns, **whole, "max": most_ns}
    return {f"latency_{name}_ns": value for name, value in told.items()}


def result_view(imported: ImportedResult) -> Result:
    """Return an imported result in the shape of a measured one."""
    measured_ns = round((imported.measured_s or 0) * NS_PER_S)
    average = imported.cpu_average
    span = TimeSpan(
        complete=imported.complete and imported.failure is None,
        failure=imported.failure,
        measured_ns=measured_ns,
        stop=None,
        read=_direction(imported.read, measured_ns),
        write=_direction(imported.write, measured_ns),
        total=_direction(imported.total, measured_ns),
        sync=_direction(imported.sync, measured_ns),
        trim=_direction(imported.trim, measured_ns),
        cpu_percent=None if average is None else average.usage_percent,
        own_ns_per_io=None,
        kernel_ns_per_io=None,
        threads=(),
    )
    return DocumentedResult(
        command_line=imported.command_line,
        time_spans=(span,),
        warnings=(),
        raw=_raw(imported),
        imported=imported,
    )


def _direction(one: ImportedDirection | None, measured_ns: int) -> DocumentedDirection:
    ios = (one.ios if one else None) or 0
    return DocumentedDirection(
        ios=ios,
        bytes=(one.bytes if one else None) or 0,
        errors=0,
        measured_ns=measured_ns,
        latency=_latency(one.latency) if one and one.latency else None,
        response=None,
        documented_iops=one.iops if one else 0.0,
        documented_mib_per_s=one.mib_per_s if one else 0.0,
    )


def _latency(one: ImportedLatency) -> DocumentedLatency | None:
    """Return a latency with its histogram; None if the source has none."""
    if not one.histogram:
        return None
    count = sum(one.histogram.values())
    weighed = sum(value_ns * ios for value_ns, ios in one.histogram.items())
    return DocumentedLatency(
        count=count,
        min_ns=round(min(one.histogram) if one.min_ns is None else one.min_ns),
        max_ns=round(max(one.histogram) if one.max_ns is None else one.max_ns),
        sum_ns=weighed if one.mean_ns is None else round(one.mean_ns * count),
        buckets=one.histogram,
        documented_mean_ns=one.mean_ns,
        documented_ns=one.percentiles_ns,
    )


def _raw(imported: ImportedResult) -> dict[str, Any]:
    """Return the parts of the JSON form that readers look into, as far as they are known."""
    numbered = [
        (number, cpu) for cpu in imported.cpus if (number := whole_number(cpu.label)) is not None
    ]
    return {
        "tool": {"name": imported.tool, "version": imported.tool_version},
        "command_line": imported.command_line,
        "started_at_unix_s": imported.time_stamp_unix_s,
        "host": {"name": imported.host_name, "kernel": "", "cpu_model": "", "cpus": []},
        "request": {"profile": {"time_spans": []}},
        "time_spans": [
            {
                "interval_ns": 0,
                "measured_ns": round((imported.measured_s or 0) * NS_PER_S),
                "cpu": [
                    {
                        "os_id": number,
                        "user_percent": cpu.user_percent,
                        "kernel_percent": cpu.kernel_percent,
                        "idle_percent": cpu.idle_percent,
                    }
                    for number, cpu in numbered
                ],
                "targets": [
                    {"path": one.path, "kind": "unknown", "size_bytes": one.size_bytes}
                    for one in imported.targets
                ],
                "threads": [],
            }
        ],
        "warnings": [],
        "imported": imported.to_dict(),
    }
