"""What an import yields: figures as another tool documented them, and nothing besides.

What a source does not tell is None (or empty), never a guess. Times of latencies are nanoseconds,
whatever the unit of the source; ``texts`` keeps the digits as they stand there, where the source is
text and its rounding matters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fathom.result import Result

__all__ = [
    "DIRECTIONS",
    "ImportedCpu",
    "ImportedDirection",
    "ImportedLatency",
    "ImportedLoad",
    "ImportedResult",
    "ImportedRow",
    "ImportedSeries",
    "ImportedTarget",
    "OwnRun",
    "Reading",
    "UnparsedLine",
]

DIRECTIONS = ("read", "write", "total", "sync", "trim")


@dataclass(frozen=True)
class UnparsedLine:
    """A line that no rule of the format knows; ``number`` counts from 1.

    ``is_within`` tells lines between those of a result from the prose around results.
    """

    number: int
    text: str
    is_within: bool


@dataclass(frozen=True)
class ImportedLatency:
    """Latencies in nanoseconds.

    ``what`` says from where to where the source measures. ``percentiles_ns`` has percent as keys
    (99.9 is the 99.9th percentile), ``histogram`` a latency and the number of I/Os that it stands
    for; None if the source has no histogram.
    """

    what: str = ""
    count: int | None = None
    mean_ns: float | None = None
    std_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    percentiles_ns: Mapping[float, float] = field(default_factory=dict)
    histogram: Mapping[int, int] | None = field(default=None, repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form, in which keys are texts."""
        histogram = data["histogram"]
        shares = {float(percent): value for percent, value in data["percentiles_ns"].items()}
        counts = None
        if histogram is not None:
            counts = {int(value_ns): int(count) for value_ns, count in histogram.items()}
        return cls(**{**data, "percentiles_ns": shares, "histogram": counts})


