"""From fio's jobs to DiskSpd's arguments."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.tools._arguments import target_argument
from fathom.tools._units import fio_number, fio_percent, fio_seconds, read_fio_size, sized
from fathom.tools.fio._write_target import COUNTING_PATTERN
from fathom.tools.fio.ends import ends_of, last_block_note, reach_bytes
from fathom.tools.fio.names import SYNCHRONOUS, files_of
from fathom.tools.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools.fio.job_file import FioJob
    from fathom.tools.notes import Note

__all__ = ["FioLoads", "from_fio"]

# fio's engines, data, rates and times in DiskSpd's words; what is read is taken out.

_BYTES_PER_MS = 1000
_MILLIS = 1000
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
        "units": "unit_base",
        "files": "create_on_open create_serialize fallocate allow_file_create overwrite "
        "allow_mounted_write",
        "data": "refill_buffers scramble_buffers buffer_compress_chunk",
        "CPUs": "cpus_allowed_policy",
        "bursts": "thinktime_blocks_type",
        "order": "norandommap softrandommap",
    }.items()
    for name in names.split()
}  # fmt: skip


def engine_arguments(options: dict[str, str], notes: Notes, *, writes: bool) -> list[str]:
    """Return depth, threads, caches, data, priority and CPUs."""
    engine = options.pop("ioengine", "psync")
    depth = options.pop("iodepth", "1")
    arguments = [f"-t{options.pop('numjobs', '1')}"]
    arguments.append("-o1" if engine in SYNCHRONOUS else f"-o{fio_number('iodepth', depth)}")
    if engine in _ENGINES:
        arguments += [_ENGINES[engine]] if _ENGINES[engine] else []
    elif engine not in SYNCHRONOUS:
        notes.load("ioengine", f"there is no {engine} here; io_uring is used")
    arguments += _caches(options, notes)
    data = _data(options, notes)
    arguments += data if writes else []
    if "cpus_allowed" in options:
        arguments.append(f"-a{options.pop('cpus_allowed')}")
    arguments += _priority(options, notes)
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


def _priority(options: dict[str, str], notes: Notes) -> list[str]:
    """Return the priority; -I2 is the least one of fio's second class."""
    kind, level = options.pop("prioclass", "0"), options.pop("prio", "0")
    if kind == "3":
        return ["-I1"]
    if (kind, level) == ("2", "7"):
        return ["-I2"]
    if kind not in ("0", "2") or level != "0":
        notes.load("prioclass", f"DiskSpd has no equal of class {kind} with prio={level}")
    return []


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


def time_arguments(options: dict[str, str], notes: Notes) -> list[str]:
    """Return times and what is measured."""
    arguments = []
    runtime = options.pop("runtime", None)
    if runtime is None:
        arguments.append("-d86400")
        notes.remark("runtime", "there is none: -d is a day")
    else:
        arguments.append(f"-d{_whole_seconds('runtime', runtime, notes)}")
    ramp = options.pop("ramp_time", "0")
    arguments.append(f"-W{_whole_seconds('ramp_time', ramp, notes)}")
    seed = options.pop("randseed", None)
    if seed:
        arguments.append(f"-z{seed}")
        notes.remark("randseed", "the same seed gives other offsets in DiskSpd")
    interval = options.pop("log_avg_msec", None)
    if options.pop("write_iops_log", None) is not None or interval:
        arguments.append(f"-D{interval or 1000}")
    return [*arguments, "-L"]


def _whole_seconds(name: str, text: str, notes: Notes) -> int:
    seconds = fio_seconds(name, text)
    whole = math.ceil(seconds)
    if whole != seconds:
        notes.remark(name, f"DiskSpd has whole seconds: {whole} for {seconds:g}")
    return whole


