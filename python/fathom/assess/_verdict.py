"""What storage is good for, in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.findings._observed import time_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._result import Direction, Result
    from fathom.assess._plan import Cell
    from fathom.assess._target import AssessedTarget
    from fathom.findings import Finding

__all__ = ["Verdict", "verdict_of"]

_MICRO = 1_000
_MILLI = 1_000_000
_MIB_OF_TIB = 1 << 20
_MINUTE_S = 60
# By the mean of a 4 KiB random read at depth 1: what such a latency is usual for.
_CLASSES = (
    (5 * _MICRO, "answers like memory, not like a device"),
    (60 * _MICRO, "is in the class of the fastest flash (NVMe)"),
    (250 * _MICRO, "is in the class of flash (NVMe or SATA)"),
    (1 * _MILLI, "is in the class of flash behind a network or controller"),
    (4 * _MILLI, "is in the class of networked or hybrid storage"),
)
_SLOWEST = "is in the class of rotating disks"
# Microsoft, SQL Server I/O guidance: mean latency of data files and of the log.
_OLTP = ((10 * _MILLI, "well suited"), (20 * _MILLI, "sufficient"))
_LOG = ((1 * _MILLI, "very well suited"), (5 * _MILLI, "well suited"), (15 * _MILLI, "sufficient"))
_TOO_SLOW = "too slow"
# Findings which say that something else than the device was measured.
_SPOILING = ("page-cache", "null-data", "too-good", "core-bound", "noisy-neighbour", "not-steady")


@dataclass(frozen=True)
class Verdict:
    """What a target is good for; ``left_out`` are the parts that would have written."""

    target: str
    sentences: list[str]
    left_out: list[str]


def verdict_of(
    target: AssessedTarget,
    results: Mapping[str, Result],
    left_out: Sequence[Cell],
    findings: Sequence[Finding],
) -> Verdict:
    """Return the verdict; ``results`` are by the keys of their cells."""
    parts = (_class, _saturation, _sequential, _durable, _oltp, _log, _backup, _threads, _caches)
    sentences = [sentence for part in parts for sentence in part(results)]
    if not sentences:
        sentences = ["Nothing could be measured."]
    missing = list(dict.fromkeys(cell.label for cell in left_out))
    if missing:
        sentences.append(
            "Nothing was written, so that how it writes is not known; --write measures that, and "
            "destroys what the target holds."
        )
    doubts = [one.title.lower() for one in findings if one.rule in _SPOILING]
    if doubts:
        words = "; ".join(dict.fromkeys(doubts))
        sentences.append(f"Before you rely on these numbers, read the findings: {words}.")
    return Verdict(target.name, sentences, missing)


def _class(results: Mapping[str, Result]) -> list[str]:
    one = results.get("read-1")
    if one is None or one.total.latency is None:
        return []
    latency = one.total.latency
    words = next((words for limit, words in _CLASSES if latency.mean_ns < limit), _SLOWEST)
    return [
        (
            f"It {words}: a random read of 4 KiB takes {time_words(latency.mean_ns)} on average, "
            f"and 99 of 100 take at most {time_words(latency.quantile_ns(0.99))}."
        )
    ]


def _best(results: Mapping[str, Result], *prefixes: str) -> tuple[str, Result] | None:
    """Return the cell with the most IOPS of those whose key begins so."""
    found = [(key, one) for key, one in results.items() if key.startswith(prefixes)]
    return max(found, key=lambda pair: pair[1].total.iops, default=None)


def _saturation(results: Mapping[str, Result]) -> list[str]:
    reads = {key: one for key, one in results.items() if key != "random-write"}
    read = _best(reads, "read-1", "random-", "threads-")
    if read is None:
        return []
    words = f"It completes at most {read[1].total.iops:,.0f} random reads of 4 KiB a second"
    write = results.get("random-write")
    if write is not None:
        words += f", and {write.total.iops:,.0f} writes"
    return [f"{words}."]


def _sequential(results: Mapping[str, Result]) -> list[str]:
    reads = {key: one for key, one in results.items() if key != "sequential-write"}
    read = _best(reads, "sequential-")
    if read is None:
        return []
    words = f"In order it reads {read[1].total.mib_per_s:,.0f} MiB/s"
    write = results.get("sequential-write")
    if write is not None:
        words += f" and writes {write.total.mib_per_s:,.0f} MiB/s"
    return [f"{words}."]


def _durable(results: Mapping[str, Result]) -> list[str]:
    one, plain = results.get("write-1"), results.get("plain-write-1")
    if one is None or one.total.latency is None:
        return []
    words = f"A write that has to survive an outage takes {time_words(one.total.latency.mean_ns)}"
    if plain is not None and plain.total.latency is not None:
        words += f", one that need not {time_words(plain.total.latency.mean_ns)}"
    return [f"{words}."]


def _suited(direction: Direction, limits: Sequence[tuple[int, str]]) -> str:
    mean_ns = direction.latency.mean_ns if direction.latency is not None else 0.0
    return next((words for limit, words in limits if mean_ns < limit), _TOO_SLOW)


def _oltp(results: Mapping[str, Result]) -> list[str]:
    one = results.get("oltp")
    if one is None or one.total.latency is None:
        return []
    latency = one.total.latency
    return [
        (
            f"For a transaction database it is {_suited(one.total, _OLTP)}: {one.total.iops:,.0f} "
            f"I/Os of 8 KiB a second, 70 % of them reads, in {time_words(latency.mean_ns)} on "
            f"average and {time_words(latency.quantile_ns(0.99))} for 99 of 100."
        )
    ]


def _log(results: Mapping[str, Result]) -> list[str]:
    one = results.get("log")
    if one is None or one.total.latency is None:
        return []
    return [
        (
            f"For a database's log it is {_suited(one.total, _LOG)}: a full log buffer is written "
            f"in {time_words(one.total.latency.mean_ns)}, {one.total.iops:,.0f} times a second."
        )
    ]


def _backup(results: Mapping[str, Result]) -> list[str]:
    one = results.get("backup")
    if one is None or not one.total.mib_per_s:
        return []
    seconds = _MIB_OF_TIB / one.total.mib_per_s
    long = seconds >= 2 * _MINUTE_S
    words = f"{seconds / _MINUTE_S:,.0f} minutes" if long else f"{seconds:.0f} s"
    return [f"A backup reads {one.total.mib_per_s:,.0f} MiB/s: 1 TiB takes {words}."]


def _threads(results: Mapping[str, Result]) -> list[str]:
    many = _best(results, "threads-")
    single = _best({k: v for k, v in results.items() if k != "random-write"}, "random-")
    if many is None or single is None:
        return []
    count = many[0].removeprefix("threads-")
    gain = many[1].total.iops / single[1].total.iops
    return [f"{count} threads complete {gain:.2f} times the random reads of one."]


def _caches(results: Mapping[str, Result]) -> list[str]:
    one, cached = results.get("read-1"), results.get("cached")
    if one is None or cached is None or not one.total.iops:
        return []
    gain = cached.total.iops / one.total.iops
    return [f"From the page cache, single random reads are {gain:.1f} times as fast."]
