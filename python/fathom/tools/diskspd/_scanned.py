"""Results of DiskSpd whose cells stand out of order, as in pages that were scanned or folded.

Nothing is read by its place here but by what must hold of it (``_scanned_figures``,
``_scanned_cpus``). A figure for which no number of the text qualifies is left unknown.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING

from fathom.imported.model import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedResult,
    ImportedRow,
    ImportedTarget,
)
from fathom.tools._lines import bytes_of, decimal, nanoseconds, normal
from fathom.tools.diskspd._read_load import Settings, command_settings
from fathom.tools.diskspd._tables import WHAT, percent_of
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["scrambled_results"]

# Figures of a result whose cells stand out of order, found by what must hold between them.
#
# Bytes are I/Os times the block size; IOPS are I/Os, and MiB/s are MiB, divided by the test time;
# the latencies stand behind the IOPS, once at least. The threads' I/Os sum up to the total's, and
# their means, weighted by I/Os, to its mean. What no number of the text qualifies for is unknown.

_PERCENTS = (25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999)
_LABELS = "min 25th 50th 75th 90th 95th 99th 3-nines 4-nines 5-nines 6-nines 7-nines 8-nines max"
_HALF_A_CENT = 0.005
_MEAN_SLACK_MS = 0.002
# A row stands in the table of the total and in that of the reads, and so does the total itself.
_SHOWN = 2
_MOST_TABLE = 1500


def scrambled_total(text: str, block_bytes: int, measured_s: float) -> ImportedDirection | None:
    """Return the total with its percentiles; None if its I/Os, bytes and rates are not there."""
    pairs = _pairs(text, block_bytes)
    found = _figures(text, max(pairs, default=0), block_bytes, measured_s)
    return None if found is None else _with_percentiles(found, text)


def scrambled_threads(
    text: str, total: ImportedDirection, block_bytes: int, threads: int, measured_s: float
) -> list[ImportedDirection]:
    """Return the figures of each thread in order; of all or of none."""
    pairs = _pairs(text, block_bytes)
    if threads == 1 and len(re.findall(rf"(?<!\d){total.bytes}(?!\d)", text)) > _SHOWN:
        # A single thread has the figures of the total, which then stand there once more.
        latency = total.latency and replace(
            total.latency, min_ns=None, max_ns=None, percentiles_ns={}
        )
        texts = {name: one for name, one in total.texts.items() if name not in _LABELS.split()}
        return [replace(total, latency=latency, texts=texts)]
    own = [ios for ios in pairs if ios != total.ios]
    rows = [_figures(text, ios, block_bytes, measured_s) for ios in own]
    whole = [row for row in rows if row is not None]
    return whole if len(whole) == len(rows) == threads and _add_up(whole, total) else []


def _add_up(rows: Sequence[ImportedDirection], total: ImportedDirection) -> bool:
    means = [(row.ios or 0, row.latency and row.latency.mean_ns) for row in rows]
    if sum(ios for ios, _mean in means) != total.ios or total.latency is None:
        return False
    if any(mean is None for _ios, mean in means) or total.latency.mean_ns is None:
        return False
    mean_ns = math.fsum(ios * (mean or 0) for ios, mean in means) / total.ios
    return abs(mean_ns - total.latency.mean_ns) <= _MEAN_SLACK_MS * 1e6


def _pairs(text: str, block_bytes: int) -> list[int]:
    """Return the I/Os of which the bytes stand there too, in the order of these."""
    tokens = [int(one) for one in re.findall(r"(?<![\d.])[1-9]\d{1,14}(?![\d.%])", text)]
    known = set(tokens)
    sizes = dict.fromkeys(one for one in tokens if one and one % block_bytes == 0)
    return [one // block_bytes for one in sizes if one // block_bytes in known]


def _figures(text: str, ios: int, block_bytes: int, measured_s: float) -> ImportedDirection | None:
    size = ios * block_bytes
    cents = re.findall(r"(?<![\d.])\d+\.\d\d(?![\d%s])", text)
    iops = _nearest(cents, ios / measured_s, measured_s)
    rate = _nearest(cents, size / MIB / measured_s, measured_s)
    if not ios or iops is None or rate is None:
        return None
    # The first digit may be lost at the edge of the page; whole numbers of other columns, and the
    # numbers of threads, may have slipped in between.
    pattern = (
        rf"(?<![\d.]){iops[0]}?{re.escape(iops[1:])}(?: \d+(?![\d.]))* (\d+\.\d{{3}})"
        r"(?: \d{1,3}(?![\d.]))* (\d+\.\d{3})(?!\d)"
    )
    behind = re.search(pattern, text)
    texts = {"bytes": str(size), "ios": str(ios), "mib_per_s": rate, "iops": iops}
    if behind is None:
        return ImportedDirection(ios, size, decimal(iops), decimal(rate), texts=texts)
    mean, std = behind.groups()
    latency = ImportedLatency(WHAT, ios, nanoseconds(mean), nanoseconds(std))
    texts |= {"mean": mean, "std": std}
    return ImportedDirection(ios, size, decimal(iops), decimal(rate), latency=latency, texts=texts)


def _nearest(texts: Sequence[str], value: float, measured_s: float) -> str | None:
    """Return the number that a value was printed as, if the rounding of the time explains it."""
    slack = value * _HALF_A_CENT / measured_s + _HALF_A_CENT
    near = [text for text in texts if abs(float(text) - value) <= slack]
    return min(near, key=lambda text: abs(float(text) - value), default=None)


def _with_percentiles(found: ImportedDirection, text: str) -> ImportedDirection:
    if found.latency is None:
        return found
    _before, _mark, behind = text.partition("%-ile")
    texts = _in_order(_table(behind)) or _by_label(behind[:_MOST_TABLE])
    shares = {label: nanoseconds(one) for label, one in texts.items()}
    percents = {
        percent: value
        for label, value in shares.items()
        if value is not None and (percent := percent_of(label)) in _PERCENTS
    }
    latency = replace(
        found.latency,
        min_ns=shares.get("min"),
        max_ns=shares.get("max"),
        percentiles_ns=percents,
    )
    return replace(found, latency=latency, texts={**found.texts, **texts})


def _in_order(table: str) -> dict[str, str]:
    """Return all percentiles, which rise: of reads alone each stands there twice; else nothing."""
    numbers = re.findall(r"(?<![\d.])\d+\.\d{3}(?!\d)", table)
    # The means of tables without I/O, 0.000, may have slipped in among them.
    values = sorted((one for one in numbers if float(one)), key=float)
    labels = _LABELS.split()
    if len(values) != 2 * len(labels) or values[::2] != values[1::2]:
        return {}
    return dict(zip(labels, values[::2], strict=True))


def _by_label(table: str) -> dict[str, str]:
    """Return the percentiles that stand whole behind their labels, if they rise."""
    pattern = r"(\d\dth|\d-nines|min|max) (\d+\.\d{3}) (?:N/A (\d+\.\d{3})(?!\d)|N(?!/))"
    found = re.findall(pattern, table)
    # Where the line ends behind the reads, the total is lost: of reads alone it is the same.
    texts = {label: read for label, read, both in found if both in ("", read)}
    rising = [float(texts[label]) for label in _LABELS.split() if label in texts]
    return texts if all(one <= other for one, other in pairwise(rising)) else {}


def _table(text: str) -> str:
    """Return the part that holds percentiles: up to the first words that are none of theirs."""
    end = re.search(r"(?!nines|min|max|Read|Write|Writ|Total|tal|ms)\b[A-Za-z]{3,}\b", text)
    return text[: end.start()] if end else text


# Rows of the table of CPUs whose cells stand out of order.
#
# Cells of one row follow each other, with other words between them. A row is one if its numbers
# hold: usage is user plus kernel time, each printed to a hundredth. A cell that has lost digits at
# the edge of the page has no decimals, or does not fit; it is unknown, and what holds of the others
# decides.

# A number is tried from its first digit alone: from each of thousands would take their square.
_PERCENT = re.compile(r"(?<!\d)(\d+(?:\.\d+)?)%")
_CELL = re.compile(r"<?(?<!\d)\d+(?:\.\d\d)?%")
_WHOLE = re.compile(r"\d+\.\d\d")
_ROW = 4
_NAMES = ("usage_percent", "user_percent", "kernel_percent", "idle_percent")
_SLACK = 0.025
_ALL = 100.0
_AVERAGE = "avg."
# A table of CPUs has four figures in a row, and each column more doubles the orders to look at.
_MOST_COLUMNS = 8

_Cells = list[str | None]


def scrambled_cpus(text: str) -> list[ImportedCpu]:
    """Return the rows of a result in one line, the average last; what does not hold is left out."""
    _head, *behind = re.split(r"Results for tim|proc count:", text, maxsplit=1)
    part = re.split(r"Total IO|Read IO|%-ile|bytes I/Os", "".join(behind), maxsplit=1)[0]
    whole, _mark, average = part.partition("avg.")
    found = [*_PERCENT.finditer(whole)]
    rows: list[ImportedCpu] = []
    for start in range(0, len(found), _ROW):
        cells: _Cells = [_known(one[1]) for one in found[start : start + _ROW]]
        row = _row(str(len(rows)), cells + [None] * (_ROW - len(cells)))
        if row is None or (start and not _is_labelled(whole, found[start].start(), len(rows))):
            break
        rows.append(row)
    cells = [_known(one) for one in _PERCENT.findall(average)[:_ROW]]
    row = _row(_AVERAGE, cells) if len(cells) == _ROW else None
    return [*rows, row] if row else rows


def _known(text: str) -> str | None:
    return text if _WHOLE.fullmatch(text) else None


def _is_labelled(text: str, end: int, number: int) -> bool:
    """Whether the number of a CPU stands before its first cell."""
    return re.search(rf"(?<![\d.%]){number}(?![\d.%])[^\d%]*$", text[:end]) is not None


def _row(label: str, cells: _Cells) -> ImportedCpu | None:
    """Return a row, if its cells hold together and no more than one of them is lost."""
    values = [None if cell is None else decimal(cell) for cell in cells]
    if values.count(None) > 1 or not _holds(values):
        return None
    usage, user, kernel, idle = values
    texts = {
        name: "" if cell is None else f"{cell}%" for name, cell in zip(_NAMES, cells, strict=True)
    }
    return ImportedCpu(label, usage, user, kernel, idle, texts=texts)


def _holds(values: Sequence[float | None]) -> bool:
    usage, user, kernel, idle = values
    if usage is not None and user is not None and kernel is not None:
        return abs(usage - user - kernel) <= _SLACK
    # One of the three is lost: idle time tells the rest, as far as the clocks agree.
    parts = [usage] if usage is not None else [user, kernel]
    known = [one for one in (*parts, idle) if one is not None]
    return (
        idle is not None and len(known) == len(parts) + 1 and abs(sum(known) - _ALL) <= 2 * _SLACK
    )


def folded_cpus(columns: Sequence[Sequence[str]]) -> list[ImportedCpu]:
    """Return the rows of a table that was cut into columns, each a list of pieces of lines.

    A line of the page has a piece of each column, and a column may begin a line later than others:
    the order in which most rows hold is taken. Digits at the left edge of the page may be cut off.
    """
    pieces = [found for column in columns if (found := [one for one in column if "%" in one])]
    if len(pieces) > _MOST_COLUMNS:
        return []
    best: list[ImportedCpu] = []
    for late in product((0, 1), repeat=len(pieces)):
        lines = _lines([[""] * by + column for by, column in zip(late, pieces, strict=True)])
        rows = [*_folded_rows(lines)]
        best = max(best, rows, key=len)
    return best


def _lines(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    most = max((len(column) for column in columns), default=0)
    return [[column[at] if at < len(column) else "" for column in columns] for at in range(most)]


def _folded_rows(lines: Sequence[Sequence[str]]) -> Iterator[ImportedCpu]:
    """Return rows in order, as long as each has its number."""
    text = " ".join(f"<{line}" for line in map(_joined, lines))
    starts = [*re.finditer(r"(?:(?<=[\s<])(\d{1,3})|avg\.) (?=<?\d+(?:\.\d\d)?%)", text)]
    number = 0
    for start in starts:
        label = _AVERAGE if start[0].startswith("avg") else start[1]
        cells = [
            None if one.startswith("<") else _known(one.rstrip("%"))
            for one in _CELL.findall(text[start.end() :])[:_ROW]
        ]
        if label not in (str(number), _AVERAGE) or len(cells) < _ROW:
            continue
        row = _row(label, cells)
        if row is not None:
            yield row
        number += 1


def _joined(line: Sequence[str]) -> str:
    """Join the pieces of a line: a number may be cut in two, and some of its digits seen twice."""
    text = ""
    for piece in line:
        left, right = re.search(r"(?<![\d.])(\d+)$", text), re.match(r"(\d*)\.\d\d%", piece)
        if left is None or right is None:
            text = f"{text} {piece}".strip()
            continue
        text = text[: left.start()] + _number(left[1], piece)
    return text


def _number(left: str, piece: str) -> str:
    """Return both parts of a number as one, or apart if the left one is the next CPU's."""
    digits = piece.partition(".")[0]
    if not digits:
        return f"{left}{piece}"
    for same in range(min(len(left), len(digits)), 0, -1):
        if left.endswith(digits[:same]):
            return f"{left[:-same]}{piece}"
    return f"{left} {piece}"


_BEGIN = re.compile(r"Command Line: |PS [A-Z]:\\\S*> ")
_COMMAND = re.compile(r"[^\s>]*diskspd\.exe(?: -?[\w.]+)+? (?:[A-Z]:\\|\\\\)\S+", re.IGNORECASE)
# Where the target is lost, a command is known by its outstanding I/Os.
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
    if not told.block_bytes or time is None or " IO " not in text:
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
