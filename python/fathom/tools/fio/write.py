"""From DiskSpd's load to fio's jobs.

fio's meanings are those of fio(1) of version 3.33; where the page leaves one open, a test asks fio
itself, by the offsets that it writes into its log (``write_iolog``).
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fathom._asked import pooled_depth
from fathom.errors import InvalidRequestError
from fathom.tools._units import fio_size
from fathom.tools.diskspd.option_words import skew_words
from fathom.tools.fio._write_target import data_options, engine_options, hint_options
from fathom.tools.fio.job_file import FioJob
from fathom.tools.fio.names import filename_of, is_global
from fathom.tools.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.load import Load
    from fathom.tools.notes import Note

__all__ = ["to_fio"]

# Order, place and size of I/Os in fio's words.

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
    # DiskSpd draws each offset again; fio by default visits each block once before any again.
    options = {"norandommap": "1"}
    if access["align_bytes"] != target["block_bytes"]:
        options["blockalign"] = fio_size(access["align_bytes"])
    if access["random_percent"] < _ALL:
        options["percentage_random"] = str(access["random_percent"])
    if skew := skew_words(load.request):
        options["random_distribution"] = skew
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
    if gap < 0 and (target["base_bytes"] or target["thread_stride_bytes"]):
        # It takes a first offset that is not 0 for that of a walk backwards (io_u.c).
        notes.load("-s", "where blocks overlap, and the range does not begin at 0, fio begins near "
                   "the end of the range")  # fmt: skip
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


_Options = dict[str, str]


def to_fio(
    load: Load, *, cpus: Sequence[int] | None = None, names: Mapping[str, str] | None = None
) -> tuple[list[FioJob], list[Note]]:
    """Return fio's jobs for a load, and what fio cannot say.

    Parameters
    ----------
    load
        What was requested.
    cpus
        The kernel's numbers of the CPUs to which threads are pinned in turn where the load names
        none, as DiskSpd does; without them fio leaves threads to the scheduler.
    names
        What targets are called instead of by their paths.

    Raises
    ------
    InvalidRequestError
        If a target's name cannot stand in a job, or its range has no byte.

    """
    notes, jobs = Notes(), []
    for number, span in enumerate(load.profile["time_spans"]):
        made = _span_jobs(load, span, notes, (cpus, names or {}))
        if number:
            made[0].options = {"stonewall": "", **made[0].options}
        jobs += made
    _whole_notes(load, notes)
    unique = _unique([job.name for job in jobs])
    return [FioJob(name, job.options) for name, job in zip(unique, jobs, strict=True)], notes.found


class _Draft:
    def __init__(self, name: str, options: _Options) -> None:
        self.name = name
        self.options = options


def _span_jobs(
    load: Load,
    span: Mapping[str, Any],
    notes: Notes,
    here: tuple[Sequence[int] | None, Mapping[str, str]],
) -> list[_Draft]:
    cpus, names = here
    targets = span["targets"]
    for target in targets:
        _refuse_empty(target)
    groups = [targets] if span["thread_count"] else [[target] for target in targets]
    work = [_thread_options(load, span, group, notes) for group in groups]
    times = _time_options(load, span, sum(int(one["numjobs"]) for one in work), notes)
    pins = _cpu_options(span, notes, cpus)
    jobs = []
    for group, own in zip(groups, work, strict=True):
        first = group[0]
        if any(_but_path(one) != _but_path(first) for one in group):
            words = f"that of {first['path']} is used for all"
            notes.load("-F", f"fio's threads have one pattern for all of their files; {words}")
        options = {
            "filename": filename_of(names.get(one["path"], one["path"]) for one in group),
            **own,
            **engine_options(load, span, group, notes),
            **access_options(load, first, notes),
            **range_options(first, notes),
            **_rate_options(load, span, first, (own, work), notes),
            **hint_options(first, notes),
            **data_options(first, notes),
            **times,
            **pins,
        }
        name = PurePath(first["path"]).name or "target"
        jobs += [_Draft(name, one) for one in _apart(options, first)]
    return jobs


def _refuse_empty(target: Mapping[str, Any]) -> None:
    """Refuse a range without a byte: fio would take a size of nought for the whole file."""
    base, end = target["base_bytes"], target["limit_bytes"] or target["create_bytes"]
    if end and end <= base:
        raise InvalidRequestError(
            f"{target['path']}: the range begins at {fio_size(base)} (-B), and the file ends at "
            f"{fio_size(end)} (-c, -f), so that nothing can be read or written: give another"
        )


def _apart(options: _Options, target: Mapping[str, Any]) -> list[_Options]:
    """Return a job for each thread where threads begin apart within a range that ends.

    fio's ``size`` is counted from each thread's own first offset, and would reach beyond the range.
    """
    stride, threads = target["thread_stride_bytes"], int(options["numjobs"])
    end = target["limit_bytes"] or target["create_bytes"]
    if not stride:
        return [options]
    if not end or threads == 1:
        return [options | {"offset_increment": fio_size(stride)}]
    base = target["base_bytes"]
    starts = [base + number * stride % (end - base) for number in range(threads)]
    return [
        options
        | {"numjobs": "1", "offset": fio_size(start)}
        | {"size": fio_size(used_bytes(target, end - start))}
        for start in starts
    ]


def _but_path(target: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in target.items() if key != "path"}


def _unique(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        plain = re.sub(r"[^\w.-]", "_", name)
        plain = f"_{plain}" if is_global(plain) else plain
        seen[plain] = seen.get(plain, 0) + 1
        unique.append(plain if seen[plain] == 1 else f"{plain}-{seen[plain]}")
    return unique


def _threads(span: Mapping[str, Any], target: Mapping[str, Any]) -> int:
    return int(span["thread_count"] or target["threads"])


def _thread_options(
    load: Load, span: Mapping[str, Any], group: Sequence[Mapping[str, Any]], notes: Notes
) -> _Options:
    """Return threads and depth; orders that threads share become one thread with all I/Os."""
    first = group[0]
    threads = _threads(span, first)
    depth = pooled_depth(span) or first["outstanding"] * len(group)
    if len(group) > 1:
        notes.load("-F", "fio's threads take turns among their files with all of their I/Os, and "
                   "keep no count of them per file")  # fmt: skip
    if any(target["thread_targets"] for target in group) or len({t["weight"] for t in group}) > 1:
        notes.load("-O", "fio has no weights of targets")
    access = first["access"]
    if access["interlocked"] and threads > 1:
        notes.remark("-si", f"fio's threads share no walk: one thread keeps all {threads * depth} "
                     "I/Os outstanding, in the same order of offsets")  # fmt: skip
        threads, depth = 1, threads * depth
    if first["parallel_same_offset"] and depth > 1:
        notes.remark("-p", f"fio's outstanding I/Os share one walk: {threads * depth} threads "
                     "with one I/O each walk the same offsets")  # fmt: skip
        threads, depth = threads * depth, 1
    synchronous = first["memory_mapped"] or load.options.engine in ("sync", "mmap")
    if synchronous and depth > 1:
        notes.remark("-o", "I/O that is mapped or synchronous is one at a time, whatever -o says")
        depth = 1
    options = {"thread": "1", "numjobs": str(threads), "iodepth": str(depth)}
    if first["thread_stride_bytes"]:
        notes.remark("-T", "at the end of the range a walk of fio begins again where its thread "
                     "began, one of DiskSpd at the base")  # fmt: skip
    return options | {"group_reporting": "1"}


def _time_options(load: Load, span: Mapping[str, Any], threads: int, notes: Notes) -> _Options:
    options = {"runtime": str(span["duration_s"])}
    stop = span["stop"]
    if stop["ios"] is None and stop["bytes"] is None and not stop["pass"]:
        options["time_based"] = "1"
    if span["warm_up_s"]:
        options["ramp_time"] = str(span["warm_up_s"])
    if span["cool_down_s"]:
        notes.load("-C", "fio has no load behind the measured time")
    options |= _stop_options(span, threads, notes)
    if span["random_seed"]:
        options["randseed"] = str(span["random_seed"])
        notes.remark("-z", "the same seed gives other offsets in fio")
    if span["measure_latency"]:
        # From submission to completion, as DiskSpd measures; fio's own choice is clat, which
        # leaves the submission out.
        options["lat_percentiles"] = "1"
    if span["interval_series"]:
        options |= {"write_iops_log": "intervals", "log_avg_msec": str(span["interval_ms"])}
    if load.options.verify:
        notes.load("--verify", "fio checks only what the same job wrote before (verify=)")
    return options


def _stop_options(span: Mapping[str, Any], threads: int, notes: Notes) -> _Options:
    stop, options = span["stop"], {}
    if stop["ios"] is not None:
        each = -(-stop["ios"] // threads)
        options = {"number_ios": str(each)}
        if not stop["pass"]:
            # Without io_size a job ends when it has moved as many bytes as its range has, or gone
            # through it, as a pass does.
            most = max(_largest_block(target) for target in span["targets"])
            options["io_size"] = str(each * most)
        if threads > 1:
            notes.remark("--stop-ios", f"fio counts per thread: {each} I/Os of each")
    if stop["bytes"] is not None:
        each = -(-stop["bytes"] // threads)
        if not stop["pass"] or _is_within_a_pass(span, each, notes):
            options["io_size"] = str(each)
        if threads > 1:
            notes.remark("--stop-bytes", f"fio counts per thread: {each} bytes of each")
    _end_notes(span, notes)
    if stop["steady"] is not None:
        notes.remark("--stop-steady", "fio's steadystate= judges range or slope, not both; it is "
                     "left out, and the longest time is taken")  # fmt: skip
    if stop["confidence"] is not None:
        notes.remark("--stop-confidence", "fio does not end when a mean is known: the longest "
                     "time is taken")  # fmt: skip
    return options


def _end_notes(span: Mapping[str, Any], notes: Notes) -> None:
    """Note where a walk that is counted, or a pass, ends elsewhere in fio."""
    stop = span["stop"]
    counted = stop["ios"] is not None or stop["bytes"] is not None
    for target in span["targets"] if counted or stop["pass"] else ():
        overlaps = 0 < target["access"]["align_bytes"] < target["block_bytes"]
        if overlaps and stop["pass"]:
            notes.load("--stop-pass", "where blocks overlap, fio ends once it has moved as many "
                       "bytes as the range has")  # fmt: skip
        elif overlaps and not target["access"]["random_percent"] and target["limit_bytes"]:
            notes.load("-s", "without a time that it has to last, fio takes blocks that overlap "
                       "beyond the end of the range")  # fmt: skip
    if stop["pass"] and any(one["thread_stride_bytes"] for one in span["targets"]):
        notes.load("--stop-pass", "a pass of fio's thread ends at the end of the range")


def _is_within_a_pass(span: Mapping[str, Any], each: int, notes: Notes) -> bool:
    """Whether a thread ends by its bytes before its pass; with io_size fio makes further ones."""
    passes = set()
    for target in span["targets"]:
        end = target["limit_bytes"] or target["create_bytes"]
        block, step = target["block_bytes"], target["access"]["align_bytes"]
        used = used_bytes(target, end - target["base_bytes"]) if end else 0
        passes.add(((used - block) // step + 1) * block if end else 0)
    if 0 in passes or min(passes) < each <= max(passes):
        notes.load("--stop-pass", "with io_size fio goes through the range again and again, whose "
                   "size is not the same for all, or not given (-f)")  # fmt: skip
        return True
    return each <= min(passes)


def _largest_block(target: Mapping[str, Any]) -> int:
    more = target["extensions"]
    mixes = (*more["block_mix"], *more["read_block_mix"], *more["write_block_mix"])
    return max(int(size) for size in (target["block_bytes"], *(o["block_bytes"] for o in mixes)))


def _rate_options(
    load: Load,
    span: Mapping[str, Any],
    target: Mapping[str, Any],
    work: tuple[_Options, Sequence[_Options]],
    notes: Notes,
) -> _Options:
    """Return rates, which in fio are those of one thread, and bursts."""
    own, everyone = work
    options: _Options = {}
    rate, write_percent = target["rate"], target["write_percent"]
    if load.options.total_iops is not None:
        threads = sum(int(one["numjobs"]) for one in everyone)
        each = _shared_rate("--rate", load.options.total_iops, threads, notes)
        options["rate_iops"] = _shares("--rate", each, write_percent, notes)
    elif rate:
        unit, value = next(iter(rate.items()))
        whole = value * _threads(span, target) * (1 if unit == "iops" else 1000)
        each = _shared_rate("-g", whole, int(own["numjobs"]), notes)
        name = "rate_iops" if unit == "iops" else "rate"
        options[name] = _shares("-g", each, write_percent, notes)
    if load.options.arrivals == "poisson":
        options["rate_process"] = "poisson"
    if target["burst_ios"]:
        options["thinktime"] = f"{target['think_ms']}ms"
        options["thinktime_blocks"] = str(target["burst_ios"])
        options["thinktime_blocks_type"] = "issue"
    return options


def _shared_rate(setting: str, whole: int, threads: int, notes: Notes) -> int:
    if whole % threads:
        notes.load(setting, f"a rate of {whole} cannot be shared evenly by {threads} fio threads")
    return max(whole // threads, 1)


def _shares(setting: str, rate: int, write_percent: int, notes: Notes) -> str:
    """Return a rate for reads and writes apart, because fio limits each on its own."""
    if write_percent in (0, 100):
        return str(rate)
    writes = max(round(rate * write_percent / 100), 1)
    reads = max(rate - writes, 1)
    if reads + writes != rate or abs(writes * 100 - rate * write_percent) > 0:
        notes.load(setting, f"fio has whole rates for reads and writes apart: {reads} and {writes}")
    return f"{reads},{writes}"


def _cpu_options(span: Mapping[str, Any], notes: Notes, cpus: Sequence[int] | None) -> _Options:
    if any(cpu["group"] or cpu["index"] is None for cpu in span["cpus"]):
        notes.remark("-a", "fio knows no groups: write the kernel's numbers into cpus_allowed")
        return {}
    chosen = [cpu["index"] for cpu in span["cpus"]] or list(cpus or ())
    order = span["cpu_order"]
    if order["core_first"] or order["span_groups"] or order["efficiency"]:
        notes.remark("-a", "fio has no orders of CPUs: write them into cpus_allowed")
    if span["disable_affinity"]:
        return {}
    if not chosen:
        notes.remark("-a", "DiskSpd pins threads to all CPUs in turn; fio leaves them to the "
                     "scheduler, unless cpus_allowed and its policy say otherwise")  # fmt: skip
        return {}
    return {"cpus_allowed": ",".join(map(str, chosen)), "cpus_allowed_policy": "split"}


def _whole_notes(load: Load, notes: Notes) -> None:
    """Note what stands in no time span."""
    profile = load.profile
    if profile["tracing"]:
        notes.remark("-e", "fio counts no events of the kernel")
    for kind, name in (profile["events"] or {}).items():
        if name:
            notes.remark(f"-y{kind[0]}", "fio has no named events")
    if profile["experiment_flags"]:
        notes.remark("-:", "fio has no such flags")
    if profile["verbose"] or profile["progress_every_ios"] or profile["wait_statistics"]:
        notes.remark("-v, -P", "fio's report is chosen by its own options (--eta, --debug)")
    if "--overwrite" not in load.arguments and _writes(profile):
        notes.remark("-w", "fio does not look at what a target holds before it writes")
    if load.options.interval_latency:
        notes.remark("--interval-latency", "fio logs each I/O instead: write_lat_log")
    if load.options.remove_created:
        notes.remark("--remove-created", "fio's unlink=1 would also remove files that were there")
    if profile["precreate"] != "none":
        notes.remark("PrecreateFiles", "fio makes files before all jobs by itself")


def _writes(profile: Mapping[str, Any]) -> bool:
    return any(one["write_percent"] for span in profile["time_spans"] for one in span["targets"])
