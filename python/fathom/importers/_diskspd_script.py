"""The lines that scripts around DiskSpd print, one for each run.

They come from Jose Barreto's post "DiskSpd, PowerShell and storage performance" (2014), from which
many have taken them: ``Param -o 1, 61.01 iops, 30.50 MB/sec, 16.355 ms, 0.20% CPU``. The figures
are those of the total over reads and writes, and of the average of all CPUs.
"""

from __future__ import annotations

import re

from fathom.importers._diskspd_lines import decimal, nanoseconds
from fathom.importers._diskspd_tables import WHAT
from fathom.importers._imported import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
)

__all__ = ["is_script_alone", "script_results"]

_LINE = re.compile(
    r"\b(Param [-\w, ]{1,60}?|Run \d+), (\d[\d.]*) iops, (\d[\d.]*) MB/sec, (\d[\d.]*) ms, "
    r"(\d[\d.]*) ?% ?CPU"
)
_OUTSTANDING = re.compile(r"-o ?(\d+)")
_THREADS = re.compile(r"-t ?(\d+)")


def script_results(text: str, number: int) -> list[ImportedResult]:
    """Return the results of one line, of which an editor may have made one of many."""
    return [_result(match, number) for match in _LINE.finditer(text)]


def is_script_alone(text: str) -> bool:
    """Whether a line holds such results and nothing else, which would have to be named."""
    return not _LINE.sub("", text).strip()


def _result(match: re.Match[str], number: int) -> ImportedResult:
    title, iops, rate, mean, cpu = match.groups()
    outstanding, threads = _OUTSTANDING.search(title), _THREADS.search(title)
    return ImportedResult(
        origin="diskspd-script",
        tool="DiskSpd",
        title=title,
        load=ImportedLoad(
            outstanding=int(outstanding[1]) if outstanding else None,
            threads=int(threads[1]) if threads else None,
        ),
        total=ImportedDirection(
            iops=decimal(iops),
            mib_per_s=decimal(rate),
            latency=ImportedLatency(WHAT, mean_ns=nanoseconds(mean)),
            texts={"iops": iops, "mib_per_s": rate, "mean": mean},
        ),
        cpu_average=ImportedCpu("avg.", decimal(cpu), None, None, None, {"usage_percent": cpu}),
        lines=(number, number),
    )