def _rates(options: dict[str, str], ways: _Ways, files: int, notes: Notes) -> list[str]:
    arguments = []
    for name, unit in (("rate_iops", "i"), ("rate", "")):
        if name not in options:
            continue
        rates = [read_fio_size(name, one or "0") for one in ways.of(options.pop(name))]
        if 0 in rates:
            if any(rates):
                notes.load(name, "DiskSpd has no rate for reads or writes alone: there is none")
            continue
        if len(rates) > 1:
            both = " and ".join(map(str, rates))
            notes.load(name, "DiskSpd has one rate for reads and writes together, fio one for "
                       f"each: {both}")  # fmt: skip
        scale = files * (1 if unit else _BYTES_PER_MS)
        if sum(rates) % scale:
            notes.load(name, f"-g has whole {'I/Os' if unit else 'bytes per millisecond'}, and is "
                       "that of each file")  # fmt: skip
        arguments.append(f"-g{max(round(sum(rates) / scale), 1)}{unit}")
    if options.pop("rate_process", "linear") == "poisson":
        arguments.append("--arrivals=poisson")
    return arguments + _bursts(options, notes)


def _bursts(options: dict[str, str], notes: Notes) -> list[str]:
    think = options.pop("thinktime", None)
    if not think:
        return []
    millis = fio_seconds("thinktime", think, "us") * _MILLIS
    if not millis:
        return []
    whole = max(round(millis), 1)
    if whole != millis:
        notes.load("thinktime", f"-j has whole milliseconds: {whole} for {millis:g}")
    return [f"-i{options.pop('thinktime_blocks', '1')}", f"-j{whole}"]


def rest_notes(options: dict[str, str], notes: Notes) -> None:
    """Note whatever was not read: what has no equal, and what does not concern the load."""
    for name, value in options.items():
        if name in _SURROUNDING:
            notes.remark(name, f"concerns fio's {_SURROUNDING[name]}, not the load")
        else:
            notes.load(name, f"DiskSpd has no equal of {name}{'=' if value else ''}{value}")


@dataclass(frozen=True)
class _Ways:
    """Whether a job reads, and whether it writes."""

    reads: bool
    writes: bool

    def of(self, text: str) -> list[str]:
        """Return what a value says of reads and of writes, as far as the job has them.

        What is alone holds for both; what is left out before or behind a comma is empty (fio(1)).
        """
        both = [one.strip() for one in text.split(",")]
        both = [both[0], both[min(1, len(both) - 1)]]
        return [one for one, has in zip(both, (self.reads, self.writes), strict=True) if has]


def _ways(rw: str) -> _Ways:
    kind = rw.partition(":")[0].removeprefix("rand")
    return _Ways(reads=kind != "write", writes=kind != "read")


# fio's order, place and size of I/Os in DiskSpd's words; what is read is taken out.

_ALL = 100
_RW = re.compile(r"(rand)?(read|write|rw|trim|readwrite|trimwrite)(?::(-?\w+))?")
_DEFAULT_BLOCK_BYTES = 4096  # fio(1), `blocksize`.


def access_arguments(options: dict[str, str], ways: _Ways, files: int, notes: Notes) -> list[str]:
    """Return block size, order, mix and range."""
    found = _RW.fullmatch(options.pop("rw", "read"))
    if found is None or "trim" in found[2]:
        raise InvalidRequestError("rw: there is read, write, rw, and each with rand before it")
    is_random, kind, more = bool(found[1]), found[2], found[3]
    reach = 0 if is_random else _reach(options)
    block = _block(options, ways, notes)
    arguments = [*block.arguments]
    if is_random:
        arguments += _random(options, block, (more, ways), notes)
    else:
        arguments += _sequential(options, block, more, notes)
    arguments += _mix(options, kind, is_random=is_random, notes=notes)
    places = _range(options, files, reach, notes)
    if not is_random and not block.is_split:
        last_block_note(arguments, places, notes)
    arguments += places
    for name in ("fsync", "fdatasync"):
        every = fio_number(name, options.pop(name, "0"))
        if every and kind != "read":
            arguments.append(f"--{name}={every}")
    return arguments


class _Block:
    def __init__(self, least_bytes: int, arguments: list[str], *, is_split: bool = False) -> None:
        self.least_bytes = least_bytes
        self.arguments = arguments
        self.is_split = is_split


