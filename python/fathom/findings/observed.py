"""Results as rules look at them: the load that was requested, beside what was measured."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathom._addresses import is_address
from fathom._asked import Way, asked_load, depth_of, pooled_depth, shape_of, way_of, working_set
from fathom.hosts import host_figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fathom.result import Result, Warning_

__all__ = [
    "CHANGED",
    "Confidence",
    "Load",
    "Noticed",
    "Observed",
    "TargetEvidence",
    "observe",
    "raid_level",
    "unanswered",
]


_FOLLOWING = {"write_percent": "of_writes", "working_set_bytes": "place"}

CHANGED = 1.25
"""Runs of one load whose rates are so many times apart do not agree."""

Confidence = Literal["certain", "likely", "possible"]
"""Certain: counted or told by the kernel. Likely: other causes are rare. Possible: others exist."""


@dataclass(frozen=True)
class Noticed:
    """What a rule noticed: a sentence with numbers and units, and what to do about it.

    ``runs`` are those of which it is so; none if it is so of all together. ``weight`` is how bad
    it is beside what else this rule noticed. ``title`` says more precisely what it is than the
    rule's own, if anything does.
    """

    evidence: str
    remedy: str
    confidence: Confidence
    runs: Sequence[Observed] = ()
    weight: float = 0.0
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Load:
    """What was asked of one target; ``depth`` is what each thread keeps outstanding.

    Of an engine that serves one I/O at a time that is 1, whatever was asked of it.
    ``is_paced`` is whether a rate was requested, ``working_set_bytes`` how much the load can touch,
    by its range, stride, alignment, order and starts: of hosts that split it, all together.
    ``block_bytes`` and ``random_percent`` are means where reads and writes differ in them
    (``reads``, ``writes``), or sizes are mixed.
    ``targets`` is of how many targets: of several, ``together`` is what all keep outstanding, and
    the rest is of the first. ``hosts`` is how many measured to the end, each with all these
    threads. ``place``, ``of_writes`` and ``other`` are all else that shapes it (``_asked.Shape``),
    to compare it with others.
    """

    block_bytes: int
    random_percent: float
    write_percent: float
    threads: int
    depth: int
    is_direct: bool
    is_write_through: bool
    is_paced: bool
    working_set_bytes: int
    hosts: int
    reads: Way
    writes: Way
    place: str
    of_writes: str
    other: str
    targets: int = 1
    together: int = 0

    @property
    def outstanding(self) -> int:
        """I/Os that all threads keep outstanding together."""
        return self.together or self.threads * self.depth

    @property
    def where(self) -> str:
        """Where that many are outstanding, if several hosts measured, to stand behind them."""
        return " on each host" if self.hosts > 1 else ""

    def words(self) -> str:
        """Return the load in a few words."""
        if self.targets > 1:
            return f"I/O on {self.targets} targets"
        percent = round(self.write_percent)
        if percent in (0, 100):
            return self.writes.words("writes") if percent else self.reads.words("reads")
        share = f"{self.write_percent:g} % writes"
        if self.reads == self.writes:
            return self.reads.words(f"I/O with {share}")
        return f"{self.reads.words('reads')} and {self.writes.words('writes')} ({share})"


@dataclass(frozen=True)
class Observed:
    """One result with its load; ``run_id`` is None unless it is in the store.

    Of a run of several time spans it is one of them: the ``time_span``-th, from 1, of ``whole``.
    """

    load: Load
    result: Result
    run_id: int | None = None
    time_span: int | None = None
    whole: Result | None = None

    @property
    def run_key(self) -> int:
        """The same for all time spans of a run, and for no other run."""
        return id(self if self.whole is None else self.whole)

    @property
    def iops(self) -> float:
        """I/Os per second, reads and writes."""
        return self.result.total.iops

    @property
    def depth_flag(self) -> str:
        """The flag that sets its depth: that of threads that share the targets, if it was used."""
        return "-O" if pooled_depth(self._span) else "-o"

    @property
    def threads_flag(self) -> str:
        """The flag that sets its threads: DiskSpd takes -F or -t, and not both."""
        return "-F" if self._span["thread_count"] else "-t"

    @property
    def flags(self) -> str:
        """How as many were asked to be outstanding, such as ``-o4 with 8 threads``."""
        threads = f" with {self.load.threads} threads" if self.load.threads > 1 else ""
        return f"{self.depth_flag}{self.load.depth}{threads}"

    @property
    def _span(self) -> Mapping[str, int]:
        span: Mapping[str, int] = self.result.raw["request"]["profile"]["time_spans"][0]
        return span

    @property
    def working_set_words(self) -> str:
        """How much the load can touch; of several hosts, whose that is."""
        return working_set(self.result.raw).words()

    @property
    def warned(self) -> set[str]:
        """The kinds of the engine's warnings."""
        return {one.kind for one in self.result.warnings}

    @property
    def mean_ns(self) -> float | None:
        """Mean latency of reads and writes; None if it was not measured."""
        latency = self.result.total.latency
        return None if latency is None else latency.mean_ns


