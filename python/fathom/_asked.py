"""What a request asks of its first time span, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AskedLoad", "asked_load", "working_set_bytes"]


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
        depth=span["request_count"] or max(target["outstanding"] for target in targets),
        block_bytes=round(max(_block_bytes(target) for target in targets)),
        write_percent=mean([target["write_percent"] for target in targets]),
        random_percent=mean([target["access"]["random_percent"] for target in targets]),
        is_paced=any(rates) or bool(request.get("options", {}).get("total_iops")),
    )


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


def working_set_bytes(asked: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> int:
    """Return what the engine says that the load can touch; of older results its range."""
    if not found:
        return 0
    told = found[0].get("working_set_bytes")
    if told is not None:
        return int(told)
    size = int(found[0]["size_bytes"])
    return max(min(int(asked["limit_bytes"]) or size, size) - int(asked["base_bytes"]), 0)
