"""A value of a figure in words, with its unit: the one place for all that show figures by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._digits import beside_limit
from fathom.stats.snia import FIT_PERCENT, RANGE_PERCENT
from fathom.units import rate_words, time_words

if TYPE_CHECKING:
    from fathom.stats.steady import WindowCheck

__all__ = ["FIGURES", "check_words", "figure_words"]

FIGURES = {
    "iops": "IOPS",
    "mib_per_s": "throughput",
    "mean": "mean latency",
    "p50": "median latency",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
    "max": "slowest I/O",
}
"""What figures are called, by their names in results."""


def figure_words(metric: str, value: float, *, micro: str = "us") -> str:
    """Return a value with its unit: ``1,000 IOPS``, ``39.1 MiB/s`` or ``813 us``.

    ``metric`` is a name such as ``iops``, ``read.p99`` or, of one of several loads, ``log mean``;
    ``value`` is in IOPS, MiB/s or nanoseconds. ``micro`` is what stands for microseconds.
    """
    name = metric.rpartition(" ")[2].rpartition(".")[2]
    if name == "iops":
        return f"{rate_words(value)} IOPS"
    return f"{rate_words(value)} MiB/s" if name == "mib_per_s" else time_words(value, micro=micro)


def check_words(name: str, one: WindowCheck, *, micro: str = "us") -> str:
    """Return a figure over the window: its average with its unit, its range and its slope.

    ``micro`` is what stands for microseconds.
    """
    spread, slope = (
        beside_limit(100 * share, most, 1)
        for share, most in ((one.range_share, RANGE_PERCENT), (one.fit_share, FIT_PERCENT))
    )
    return (
        f"{name}: average {figure_words(name, one.average, micro=micro)}, range {spread} % (at "
        f"most {RANGE_PERCENT}), slope over the window {slope} % (at most {FIT_PERCENT})"
    )