@dataclass(frozen=True)
class TargetEvidence:
    """All that was measured on one target.

    ``memory_bytes`` is the host's memory, 0 if unknown; ``raid`` is the level of the array that the
    target lies on, such as ``raid5``, or None if there is none or the kernel does not tell.
    ``silent`` are runs in which no I/O completed, of which there is nothing else to judge.
    ``left_out_count`` is how many runs a rule does not look at, as another cause explains them.
    """

    target: str
    observed: Sequence[Observed]
    memory_bytes: int = 0
    raid: str | None = None
    silent: Sequence[Observed] = ()
    left_out_count: int = 0

    def without(self, kinds: frozenset[str]) -> TargetEvidence:
        """Return it without the runs that have a warning of these kinds; it counts them."""
        kept = [one for one in self.observed if not one.warned & kinds]
        left_out = {one.run_key for one in self.observed} - {one.run_key for one in kept}
        return replace(self, observed=kept, left_out_count=self.left_out_count + len(left_out))

    @property
    def judged_count(self) -> int:
        """How many runs there are to judge, each with all of its time spans."""
        return len({one.run_key for one in (*self.observed, *self.silent)})

    def warnings(self, *kinds: str) -> list[tuple[Observed, Warning_]]:
        """Return the engine's own warnings of these kinds, each with its run."""
        return [
            (observed, one)
            for observed in self.observed
            for one in observed.result.warnings
            if one.kind in kinds
        ]

    def warned(self, confidence: Confidence, *kinds: str) -> list[Noticed]:
        """Return what these warnings notice."""
        return [
            Noticed(one.evidence, one.remedy, confidence, (run,))
            for run, one in self.warnings(*kinds)
        ]

    def alike(self) -> Iterator[list[Observed]]:
        """Return sets of at least two results of the same load that has no rate of its own."""
        return (group for group in self._alike() if not group[0].load.is_paced)

    def _alike(self) -> list[list[Observed]]:
        grouped: dict[Load, list[Observed]] = {}
        for one in self.observed:
            grouped.setdefault(one.load, []).append(one)
        return [group for group in grouped.values() if len(group) > 1]

    def families(self, *free: str) -> Iterator[list[Observed]]:
        """Return sets of at least two results whose loads differ in these fields alone.

        A load whose own runs do not agree is in none: what it differs in from others is then no
        matter of the load. How writes are made is no difference where some are reads alone, nor is
        the place of working sets that differ.
        """
        unsure = {
            group[0].load
            for group in self._alike()
            if max(one.iops for one in group) >= CHANGED * min(one.iops for one in group)
        }
        open_ = {*free, *(_FOLLOWING[name] for name in free if name in _FOLLOWING)}
        kept = [one.name for one in fields(Load) if one.name not in open_]
        grouped: dict[tuple[object, ...], list[Observed]] = {}
        for one in (one for one in self.observed if one.load not in unsure):
            same = tuple(getattr(one.load, name) for name in kept)
            grouped.setdefault(same, []).append(one)
        return (family for family in grouped.values() if len(family) > 1)


def observe(result: Result, run_id: int | None = None, *, several: bool = False) -> Observed | None:
    """Return a result with its load; None if rules cannot judge it.

    That is so if it has not exactly one target (unless ``several`` may be: then the load is that of
    the first), if it measured nothing (``unanswered``), and if it was imported:
    another tool's text has no profile that would tell what was requested.
    """
    load = _load(result, several=several)
    return None if load is None or not result.total.ios else Observed(load, result, run_id)


def unanswered(result: Result, run_id: int | None = None) -> Observed | None:
    """Return a result of one target in which no I/O completed; None of any other."""
    load = _load(result)
    if load is None or result.total.ios or not result.raw["time_spans"][0]["targets"]:
        return None
    return Observed(load, result, run_id)


def _load(result: Result, *, several: bool = False) -> Load | None:
    spans = result.raw["request"]["profile"]["time_spans"]
    if not spans or not result.time_spans:
        return None
    if len(spans[0]["targets"]) != 1 and not several:
        return None
    asked, *more = spans[0]["targets"]
    # What is asked of the other targets makes another load, too.
    others = json.dumps(more, sort_keys=True) if more else ""
    shape, numbers = shape_of(result.raw["request"]), asked_load(result.raw["request"])
    return Load(
        block_bytes=numbers.block_bytes,
        random_percent=numbers.random_percent,
        write_percent=asked["write_percent"],
        threads=spans[0]["thread_count"] or asked["threads"],
        depth=1 if _serves_one_at_a_time(result) else depth_of(spans[0]),
        is_direct=asked["caching"] == "unbuffered",
        is_write_through=bool(asked["write_through"]),
        is_paced=numbers.is_paced,
        working_set_bytes=working_set(result.raw).bytes if result.raw["time_spans"] else 0,
        hosts=sum(host.lost is None for host in host_figures(result)) or 1,
        reads=way_of(asked, "read"),
        writes=way_of(asked, "write"),
        place=shape.place,
        of_writes=shape.of_writes,
        other=shape.other + others,
        targets=1 + len(more),
        together=_together(result) if more else 0,
    )


def _together(result: Result) -> int:
    """Return what all threads keep outstanding on all targets."""
    span = result.raw["request"]["profile"]["time_spans"][0]
    if span["thread_count"]:
        return int(span["thread_count"]) * depth_of(span)
    return sum(int(one["threads"]) * int(one["outstanding"]) for one in span["targets"])


def _serves_one_at_a_time(result: Result) -> bool:
    """Whether no thread had more than one I/O in flight, as its engine waits for each."""
    span = result.raw["time_spans"][0]
    names = {thread["backend"]["name"] for thread in span["threads"]}
    (asked, *_others) = result.raw["request"]["profile"]["time_spans"][0]["targets"]
    waiting = {"sync", "mmap"} | ({"libaio"} if asked["caching"] == "cached" else set())
    return bool(names) and names <= waiting


def raid_level(path: str | os.PathLike[str], *, sys: Path = Path("/sys")) -> str | None:
    """Return the level of the kernel's own array (md) that a file or device lies on, if any."""
    if is_address(path):
        return None
    try:
        found = Path(path).stat()
        number = found.st_rdev if stat.S_ISBLK(found.st_mode) else found.st_dev
        level = sys / f"dev/block/{os.major(number)}:{os.minor(number)}/md/level"
        return level.read_text().strip() or None
    except OSError:
        return None
