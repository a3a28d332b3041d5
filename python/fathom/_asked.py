"""What a request asks of its first time span: numbers, and what shapes the load besides."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fathom._request_parts import RunOptions
from fathom.units import size_words

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = [
    "OPTION_DEFAULTS",
    "AskedLoad",
    "Shape",
    "Way",
    "WorkingSet",
    "asked_load",
    "depth_of",
    "options_of_load",
    "pooled_depth",
    "shape_of",
    "way_of",
    "working_set",
    "working_set_bytes",
]

# What a load has in numbers of its own, what is no load (names, times, seeds, statistics), and
# what is made of a target before the load begins.
_NO_SHAPE_OF_TARGET = frozenset(
    {
        "path",
        "block_bytes",
        "base_bytes",
        "limit_bytes",
        "create_bytes",
        "write_through",
        "thread_stride_bytes",
        "outstanding",
        "write_percent",
        "threads",
        "weight",
    }
)
_NO_SHAPE_OF_SPAN = frozenset(
    {
        "measure_latency",
        "interval_series",
        "duration_s",
        "warm_up_s",
        "cool_down_s",
        "thread_count",
        "request_count",
        "interval_ms",
        "random_seed",
        "stop",
        "faults",
        "targets",
    }
)
_NO_SHAPE_OF_OPTIONS = frozenset({"remove_created", "interval_latency", "verify_journal"})
OPTION_DEFAULTS = {one.name: one.default for one in fields(RunOptions)}
"""What the options of a run are where nobody gives them."""
_MILLI = 1000
_OF_WRITES = frozenset({"write_data", "flush"})
_EXTENSIONS_OF_WRITES = frozenset(
    {"write_pattern", "write_block_mix", "sync", "compress_percent", "dedupe_percent"}
)
_PATTERNS = ("read_pattern", "write_pattern")


@dataclass(frozen=True)
class AskedLoad:
    """A load in numbers; of several targets, the greatest block and the mean of the shares.

    Attributes
    ----------
    threads
        Of all targets together (``-t``, ``-F``).
    depth
        I/Os that each thread keeps outstanding (``-o``, ``-O``).
    block_bytes
        Of an I/O; where sizes are mixed, their mean by the shares requested.
    write_percent, random_percent
        Shares of I/Os.
    is_paced
        Whether a rate is requested (``-g``, ``--rate``), or bursts (``-i``).

    """

    threads: int
    depth: int
    block_bytes: int
    write_percent: float
    random_percent: float
    is_paced: bool


def asked_load(request: Mapping[str, Any]) -> AskedLoad:
    """Return the load of a request in its JSON form, that of its first time span."""
    span = request["profile"]["time_spans"][0]
    targets = span["targets"]

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    rates = [target["rate"] or target.get("burst_ios") for target in targets]
    return AskedLoad(
        threads=span["thread_count"] or sum(target["threads"] for target in targets),
        depth=depth_of(span),
        block_bytes=round(max(_block_bytes(target) for target in targets)),
        write_percent=mean([target["write_percent"] for target in targets]),
        random_percent=mean([_random_percent(target) for target in targets]),
        is_paced=any(rates) or bool(request.get("options", {}).get("total_iops")),
    )


def options_of_load(request: Mapping[str, Any]) -> dict[str, object]:
    """Return the options of a request in its JSON form that are part of its load, by name.

    The skew is as it is typed (``zipf:1.1``). Earlier results do not tell their options.
    """
    known = request.get("options")
    if not known:
        return {}
    found = {**OPTION_DEFAULTS, **_without(known, _NO_SHAPE_OF_OPTIONS)}
    if isinstance(found["skew"], dict):
        ((name, value),) = found["skew"].items()
        found["skew"] = ":".join([name, *(f"{one / _MILLI:g}" for one in value.values())])
    return _without(found, _NO_SHAPE_OF_OPTIONS)


def depth_of(span: Mapping[str, Any]) -> int:
    """Return how many I/Os each thread of a time span is to keep outstanding, at most."""
    each = [int(target["outstanding"]) for target in span["targets"]]
    # Threads that share the targets (``-F``) keep those of each.
    return pooled_depth(span) or (sum(each) if span["thread_count"] else max(each))


def pooled_depth(span: Mapping[str, Any]) -> int:
    """Return how many I/Os each thread is to keep outstanding over all targets; 0 for each alone.

    Without threads that share the targets (``-F``), a count of I/Os for them (``-O``) says nothing.
    """
    return int(span["request_count"] or 0) if span["thread_count"] else 0


@dataclass(frozen=True)
class Way:
    """How the reads, or the writes, of a target go.

    Attributes
    ----------
    random_percent
        Share of them that go to random places.
    sizes
        Bytes of an I/O, each with its share of the I/Os in percent.

    """

    random_percent: float
    sizes: tuple[tuple[int, float], ...]

    @property
    def mean_bytes(self) -> float:
        """Mean bytes of an I/O."""
        return sum(size * percent for size, percent in self.sizes) / 100

    @property
    def is_mixed(self) -> bool:
        """Whether they differ in what a device needs for each: their size or their order."""
        return len(self.sizes) > 1 or 0 < self.random_percent < 100  # noqa: PLR2004 - All.

    def words(self, kind: str) -> str:
        """Return them in words, such as ``random reads of 4 KiB to 1 MiB``."""
        return f"{self.order_words} {kind} of {self.sizes_words}"

    @property
    def order_words(self) -> str:
        """Their order in a word."""
        return {0: "sequential", 100: "random"}.get(round(self.random_percent), "mixed")

    @property
    def sizes_words(self) -> str:
        """Their size in words; of several, the least and the greatest."""
        sizes = [size for size, _ in self.sizes]
        least, most = min(sizes), max(sizes)
        return size_words(least) if least == most else f"{size_words(least)} to {size_words(most)}"


def way_of(target: Mapping[str, Any], kind: str) -> Way:
    """Return how the reads (``read``) or the writes (``write``) of a target go.

    A mix of its own comes before the size in an order of its own, and that before the mix of both,
    as in the engine.
    """
    more = target.get("extensions") or {}
    own = more.get(f"{kind}_pattern") or {}
    random_percent = float(target["access"]["random_percent"])
    if own:
        random_percent = 100.0 if own["order"] == "random" else 0.0
    alone = own.get("block_bytes")
    mix = more.get(f"{kind}_block_mix") or (None if alone else more.get("block_mix"))
    if not mix:
        return Way(random_percent, ((int(alone or target["block_bytes"]), 100.0),))
    shares = ((int(one["block_bytes"]), float(one["io_percent"])) for one in mix)
    return Way(random_percent, tuple(sorted(one for one in shares if one[1])))


def _ways(target: Mapping[str, Any]) -> tuple[tuple[Way, float], tuple[Way, float]]:
    """Return how reads and writes go, each with its share."""
    share = target["write_percent"] / 100
    return (way_of(target, "read"), 1 - share), (way_of(target, "write"), share)


def _block_bytes(target: Mapping[str, Any]) -> float:
    """Return the bytes of an I/O; where sizes are mixed, their mean by the shares requested."""
    return sum(way.mean_bytes * share for way, share in _ways(target))


def _random_percent(target: Mapping[str, Any]) -> float:
    """Return the share of random I/Os; where reads and writes differ, by their shares."""
    return sum(way.random_percent * share for way, share in _ways(target))


@dataclass(frozen=True)
class WorkingSet:
    """What a load can touch, and whose that is where several hosts measured.

    ``is_whole`` is whether it is that of all ``parts`` together, which have ranges of their own;
    otherwise it is the greatest that one of them has.
    """

    bytes: int
    parts: int
    is_whole: bool
    name: str

    def words(self) -> str:
        """Return its size, such as ``64 MiB of 2 hosts together``."""
        size = size_words(self.bytes)
        if self.parts == 1:
            return size
        if self.is_whole:
            return f"{size} of {self.parts} {self.name}s together"
        return f"{size} on each of {self.parts} {self.name}s"


def working_set(raw: Mapping[str, Any]) -> WorkingSet:
    """Return what the first time span of a result can touch of its first target."""
    span, asked = raw["time_spans"][0], _asked_of(raw)
    name = "host" if raw.get("hosts") else "part"
    parts = [_part(one, span) for one in raw.get("parts", ())]
    known = [one for one in parts if one is not None]
    if len(known) < 2:  # noqa: PLR2004 - One alone is the whole.
        return WorkingSet(working_set_bytes(asked, span["targets"]), 1, is_whole=True, name=name)
    sizes = [working_set_bytes(one, [target]) for one, target in known]
    is_whole = _are_apart([_range(one, target) for one, target in known])
    size = sum(sizes) if is_whole else max(sizes)
    return WorkingSet(size, len(known), is_whole, name)


_Part = tuple["Mapping[str, Any]", "Mapping[str, Any]"]


def _asked_of(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    asked: Mapping[str, Any] = raw["request"]["profile"]["time_spans"][0]["targets"][0]
    return asked


def _part(part: Mapping[str, Any], span: Mapping[str, Any]) -> _Part | None:
    """Return what a part asked of its target, and that target; None of older results."""
    first = part["time_spans"][0]["first_thread"]
    rows = span["threads"][first]["targets"] if first < len(span["threads"]) else []
    if not rows or "request" not in part:
        return None
    return _asked_of(part), span["targets"][rows[0]["target"]]


def _range(asked: Mapping[str, Any], target: Mapping[str, Any]) -> tuple[int, int]:
    size = int(target["size_bytes"])
    return int(asked["base_bytes"]), min(int(asked["limit_bytes"]) or size, size)


def _are_apart(ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether no two ranges have a byte in common."""
    ordered = sorted(ranges)
    return all(one[1] <= two[0] for one, two in pairwise(ordered))


