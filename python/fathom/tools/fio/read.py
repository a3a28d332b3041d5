"""fio's JSON and JSON+ (``--output-format=json``, ``json+``), of fio 2.1 to 3.

The names and units are those of fio's ``stat.c`` (``add_ddir_status_json``, ``add_ddir_lat_json``)
and of its documentation, "JSON output" and "JSON+ output"
(https://fio.readthedocs.io/en/latest/fio_doc.html): from 3.0 on, latencies are ``clat_ns`` and
``io_bytes`` are bytes; before, they are ``clat`` in microseconds and ``io_bytes`` in KiB. JSON+
adds the bins of each histogram, a bin being named by the middle of its range, from which fio reads
its own percentiles.

Jobs of one group (``groupid``) ran at the same time and are one result; groups ran one after the
other and are results of their own. So are those of each host, where fio's client had servers; what
it sums as ``All clients`` is a further result of several hosts, and the sum of one.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fathom._nesting import is_nested_too_deep
from fathom._numbers import whole_number
from fathom._text import without_halves
from fathom.errors import InvalidRequestError
from fathom.imported.errors import ImportFormatError
from fathom.imported.merge import merged
from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
    ImportedRow,
    ImportedTarget,
    Reading,
    UnparsedLine,
)
from fathom.tools._lines import decimal
from fathom.tools._units import fio_percent, fio_seconds, read_fio_size
from fathom.tools.fio.job_file import with_options
from fathom.tools.fio.names import SYNCHRONOUS, files_of
from fathom.tools.fio.status import last_of_clients, last_reports, noted
from fathom.units import KIB, MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    # A document, how fio was called, and where it stood in its file.
    _Place = tuple[Mapping[str, Any], str, tuple[int, int] | None]

__all__ = ["fio_results", "looks_like_fio_json", "read_fio_json"]

# fio's job options in the terms of a load.
#
# Names and defaults are those of fio's documentation, "Job file parameters"
# (https://fio.readthedocs.io/en/latest/fio_doc.html).

_Value = TypeVar("_Value")
_ALL = 100


def load_of(names: Sequence[str], options: Sequence[Mapping[str, Any]]) -> ImportedLoad:
    """Return what was requested of a group of jobs, by the name and the options of each.

    Without ``group_reporting`` each clone of a job (``numjobs``) is listed; with it, one stands for
    all.
    """
    threads = 0
    for name in dict.fromkeys(names):
        same = [one for other, one in zip(names, options, strict=True) if other == name]
        threads += max(len(same), _known(read_fio_size, same[0].get("numjobs")) or 1)
    orders = [str(one.get("rw", one.get("readwrite", "read"))) for one in options]
    pairs = [*zip(orders, options, strict=True)] if any(options) else []
    return ImportedLoad(
        block_bytes=_one([_block_bytes(*pair) for pair in pairs]),
        threads=threads,
        outstanding=_one([_outstanding(one) for _, one in pairs]),
        write_percent=_one([_write_percent(*pair) for pair in pairs]),
        random_percent=_one([_random_percent(*pair) for pair in pairs]),
        duration_s=_one([_known(fio_seconds, one.get("runtime")) for one in options]),
        warm_up_s=_one([_known(fio_seconds, one.get("ramp_time")) for one in options]),
    )


def _outstanding(options: Mapping[str, Any]) -> int | None:
    """Return the depth, which engines that wait for each I/O do not have; fio's is one of them."""
    is_waiting = options.get("ioengine", "psync") in SYNCHRONOUS
    return 1 if is_waiting else _known(read_fio_size, options.get("iodepth", 1))


def _one(values: Sequence[_Value | None]) -> _Value | None:
    """Return what all jobs have; None if they differ, or if there is none."""
    return values[0] if len(set(values)) == 1 else None


def _block_bytes(order: str, options: Mapping[str, Any]) -> int | None:
    """Return the block size if there is one: fio's default is 4 KiB, also of what a comma omits."""
    if {"bsrange", "bssplit", "blocksize_range"} & set(options):
        return None
    text = str(options.get("bs", options.get("blocksize", "4096")))
    sizes = [_count(part, options) if part else 4 * KIB for part in text.split(",")]
    reads, writes = sizes[0], sizes[min(1, len(sizes) - 1)]
    kind = _kind(order)
    used = {reads} if kind == "read" else {writes} if kind == "write" else {reads, writes}
    return used.pop() if len(used) == 1 else None