def _block(options: dict[str, str], ways: _Ways, notes: Notes) -> _Block:
    if "bsrange" in options:
        low = options.pop("bsrange").split("-", maxsplit=1)[0]
        notes.load("bsrange", "DiskSpd has shares of sizes (--block-mix), no range; the least "
                   "size is taken")  # fmt: skip
        return _plain(read_fio_size("bsrange", low))
    if "bssplit" in options:
        options.pop("bs", None)
        return _split(ways.of(options.pop("bssplit")))
    # What is left out has the default; a third size is that of trims (fio(1), `blocksize`).
    sizes = [
        read_fio_size("bs", one) if one else _DEFAULT_BLOCK_BYTES
        for one in ways.of(options.pop("bs", ""))
    ]
    if len({*sizes}) == 1:
        return _plain(sizes[0])
    reads, writes = sizes
    parts = [f"--read-block-mix={reads}:100", f"--write-block-mix={writes}:100"]
    return _Block(min(sizes), [f"-b{reads}", *parts])


def _plain(size_bytes: int) -> _Block:
    return _Block(size_bytes, [f"-b{sized(size_bytes)}"])


def _split(parts: Sequence[str]) -> _Block:
    """Read ``bssplit=4k/60:8k/40``, of reads and of writes if these are apart (fio(1))."""
    mixes = [_shares(part) for part in dict.fromkeys(parts)]
    least = min(size for mix in mixes for size, _ in mix)
    words = [",".join(f"{sized(size)}:{share}" for size, share in mix) for mix in mixes]
    names = ["--block-mix"] if len(mixes) == 1 else ["--read-block-mix", "--write-block-mix"]
    pairs = [f"{name}={mix}" for name, mix in zip(names, words, strict=False)]
    return _Block(least, [f"-b{sized(least)}", *pairs], is_split=True)


def _shares(text: str) -> list[tuple[int, int]]:
    """Return sizes with their shares; those without one share the rest, and the last has all of it.

    That is what fio does, of which the shares of three sizes are 33, 33 and 34.
    """
    pairs = []
    for one in text.split(":"):
        size, _, share = one.partition("/")
        pairs.append(
            (read_fio_size("bssplit", size), fio_percent("bssplit", share) if share else -1)
        )
    missing = [place for place, (_, share) in enumerate(pairs) if share < 0]
    left = max(_ALL - sum(share for _, share in pairs if share >= 0), 0)
    for number, place in enumerate(missing, start=1):
        each = left // (len(missing) - number + 1)
        pairs[place] = (pairs[place][0], each)
        left -= each
    return pairs


def _random(
    options: dict[str, str], block: _Block, kind: tuple[str | None, _Ways], notes: Notes
) -> list[str]:
    more, ways = kind
    align = options.pop("ba", None)
    if block.is_split and align is None:
        notes.load("bssplit", "fio aligns all sizes of a mix to the least one; DiskSpd each to "
                   "itself")  # fmt: skip
    arguments = ["-r" if align is None else f"-r{sized(read_fio_size('ba', align))}"]
    if options.pop("norandommap", None) in (None, "0"):
        notes.load("norandommap", "fio visits each block once before any again; DiskSpd draws "
                   "each offset again")  # fmt: skip
    shares = ways.of(options.pop("percentage_random", "100"))
    percent, other = (fio_percent("percentage_random", one or "100") for one in (shares * 2)[:2])
    if percent != other:
        notes.load("percentage_random", f"reads have {percent} % in fio, and writes {other} %; "
                   "DiskSpd has one share, see --read-pattern and --write-pattern")  # fmt: skip
    if percent == 0:
        return ["-s"]
    if more is not None:
        count = fio_number("rw", more)
        if not count:
            raise InvalidRequestError(f"rw: {more} I/Os in a row are none")
        notes.load("rw", f"{count} I/Os in a row between random offsets; DiskSpd's runs have this "
                   "length on average")  # fmt: skip
        percent = max(round(_ALL / count), 1)
    if percent < _ALL:
        arguments.append(f"-rs{percent}")
    options.pop("random_generator", None)
    return arguments + _distribution(options.pop("random_distribution", "random"), notes)


def _distribution(text: str, notes: Notes) -> list[str]:
    kind, _, rest = text.partition(":")
    if kind == "random":
        return []
    if kind in ("zipf", "pareto"):
        return [f"--skew={kind}:{rest.split('/')[0] or ('1.1' if kind == 'zipf' else '0.2')}"]
    if kind == "normal":
        return [f"--skew=normal:{rest}%"]
    if kind in ("zoned", "zoned_abs"):
        zones = [one.partition("/")[::2] for one in rest.split(",")[0].split(":")]
        if kind == "zoned":
            return ["-rdpct" + ":".join(f"{share}/{size}" for share, size in zones)]
        sizes = [(share, sized(read_fio_size("zone", size))) for share, size in zones]
        return ["-rdabs" + ":".join(f"{share}/{size}" for share, size in sizes)]
    notes.load("random_distribution", f"DiskSpd has no {kind}")
    return []


