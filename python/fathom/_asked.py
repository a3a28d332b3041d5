"""What a request asks of its first time span, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fathom.units import size_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AskedLoad",
    "WorkingSet",
    "asked_load",
    "depth_of",
    "working_set",
    "working_set_bytes",
]


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
        random_percent=mean([target["access"]["random_percent"] for target in targets]),
        is_paced=any(rates) or bool(request.get("options", {}).get("total_iops")),
    )


def depth_of(span: Mapping[str, Any]) -> int:
    """Return how many I/Os each thread of a time span is to keep outstanding, at most.

    Only threads that share the targets (``-F``) count them over all targets (``-O``).
    """
    if span["thread_count"] and span["request_count"]:
        return int(span["request_count"])
    return int(max(target["outstanding"] for target in span["targets"]))


def _block_bytes(target: Mapping[str, Any]) -> float:
    """Return the bytes of an I/O; where sizes are mixed, their mean by the shares requested."""
    more = target.get("extensions", {})

    def mean(mix: Sequence[Mapping[str, int]]) -> float:
        if not mix:
            return float(target["block_bytes"])
        return float(sum(one["block_bytes"] * one["io_percent"] for one in mix)) / 100

    common = more.get("block_mix", [])
    reads, writes = (more.get(f"{kind}_block_mix") or common for kind in ("read", "write"))
    share = target["write_percent"] / 100
    return float(mean(reads) * (1 - share) + mean(writes) * share)


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
