"""What storage is good for, in sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.assess._key_figures import best_cell, value_words
from fathom.assess._steady import POINTS, rounds_of, steady_state
from fathom.findings import time_words
from fathom.stats import find_steadiness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.assess._session import TargetCells
    from fathom.findings import Finding
    from fathom.runners import Figures

__all__ = ["Verdict", "suited_for", "verdict_of"]

_MICRO = 1_000
_MILLI = 1_000_000
_MIB_OF_TIB = 1 << 20
_MINUTE_S = 60
# By the mean of a 4 KiB random read at depth 1: what such a latency is usual for.
_CLASSES = (
    (5 * _MICRO, "as fast as memory, and faster than any device"),
    (60 * _MICRO, "in the class of the fastest flash (NVMe)"),
    (250 * _MICRO, "in the class of flash (NVMe or SATA)"),
    (1 * _MILLI, "in the class of flash behind a network or controller"),
    (4 * _MILLI, "in the class of networked or hybrid storage"),
)
_SLOWEST = "in the class of rotating disks"
# Microsoft, SQL Server I/O guidance: mean latency of data files and of the log.
_LIMITS = {
    "oltp": ((10 * _MILLI, "well suited"), (20 * _MILLI, "sufficient")),
    "log": (
        (1 * _MILLI, "very well suited"),
        (5 * _MILLI, "well suited"),
        (15 * _MILLI, "sufficient"),
    ),
}
_TOO_SLOW = "too slow"
# Less is no gain that anybody would notice.
_MORE = 1.05
# Findings which say that something else than the device was measured.
_SPOILING = ("page-cache", "null-data", "too-good", "core-bound", "noisy-neighbour", "not-steady")


@dataclass(frozen=True)
class Verdict:
    """What a target is good for.

    Attributes
    ----------
    target
        What the user called it.
    headline
        The verdict in one sentence.
    sentences
        What it stands on, with numbers.
    left_out
        The cells that would have written, where nothing may be written.
    partial
        Why not all could be measured, in a sentence; None if all was.

    """

    target: str
    headline: str
    sentences: list[str]
    left_out: list[str]
    partial: str | None = None


def verdict_of(
    plan: TargetCells, findings: Sequence[Finding], *, interrupted: bool = False
) -> Verdict:
    """Return the verdict on what was measured."""
    figures = plan.figures()
    parts = (_latency, _saturation, _sequential, _durable, _oltp, _log, _backup, _threads, _caches)
    sentences = [sentence for part in parts for sentence in part(figures)]
    sentences += _steady(plan)
    missing = list(dict.fromkeys(one.cell.label for one in plan.cells if one.state == "left_out"))
    if missing:
        sentences.append(
            "Nothing was written, so that how it writes is not known; --write measures that, and "
            "destroys what the target holds."
        )
    doubts = [one.title.lower() for one in findings if one.rule in _SPOILING]
    if doubts:
        words = "; ".join(dict.fromkeys(doubts))
        sentences.append(f"Before you rely on these numbers, read the findings: {words}.")
    partial = _partial(plan, interrupted=interrupted)
    return Verdict(plan.target.name, _headline(figures), sentences, missing, partial)


def _partial(plan: TargetCells, *, interrupted: bool) -> str | None:
    """Return why there is less than was planned; what was skipped for being needless is not."""
    failed = sum(one.state == "failed" for one in plan.cells)
    unreached = sum(one.state == "pending" for one in plan.cells)
    if plan.lost is None and not interrupted and not failed:
        return None
    count = len(plan.done())
    words = f"This verdict is partial: {count} measurements were made"
    if plan.lost is not None:
        return f"{words}, then {plan.lost}."
    if interrupted and unreached:
        return f"{words}, and {unreached} were not when it was interrupted."
    return f"{words}, and {failed} failed." if failed else None


def _headline(figures: Mapping[str, Figures]) -> str:
    read = figures.get("read-1")
    if read is None or read.latency_mean_ns is None:
        return "Too little was measured for a verdict."
    words = f"It is {_class(read.latency_mean_ns)}"
    oltp, log = suited_for("oltp", figures), suited_for("log", figures)
    if oltp is None:
        return f"{words}, as far as reading tells."
    if log is None or log == oltp:
        both = "" if log is None else " and its log"
        return f"{words}; {oltp} for a transaction database{both}."
    return f"{words}; {oltp} for a transaction database, and {log} for its log."


def _class(mean_ns: float) -> str:
    return next((words for limit, words in _CLASSES if mean_ns < limit), _SLOWEST)


def suited_for(key: str, figures: Mapping[str, Figures]) -> str | None:
    """Return how well the workload ``oltp`` or ``log`` is served; None if it was not measured."""
    one = figures.get(key)
    if one is None or one.latency_mean_ns is None:
        return None
    limits = _LIMITS[key]
    mean_ns = one.latency_mean_ns
    return next((words for limit, words in limits if mean_ns < limit), _TOO_SLOW)


def _latency(figures: Mapping[str, Figures]) -> list[str]:
    one = figures.get("read-1")
    if one is None or one.latency_mean_ns is None or one.latency_p99_ns is None:
        return []
    return [
        (
            f"A random read of 4 KiB takes {time_words(one.latency_mean_ns)} on average, "
            f"and 99 of 100 take at most {time_words(one.latency_p99_ns)}."
        )
    ]


def _saturation(figures: Mapping[str, Figures]) -> list[str]:
    key = best_cell(figures, "read-1", "random-", "threads-")
    if key is None:
        return []
    words = f"It completes at most {figures[key].iops:,.0f} random reads of 4 KiB a second"
    write = figures.get("random-write")
    if write is not None:
        words += f", and {write.iops:,.0f} writes"
    return [f"{words}."]


def _sequential(figures: Mapping[str, Figures]) -> list[str]:
    key = best_cell(figures, "sequential-")
    if key is None:
        return []
    words = f"In order it reads {figures[key].mib_per_s:,.0f} MiB/s"
    write = figures.get("sequential-write")
    if write is not None:
        words += f" and writes {write.mib_per_s:,.0f} MiB/s"
    return [f"{words}."]


def _durable(figures: Mapping[str, Figures]) -> list[str]:
    one, plain = figures.get("write-1"), figures.get("plain-write-1")
    if one is None or one.latency_mean_ns is None:
        return []
    words = f"A write that has to survive an outage takes {time_words(one.latency_mean_ns)}"
    if plain is not None and plain.latency_mean_ns is not None:
        words += f", one that need not {time_words(plain.latency_mean_ns)}"
    return [f"{words}."]


def _oltp(figures: Mapping[str, Figures]) -> list[str]:
    one, words = figures.get("oltp"), suited_for("oltp", figures)
    if one is None or one.latency_mean_ns is None or one.latency_p99_ns is None:
        return []
    return [
        (
            f"For a transaction database it is {words}: {one.iops:,.0f} reads and writes of 8 KiB "
            f"a second, 70 % of them reads, in {time_words(one.latency_mean_ns)} on average and "
            f"{time_words(one.latency_p99_ns)} for 99 of 100."
        )
    ]


def _log(figures: Mapping[str, Figures]) -> list[str]:
    one, words = figures.get("log"), suited_for("log", figures)
    if one is None or one.latency_mean_ns is None:
        return []
    return [
        (
            f"For a database's log it is {words}: a full log buffer is written in "
            f"{time_words(one.latency_mean_ns)}, {value_words(one.iops, 'ios_per_s')}."
        )
    ]


def _backup(figures: Mapping[str, Figures]) -> list[str]:
    one = figures.get("backup")
    if one is None or not one.mib_per_s:
        return []
    seconds = _MIB_OF_TIB / one.mib_per_s
    long = seconds >= 2 * _MINUTE_S
    words = f"{seconds / _MINUTE_S:,.0f} minutes" if long else f"{seconds:.0f} s"
    return [f"A backup reads {value_words(one.mib_per_s, 'mib_per_s')}: 1 TiB takes {words}."]


def _threads(figures: Mapping[str, Figures]) -> list[str]:
    many, single = best_cell(figures, "threads-"), best_cell(figures, "random-")
    if many is None or single is None:
        return []
    gain = figures[many].iops / figures[single].iops
    count = many.removeprefix("threads-")
    if gain < _MORE:
        return [f"More threads do not help: {count} complete {gain:.2f} times as many as one."]
    return [f"{count} threads complete {gain:.2f} times the random reads of one."]


def _caches(figures: Mapping[str, Figures]) -> list[str]:
    one, cached = figures.get("read-1"), figures.get("cached")
    if one is None or cached is None:
        return []
    gain = cached.iops / one.iops
    if gain < _MORE:
        return [
            "Through the system's own memory (page cache) reads were not faster within the time."
        ]
    return [
        f"What the system holds in its own memory (page cache) is read {gain:.1f} times as fast."
    ]


def _steady(plan: TargetCells) -> list[str]:
    """Tell whether the rounds of the SNIA were steady, and what they gave at last."""
    figures = plan.figures()
    series = rounds_of({key: one.iops for key, one in figures.items()})
    rounds = min(len(one) for one in series.values())
    if not any(one.cell.role == "steady_round" for one in plan.cells):
        return []
    found = steady_state(series)
    if found is None:
        return [f"Whether it is steady is not known: {rounds} rounds were made, and it takes 5."]
    labels = {one.cell.key: one.cell.label.partition(": ")[2] for one in plan.cells}
    rates = "; ".join(
        f"{labels[f'steady-1-{point}']} {found.checks[point].average:,.0f} a second"
        for point in POINTS
    )
    own = [
        f"All {rounds} rounds, {labels[f'steady-1-{point}']}: {find_steadiness(values).words}."
        for point, values in series.items()
    ]
    if found.is_steady:
        first = f"It was steady after {found.rounds} rounds by the rules of the SNIA: {rates}."
        return [first, *own]
    return [
        (
            f"It was not steady within {found.rounds} rounds by the rules of the SNIA, so that it "
            f"will go on changing under load; at last: {rates}."
        ),
        *own,
    ]
