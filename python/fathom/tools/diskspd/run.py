"""Another DiskSpd behind the seam: Microsoft's, or another version of ours.

Its XML result tells percentiles of all threads together rather than a histogram, from 0 to 99 one
by one, and then 99.9 to nine nines. The histogram made of them holds each share of the I/Os at the
upper of the two percentiles between which it lies, so that those that DiskSpd tells are exact.
"""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._permission import options_and_names
from fathom._ranks import rank_of
from fathom.errors import InvalidRequestError
from fathom.tools._process import told_by
from fathom.tools.diskspd._well_formed import well_formed
from fathom.tools.foreign import NO_WAITS, ToolSpan
from fathom.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.tools._process import ToolRun
    from fathom.tools.load import Load

__all__ = ["DiskspdExe", "find_diskspd"]

_PERCENT = 100.0
_SUB_BUCKET_BITS = 10  # Of our histograms (measure/latency.rs).
_VERSION = re.compile(r"version (\d[\w.-]*)|\((Fathom)\) (\d[\w.-]*)")
# Long options that only tell our engine when to end, or what may be overwritten.
_LEFT_OUT = (
    "--stop-confidence",
    "--stop-steady",
    "--stop-interval",
    "--overwrite",
    "--allow-write",
    "--protect",
)


def find_diskspd(name: str) -> DiskspdExe:
    """Return the DiskSpd at a path, or of a name on the PATH.

    Raises
    ------
    InvalidRequestError
        If there is none, or if it does not say its version as DiskSpd does.

    """
    path = shutil.which(name)
    if path is None:
        raise InvalidRequestError(
            f"{name}: there is no such runner; it is fio, fathom, or the path of a DiskSpd that "
            "can be executed"
        )
    for question in ("--version", "-?"):
        told = "".join(told_by(path, question))
        found = _VERSION.search(told)
        if found and "diskspd" in told.lower():
            return DiskspdExe(path, found[1] or f"{found[2]} {found[3]}")
    raise InvalidRequestError(f"{path} does not say a version as DiskSpd does: it is no runner")


class DiskspdExe:
    """A DiskSpd that is another process."""

    name = "DiskSpd"

    def __init__(self, path: str, version: str) -> None:
        """Use this executable."""
        self._path = path
        self.version = version

    def command(self, load: Load, folder: Path) -> list[str]:
        """Return the command; see ``Tool.command``."""
        del folder
        targets = load.profile["time_spans"][0]["targets"]
        if len(targets) > 1:
            raise InvalidRequestError("another DiskSpd is driven with one target at a time")
        options, _ = options_and_names(load.arguments)
        ours = [one for one in options if one.startswith("--") and not one.startswith(_LEFT_OUT)]
        if ours:
            raise InvalidRequestError(f"DiskSpd has no {', '.join(ours)}")
        kept = [one for one in load.arguments[:-1] if not one.startswith(("--", "-R", "-v", "-c"))]
        return [self._path, *kept, "-Rxml", _absolute(load.arguments[-1])]

    def measured(self, load: Load, folder: Path, run: ToolRun) -> ToolSpan:
        """Read the XML result; see ``Tool.measured``."""
        said = (folder / "stdout").read_text(encoding="utf-8", errors="replace")
        failure = None
        if run.overdue:
            failure = "DiskSpd did not end in time and was ended"
        elif run.return_code and not run.interrupted:
            words = "; ".join(run.errors.strip().splitlines()[-3:]) or "without a word"
            failure = f"DiskSpd ended with code {run.return_code}: {words}"
        with_latency = load.profile["time_spans"][0]["measure_latency"]
        try:
            span = _span(said)
            measured_ns = round(float(_told(span, "TestTimeSeconds")) * NS_PER_S)
            thread = _whole(span, with_latency=with_latency)
        except (ValueError, OverflowError) as error:
            return ToolSpan(0, [], None, failure or f"DiskSpd left no result: {error}")
        ios = sum(thread["targets"][0][kind]["ios"] for kind in ("read", "write"))
        if not (failure or ios or run.interrupted):
            failure = "DiskSpd measured no I/O"
        return ToolSpan(measured_ns, [thread], None, failure)