def _kind(order: str) -> str:
    return order.partition(":")[0].removeprefix("rand")


def _known(read: Callable[[str, str], _Value], value: object) -> _Value | None:
    """Return what a reader of fio's options finds; None if it is nothing that fio takes."""
    with suppress(InvalidRequestError):
        return read("", str(value))
    return None


def _count(value: object, options: Mapping[str, Any]) -> int | None:
    """Read a size as fio does; its options say what a k is."""
    kb_base = 1000 if options.get("kb_base") == "1000" else KIB
    return _known(lambda name, text: read_fio_size(name, text, kb_base=kb_base), value)


def _write_percent(order: str, options: Mapping[str, Any]) -> float | None:
    kind = _kind(order)
    if kind in ("read", "write"):
        return 0.0 if kind == "read" else 100.0
    if kind not in ("rw", "readwrite"):
        return None
    is_of_writes = "rwmixwrite" in options
    share = _known(fio_percent, options.get("rwmixwrite" if is_of_writes else "rwmixread", 50))
    if share is None:
        return None
    return float(share if is_of_writes else _ALL - share)


def _random_percent(order: str, options: Mapping[str, Any]) -> float | None:
    """Return the share of random I/Os; of ``randread:8``, one in eight goes to a new offset."""
    kind, _, row = order.partition(":")
    if not kind.startswith("rand"):
        return 0.0
    share = _known(fio_percent, options.get("percentage_random", 100))
    in_a_row = _known(read_fio_size, row) if row else 1
    if share is None or not in_a_row or (in_a_row > 1 and share < _ALL):
        return None
    return share / in_a_row


def targets_of(options: Sequence[Mapping[str, Any]]) -> tuple[ImportedTarget, ...]:
    """Return the files that jobs name."""
    # Several files of one job are parted by colons, of which a name may hold escaped ones.
    names = [files_of(str(one["filename"])) for one in options if "filename" in one]
    paths = dict.fromkeys(path for several in names for path in several)
    size = _count(options[0].get("size"), options[0])
    return tuple(ImportedTarget(path, size if len(paths) == 1 else None) for path in paths)


ORIGIN = "fio-json"
_NS_PER_US = 1000
_MS_PER_S = 1000
_MOST = 1 << 64
_SHOWN = 40
# Where fio measures percentiles, by its options clat_percentiles and lat_percentiles.
_LATENCIES = {"clat": "from submission to completion (clat)", "lat": "from creation (lat)"}
_DIRECTIONS = ("read", "write", "trim")
_UNIFIED = "mixed"
_ALL_CLIENTS = "All clients"
_FIRST_LINE = re.compile(r"^\{", re.MULTILINE)

_Job = dict[str, Any]


def looks_like_fio_json(text: str) -> bool:
    """Whether a text has fio's JSON somewhere."""
    return '"fio version"' in text


def read_fio_json(data: bytes) -> Reading:
    """Return all results of a file, such as ``fio --output=FILE --output-format=json+`` writes.

    A file may hold several documents, and fio's messages before and between them, which are kept
    as unparsed lines. Of reports of one run (``--status-interval``) the last one is its result.

    Raises
    ------
    ImportFormatError
        If it holds no whole document, or one that is not fio's.

    """
    text = data.decode("utf-8", "replace")
    reports: list[tuple[dict[str, Any], list[ImportedResult]]] = []
    unparsed: list[UnparsedLine] = []
    for document, first, last, passed_over in _documents(text):
        unparsed += passed_over
        if document is not None:
            reports.append((document, fio_results(document, lines=(first, last))))
    return Reading(tuple(last_reports(reports)), tuple(unparsed))


