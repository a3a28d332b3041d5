"""fio behind the seam.

Latencies are fio's ``lat``: from an I/O's making to its completion, which includes the submission
as our service time does. Its histogram (JSON+) has 64 parts for each power of two, against our
1024, so that a percentile is known to about 1 %.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._text import json_of
from fathom.errors import InvalidRequestError
from fathom.runners.known_mean import known_mean
from fathom.tools.fio.names import files_of, is_plain
from fathom.tools.fio.write import to_fio
from fathom.tools.foreign import ToolSpan
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.tools._process import ToolRun
    from fathom.tools.fio.job_file import FioJob
    from fathom.tools.load import Load

__all__ = ["Fio", "find_fio"]

_REPORT, _LOG = "report.json", "intervals"
_LOG_MS = 100
_PERCENT = 100
_SUB_BUCKET_BITS = 10  # Of our histograms (measure/latency.rs).
_WAITS = {
    "completion_waits": 0,
    "throttle_waits": 0,
    "throttle_sleeps": 0,
    "lookasides": 0,
    "lookaside_completions": [0] * 8,
}
# Words of fio that tell nothing of a fault.
_IDLE_WORDS = ("note:", "fio: this platform")


def find_fio(name: str = "fio") -> Fio:
    """Return fio as it is installed.

    Raises
    ------
    InvalidRequestError
        If it is not, or if what has its name is not fio 3.

    """
    path = shutil.which(name)
    if path is None:
        raise InvalidRequestError(f"{name} is not installed (Debian: apt-get install fio)")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = told.stdout.strip()
    if not version.startswith("fio-3"):
        said = (version or told.stderr.strip()).splitlines()[:1]
        raise InvalidRequestError(f"{path} is not fio 3: it says {' '.join(said)!r}")
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
            document = json_of(said[said.index("{") :])
        except ValueError:
            return ToolSpan(0, [], None, failure or f"fio left no report: {_last_words(said)}")
        jobs = document.get("jobs", [])
        faults = sorted({os.strerror(job["error"]) for job in jobs if job.get("error")})
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
        "waits": _WAITS,
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
        for line in path.read_text(encoding="ascii").splitlines():
            words = line.split(",")
            place = round(int(words[0]) / _LOG_MS) - 1
            if 0 <= place < whole:
                sums[place] += float(words[1])
    return sums