def _absolute(path: str) -> str:
    return str(Path(path).absolute())


def _span(said: str) -> ET.Element:
    """Return the first time span of a result.

    Raises
    ------
    ValueError
        If the text is no result of DiskSpd.

    """
    try:
        # It comes from the program that the user named.
        text = well_formed(said[max(said.find("<Results"), 0) :].strip())
        results = ET.fromstring(text)  # noqa: S314
    except ET.ParseError as error:
        raise ValueError(f"its XML is damaged: {error}") from error
    span = results.find("TimeSpan")
    if span is None or span.find("TestTimeSeconds") is None:
        raise ValueError("its XML has no time span")
    return span


def _told(element: ET.Element, name: str) -> str:
    return element.findtext(name) or "0"


def _whole(span: ET.Element, *, with_latency: bool) -> dict[str, Any]:
    """Return all threads as one, since DiskSpd tells percentiles of all together."""
    targets = span.findall("Thread/Target")
    return {
        "index": 0,
        "pinned_os_cpu": None,
        "backend": {"name": "DiskSpd", "features": [], "fallback": None},
        "cpu_ns": 0,
        "user_cpu_ns": 0,
        "submissions": None,
        "waits": NO_WAITS,
        "targets": [
            {
                "target": 0,
                "read": _direction(span, targets, "Read", with_latency=with_latency),
                "write": _direction(span, targets, "Write", with_latency=with_latency),
                "sync": None,
                "trim": None,
            }
        ],
    }


def _direction(
    span: ET.Element, targets: Sequence[ET.Element], kind: str, *, with_latency: bool
) -> dict[str, Any]:
    ios = sum(int(_told(one, f"{kind}Count")) for one in targets)
    return {
        "ios": ios,
        "bytes": sum(int(_told(one, f"{kind}Bytes")) for one in targets),
        "short_ios": 0,
        "errors": 0,
        "latency": _histogram(span, targets, kind, ios) if with_latency else None,
        "response": None,
        "series": {"cells": []},
    }


def _histogram(
    span: ET.Element, targets: Sequence[ET.Element], kind: str, ios: int
) -> dict[str, Any]:
    rows = [
        (_told(one, "Percentile"), one.findtext(f"{kind}Milliseconds"))
        for one in span.findall("Latency/Bucket")
    ]
    known = sorted((float(percent), round(float(ms) * NS_PER_MS)) for percent, ms in rows if ms)
    if not ios or not known:
        return dict.fromkeys(("count", "min_ns", "max_ns", "sum_ns", "sum_squares_ns2"), 0) | {
            "bucket_lower_ns": [],
            "bucket_counts": [],
        }
    buckets: dict[int, int] = {}
    before = 0
    for percent, value_ns in known:
        # As many as our histograms count up to a percentile.
        until = rank_of(min(percent, _PERCENT) / _PERCENT, ios)
        if until > before:
            lower_ns = _lower(value_ns)
            buckets[lower_ns] = buckets.get(lower_ns, 0) + until - before
            before = until
    sum_ns = sum(
        int(_told(one, f"{kind}Count"))
        * float(_told(one, f"Average{kind}LatencyMilliseconds"))
        * NS_PER_MS
        for one in targets
    )
    deviation = float(_told(span, f"Latency/{kind}LatencyStdev")) * NS_PER_MS
    filled = sorted(buckets.items())
    return {
        "count": sum(buckets.values()),
        "min_ns": known[0][1],
        "max_ns": known[-1][1],
        "sum_ns": round(sum_ns),
        "sum_squares_ns2": float(deviation**2 * ios + sum_ns**2 / ios),
        "bucket_lower_ns": [lower for lower, _ in filled],
        "bucket_counts": [count for _, count in filled],
    }


def _lower(value_ns: int) -> int:
    shift = max(value_ns.bit_length() - 1 - _SUB_BUCKET_BITS, 0)
    return value_ns >> shift << shift
