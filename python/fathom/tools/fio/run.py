"""fio behind the seam.

Latencies are fio's ``lat``: from an I/O's making to its completion, which includes the submission
as our service time does. Its histogram (JSON+) has 64 parts for each power of two, against our
1024, so that a percentile is known to about 1 %.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._text import json_of, one_line
from fathom.errors import InvalidRequestError
from fathom.runners.known_mean import known_mean
from fathom.tools._process import told_by
from fathom.tools.fio.names import files_of, is_plain
from fathom.tools.fio.write import to_fio
from fathom.tools.foreign import NO_WAITS, ToolSpan
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools._process import ToolRun
    from fathom.tools.fio.job_file import FioJob
    from fathom.tools.load import Load

__all__ = ["Fio", "find_fio"]

_REPORT, _LOG = "report.json", "intervals"
_LOG_MS = 100
_VERSION_LENGTH = 60
_PERCENT = 100
_MOST = 1 << 63
_SUB_BUCKET_BITS = 10  # Of our histograms (measure/latency.rs).
# Words of fio that tell nothing of a fault.
_IDLE_WORDS = ("note:", "fio: this platform")


def find_fio(name: str = "fio") -> Fio:
    """Return fio as it is installed.

    Raises
    ------
    InvalidRequestError
        If it is not, or if what has its name is not fio 3, or does not say so in time.

    """
    path = shutil.which(name)
    if path is None:
        raise InvalidRequestError(f"{name} is not installed (Debian: apt-get install fio)")
    output, errors = told_by(path, "--version")
    version = one_line(output.strip())
    if not version.startswith("fio-3") or len(version) > _VERSION_LENGTH:
        said = one_line((output.strip() or errors.strip()).partition("\n")[0])[:_VERSION_LENGTH]
        raise InvalidRequestError(f"{path} is not fio 3: it says {said!r}")
    return Fio(path, version.removeprefix("fio-"))


class Fio:
    """fio 3."""

    name = "fio"

    def __init__(self, path: str, version: str) -> None:
        """Use this executable."""
        self._path = path
        self.version = version

    def command(self, load: Load, folder: Path) -> list[str]:
        """Write the job file, and return the command; see ``Tool.command``."""
        names = _names(load)
        jobs, notes = to_fio(load, cpus=sorted(os.sched_getaffinity(0)), names=names)
        other = [str(note) for note in notes if note.changes_load]
        if other:
            raise InvalidRequestError(f"fio cannot make this load: {'; '.join(other)}")
        _link(names, folder)
        report = ["--output-format=json+", f"--output={_REPORT}", "--eta=never"]
        return [self._path, *report, *(one for job in jobs for one in _own_options(job))]

    def measured(self, load: Load, folder: Path, run: ToolRun) -> ToolSpan:
        """Read the report; see ``Tool.measured``."""
        said = _text(folder / _REPORT)
        failure = _failure(run, said)
        try:
            jobs = _jobs_of(json_of(said[said.index("{") :]))
        except _NoReportError as error:
            return ToolSpan(0, [], None, failure or f"fio's report cannot be read: {error}")
        except (ValueError, RecursionError):
            return ToolSpan(0, [], None, failure or f"fio left no report: {_last_words(said)}")
        faults = sorted({_error_words(job["error"]) for job in jobs if job.get("error")})
        failure = failure or ("; ".join(faults) or None)
        span = load.profile["time_spans"][0]
        runtime_ms = max((job[kind]["runtime"] for job in jobs for kind in ("read", "write")),
                         default=0)  # fmt: skip
        whole = sum(job[kind]["total_ios"] for job in jobs for kind in ("read", "write"))
        if not (failure or whole or run.interrupted):
            failure = "fio measured no I/O"
        names = _names(load)
        threads = [_thread(index, job, span, names) for index, job in enumerate(jobs)]
        series = _series(folder, runtime_ms)
        return ToolSpan(runtime_ms * NS_PER_MS, threads, known_mean(series, _LOG_MS, span), failure)


def _error_words(number: int) -> str:
    return os.strerror(number) if number < 1 << 31 else f"error {number}"


class _NoReportError(Exception):
    """What is there is JSON, and no report of fio: the words say what is missing."""


_COUNTS = ("total_ios", "io_bytes", "short_ios", "runtime")
_TIMES = ("usr_cpu", "sys_cpu", "job_runtime")


def _jobs_of(document: Any) -> list[Any]:  # noqa: ANN401 - JSON may be anything.
    """Return the jobs of a report, in which all that is read of them is there, and is a number.

    A part that is missing is unknown: it is not taken for a direction without any I/O.
    """
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise _NoReportError("it has no 'jobs'")
    for number, job in enumerate(jobs):
        place = f"jobs[{number}]"
        _check_numbers(job, _TIMES, place)
        options = job.get("job options", {})
        if not isinstance(options, dict) or not all(isinstance(v, str) for v in options.values()):
            raise _NoReportError(f"{place} has no 'job options'")
        _check_numbers({"error": 0, **job}, ("error",), place, is_whole=True)
        for kind in ("read", "write"):
            _check_direction(job.get(kind), f"{place}: its '{kind}'")
    return jobs


def _check_direction(found: Any, place: str) -> None:  # noqa: ANN401 - JSON may be anything.
    _check_numbers(found, _COUNTS, place, is_whole=True)
    latency = found.get("lat_ns", {})
    bins = latency.get("bins", {}) if isinstance(latency, dict) else None
    if not isinstance(bins, dict):
        raise _NoReportError(f"{place} has no latencies in 'lat_ns'")
    for names, is_whole in ((("min", "max"), True), (("mean", "stddev"), False)):
        told = [name for name in names if name in latency]
        _check_numbers(latency, told, f"{place}, 'lat_ns'", is_whole=is_whole)
    if not all(one.isascii() and one.isdigit() for one in bins):
        raise _NoReportError(f"{place} has latencies that are no numbers")
    _check_numbers(bins, [*bins], f"{place}, 'bins'", is_whole=True)


def _check_numbers(
    found: Any,  # noqa: ANN401 - As above.
    names: Sequence[str],
    place: str,
    *,
    is_whole: bool = False,
) -> None:
    if not isinstance(found, dict):
        raise _NoReportError(f"{place} is missing")
    kinds = int if is_whole else int | float
    for name in names:
        value = found.get(name)
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < _MOST:
            raise _NoReportError(f"{place} has no '{name}'")


def _own_options(job: FioJob) -> list[str]:
    """Return a job as this runner needs it: each thread apart, in files that are there."""
    options = {key: value for key, value in job.options.items() if key != "group_reporting"}
    options |= {
        # Our engine has made the files, behind its guard.
        "allow_file_create": "0",
        "allow_mounted_write": "0",
        "lat_percentiles": "1",
        "clat_percentiles": "0",
        "write_iops_log": _LOG,
        "log_avg_msec": str(_LOG_MS),
    }
    return [f"--name={job.name}", *(f"--{key}={value}" for key, value in options.items())]


def _names(load: Load) -> dict[str, str]:
    """Return fio's name of each target: its path, or a link where fio would read another."""
    paths = dict.fromkeys(target["path"] for target in load.profile["time_spans"][0]["targets"])
    whole = {path: f"{Path.cwd() / path}" for path in paths}
    return {
        path: told if is_plain(told) else f"target-{index}"
        for index, (path, told) in enumerate(whole.items())
    }


