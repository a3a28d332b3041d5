"""Results as data: typed, immutable, with the unit in each name."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fathom._beneath import Origin
from fathom._fathom import FathomError, sum_histograms
from fathom._faults import Fault, OutstandingIo
from fathom._frames import Columns, Row, Tabular
from fathom._ranks import rank_of
from fathom._result_rows import (
    INTERVALS,
    LATENCIES,
    MEASURED_TOTALS,
    interval_rows,
    latency_rows,
)
from fathom._stop import Awaited, KnownMean, SteadyWindow, Stop
from fathom._text import json_of
from fathom.request import Request
from fathom.units import MIB, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Awaited",
    "Direction",
    "Fault",
    "KnownMean",
    "Latency",
    "Origin",
    "OutstandingIo",
    "Result",
    "SteadyWindow",
    "Stop",
    "Thread",
    "TimeSpan",
    "Warning_",
]

# The version of the JSON format that is read here; the engine's constant has the same name.
SCHEMA_VERSION = 1
# Kinds of warnings of older results, by which nobody need look for two names.
_RENAMED_KINDS = {"stood_still": "suspended"}

# The histogram's layout and the rule of ranks are those of the engine (measure/latency.rs), so that
# both faces name the same percentiles.
_SUB_BUCKET_BITS = 10


@dataclass(frozen=True)
class Latency:
    """A histogram of latencies; quantiles are exact to 1/1024."""

    count: int
    min_ns: int
    max_ns: int
    sum_ns: int
    buckets: Mapping[int, int] = field(repr=False, hash=False)

    @classmethod
    def merged(cls, histograms: Iterable[Mapping[str, Any]]) -> Latency | None:
        """Return one histogram for all of the stored ones, or None if there is none."""
        filled = [one for one in histograms if one["count"]]
        buckets = [(one["bucket_lower_ns"], one["bucket_counts"]) for one in filled]
        if any(len(lower_ns) != len(counts) for lower_ns, counts in buckets):
            raise ValueError("a histogram has other counts than buckets")
        if not filled:
            return None
        return cls(
            count=sum(one["count"] for one in filled),
            min_ns=min(one["min_ns"] for one in filled),
            max_ns=max(one["max_ns"] for one in filled),
            sum_ns=sum(one["sum_ns"] for one in filled),
            buckets=sum_histograms(buckets)
            if len(filled) > 1
            else dict(sorted(zip(*buckets[0], strict=True))),
        )

    @classmethod
    def sum_of(cls, parts: Iterable[Latency | None]) -> Latency | None:
        """Return one histogram for all of them, or None if there is none."""
        filled = [one for one in parts if one is not None]
        if len(filled) <= 1:
            return filled[0] if filled else None
        return cls(
            count=sum(one.count for one in filled),
            min_ns=min(one.min_ns for one in filled),
            max_ns=max(one.max_ns for one in filled),
            sum_ns=sum(one.sum_ns for one in filled),
            buckets=sum_histograms([([*one.buckets], [*one.buckets.values()]) for one in filled]),
        )

    @property
    def mean_ns(self) -> float:
        """The arithmetic mean, exact."""
        return self.sum_ns / self.count

    def quantile_ns(self, quantile: float) -> int:
        """Return the latency that this share of the I/Os did not exceed.

        Raises
        ------
        ValueError
            If ``quantile`` is not within 0 to 1; the 99th percentile is 0.99.

        """
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {quantile}")
        rank = rank_of(quantile, self.count)
        if rank <= 1:
            return self.min_ns
        if rank >= self.count:
            return self.max_ns
        lower_ends_ns, seen = self._ranks
        at = bisect_left(seen, rank)
        if at == len(seen):
            return self.max_ns
        lower_ns = lower_ends_ns[at]
        middle_ns = lower_ns + (_bucket_width_ns(lower_ns) - 1) // 2
        return min(max(middle_ns, self.min_ns), self.max_ns)

    # Who asks for one quantile asks for several.
    @cached_property
    def _ranks(self) -> tuple[list[int], list[int]]:
        """Return the lower ends of the buckets in nanoseconds, and the I/Os up to each bucket."""
        return [*self.buckets], [*accumulate(self.buckets.values())]


def _bucket_width_ns(lower_ns: int) -> int:
    return 1 << max(lower_ns.bit_length() - 1 - _SUB_BUCKET_BITS, 0)


@dataclass(frozen=True)
class Direction:
    """Reads, writes or both, of one thread or of all, over all targets.

    ``latency`` runs from submission to completion (service time), ``response`` from the instant at
    which an I/O was due. ``latency`` is None if it was not measured, ``response`` also if I/Os
    followed no schedule; both are None if there was no I/O.
    """

    ios: int
    bytes: int
    errors: int
    measured_ns: int
    latency: Latency | None
    response: Latency | None

    @classmethod
    def merged(cls, parts: Iterable[Mapping[str, Any]], measured_ns: int) -> Direction:
        """Return the sum of what was measured target by target."""
        parts = list(parts)
        return cls(
            ios=sum(part["ios"] for part in parts),
            bytes=sum(part["bytes"] for part in parts),
            errors=sum(part["errors"] for part in parts),
            measured_ns=measured_ns,
            latency=Latency.merged(part["latency"] for part in parts if part["latency"]),
            response=Latency.merged(part["response"] for part in parts if part.get("response")),
        )

    @classmethod
    def sum_of(cls, parts: Iterable[Direction], measured_ns: int) -> Direction:
        """Return the sum of directions that were measured together."""
        parts = list(parts)
        return cls(
            ios=sum(part.ios for part in parts),
            bytes=sum(part.bytes for part in parts),
            errors=sum(part.errors for part in parts),
            measured_ns=measured_ns,
            latency=Latency.sum_of(part.latency for part in parts),
            response=Latency.sum_of(part.response for part in parts),
        )

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return self.ios * NS_PER_S / self.measured_ns if self.measured_ns else 0.0

    @property
    def mib_per_s(self) -> float:
        """MiB per second."""
        if not self.measured_ns:
            return 0.0
        return self.bytes * NS_PER_S / self.measured_ns / MIB


@dataclass(frozen=True)
class Thread:
    """What one thread measured.

    ``engine`` names how its I/O reached the kernel; ``os_cpu`` is the kernel's number of the CPU to
    which it was pinned, or None. ``read``, ``write`` and ``total`` are of all its targets.
    """

    index: int
    os_cpu: int | None
    engine: str
    cpu_ns: int
    _targets: Sequence[Mapping[str, Any]] = field(repr=False, hash=False)
    _measured_ns: int = field(repr=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], measured_ns: int) -> Self:
        """Read a thread of the JSON form."""
        return cls(
            index=data["index"],
            os_cpu=data["pinned_os_cpu"],
            engine=data["backend"]["name"],
            cpu_ns=data["cpu_ns"],
            _targets=data["targets"],
            _measured_ns=measured_ns,
        )

    # A fleet has thousands of threads, of which hardly anybody asks for each.
    @cached_property
    def read(self) -> Direction:
        """Its reads."""
        return Direction.merged((one["read"] for one in self._targets), self._measured_ns)

    @cached_property
    def write(self) -> Direction:
        """Its writes."""
        return Direction.merged((one["write"] for one in self._targets), self._measured_ns)

    @cached_property
    def total(self) -> Direction:
        """Both."""
        return Direction.sum_of((self.read, self.write), self._measured_ns)


# A time span in which no I/O completed tells nothing.
_NOTHING = {"no_io": "no I/O completed in the measured time"}


@dataclass(frozen=True)
class TimeSpan:
    """What one time span measured.

    ``total`` is of reads and writes; ``sync`` and ``trim`` are counted apart. ``failure`` says why
    it failed, or that no I/O completed, and is None otherwise; a time span that is neither
    complete nor failed was interrupted. ``stop`` says what ended it; it is None without stop rules.
    ``cpu_percent`` is the mean use of the CPUs, None of an import that does not tell it.
    ``own_ns_per_io`` is the CPU time per I/O that the
    tool itself took, and ``kernel_ns_per_io`` what its threads spent in the kernel; both are None
    if there was no I/O, or if an older version measured. ``faults`` holds the I/Os that failed or
    were cut short, by target, operation and kind; ``origins`` tells whose the figures are.
    """

    complete: bool
    failure: str | None
    measured_ns: int
    stop: Stop | None
    read: Direction
    write: Direction
    total: Direction
    sync: Direction
    trim: Direction
    cpu_percent: float | None
    own_ns_per_io: float | None
    kernel_ns_per_io: float | None
    threads: tuple[Thread, ...]
    faults: tuple[Fault, ...] = ()
    outstanding: tuple[OutstandingIo, ...] = ()
    origins: tuple[Origin, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], cpus: Iterable[Mapping[str, float]] = ()) -> Self:
        """Read a time span of the JSON form; ``cpus`` are those of all hosts of a fleet."""
        outcome = data["outcome"]
        measured_ns = data["measured_ns"]
        targets = [target for thread in data["threads"] for target in thread["targets"]]
        threads = tuple(Thread.from_dict(thread, measured_ns) for thread in data["threads"])
        read = Direction.merged((target["read"] for target in targets), measured_ns)
        write = Direction.merged((target["write"] for target in targets), measured_ns)
        cost = data.get("cost") or {}
        used = [cpu["user_percent"] + cpu["kernel_percent"] for cpu in (*data["cpu"], *cpus)]
        return cls(
            complete=outcome == "complete",
            failure=_NOTHING.get(outcome) if isinstance(outcome, str) else outcome["failed"],
            measured_ns=measured_ns,
            stop=Stop.from_dict(data.get("stop")),
            read=read,
            write=write,
            total=Direction.sum_of((read, write), measured_ns),
            **_others(targets, measured_ns),
            cpu_percent=sum(used) / len(used) if used else 0.0,
            own_ns_per_io=cost.get("own_ns_per_io"),
            kernel_ns_per_io=cost.get("kernel_ns_per_io"),
            threads=threads,
            faults=Fault.all_of(data),
            outstanding=OutstandingIo.all_of(data),
            origins=Origin.all_of(data),
        )


def _others(targets: Iterable[Mapping[str, Any]], measured_ns: int) -> dict[str, Direction]:
    def merged(kind: str) -> Direction:
        parts = [target[kind] for target in targets if target.get(kind)]
        return Direction.merged(parts, measured_ns)

    return {kind: merged(kind) for kind in ("sync", "trim")}


@dataclass(frozen=True)
class Warning_:  # noqa: N801 - `Warning` is a builtin exception.
    """What a reader must know before believing the numbers: evidence and remedy, as sentences.

    ``time_span`` counts from 0; it is None if the warning is about the whole run.
    """

    kind: str
    target: str | None
    time_span: int | None
    evidence: str
    remedy: str


_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def _totals(spans: Iterable[TimeSpan]) -> Iterator[Row]:
    """Return reads, writes and both of each time span; latencies not measured are None."""
    for number, span in enumerate(spans):
        for name in ("read", "write", "total"):
            one: Direction = getattr(span, name)
            yield {
                "time_span": number,
                "direction": name,
                "measured_s": span.measured_ns / NS_PER_S,
                "ios": one.ios,
                "bytes": one.bytes,
                "errors": one.errors,
                "iops": one.iops,
                "mib_per_s": one.mib_per_s,
                **_latencies(one.latency),
            }


def _latencies(found: Latency | None) -> Row:
    named = {name: found and found.quantile_ns(share) for name, share in _PERCENTILES.items()}
    known = {"mean": found and found.mean_ns, **named, "max": found and found.max_ns}
    return {f"latency_{name}_ns": value for name, value in known.items()}


def _with_request(data: dict[str, Any]) -> None:
    """Give an earlier result, which has the profile alone, a request of unknown options."""
    if "request" not in data and "profile" in data:
        data["request"] = {"request_version": 0, "profile": data["profile"], "options": {}}


def _cpus_of_parts(data: Mapping[str, Any], number: int) -> list[Mapping[str, float]]:
    """Return the use of all CPUs of all hosts, where the whole has none of its own."""
    if data["time_spans"][number]["cpu"]:
        return []
    # A part that ended early has fewer time spans.
    spans = (part["time_spans"][number : number + 1] for part in data.get("parts", ()))
    return [cpu for found in spans for span in found for cpu in span["cpu"]]


@dataclass(frozen=True)
class Result(Tabular):
    """One run.

    Its tables (``rows``, ``to_pandas``, ``to_polars``, ``to_arrow``) are ``totals``, a row for
    reads, writes and both of each time span; ``intervals``, the I/Os of each interval of the time
    series, which ``-D`` keeps; and ``latencies``, the buckets of the histograms (``-L``).
    """

    tables: ClassVar[tuple[str, ...]] = ("totals", "intervals", "latencies")

    command_line: str
    time_spans: tuple[TimeSpan, ...]
    warnings: tuple[Warning_, ...]
    raw: Mapping[str, Any] = field(repr=False, hash=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the JSON form of a result, such as ``diskspd -Rjson`` prints.

        Raises
        ------
        ValueError
            If the text is not JSON, no result, or of a version of the format that this package does
            not know.

        """
        if not isinstance(text, str):
            raise ValueError(f"a result is a text, and no {type(text).__name__}")  # noqa: TRY004
        return cls.from_data(json_of(text))

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """Read the JSON form that was parsed already, and keep it.

        Raises
        ------
        ValueError
            As ``from_json``.

        """
        if not isinstance(data, dict):
            raise ValueError(f"this is no result: {data!r:.80} stands where an object should")  # noqa: TRY004
        # It is that of a file, which this is no longer.
        data.pop("checksum", None)
        version = data.get("schema_version")
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"this result has version {version} of the format; "
                f"this package reads version {SCHEMA_VERSION}"
            )
        _with_request(data)
        try:
            return cls._read(data)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"this is no result: {what}") from error

    @classmethod
    def _read(cls, data: dict[str, Any]) -> Self:
        warnings = (
            Warning_(
                kind=_RENAMED_KINDS.get(one["kind"], one["kind"]),
                target=one["target"],
                time_span=one["time_span"],
                evidence=one["evidence"],
                remedy=one["remedy"],
            )
            for one in data["warnings"]
        )
        return cls(
            command_line=data["command_line"],
            time_spans=tuple(
                TimeSpan.from_dict(span, _cpus_of_parts(data, number))
                for number, span in enumerate(data["time_spans"])
            ),
            warnings=tuple(warnings),
            raw=data,
        )

    def _rows(self, table: str) -> Iterable[Row]:
        if table == "totals":
            return _totals(self.time_spans)
        return interval_rows(self.raw) if table == "intervals" else latency_rows(self.raw)

    def _kinds(self, table: str) -> Columns:
        return {"totals": MEASURED_TOTALS, "intervals": INTERVALS, "latencies": LATENCIES}[table]

    @property
    def request(self) -> Request:
        """What was requested, whole: ``fathom.run(result.request)`` runs it again.

        Of a result of an older version it has the load alone (``knows_options`` is false).
        """
        return Request.from_dict(self.raw.get("request", {}))

    @property
    def faulty_blocks(self) -> int:
        """Blocks that verification (``--verify``) found wrong; 0 if nothing was verified."""
        kinds = ("corrupt", "misdirected", "stale", "torn", "newer")
        targets = (self.raw.get("verification") or {}).get("targets", ())
        return sum(target[f"{kind}_blocks"] for target in targets for kind in kinds)

    @property
    def read(self) -> Direction:
        """Reads of the first time span."""
        return self._first.read

    @property
    def write(self) -> Direction:
        """Writes of the first time span."""
        return self._first.write

    @property
    def total(self) -> Direction:
        """All I/O of the first time span."""
        return self._first.total

    @property
    def _first(self) -> TimeSpan:
        if not self.time_spans:
            raise FathomError("this result has no time span: the run ended before its load began")
        return self.time_spans[0]
