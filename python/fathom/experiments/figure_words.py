"""A value of a figure in words, with its unit: the one place for all that show figures by name."""

from __future__ import annotations

from fathom.units import rate_words, time_words

__all__ = ["figure_words"]


def figure_words(metric: str, value: float, *, micro: str = "us") -> str:
    """Return a value with its unit: ``1,000 IOPS``, ``39.1 MiB/s`` or ``813 us``.

    ``metric`` is a name such as ``iops``, ``read.p99`` or, of one of several loads, ``log mean``;
    ``value`` is in IOPS, MiB/s or nanoseconds. ``micro`` is what stands for microseconds.
    """
    name = metric.rpartition(" ")[2].rpartition(".")[2]
    if name == "iops":
        return f"{rate_words(value)} IOPS"
    return f"{rate_words(value)} MiB/s" if name == "mib_per_s" else time_words(value, micro=micro)