def _sequential(
    options: dict[str, str], block: _Block, more: str | None, notes: Notes
) -> list[str]:
    options.pop("norandommap", None)
    if "ba" in options:
        options.pop("ba")
        notes.remark("blockalign", "has no meaning for sequential I/O")
    arguments = ["-s"]
    if more is not None:
        sign = -1 if more.startswith("-") else 1
        stride = block.least_bytes + sign * read_fio_size("rw", more.lstrip("-"))
        if stride < 1:
            raise InvalidRequestError(f"rw: DiskSpd does not walk backwards ({more})")
        arguments = [f"-s{sized(stride)}"]
        if sign < 0 and any(_begins_late(options, one) for one in ("offset", "offset_increment")):
            notes.load("rw", "where blocks overlap, fio begins near the end of the range unless "
                       "that begins at 0; DiskSpd at its beginning")  # fmt: skip
    increment = options.pop("offset_increment", None)
    if increment and options.get("numjobs", "1") != "1":
        arguments.append(f"-T{sized(read_fio_size('offset_increment', increment))}")
    return arguments


def _begins_late(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "0").rstrip("%bB") not in ("", "0")


def _mix(options: dict[str, str], kind: str, *, is_random: bool, notes: Notes) -> list[str]:
    reads = options.pop("rwmixread", None)
    writes = options.pop("rwmixwrite", None)
    if kind == "read":
        return []
    percent = _ALL
    if kind in ("rw", "readwrite"):
        percent = (
            _ALL - fio_percent("rwmixread", reads or "50")
            if writes is None
            else fio_percent("rwmixwrite", writes)
        )
        if not is_random and 0 < percent < _ALL:
            # fio's two walks are DiskSpd's patterns, which also keep the shares exactly.
            notes.remark("rwmixwrite", "DiskSpd keeps the share exactly; fio draws it")
            return [f"-w{percent}", "--read-pattern=sequential", "--write-pattern=sequential"]
    return [f"-w{percent}"]


def _reach(options: Mapping[str, str]) -> int:
    """Return how far behind the first thread's first offset the last thread begins."""
    threads = fio_number("numjobs", options.get("numjobs", "1"))
    increment = options.get("offset_increment", "0")
    return read_fio_size("offset_increment", increment) * (threads - 1) if threads > 1 else 0


def _range(options: dict[str, str], files: int, reach: int, notes: Notes) -> list[str]:
    """Return the range, and the file's size; the files of a job share what ``size`` says."""
    arguments = []
    base = _bytes_of("offset", options, notes)
    size_bytes = _bytes_of("size", options, notes) // files
    made = options.pop("filesize", None)
    if made:
        least, _, most = made.partition("-")
        made_bytes = read_fio_size("filesize", least)
        arguments.append(f"-c{sized(made_bytes)}")
        if most:
            notes.load("filesize", "fio draws the size of each file; the least one is taken")
        if base + size_bytes < made_bytes:
            # fio goes over the whole file, and size says only how much a job moves.
            size_bytes = 0
        size_bytes = min(size_bytes, max(made_bytes - base, 0))
    elif size_bytes:
        notes.remark("size", "fio makes a file of this size if there is none; add -c for it")
    if size_bytes and reach:
        notes.load("offset_increment", "each thread of fio stays within size bytes behind its "
                   "first offset; DiskSpd's go through the range of all")  # fmt: skip
        size_bytes += reach
    if base:
        arguments.append(f"-B{sized(base)}{f':{sized(size_bytes)}' if size_bytes else ''}")
    elif size_bytes:
        arguments.append(f"-f{sized(size_bytes)}")
    return arguments


def _bytes_of(name: str, options: dict[str, str], notes: Notes) -> int:
    text = options.pop(name, "0") or "0"
    if text.endswith("%"):
        notes.load(name, f"DiskSpd has no {name} in percent: give -f or -B in bytes")
        return 0
    return read_fio_size(name, text)


