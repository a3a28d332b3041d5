"""fio's engines, data, rates and times in DiskSpd's words; what is read is taken out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fathom.tools._units import fio_number, fio_seconds, read_fio_size
from fathom.tools.fio._write_target import COUNTING_PATTERN

if TYPE_CHECKING:
    from fathom.tools.notes import Notes

__all__ = ["engine_arguments", "rest_notes", "time_arguments"]

_BYTES_PER_MS = 1000
_MILLIS = 1000
# One I/O at a time, whatever iodepth says (fio(1), `iodepth`).
_SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap")
_ENGINES = {"io_uring": "", "libaio": "--engine=aio", "null": "--engine=null", "mmap": "-Sm"}
# What concerns fio's report, its start and its seed: the load is the same without.
_SURROUNDING = {
    name: what
    for what, names in {
        "report": "group_reporting new_group description lat_percentiles clat_percentiles "
        "slat_percentiles percentile_list disable_lat disable_clat disable_slat "
        "disable_bw disable_bw_measurement write_bw_log write_lat_log write_hist_log "
        "per_job_logs log_offset unified_rw_reporting stats gtod_reduce clocksource "
        "log_unix_epoch",
        "end": "unlink exitall exitall_on_error exit_all_on_error end_fsync",
        "processes": "thread",
        "seed": "randrepeat allrandrepeat random_generator",
        "units": "kb_base unit_base",
        "files": "create_on_open create_serialize fallocate allow_file_create overwrite "
        "allow_mounted_write",
        "data": "refill_buffers scramble_buffers buffer_compress_chunk",
        "CPUs": "cpus_allowed_policy",
        "bursts": "thinktime_blocks_type",
        "order": "norandommap softrandommap",
        "batches": "iodepth_batch",
    }.items()
    for name in names.split()
}  # fmt: skip


def engine_arguments(options: dict[str, str], notes: Notes, *, writes: bool) -> list[str]:
    """Return depth, threads, caches, data, priority and CPUs."""
    engine = options.pop("ioengine", "psync")
    depth = options.pop("iodepth", "1")
    arguments = [f"-t{options.pop('numjobs', '1')}"]
    arguments.append("-o1" if engine in _SYNCHRONOUS else f"-o{fio_number('iodepth', depth)}")
    if engine in _ENGINES:
        arguments += [_ENGINES[engine]] if _ENGINES[engine] else []
    elif engine not in _SYNCHRONOUS:
        notes.load("ioengine", f"there is no {engine} here; io_uring is used")
    arguments += _caches(options, notes)
    data = _data(options, notes)
    arguments += data if writes else []
    if "cpus_allowed" in options:
        arguments.append(f"-a{options.pop('cpus_allowed')}")
    if options.pop("prioclass", None) == "3":
        arguments.append("-I1")
    for name, option in (("iodepth_batch_submit", "-u"), ("iodepth_batch_complete_max", "-oc"),
                         ("sqthread_poll_cpu", "--sqpoll=")):  # fmt: skip
        if name in options:
            arguments.append(f"{option}{options.pop(name)}")
    for name, option in (("hipri", "--polled"), ("sqthread_poll", "--sqpoll")):
        if _is_on(options.pop(name, "0")) and not any(one.startswith(option) for one in arguments):
            arguments.append(option)
    options.pop("fixedbufs", None)
    if str(options.pop("mem", "")).endswith("huge"):
        arguments.append("-l")
    hint = options.pop("fadvise_hint", "")
    arguments += [f"-f{hint[0]}"] if hint in ("random", "sequential") else []
    return arguments


def _is_on(value: str) -> bool:
    return value != "0"


def _caches(options: dict[str, str], notes: Notes) -> list[str]:
    direct = _is_on(options.pop("direct", "0")) or options.pop("buffered", "1") == "0"
    sync = options.pop("sync", "0")
    through = sync not in ("0", "none")
    if through and sync != "dsync":
        notes.remark("sync", "-Sw is O_DSYNC, which leaves out metadata that reading does not need")
    if not direct and _is_on(options.pop("invalidate", "1")):
        notes.load("invalidate", "fio drops the file's pages from the cache at the start; DiskSpd "
                   "leaves them")  # fmt: skip
    options.pop("invalidate", None)
    letters = ("u" if direct else "") + ("w" if through else "")
    return ["-Sh"] if letters == "uw" else [f"-S{letters}"] if letters else []


def _data(options: dict[str, str], notes: Notes) -> list[str]:
    arguments = []
    compress = options.pop("buffer_compress_percentage", None)
    dedupe = options.pop("dedupe_percentage", None)
    zeros, pattern = options.pop("zero_buffers", "0"), options.pop("buffer_pattern", None)
    fresh = options.get("refill_buffers", "0")
    if compress or dedupe:
        arguments += [f"--compress={compress}"] if compress else []
        arguments += [f"--dedupe={dedupe}"] if dedupe else []
    elif _is_on(zeros):
        arguments.append("-Z")
    elif pattern is not None:
        if pattern.lower() != COUNTING_PATTERN:
            notes.load("buffer_pattern", "DiskSpd writes the bytes 0 to 255, zeros, random data or "
                       "a file's (-Z<size>,<file>)")  # fmt: skip
    elif _is_on(fresh):
        arguments.append("-Zr")
    else:
        # Random data that differ from write to write a little: a buffer of random data.
        arguments.append("-Z16M")
    return arguments


def time_arguments(options: dict[str, str], threads: int, notes: Notes) -> list[str]:
    """Return times, rates and what is measured."""
    arguments = _rates(options, notes)
    runtime = options.pop("runtime", None)
    timed = _is_on(options.pop("time_based", "0"))
    if runtime is None:
        arguments.append("-d86400")
        notes.remark("runtime", "there is none: -d is a day")
        timed = False
    else:
        arguments.append(f"-d{math.ceil(fio_seconds('runtime', runtime))}")
    ramp = fio_seconds("ramp_time", options.pop("ramp_time", "0"))
    arguments.append(f"-W{math.ceil(ramp)}")
    arguments += _ends(options, threads, notes, timed=timed)
    seed = options.pop("randseed", None)
    if seed:
        arguments.append(f"-z{seed}")
        notes.remark("randseed", "the same seed gives other offsets in DiskSpd")
    interval = options.pop("log_avg_msec", None)
    if options.pop("write_iops_log", None) is not None or interval:
        arguments.append(f"-D{interval or 1000}")
    return [*arguments, "-L"]


def _ends(options: dict[str, str], threads: int, notes: Notes, *, timed: bool) -> list[str]:
    ios, moved = options.pop("number_ios", None), options.pop("io_size", None)
    arguments = []
    if ios:
        arguments.append(f"--stop-ios={threads * fio_number('number_ios', ios)}")
    elif moved:
        arguments.append(f"--stop-bytes={threads * read_fio_size('io_size', moved)}")
    elif not timed:
        notes.load("time_based", "without it a fio job ends once it has moved as many bytes as "
                   "its range has; DiskSpd goes on to the end of its time, or add --stop-pass "
                   "(sequential) or --stop-bytes")  # fmt: skip
    for name in ("steadystate", "ss", "ss_dur", "ss_ramp", "steadystate_duration"):
        if name in options:
            options.pop(name)
            notes.remark(name, "see --stop-steady, which judges range and slope together")
    return arguments


def _rates(options: dict[str, str], notes: Notes) -> list[str]:
    arguments = []
    for name, unit in (("rate_iops", "i"), ("rate", "")):
        text = options.pop(name, None)
        if text is None:
            continue
        total = sum(read_fio_size(name, one) for one in text.split(",")[:2] if one)
        if name == "rate" and total % _BYTES_PER_MS:
            notes.load("rate", "-g has whole bytes per millisecond")
        arguments.append(f"-g{total if unit else max(round(total / _BYTES_PER_MS), 1)}{unit}")
        if "," in text:
            notes.load(name, "DiskSpd has one rate for reads and writes together")
    if options.pop("rate_process", "linear") == "poisson":
        arguments.append("--arrivals=poisson")
    think = options.pop("thinktime", None)
    if think:
        millis = max(round(fio_seconds("thinktime", think, "us") * _MILLIS), 1)
        arguments += [f"-i{options.pop('thinktime_blocks', '1')}", f"-j{millis}"]
    return arguments


def rest_notes(options: dict[str, str], notes: Notes) -> None:
    """Note whatever was not read: what has no equal, and what does not concern the load."""
    for name, value in options.items():
        if name in _SURROUNDING:
            notes.remark(name, f"concerns fio's {_SURROUNDING[name]}, not the load")
        else:
            notes.load(name, f"DiskSpd has no equal of {name}{'=' if value else ''}{value}")