def fio_results(
    document: Mapping[str, Any], *, command_line: str = "", lines: tuple[int, int] | None = None
) -> list[ImportedResult]:
    """Return one result for each group of jobs of a parsed document.

    Parameters
    ----------
    document
        What ``json.loads`` made of fio's output.
    command_line
        How fio was called, where that is known: its JSON does not tell.
    lines
        Where the document stood in its file.

    Raises
    ------
    ImportFormatError
        If the document is not one of fio's.

    """
    if not isinstance(document.get("fio version"), str):
        raise ImportFormatError('this JSON is not fio\'s: it has no "fio version"')
    jobs = document.get("jobs") or document.get("client_stats") or []
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise ImportFormatError('this JSON of fio is damaged: its "jobs" are no list of objects')
    earlier = 0
    if "client_stats" in document:
        given = _mapping(document, "global options")
        jobs, earlier = last_of_clients(jobs, given, is_sum=_is_sum)
    found = _groups((document, command_line, lines), jobs)
    return [noted(one, earlier) for one in found]


def _groups(place: _Place, jobs: Sequence[_Job]) -> list[ImportedResult]:
    """Return a result of each group of each host, and of what fio's client sums."""
    sums = [job for job in jobs if _is_sum(job)] if "client_stats" in place[0] else []
    told = [job for job in jobs if job not in sums]
    groups: dict[tuple[str, str], list[_Job]] = {}
    for job in told:
        groups.setdefault((_host(job), str(job.get("groupid"))), []).append(job)
    if sums and len(groups) == 1:
        return [_group(place, told, sums[-1])]
    found = [_group(place, group) for group in groups.values()]
    # What fio sums over groups that ran one after the other was no load at any time.
    if sums and len({group for _host, group in groups}) == 1:
        found.append(_group(place, told, sums[-1]))
    return found


def _is_sum(job: _Job) -> bool:
    """Whether it is no job, but what fio's client adds behind those of its servers (client.c)."""
    return _name(job) == _ALL_CLIENTS and "job options" not in job


def _group(place: _Place, jobs: Sequence[_Job], summed: _Job | None = None) -> ImportedResult:
    """Return jobs of one time as one result, with the sum that fio tells of them, if it does."""
    document, command_line, lines = place
    given = _mapping(document, "global options")
    asked = [with_options(given, _mapping(job, "job options")) for job in jobs]
    options = asked[0]
    parts = [_directions(job) for job in jobs]
    added = parts if summed is None else [_directions(summed)]
    whole = {
        name: merged([one.get(name) for one in added], _percents(added))
        for name in (*_DIRECTIONS, "sync", "total")
    }
    errors = [job for job in jobs if job.get("error")]
    hosts = [*dict.fromkeys(_host(job) for job in jobs)]
    title = ", ".join(dict.fromkeys(_name(job) for job in jobs))
    return ImportedResult(
        origin=ORIGIN,
        tool="fio",
        tool_version=str(document["fio version"]).removeprefix("fio-"),
        title=title if len(hosts) == 1 else f"{_ALL_CLIENTS}: {title}",
        command_line=command_line,
        time_stamp_unix_s=_time_stamp(document, jobs[0]),
        host_name=hosts[0] if len(hosts) == 1 else "",
        measured_s=_measured_s(jobs),
        load=load_of([f"{_host(job)} {_name(job)}" for job in jobs], asked),
        targets=targets_of(asked),
        read=whole["read"],
        write=whole["write"],
        trim=whole["trim"],
        sync=whole["sync"],
        total=merged([whole[name] for name in ("read", "write", "total")], _percents(added)),
        cpus=tuple(_cpu(job) for job in jobs),
        rows=tuple(
            ImportedRow(_name(job), str(options.get("filename", "")), one)
            for job, one in zip(jobs, parts, strict=True)
        ),
        failure="; ".join(f"job {_name(job)} ended with error {job['error']}" for job in errors)
        or None,
        options=options | {"devices": _devices(document)},
        lines=lines,
    )


def _name(job: _Job) -> str:
    return str(job.get("jobname", ""))


def _host(job: _Job) -> str:
    return str(job.get("hostname") or "")


