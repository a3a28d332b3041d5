"""How I/O reaches the target, and what it writes, in fio's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._asked import pooled_depth
from fathom.tools._units import fio_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.load import Load
    from fathom.tools.notes import Notes

__all__ = ["COUNTING_PATTERN", "data_options", "engine_options", "hint_options"]

_Options = dict[str, str]
COUNTING_PATTERN = "0x" + bytes(range(256)).hex()
"""The bytes 0 to 255, which DiskSpd repeats in each write."""

_ENGINES = {"uring": "io_uring", "aio": "libaio", "sync": "psync", "mmap": "mmap", "null": "null"}


def engine_options(
    load: Load, span: Mapping[str, Any], group: Sequence[Mapping[str, Any]], notes: Notes
) -> _Options:
    """Return the engine, and how the page cache is used."""
    first = group[0]
    alone = len(group) == 1 and (pooled_depth(span) or first["outstanding"]) == 1
    name = load.options.engine or ("aio" if span["alternate_completion"] else "")
    if first["parallel_same_offset"] and not name:
        alone = True
    if first["access"]["interlocked"] and first["threads"] > 1 and not name:
        alone = False
    engine = "mmap" if first["memory_mapped"] else _ENGINES.get(name)
    engine = engine or ("psync" if alone else "io_uring")
    options = {"ioengine": engine, **_cache_options(first, notes)}
    if first["memory_mapped"]:
        if first["flush"] == "non_volatile_memory_no_drain":
            notes.load("-Ni", "fio's mmap engine has no flush that does not wait")
        elif first["flush"]:
            options["fsync"] = "1"
    return options | _ring_options(load, span, notes)


def _cache_options(target: Mapping[str, Any], notes: Notes) -> _Options:
    options = {"direct": "1" if target["caching"] == "unbuffered" else "0"}
    if target["caching"] != "unbuffered":
        # fio drops a file's pages before a job; DiskSpd leaves them where they are.
        options["invalidate"] = "0"
    if target["caching"] == "remote_unbuffered":
        notes.load("-Sr", "fio has no such mode")
    if target["write_through"] and target["memory_mapped"]:
        notes.load("-Smw", "fio's mmap engine has no writes around the processor's caches")
    elif target["write_through"]:
        options["sync"] = "dsync"
    return options


def _ring_options(load: Load, span: Mapping[str, Any], notes: Notes) -> _Options:
    options: _Options = {}
    ring = span["tuning"]["ring"]
    if ring:
        batch = ring["batch"]
        if "ios" in batch:
            options["iodepth_batch_submit"] = str(batch["ios"])
        else:
            notes.remark("-u", "fio's batches are numbers of I/Os: iodepth_batch_submit")
        if ring["registered_buffers"]:
            options["fixedbufs"] = "1"
    if span["tuning"]["completion_depth"]:
        options["iodepth_batch_complete_max"] = str(span["tuning"]["completion_depth"])
    if span["tuning"]["buffer_separation"]:
        notes.remark("-bs", "fio does not keep the buffers of threads apart")
    if load.options.polled:
        options["hipri"] = "1"
    if thread := load.options.submission_thread:
        options["sqthread_poll"] = "1"
        if thread.cpu is not None:
            options["sqthread_poll_cpu"] = str(thread.cpu)
    return options


def hint_options(target: Mapping[str, Any], notes: Notes) -> _Options:
    """Return hints, priority and pages; fio gives hints by itself unless told otherwise."""
    hints = target["hints"]
    hint = "random" if hints["random"] else "sequential" if hints["sequential"] else "0"
    if hints["temporary"]:
        notes.remark("-ft", "fio 3.33 has no such hint")
    if hints["random"] and hints["sequential"]:
        notes.remark("-fs", "fio gives one hint: random")
    options = {"fadvise_hint": hint}
    if target["large_pages"]:
        options["iomem"] = "shmhuge"
    if target["priority"] == "very_low":
        options["prioclass"] = "3"
    elif target["priority"] == "low":
        options |= {"prioclass": "2", "prio": "7"}
    return options


def data_options(target: Mapping[str, Any], notes: Notes) -> _Options:
    """Return what writes hold."""
    more, data = target["extensions"], target["write_data"]
    if not target["write_percent"]:
        return {}
    if more["compress_percent"] is not None or more["dedupe_percent"] is not None:
        return _reduced(more)
    source = data["source"]
    if data["fresh_random"]:
        return {"refill_buffers": "1"}
    if source == "zero":
        return {"zero_buffers": "1"}
    if source == "counting_pattern":
        return {"buffer_pattern": COUNTING_PATTERN}
    buffer = source["buffer"]
    if buffer["file"]:
        notes.load("-Z", f"fio does not write pieces of a file such as {buffer['file']}; random "
                   "data are written")  # fmt: skip
    else:
        notes.remark("-Z", "fio writes random data that it scrambles, rather than pieces of one "
                     f"buffer of {fio_size(buffer['bytes'])}")  # fmt: skip
    return {"scramble_buffers": "1"}


def _reduced(more: Mapping[str, Any]) -> _Options:
    options = {"refill_buffers": "1"}
    if more["compress_percent"] is not None:
        options["buffer_compress_percentage"] = str(more["compress_percent"])
        options["buffer_compress_chunk"] = "512"
    if more["dedupe_percent"] is not None:
        options["dedupe_percentage"] = str(more["dedupe_percent"])
    return options
