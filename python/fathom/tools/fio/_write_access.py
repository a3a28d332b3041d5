"""Order, place and size of I/Os in fio's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom.tools._units import fio_size
from fathom.tools.diskspd.option_words import skew_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.load import Load
    from fathom.tools.notes import Notes

__all__ = ["access_options", "range_options", "used_bytes"]

_Options = dict[str, str]
_ALL = 100


def access_options(load: Load, target: Mapping[str, Any], notes: Notes) -> _Options:
    """Return direction, order, block sizes and syncs."""
    more = target["extensions"]
    write_percent, random_percent = target["write_percent"], target["access"]["random_percent"]
    direction = {0: "read", _ALL: "write"}.get(write_percent, "rw")
    options = {"rw": f"rand{direction}" if random_percent else direction}
    if direction == "rw":
        options["rwmixwrite"] = str(write_percent)
        if random_percent < _ALL:
            notes.load("-w", "fio's reads and writes each walk on their own; DiskSpd's share one "
                       "walk")  # fmt: skip
        if more["ratio"] == "exact":
            notes.load("--ratio=exact", "fio draws the direction of each I/O")
    _pattern_notes(more, notes)
    options |= _blocks(target, notes)
    options |= _random(load, target, notes) if random_percent else _stride(target, options, notes)
    if more["sync"]:
        name = "fdatasync" if more["sync"]["data_only"] else "fsync"
        options[name] = str(more["sync"]["every_writes"])
    return options


def _pattern_notes(more: Mapping[str, Any], notes: Notes) -> None:
    for kind in ("read", "write"):
        if more[f"{kind}_pattern"]:
            notes.load(f"--{kind}-pattern", "reads and writes of one fio job have one pattern: two "
                       "jobs come near, but keep no share between them")  # fmt: skip
    if more["trim_percent"]:
        notes.load("--trim", "fio has no share of trims")


def _blocks(target: Mapping[str, Any], notes: Notes) -> _Options:
    more = target["extensions"]
    mixes = [more[f"{kind}_block_mix"] or more["block_mix"] for kind in ("read", "write")]
    if not any(mixes):
        return {"bs": fio_size(target["block_bytes"])}
    if (
        target["access"]["random_percent"]
        and target["access"]["align_bytes"] == target["block_bytes"]
    ):
        notes.load("--block-mix", "fio aligns all sizes of a mix to the least one; DiskSpd each to "
                   "itself")  # fmt: skip
    plain = [{"block_bytes": target["block_bytes"], "io_percent": _ALL}]
    reads, writes = (_split(mix or plain) for mix in mixes)
    return {"bssplit": reads if reads == writes else f"{reads},{writes}"}


def _split(mix: Sequence[Mapping[str, int]]) -> str:
    return ":".join(f"{fio_size(one['block_bytes'])}/{one['io_percent']}" for one in mix)


def _random(load: Load, target: Mapping[str, Any], notes: Notes) -> _Options:
    access = target["access"]
    # DiskSpd draws each offset anew; fio by default visits each block once before any again.
    options = {"norandommap": "1"}
    if access["align_bytes"] != target["block_bytes"]:
        options["blockalign"] = fio_size(access["align_bytes"])
    if access["random_percent"] < _ALL:
        options["percentage_random"] = str(access["random_percent"])
    if load.options.skew is not None:
        options["random_distribution"] = skew_words(load.options.skew)
    elif target["distribution"]:
        options["random_distribution"] = _zones(target, notes)
    return options


def _zones(target: Mapping[str, Any], notes: Notes) -> str:
    """Return zones; fio(1): zoned:IO%/size%, or zoned_abs:IO%/size."""
    kind, ranges = next(iter(target["distribution"].items()))
    if kind == "percent":
        return "zoned:" + ":".join(f"{one['io_percent']}/{one['length']}" for one in ranges)
    end = target["limit_bytes"] or target["create_bytes"]
    known = sum(one["length"] for one in ranges)
    parts = []
    for one in ranges:
        length = one["length"] or ((end - target["base_bytes"] - known) if end else 0)
        if length <= 0:
            notes.load("-rd", f"the last {one['io_percent']} % go to the rest of the target, whose "
                       "size is not given (-c): fio must be told it")  # fmt: skip
            continue
        parts.append(f"{one['io_percent']}/{fio_size(length)}")
    return "zoned_abs:" + ":".join(parts)


def _stride(target: Mapping[str, Any], options: _Options, notes: Notes) -> _Options:
    """Return the walk: fio skips so many bytes behind each I/O (fio(1), ``rw=read:8k``)."""
    gap = target["access"]["align_bytes"] - target["block_bytes"]
    if not gap:
        return {}
    if "bssplit" in options:
        notes.load("-s", "with a mix of sizes fio skips behind each I/O, DiskSpd from its start")
    sign = "-" if gap < 0 else ""
    return {"rw": f"{options['rw']}:{sign}{fio_size(abs(gap))}"}


def range_options(target: Mapping[str, Any], notes: Notes) -> _Options:
    """Return the file's size and the range of it that is used."""
    options = {}
    created = target["create_bytes"]
    base, end = target["base_bytes"], target["limit_bytes"] or created
    used = used_bytes(target, end - base) if end else 0
    if created and base + used == created:
        options["filesize"] = fio_size(created)
        notes.remark("-c", "fio keeps a larger file as it is, and fills a new one by its own "
                     "settings")  # fmt: skip
    elif created:
        # With filesize, fio uses all of the file, whatever size says.
        notes.remark("-c", "fio makes a new file only as large as the range that is used, and "
                     f"fills it itself: make it with {created} bytes before")  # fmt: skip
    if base:
        options["offset"] = fio_size(base)
    more = target["extensions"]
    if end and (more["block_mix"] or more["read_block_mix"] or more["write_block_mix"]):
        notes.load("--block-mix", "the last I/O of a walk of fio may reach beyond the range")
    if end:
        options["size"] = fio_size(used)
    return options


def used_bytes(target: Mapping[str, Any], length: int) -> int:
    """Return how much of a range a walk of whole blocks uses.

    fio begins a block wherever the range has a byte left, and so goes beyond its end; DiskSpd ends
    with the last whole block.
    """
    access, block = target["access"], target["block_bytes"]
    if access["random_percent"] or length < block:
        return int(length)
    step = access["align_bytes"]
    return int((length - block) // step * step + block)