def _link(names: Mapping[str, str], folder: Path) -> None:
    """Make the links in the folder in which the command runs."""
    for path, told in names.items():
        if not told.startswith("/"):
            (folder / told).symlink_to(Path.cwd() / path)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _failure(run: ToolRun, said: str) -> str | None:
    if run.overdue:
        return "fio did not end in time and was ended"
    if run.return_code == 0 or run.interrupted:
        return None
    words = _last_words(f"{said.partition('{')[0]}\n{run.errors}")
    return f"fio ended with code {run.return_code}: {words}"


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith(_IDLE_WORDS)]
    return "; ".join(dict.fromkeys(told[-3:])) or "without a word"


def _thread(
    index: int, job: Mapping[str, Any], span: Mapping[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return one of fio's threads in the form of ours."""
    mine = job.get("job options", {}).get("filename", "")
    target = _target_of(mine, [names[one["path"]] for one in span["targets"]], index, span)
    busy_ns = (job["usr_cpu"] + job["sys_cpu"]) / _PERCENT * job["job_runtime"] * NS_PER_MS
    user_ns = job["usr_cpu"] / _PERCENT * job["job_runtime"] * NS_PER_MS
    engine = job.get("job options", {}).get("ioengine", "")
    with_latency = span["measure_latency"]
    return {
        "index": index,
        "pinned_os_cpu": None,
        "backend": {"name": f"fio {engine}".strip(), "features": [], "fallback": None},
        "cpu_ns": round(busy_ns),
        "user_cpu_ns": round(user_ns),
        "submissions": None,
        "waits": NO_WAITS,
        "targets": [
            {
                "target": target,
                "read": _direction(job["read"], job, with_latency=with_latency),
                "write": _direction(job["write"], job, with_latency=with_latency),
                "sync": None,
                "trim": None,
            }
        ],
    }


def _target_of(filename: str, names: Sequence[str], index: int, span: Mapping[str, Any]) -> int:
    """Return which target a thread works on; options that all jobs share are not in its own."""
    told = files_of(filename)
    if len(told) == 1 and told[0] in names:
        return names.index(told[0])
    return int(min(index // max(span["targets"][0]["threads"], 1), len(names) - 1))


def _direction(
    data: Mapping[str, Any], job: Mapping[str, Any], *, with_latency: bool
) -> dict[str, Any]:
    return {
        "ios": data["total_ios"],
        "bytes": data["io_bytes"],
        "short_ios": data["short_ios"],
        "errors": 1 if job.get("error") else 0,
        "latency": _histogram(data.get("lat_ns", {})) if with_latency else None,
        "response": None,
        "series": {"cells": []},
    }


def _histogram(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return fio's bins, each of which is named by its middle, in the buckets of ours."""
    buckets: dict[int, int] = {}
    for name, count in data.get("bins", {}).items():
        shift = max(int(name).bit_length() - 1 - _SUB_BUCKET_BITS, 0)
        lower_ns = int(name) >> shift << shift
        buckets[lower_ns] = buckets.get(lower_ns, 0) + count
    count = sum(buckets.values())
    mean = data.get("mean", 0.0) if count else 0.0
    deviation = data.get("stddev", 0.0) if count else 0.0
    filled = sorted(buckets.items())
    return {
        "count": count,
        "min_ns": data.get("min", 0) if count else 0,
        "max_ns": data.get("max", 0) if count else 0,
        "sum_ns": round(mean * count),
        "sum_squares_ns2": float(deviation**2 * max(count - 1, 0) + mean**2 * count),
        "bucket_lower_ns": [lower for lower, _ in filled],
        "bucket_counts": [one for _, one in filled],
    }


def _series(folder: Path, runtime_ms: int) -> list[float]:
    """Return the IOPS of each whole interval, over all threads and both directions.

    A line of fio's log is time in ms, mean IOPS, direction and more (fio(1), "Log File Formats").
    """
    whole = runtime_ms // _LOG_MS
    sums = [0.0] * whole
    for path in folder.glob(f"{_LOG}_iops*.log"):
        for line in path.read_text(encoding="ascii", errors="replace").splitlines():
            try:
                at_ms, rate, *_rest = line.split(",")
                place, iops = round(int(at_ms) / _LOG_MS) - 1, float(rate)
            except ValueError:
                # Half a line, or none of fio's: what is known of the mean would be a guess.
                return []
            if 0 <= place < whole:
                sums[place] += iops
    return sums
