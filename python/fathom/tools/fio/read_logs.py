"""fio's logs: ``write_bw_log``, ``write_iops_log``, ``write_lat_log`` and ``write_hist_log``.

The columns are those of fio's documentation, "Log File Formats"
(https://fio.readthedocs.io/en/latest/fio_doc.html): milliseconds, value, direction (0 read, 1
write, 2 trim), block size, and further ones from 3 on. What a value is stands in the file's name
alone (``_bw``, ``_iops``, ``_lat``, ``_clat``, ``_slat``), so it is given with the format. A line
of a histogram log has the counts of all bins since the line before; bin numbers become latencies as
in fio's ``stat.c`` (``plat_idx_to_val``); ``tools/hist/fiologparser_hist.py`` does the same.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise

from fathom.imported.errors import ImportFormatError
from fathom.imported.merge import merged, percentile_ns
from fathom.imported.model import (
    ImportedDirection,
    ImportedLatency,
    ImportedResult,
    ImportedSeries,
    Reading,
    UnparsedLine,
)
from fathom.tools._lines import raw_lines

__all__ = ["looks_like_fio_hist_log", "looks_like_fio_log", "read_fio_hist_log", "read_fio_log"]

_LINE = re.compile(r"([0-9]{1,18}), ?([0-9]{1,18}), ?([0-3]), ?([0-9]{1,18})(?:, ?[-\w]+)*")
_HIST = re.compile(r"([0-9]{1,18}), ?([0-2]), ?([0-9]{1,18})((?:, ?[0-9]{1,18}){29,})")
_NAMES = {"0": "read", "1": "write", "2": "trim", "3": "sync"}
_MS_PER_S = 1000
_KIB_PER_MIB = 1024
_PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
# FIO_IO_U_PLAT_BITS, and the number of all bins (stat.h).
_BITS = 6
_BINS = 1856
_WHATS = {
    "bw": ("mib_per_s", 1 / _KIB_PER_MIB),
    "iops": ("iops", 1.0),
    "lat": ("latency_ns", 1.0),
    "clat": ("latency_ns", 1.0),
    "slat": ("latency_ns", 1.0),
}


def looks_like_fio_log(text: str) -> bool:
    """Whether a text begins with a line of such a log."""
    return _LINE.fullmatch(text.lstrip().partition("\n")[0].strip()) is not None


def looks_like_fio_hist_log(text: str) -> bool:
    """Whether a text begins with a line of a log of histograms."""
    return _HIST.fullmatch(text.lstrip().partition("\n")[0].strip()) is not None


def read_fio_log(data: bytes, kind: str) -> Reading:
    """Return one result whose series are the log, for each direction in it.

    Parameters
    ----------
    data
        The log.
    kind
        What its values are: ``bw`` (KiB/s), ``iops``, or ``lat``, ``clat``, ``slat`` (nanoseconds).

    Raises
    ------
    ImportFormatError
        If no line is one of such a log.

    """
    what, unit = _WHATS[kind]
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    sizes: set[int] = set()
    unparsed: list[UnparsedLine] = []
    number = 0
    for number, line in enumerate(raw_lines(data.decode("utf-8", "replace")), start=1):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            if line.strip():
                unparsed.append(UnparsedLine(number, line, is_within=True))
            continue
        when, value, name, size = match.groups()
        points[_NAMES[name]].append((int(when) / _MS_PER_S, int(value) * unit))
        sizes.add(int(size))
    if not points:
        raise ImportFormatError(
            "no line is one of a log of fio: milliseconds, value, direction, size"
        )
    series = tuple(
        ImportedSeries(what, name, _interval_s(found), tuple(found))
        for name, found in points.items()
    )
    result = ImportedResult(
        origin=f"fio-{kind}-log",
        tool="fio",
        measured_s=max(when for found in points.values() for when, _value in found),
        series=series,
        lines=(1, number),
        notes=("A log of fio has a series and no totals: fio's JSON of the same run has them.",),
    )
    return Reading((result,), tuple(unparsed))


def _interval_s(points: list[tuple[float, float]]) -> float | None:
    """Return the length of the intervals, if they are even to a tenth (``log_avg_msec``)."""
    ends = [when for when, _value in points]
    gaps = [later - sooner for sooner, later in pairwise(ends)]
    if not gaps or min(gaps) <= 0:
        return None
    mean = sum(gaps) / len(gaps)
    even = all(abs(gap - mean) < mean / 10 for gap in gaps)
    return round(mean, 3) if even else None


def read_fio_hist_log(data: bytes) -> Reading:
    """Return one result with the histogram over the whole log.

    Raises
    ------
    ImportFormatError
        If no line is one of such a log.

    """
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    unparsed: list[UnparsedLine] = []
    number, last_s = 0, 0.0
    for number, line in enumerate(raw_lines(data.decode("utf-8", "replace")), start=1):
        match = _HIST.fullmatch(line.strip())
        bins = [int(one) for one in match[4].split(",")[1:]] if match else []
        coarseness = _coarseness(len(bins))
        if match is None or coarseness is None:
            if line.strip():
                unparsed.append(UnparsedLine(number, line[:200], is_within=True))
            continue
        last_s = int(match[1]) / _MS_PER_S
        for index, count in enumerate(bins):
            if count:
                counts[_NAMES[match[2]]][_value_ns(index, coarseness)] += count
    if not counts:
        raise ImportFormatError("no line is one of fio's log of histograms")
    found = {name: _direction(one) for name, one in counts.items()}
    result = ImportedResult(
        origin="fio-hist-log",
        tool="fio",
        measured_s=last_s,
        read=found.get("read"),
        write=found.get("write"),
        trim=found.get("trim"),
        total=merged([found.get("read"), found.get("write")], _PERCENTS),
        lines=(1, number),
        notes=("A log of histograms has no rates: fio's JSON of the same run has them.",),
    )
    return Reading((result,), tuple(unparsed))


def _direction(counts: Counter[int]) -> ImportedDirection:
    histogram = dict(sorted(counts.items()))
    latency = ImportedLatency(
        what="from submission to completion (clat)",
        count=sum(histogram.values()),
        percentiles_ns={percent: percentile_ns(histogram, percent) for percent in _PERCENTS},
        histogram=histogram,
    )
    return ImportedDirection(ios=latency.count, latency=latency)


def _coarseness(count: int) -> int | None:
    """Return how often neighbouring bins were joined (``log_hist_coarseness``)."""
    for coarseness in range(_BITS + 1):
        if count == _BINS >> coarseness:
            return coarseness
    return None


def _value_ns(index: int, coarseness: int) -> int:
    """Return the middle of a bin: of joined ones, the mean of the first's and the last's."""
    first = index << coarseness
    ends = (_middle_ns(first), _middle_ns(first + (1 << coarseness) - 1))
    return (ends[0] + ends[1]) // 2


def _middle_ns(index: int) -> int:
    per_group = 1 << _BITS
    if index < per_group << 1:
        return index
    error_bits = (index >> _BITS) - 1
    base = 1 << (error_bits + _BITS)
    within = index % per_group
    return base + (within << error_bits) + (1 << error_bits >> 1)