@dataclass(frozen=True)
class ImportedDirection:
    """Reads, writes, both, syncs or trims.

    ``texts`` has the source's own digits by field; ``other_latencies`` what the source measures
    besides ``latency``, such as fio's ``slat`` and ``lat``.
    """

    ios: int | None = None
    bytes: int | None = None
    iops: float | None = None
    mib_per_s: float | None = None
    iops_std: float | None = None
    latency: ImportedLatency | None = None
    other_latencies: Mapping[str, ImportedLatency] = field(default_factory=dict, repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self | None:
        """Read the JSON form."""
        if data is None:
            return None
        latency = data["latency"]
        known = None if latency is None else ImportedLatency.from_dict(latency)
        others = {
            name: ImportedLatency.from_dict(one) for name, one in data["other_latencies"].items()
        }
        return cls(**{**data, "latency": known, "other_latencies": others})


@dataclass(frozen=True)
class ImportedCpu:
    """Use of one CPU in percent; ``label`` is its number, or a job's name with fio."""

    label: str
    usage_percent: float | None
    user_percent: float | None
    kernel_percent: float | None
    idle_percent: float | None
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ImportedRow:
    """What one thread or job did to one target, as far as the source tells it apart."""

    label: str
    target: str
    directions: Mapping[str, ImportedDirection]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form."""
        return cls(data["label"], data["target"], _directions(data["directions"]))


@dataclass(frozen=True)
class ImportedSeries:
    """One figure over time.

    ``what`` is ``iops``, ``mib_per_s`` or ``latency_ns`` (the mean of an interval), ``direction`` a
    name of DIRECTIONS. ``interval_s`` is None where points stand for single I/Os or uneven times.
    ``points`` are the end of each interval, in seconds from the start, and its value.
    """

    what: str
    direction: str
    interval_s: float | None
    points: tuple[tuple[float, float], ...] = field(repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form."""
        points = tuple((when, value) for when, value in data["points"])
        return cls(data["what"], data["direction"], data["interval_s"], points)


@dataclass(frozen=True)
class ImportedTarget:
    """A file or device, as the source names it; ``size_text`` is its size as it stands there."""

    path: str
    size_bytes: int | None = None
    size_text: str = ""


@dataclass(frozen=True)
class ImportedLoad:
    """What was requested, as far as the source tells it.

    ``outstanding`` is per thread; ``random_percent`` is 0 for a sequential load.
    """

    block_bytes: int | None = None
    threads: int | None = None
    outstanding: int | None = None
    write_percent: float | None = None
    random_percent: float | None = None
    duration_s: float | None = None
    warm_up_s: float | None = None


@dataclass(frozen=True)
class ImportedResult:
    """One result of another tool, or of this one on another machine.

    Attributes
    ----------
    origin
        The form of the source, such as ``fio-json`` or ``diskspd-text``.
    tool, tool_version
        What measured; the version is empty if the source does not tell it.
    title
        The source's own name for the result, such as a job's.
    command_line
        As the source repeats it, else empty.
    time_stamp_unix_s
        The source's time stamp, where it says the time zone: of the start, or with fio before 3.37
        of the end.
    measured_s
        The measured time in seconds.
    read, write, total
        None if the source does not tell about that direction; ``total`` of both is summed where
        the source does not, and then has percentiles only if both have histograms.
    cpus, cpu_average
        The rows of the CPU table, and its average.
    failure
        Why it failed, or None. ``complete`` is False of a result that was interrupted.
    options
        Settings of the source that stand in no other field, by their own names.
    notes
        What a reader must know before believing the figures: sentences.
    lines
        The first and the last line of the source that are about it, counted from 1.

    """

    origin: str
    tool: str
    tool_version: str = ""
    title: str = ""
    command_line: str = ""
    time_stamp_unix_s: float | None = None
    host_name: str = ""
    measured_s: float | None = None
    load: ImportedLoad = ImportedLoad()
    targets: tuple[ImportedTarget, ...] = ()
    read: ImportedDirection | None = None
    write: ImportedDirection | None = None
    total: ImportedDirection | None = None
    sync: ImportedDirection | None = None
    trim: ImportedDirection | None = None
    cpus: tuple[ImportedCpu, ...] = ()
    cpu_average: ImportedCpu | None = None
    rows: tuple[ImportedRow, ...] = field(default=(), repr=False)
    series: tuple[ImportedSeries, ...] = field(default=(), repr=False)
    complete: bool = True
    failure: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the form that is JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` made."""
        average = data["cpu_average"]
        read = {name: ImportedDirection.from_dict(data[name]) for name in DIRECTIONS}
        return cls(
            **{
                **data,
                **read,
                "load": ImportedLoad(**data["load"]),
                "targets": tuple(ImportedTarget(**one) for one in data["targets"]),
                "cpus": tuple(ImportedCpu(**one) for one in data["cpus"]),
                "cpu_average": None if average is None else ImportedCpu(**average),
                "rows": tuple(ImportedRow.from_dict(one) for one in data["rows"]),
                "series": tuple(ImportedSeries.from_dict(one) for one in data["series"]),
                "notes": tuple(data["notes"]),
                "lines": None if data["lines"] is None else tuple(data["lines"]),
            }
        )


@dataclass(frozen=True)
class OwnRun:
    """A run that Fathom measured or kept, here or on another machine.

    What only a store knows is empty if the source is a result alone. ``uid`` is the same in all
    stores; ``targets`` tell what lay beneath them where they were measured; ``failure`` is None
    unless the run failed.
    """

    result: Result | ImportedResult
    label: str = ""
    uid: str = ""
    arguments: tuple[str, ...] = ()
    failure: str | None = None
    memory_bytes: int | None = None
    targets: tuple[Mapping[str, Any], ...] = ()

    @property
    def command_line(self) -> str:
        """As the result repeats it."""
        return self.result.command_line


@dataclass(frozen=True)
class Reading:
    """All that one source holds: its results, and each line that no rule knows.

    ``configurations`` are loads without a result, as of an ``.icf`` of Iometer: a name, and the
    same as DiskSpd's arguments (none where one line of arguments cannot say it). ``own`` are runs
    of our own JSON, which has no other ``results``.
    """

    results: tuple[ImportedResult, ...]
    unparsed: tuple[UnparsedLine, ...] = ()
    configurations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    own: tuple[OwnRun, ...] = ()


def _directions(data: Mapping[str, Any]) -> dict[str, ImportedDirection]:
    pairs: Iterable[tuple[str, ImportedDirection | None]] = (
        (name, ImportedDirection.from_dict(one)) for name, one in data.items()
    )
    return {name: one for name, one in pairs if one is not None}
