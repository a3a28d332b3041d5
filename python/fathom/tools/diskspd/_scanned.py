"""Results of DiskSpd whose cells stand out of order, as in pages that were scanned or folded.

Nothing is read by its place here but by what must hold of it (``_scanned_figures``,
``_scanned_cpus``). A figure for which no number of the text qualifies is left unknown.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from fathom.imported.model import (
    ImportedDirection,
    ImportedResult,
    ImportedRow,
    ImportedTarget,
)
from fathom.tools._lines import bytes_of, normal
from fathom.tools.diskspd._read_load import Settings, command_settings
from fathom.tools.diskspd._scanned_cpus import folded_cpus, scrambled_cpus
from fathom.tools.diskspd._scanned_figures import scrambled_threads, scrambled_total

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scrambled_results"]

_BEGIN = re.compile(r"Command Line: |PS [A-Z]:\\\S*> ")
_COMMAND = re.compile(r"[^\s>]*diskspd\.exe(?: -?[\w.]+)+? (?:[A-Z]:\\|\\\\)\S+", re.IGNORECASE)
# Where the target is lost, a command is told by its outstanding I/Os.
_BARE = re.compile(r"[^\s>]*diskspd\.exe(?: -[a-zA-Z]\w*)*? -o\d+(?: -[a-zA-Z]\w*)*", re.IGNORECASE)
_FILE = re.compile(r"(?<!\S)([A-Z]:\\\w[^\s(]*\.\w+|\\\\\S+\.\w+) \((\d+(?:[KMGT]i?B)?)")
_LABEL = re.compile(r"\d-nines")
_TIME = re.compile(r"(\d+\.\d\d)s\b")
_TAGS = re.compile(r"</?(?:ul|li|br|b|i)>", re.IGNORECASE)
# Digits without end are no figure, and patterns that try each of them take their square.
_NO_FIGURE = re.compile(r"\d{31,}")
_LEAST_FOLDED = 300
_LEAST_PIECES = 4
_NOTE = (
    "The cells of this text stand out of order: its figures were found by what must hold between "
    "them, and those that no number qualifies for are unknown."
)


def scrambled_results(lines: Sequence[str]) -> list[ImportedResult]:
    """Return the results of a text of which lines hold several lines of DiskSpd."""
    if not any("Results for timespan" in line and len(line) > _LEAST_FOLDED for line in lines):
        return []
    text, ends = _as_one([_NO_FIGURE.sub("", normal(line)) for line in lines])
    starts = [match.start() for match in _BEGIN.finditer(text)]
    results: list[ImportedResult] = []
    command = ""
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end]
        # The prompt before a result repeats the command, often better than its head does.
        if part.startswith("PS ") or not command:
            command = _command(part) or command
        # The line in which it begins, and those behind it up to the one in which it ends.
        own = range(bisect_right(ends, start), bisect_left(ends, end) + 1)
        found = _result(part, command, [lines[at] for at in own if at < len(lines)])
        if found is not None:
            # What stands behind its percentiles is prose.
            shown = start + max((one.end() for one in _LABEL.finditer(part)), default=0)
            last = bisect_left(ends, shown)
            results.append(replace(found, lines=(own[0] + 1, last + 1)))
            command = ""
    return results


def _as_one(lines: Sequence[str]) -> tuple[str, list[int]]:
    """Return all lines as one text without marks of tables, and where each ends in it."""
    text, ends = "", []
    for line in lines:
        plain = _TAGS.sub(" ", line).replace("\\_", "").replace("|", " ")
        text = f"{text} {' '.join(plain.split())}".strip()
        ends.append(len(text))
    return text, ends


def _command(part: str) -> str:
    match = _COMMAND.search(part)
    if match is not None:
        return re.sub(r" (c\d+[KMG]) ", r" -\1 ", match[0])
    # Of several copies the longest has lost least.
    return max((one[0] for one in _BARE.finditer(part)), key=len, default="")


def _result(text: str, command: str, lines: Sequence[str]) -> ImportedResult | None:
    told = command_settings(command)
    time = _TIME.search(text)
    if not command or time is None or " IO " not in text:
        return None
    block_bytes, measured_s = told.block_bytes[0], float(time[1])
    if not measured_s:
        return None
    total = scrambled_total(text, block_bytes, measured_s)
    if total is None:
        return None
    is_read = told.write_percent == [0.0]
    sizes = {match[1]: match[2] for match in _FILE.finditer(text) if not match[2].isdigit()}
    paths = told.paths or [*dict.fromkeys(match[1] for match in _FILE.finditer(text))][:1]
    threads = scrambled_threads(text, total, block_bytes, told.threads or 1, measured_s)
    # The form that has more rows of the CPUs.
    cpus = max([scrambled_cpus(text), *map(folded_cpus, _columns(lines))], key=len)
    return ImportedResult(
        origin="diskspd-text",
        tool="DiskSpd",
        title=command,
        command_line=command,
        measured_s=measured_s,
        load=Settings().load(told),
        targets=_targets(paths, sizes),
        read=total if is_read else None,
        total=total,
        rows=tuple(
            ImportedRow(str(number), paths[0] if paths else "", _sides(row, is_read=is_read))
            for number, row in enumerate(threads)
        ),
        cpus=tuple(one for one in cpus if one.label != "avg."),
        cpu_average=next((one for one in cpus if one.label == "avg."), None),
        notes=(_NOTE,),
    )


def _targets(paths: Sequence[str], sizes: dict[str, str]) -> tuple[ImportedTarget, ...]:
    return tuple(
        ImportedTarget(path, bytes_of(sizes.get(path, "")), sizes.get(path, "")) for path in paths
    )


def _sides(row: ImportedDirection, *, is_read: bool) -> dict[str, ImportedDirection]:
    return {"read": row, "total": row} if is_read else {"total": row}


def _columns(lines: Sequence[str]) -> list[list[list[str]]]:
    """Return the cells of each line of a table that hold several lines of a page."""
    tables = []
    for line in lines:
        cells = [
            [" ".join(one.split()) for one in re.split(r"<[^>]*>", cell)]
            for cell in line.strip("| ").split("|")
        ]
        if max(map(len, cells)) >= _LEAST_PIECES:
            tables.append(cells)
    return tables