def _directions(job: _Job) -> dict[str, ImportedDirection]:
    if _UNIFIED in job and "read" not in job:
        # unified_rw_reporting=1: reads and writes have one row of figures, and none apart.
        found = {"total": _direction(_mapping(job, _UNIFIED))}
    else:
        found = {name: _direction(_mapping(job, name)) for name in _DIRECTIONS}
        if not found["trim"].ios:
            del found["trim"]
    syncs = _mapping(job, "sync")
    latency = _latency(syncs, "lat", "of a sync")
    count = _whole(syncs, "total_ios")
    if not count:
        return found
    runtime_ms = max(
        _number(_mapping(job, name), "runtime") or 0 for name in (*_DIRECTIONS, _UNIFIED)
    )
    rate = count * _MS_PER_S / runtime_ms if runtime_ms else None
    return found | {"sync": ImportedDirection(ios=count, iops=rate, latency=latency)}


def _direction(data: Mapping[str, Any]) -> ImportedDirection:
    found = {
        kind: one
        for kind in ("clat", "lat", "slat")
        if (one := _latency(data, kind, _LATENCIES.get(kind, f"of submission ({kind})")))
    }
    # The one with percentiles, if any has them: clat, or lat where lat_percentiles is set.
    ranked = [kind for kind in _LATENCIES if kind in found]
    with_percentiles = [kind for kind in ranked if found[kind].percentiles_ns]
    chosen = next(iter([*with_percentiles, *ranked]), None)
    return ImportedDirection(
        ios=_whole(data, "total_ios"),
        bytes=_bytes(data),
        iops=_number(data, "iops"),
        mib_per_s=_mib_per_s(data),
        iops_std=_number(data, "iops_stddev") if _number(data, "iops_samples") else None,
        latency=found[chosen] if chosen else None,
        other_latencies={kind: one for kind, one in found.items() if kind != chosen},
    )


def _bytes(data: Mapping[str, Any]) -> int | None:
    count = _whole(data, "io_bytes")
    # fio before 3.0 has no bw_bytes, and counts io_bytes in KiB.
    is_old = "bw_bytes" not in data and "io_kbytes" not in data
    return None if count is None else count * (KIB if is_old else 1)


def _mib_per_s(data: Mapping[str, Any]) -> float | None:
    exact = _number(data, "bw_bytes")
    if exact is not None:
        return exact / MIB
    kib_per_s = _number(data, "bw")
    return None if kib_per_s is None else kib_per_s * KIB / MIB


def _latency(data: Mapping[str, Any], kind: str, what: str) -> ImportedLatency | None:
    name, unit_ns = (f"{kind}_ns", 1) if f"{kind}_ns" in data else (kind, _NS_PER_US)
    found = _mapping(data, name)
    count = _whole(found, "N")
    # Before 3.0 there is no count; the I/Os of the direction stand for it.
    count = _whole(data, "total_ios") if count is None and found else count
    if not found or not count:
        return None
    figures = {key: _number(found, key) for key in ("mean", "stddev", "min", "max")}
    scaled = {key: None if one is None else one * unit_ns for key, one in figures.items()}
    bins = _mapping(found, "bins")
    return ImportedLatency(
        what=what,
        count=count,
        mean_ns=scaled["mean"],
        std_ns=scaled["stddev"],
        min_ns=scaled["min"],
        max_ns=scaled["max"],
        percentiles_ns=_percentiles(found, unit_ns),
        histogram=_bins(bins, unit_ns) if bins else None,
    )


def _percentiles(data: Mapping[str, Any], unit_ns: int) -> dict[float, float]:
    found = _mapping(data, "percentile")
    # fio 2 fills the list up to 20 entries with "0.00".
    known = {key: _number(found, key) for key in found if _percent(key) > 0}
    return {_percent(key): one * unit_ns for key, one in known.items() if one is not None}


def _percent(key: str) -> float:
    percent = decimal(key)
    if percent is None:
        raise ImportFormatError(f"this JSON of fio is damaged: percentile {key[:_SHOWN]!r}")
    return percent


def _bins(data: Mapping[str, Any], unit_ns: int) -> dict[int, int] | None:
    # fio before 3.0 names its bins by their number, which its tools alone can read.
    if unit_ns != 1:
        return None
    counts: dict[int, int] = {}
    for value, count in data.items():
        value_ns, ios = whole_number(value), whole_number(f"{count}")
        if value_ns is None or ios is None:
            shown = f"{value[:_SHOWN]!r}: {f'{count}'[:_SHOWN]!r}"
            raise ImportFormatError(f"this JSON of fio is damaged: a bin has {shown}")
        counts[value_ns] = ios
    return dict(sorted((value_ns, count) for value_ns, count in counts.items() if count))