def working_set_bytes(asked: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> int:
    """Return what the engine says that the load can touch; of older results its range."""
    if not found:
        return 0
    told = found[0].get("working_set_bytes")
    if told is not None:
        return int(told)
    size = int(found[0]["size_bytes"])
    return max(min(int(asked["limit_bytes"]) or size, size) - int(asked["base_bytes"]), 0)


@dataclass(frozen=True)
class Shape:
    """What a load is beside its numbers; loads are the same only where these are equal.

    Attributes
    ----------
    place
        Where it begins, and its directions and threads in it: with the working set, its range.
    of_writes
        How writes are made: their data, how often they are synced, their own order and sizes;
        empty of reads alone.
    other
        All else: rates, bursts, skew, distribution, mixes, the engine, CPUs and hints.

    """

    place: str
    of_writes: str
    other: str


def shape_of(request: Mapping[str, Any]) -> Shape:
    """Return the shape of a request in its JSON form, that of its first time span and target."""
    span = request["profile"]["time_spans"][0]
    target = span["targets"][0]
    more = target.get("extensions") or {}
    writes = target["write_percent"] or more.get("trim_percent")
    return Shape(
        place=_words(_place(target, more)),
        of_writes=_words(_of_writes(target, more)) if writes else "",
        other=_words(
            [
                _without(target, _NO_SHAPE_OF_TARGET | _OF_WRITES | {"extensions"}),
                _without(_without_ranges(more), _EXTENSIONS_OF_WRITES),
                _without(span, _NO_SHAPE_OF_SPAN),
                _without(request.get("options") or {}, _NO_SHAPE_OF_OPTIONS),
            ]
        ),
    )


def _place(target: Mapping[str, Any], more: Mapping[str, Any]) -> list[object]:
    ranges = [(more.get(name) or {}).get("range") for name in _PATTERNS]
    return [target["base_bytes"], target["thread_stride_bytes"], *ranges]


def _of_writes(target: Mapping[str, Any], more: Mapping[str, Any]) -> list[object]:
    own = {name: target.get(name) for name in _OF_WRITES}
    return [own, {name: _without_ranges(more).get(name) for name in _EXTENSIONS_OF_WRITES}]


def _without_ranges(more: Mapping[str, Any]) -> dict[str, Any]:
    """Return extensions of which patterns have no range: that is their place."""
    orders = {name: _without(more.get(name) or {}, {"range"}) for name in _PATTERNS}
    return {**more, **orders}


def _without(known: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name not in names}


def _words(value: object) -> str:
    """Return a value as text; what is off is left out, as older results do not name it."""
    return json.dumps(_told(value), sort_keys=True)


def _told(value: object) -> object:
    if isinstance(value, dict):
        told = {name: _told(one) for name, one in value.items()}
        return {name: one for name, one in told.items() if not _is_off(one)}
    return [_told(one) for one in value] if isinstance(value, list | tuple) else value


def _is_off(value: object) -> bool:
    return value is None or value is False or value in ("", [], {})