@dataclass(frozen=True)
class FioLoads:
    """What fio's jobs ask for.

    Attributes
    ----------
    command_lines
        DiskSpd's arguments, one list for what runs at one time; the lists run one after the other.
    notes
        What DiskSpd cannot say.

    """

    command_lines: list[list[str]]
    notes: list[Note]


@dataclass(frozen=True)
class _Job:
    name: str
    arguments: list[str]
    targets: list[str]
    waits: bool
    threads: int
    ends: dict[str, int]

    def is_load_of(self, other: _Job) -> bool:
        return (self.arguments, self.ends) == (other.arguments, other.ends)

    def line(self, same: Sequence[_Job]) -> list[str]:
        """Return a command line for this job and all others of its load, whose counts are one."""
        threads = sum(job.threads for job in same)
        ends = [f"{name}={threads * count}" if count else name for name, count in self.ends.items()]
        return [*self.arguments, *ends, *(path for job in same for path in job.targets)]


def from_fio(jobs: Sequence[FioJob]) -> FioLoads:
    """Return DiskSpd's arguments for fio's jobs; jobs of one load become one command line.

    Raises
    ------
    InvalidRequestError
        If a job has no file or pattern that DiskSpd knows; the message names the job.

    """
    notes = Notes()
    read = [_read(job, notes) for job in jobs]
    lines: list[list[str]] = []
    for group in _groups(read):
        first = group[0]
        lines.append(first.line([job for job in group if job.is_load_of(first)]))
        for other in group:
            if other.is_load_of(first):
                continue
            notes.load(
                other.name,
                f"runs at the same time as {first.name} with another load, which one command line "
                "cannot say; it has a line of its own",
            )
            lines.append(other.line([other]))
    return FioLoads(lines, notes.found)


def _groups(jobs: Sequence[_Job]) -> list[list[_Job]]:
    groups: list[list[_Job]] = []
    for job in jobs:
        if job.waits or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups


def _read(job: FioJob, notes: Notes) -> _Job:
    options = {name: value.strip("'\"") for name, value in job.options.items()}
    if "runtime" in options and not fio_seconds("runtime", options["runtime"]):
        # A runtime of nought is none (fio(1)).
        del options["runtime"]
    if options.get("kb_base") == "1024":
        del options["kb_base"]
    waits = _is_on(options.pop("stonewall", "0"))
    threads = fio_number("numjobs", options.get("numjobs", "1"))
    try:
        targets = _targets(job.name, options, notes)
        reach = reach_bytes(options, len(targets))
        timed = "runtime" in options and _is_on(options.get("time_based", "0"))
        options.pop("time_based", None)
        ways = _ways(options.get("rw", "read"))
        access = access_arguments(options, ways, len(targets), notes)
        writes = any(one.startswith("-w") for one in access)
        ends = ends_of(options, reach, access, notes, timed=timed)
        arguments = [
            *access,
            *_rates(options, ways, len(targets), notes),
            *engine_arguments(options, notes, writes=writes),
            *time_arguments(options, notes),
        ]
    except InvalidRequestError as error:
        raise InvalidRequestError(f"job {job.name}: {error}") from error
    rest_notes(options, notes)
    return _Job(job.name, arguments, targets, waits, threads, ends)


def _targets(name: str, options: dict[str, str], notes: Notes) -> list[str]:
    """Return the files; without ``filename`` fio makes names from the job's (fio(1), directory)."""
    folder, *more = files_of(options.pop("directory", ""))
    if more:
        notes.load("directory", "fio parts its threads among folders; the first one is taken")
    given = options.pop("filename", None)
    if given == "":
        raise InvalidRequestError("filename names no file; behind ';' and '#' fio reads a comment")
    if given:
        paths = files_of(given)
    else:
        paths = [f"{name}.0.0"]
        if options.get("numjobs", "1") != "1":
            notes.load("filename", "fio makes a file for each thread; DiskSpd's threads share one")
    if len(paths) > 1:
        notes.load("filename", "a fio job spreads its iodepth over its files; DiskSpd's -o is for "
                   "each file")  # fmt: skip
    return [target_argument(f"{folder}/{path}" if folder else path) for path in paths]