def _percents(parts: Sequence[Mapping[str, ImportedDirection]]) -> list[float]:
    """Return the percentiles that any part has, so that a sum tells the same ones."""
    latencies = [one.latency for part in parts for one in part.values() if one.latency]
    return sorted({percent for one in latencies for percent in one.percentiles_ns})


def _measured_s(jobs: Sequence[_Job]) -> float | None:
    names = (*_DIRECTIONS, _UNIFIED)
    times = [_number(_mapping(job, name), "runtime") for job in jobs for name in names]
    known = [one for one in times if one]
    if not known:
        known = [one for job in jobs if (one := _number(job, "job_runtime"))]
    return max(known) / _MS_PER_S if known else None


def _time_stamp(document: Mapping[str, Any], job: _Job) -> float | None:
    """Return the start, which fio tells from 3.37 on, or when it wrote the document."""
    for source, name, unit in (
        (job, "job_start", _MS_PER_S),
        (document, "timestamp_ms", _MS_PER_S),
    ):
        found = _number(source, name)
        if found is not None:
            return found / unit
    return _number(document, "timestamp")


def _devices(document: Mapping[str, Any]) -> str:
    found = document.get("disk_util")
    disks = found if isinstance(found, list) else []
    return ", ".join(str(disk.get("name")) for disk in disks if isinstance(disk, dict))


def _cpu(job: _Job) -> ImportedCpu:
    user, kernel = _number(job, "usr_cpu"), _number(job, "sys_cpu")
    used = None if user is None or kernel is None else user + kernel
    return ImportedCpu(_name(job), used, user, kernel, None)


def _mapping(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    if found is not None and not isinstance(found, dict):
        raise ImportFormatError(f'this JSON of fio is damaged: "{name}" is no object')
    return dict(found or {})


def _number(data: Mapping[str, Any], name: str) -> float | None:
    found = data.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ImportFormatError(f'this JSON of fio is damaged: "{name}" is no number')
    # No number of fio has more than 64 bits; a NaN is not less than anything.
    if not abs(found) <= _MOST:
        raise ImportFormatError(f'this JSON of fio is damaged: "{name}" is an absurd number')
    return found


def _whole(data: Mapping[str, Any], name: str) -> int | None:
    found = _number(data, name)
    return None if found is None else round(found)


def _documents(
    text: str,
) -> Iterator[tuple[dict[str, Any] | None, int, int, list[UnparsedLine]]]:
    """Return each document with its lines, and the lines before it, and those behind the last."""
    decoder = json.JSONDecoder()
    end, count = 0, 0
    # The line in which the part behind ``end`` begins.
    line = 1
    while (start := _FIRST_LINE.search(text, end)) is not None:
        passed_over = _lines(text[end : start.start()], line)
        first = line + text.count("\n", end, start.start())
        try:
            document, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise ImportFormatError(_broken(text, first, error)) from error
        if is_nested_too_deep(document):
            raise ImportFormatError(_broken(text, first, RecursionError()))
        document = without_halves(document)
        count += 1
        line = first + text.count("\n", start.start(), end)
        yield document, first, line, passed_over
    if not count:
        raise ImportFormatError("there is no JSON of fio: no line begins with {")
    yield None, 0, 0, _lines(text[end:], line)


def _broken(text: str, first: int, error: Exception) -> str:
    """Say where a document breaks, and whether it was cut off there."""
    how, where = "is damaged", ""
    if isinstance(error, json.JSONDecodeError):
        is_cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        how = "is cut off" if is_cut else how
        where = f" in line {error.lineno}, column {error.colno}: {error.msg}"
    elif isinstance(error, RecursionError):
        where = ": it is nested too deep"
    return (
        f"the JSON that begins in line {first} {how}{where}; nothing of the file was imported: "
        "copy it once more, or run fio once more"
    )


def _lines(text: str, number: int) -> list[UnparsedLine]:
    """Return the lines of a part that have any word, counted from this number."""
    return [
        UnparsedLine(number + index, line.strip("\r"), is_within=False)
        for index, line in enumerate(text.split("\n"))
        if line.strip()
    ]
