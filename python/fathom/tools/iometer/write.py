"""A load in the terms of Iometer's access specification and setup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom._asked import pooled_depth
from fathom.tools.diskspd.option_words import option_words
from fathom.tools.notes import Note, Notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.tools.load import Load

__all__ = ["iometer_terms"]

_SECTOR_BYTES = 512  # The unit of Iometer's disk sizes (Iometer User's Guide, "Disk Targets").
_ALL = 100


def iometer_terms(load: Load) -> tuple[str, list[Note]]:
    """Return a load in Iometer's terms, one per line, and what Iometer cannot say."""
    notes = Notes()
    blocks = []
    for span in load.profile["time_spans"]:
        for target in span["targets"]:
            terms = {**_topology(span, target), **_specification(target)}
            terms |= {**_pattern(target), **_setup(span)}
            blocks.append("\n".join(f"{name}: {value}" for name, value in terms.items()))
            _take_notes(load, span, target, notes)
    return "\n\n".join(blocks) + "\n", notes.found


def _topology(span: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, str]:
    end = target["limit_bytes"] or target["create_bytes"]
    used = (end - target["base_bytes"]) // _SECTOR_BYTES if end else 0
    # Without a pool of threads (-F), -O counts nothing.
    pooled = pooled_depth(span)
    return {
        "Target": target["path"],
        "Workers": str(span["thread_count"] or target["threads"]),
        "# of Outstanding I/Os": str(pooled or target["outstanding"]),
        "Starting Disk Sector": str(target["base_bytes"] // _SECTOR_BYTES),
        "Maximum Disk Size": f"{used} Sectors" if used else "0 Sectors (all)",
    }


def _specification(target: Mapping[str, Any]) -> dict[str, str]:
    access, writes = target["access"], target["write_percent"]
    mix = target["extensions"]["block_mix"] or [
        {"block_bytes": target["block_bytes"], "io_percent": _ALL}
    ]
    lines = [f"{one['block_bytes']} Bytes at {one['io_percent']} % of Access" for one in mix]
    align = access["align_bytes"]
    return {
        "Transfer Request Size": ", ".join(lines),
        "Percent Read/Write Distribution": f"{_ALL - writes} % Read, {writes} % Write",
        "Percent Random/Sequential Distribution": (
            f"{access['random_percent']} % Random, {_ALL - access['random_percent']} % Sequential"
        ),
        "Align I/Os on": "Request Size Boundaries"
        if align == target["block_bytes"]
        else f"{align} Bytes",
        "Burstiness": f"Transfer Delay {target['think_ms']} ms, Burst Length {target['burst_ios']}"
        if target["burst_ios"]
        else "Transfer Delay 0 ms, Burst Length 1",
    }


def _pattern(target: Mapping[str, Any]) -> dict[str, str]:
    """Return what is written, unless it is what DiskSpd writes unasked."""
    data = target["write_data"]
    kind = "Repeating bytes" if data["source"] == "zero" else "Pseudo random"
    kind = "Full random" if data["fresh_random"] else kind
    is_plain = data["source"] == "counting_pattern" and not data["fresh_random"]
    return {} if is_plain else {"Write IO Data Pattern": kind}


def _setup(span: Mapping[str, Any]) -> dict[str, str]:
    return {"Run Time": f"{span['duration_s']} s", "Ramp Up Time": f"{span['warm_up_s']} s"}


def _take_notes(
    load: Load, span: Mapping[str, Any], target: Mapping[str, Any], notes: Notes
) -> None:
    access, more = target["access"], target["extensions"]
    is_walk = not access["random_percent"]
    is_shared = span["thread_count"] and len(span["targets"]) > 1
    lacking = (
        (target["caching"] != "unbuffered", "-S", "goes past the cache of the system, always"),
        (target["write_through"], "-Sw", "does not write through"),
        (target["rate"] or load.options.total_iops, "-g", "has no rates, only bursts with delays"),
        (target["distribution"] or load.options.skew, "-rd", "draws offsets evenly"),
        (is_walk and access["align_bytes"] != target["block_bytes"], "-s", "has no stride"),
        (target["thread_stride_bytes"], "-T", "has no such distance"),
        (target["parallel_same_offset"], "-p", "has no such order"),
        (target["memory_mapped"], "-Sm", "has no mappings"),
        (access["interlocked"], "-si", "lets each worker walk on its own"),
        (span["cool_down_s"], "-C", "has no load behind the measured time"),
        (more["read_pattern"], "--read-pattern", "has one order for reads and writes"),
        (more["write_pattern"], "--write-pattern", "has one order for reads and writes"),
        (more["read_block_mix"], "--read-block-mix", "has one mix of sizes for reads and writes"),
        (more["write_block_mix"], "--write-block-mix", "has one mix of sizes for reads and writes"),
        (more["compress_percent"] is not None, "--compress", "chooses the data by its pattern"),
        (more["dedupe_percent"] is not None, "--dedupe", "chooses the data by its pattern"),
        (target["base_bytes"] % _SECTOR_BYTES, "-B", "begins at a sector of 512 bytes"),
        (is_shared and span["request_count"], "-O", "counts outstanding I/Os for each target"),
        (target["thread_targets"] or target["weight"] != 1, "Weight", "has no weights of targets"),
        (more["sync"], "--fsync", "has no syncs"),
        (more["trim_percent"], "--trim", "has no trims"),
        (more["ratio"] == "exact", "--ratio=exact", "draws the direction of each I/O"),
    )
    for applies, setting, words in lacking:
        if applies:
            notes.load(setting, f"Iometer {words}")
    _remark_beside(span, target, notes)
    for setting in option_words(load.request):
        if not setting.startswith(("--rate", "--skew")):
            notes.load(setting, "Iometer has no such setting")
    if any(value is not None and value is not False for value in span["stop"].values()):
        notes.remark("--stop-", "Iometer ends by time alone")


def _remark_beside(span: Mapping[str, Any], target: Mapping[str, Any], notes: Notes) -> None:
    """Note what the device does not see."""
    if span["thread_count"] and len(span["targets"]) > 1:
        notes.remark("-F", "the workers are the same for all targets: assign each to all of them")
    beside = (
        (span["cpus"] or any(span["cpu_order"].values()), "-a", "leaves its workers to the system"),
        (target["large_pages"], "-l", "has no large pages"),
        (target["priority"] != "normal", "-I", "has no priorities"),
        (
            any(value is not None for value in span["faults"].values()),
            "--on-error",
            "counts errors",
        ),
    )
    for applies, setting, words in beside:
        if applies:
            notes.remark(setting, f"Iometer {words}")
