"""The lines that scripts around DiskSpd print, one for each run.

They come from Jose Barreto's post "DiskSpd, PowerShell and storage performance" (2014), from which
many have taken them: ``Param -o 1, 61.01 iops, 30.50 MB/sec, 16.355 ms, 0.20% CPU``. The figures
are those of the total over reads and writes, and of the average of all CPUs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
)
from fathom.tools._lines import bytes_of, decimal, nanoseconds
from fathom.tools.diskspd._tables import WHAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.tools._lines import Line

__all__ = ["is_script_alone", "script_results"]

_LINE = re.compile(
    r"\b(Param [-\w, ]{1,60}?|Run \d+), (\d[\d.]*) iops, (\d[\d.]*) MB/sec, (\d[\d.]*) ms, "
    r"(\d[\d.]*) ?% ?CPU"
)
# What a scanner has left of such a line: all of its title but the first letter, and whole figures,
# which have two and three decimals. A Cyrillic letter stands for its likeness.
_CUT = re.compile(
    r"(?<!\w)P?aram (-o \d+|-t ?\d+ -o \d+), (\d+\.\d\d)(?!\d) io\w*"
    r"(?:, (\d+\.\d\d)(?!\d)(?: MB/sec, (\d+\.\d{3})(?!\d) ms)?)?"
)
_OUTSTANDING = re.compile(r"-o ?([0-9]{1,18})(?![0-9])")
_THREADS = re.compile(r"-t ?([0-9]{1,18})(?![0-9])")
_BLOCK = re.compile(r"-b ?(\d+[KMG]?)\b", re.IGNORECASE)
_CYRILLIC_O = "\u043e"
_PAGE_MARK = "\u00d7"
_CUT_NOTE = "The line of this result is cut: the figures that it has lost are unknown."


def script_results(lines: Sequence[Line]) -> list[ImportedResult]:
    """Return the results of all such lines; an editor may have made one of many, or many of one."""
    text, starts = "", []
    for line in lines:
        starts.append(len(text))
        plain = _plain(line.text)
        text += f"{plain} " if plain and plain != _PAGE_MARK else ""

    def number(place: int) -> int:
        return lines[bisect_right(starts, place) - 1].number

    whole = [*_LINE.finditer(text)]
    found = [(one.start(), one.end(), _result(one)) for one in whole]
    taken = [range(one.start(), one.end()) for one in whole]
    found += [
        (one.start(), one.end(), _cut_result(one))
        for one in _CUT.finditer(text)
        if not any(one.start() in place or one.end() - 1 in place for place in taken)
    ]
    found.sort(key=itemgetter(0))
    return [replace(one, lines=(number(start), number(end - 1))) for start, end, one in found]


def is_script_alone(text: str) -> bool:
    """Whether a line holds such results and nothing else, which would have to be named."""
    return not _LINE.sub("", text).strip()


def _plain(text: str) -> str:
    """Return a line without marks of tables and of their faces."""
    without = re.sub(r"</?[a-z]{1,2}>", "", text.replace(_CYRILLIC_O, "o")).strip("| ")
    return " ".join(without.split())


def _cut_result(match: re.Match[str]) -> ImportedResult:
    title, iops, rate, mean = match.groups()
    texts = {"iops": iops, "mib_per_s": rate, "mean": mean}
    return ImportedResult(
        origin="diskspd-script",
        tool="DiskSpd",
        title=f"Param {title}",
        load=_load(title),
        total=ImportedDirection(
            iops=decimal(iops),
            mib_per_s=decimal(rate) if rate else None,
            latency=ImportedLatency(WHAT, mean_ns=nanoseconds(mean)) if mean else None,
            texts={name: one for name, one in texts.items() if one},
        ),
        notes=(_CUT_NOTE,),
    )


def _load(title: str) -> ImportedLoad:
    outstanding, threads = _OUTSTANDING.search(title), _THREADS.search(title)
    block = _BLOCK.search(title)
    return ImportedLoad(
        block_bytes=bytes_of(block[1]) if block else None,
        outstanding=int(outstanding[1]) if outstanding else None,
        threads=int(threads[1]) if threads else None,
    )


def _result(match: re.Match[str]) -> ImportedResult:
    title, iops, rate, mean, cpu = match.groups()
    return ImportedResult(
        origin="diskspd-script",
        tool="DiskSpd",
        title=title,
        load=_load(title),
        total=ImportedDirection(
            iops=decimal(iops),
            mib_per_s=decimal(rate),
            latency=ImportedLatency(WHAT, mean_ns=nanoseconds(mean)),
            texts={"iops": iops, "mib_per_s": rate, "mean": mean},
        ),
        cpu_average=ImportedCpu("avg.", decimal(cpu), None, None, None, {"usage_percent": cpu}),
    )
