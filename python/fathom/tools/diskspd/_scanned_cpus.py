"""Rows of the table of CPUs whose cells stand out of order.

Cells of one row follow each other, with other words between them. A row is one if its numbers hold:
usage is user plus kernel time, each printed to a hundredth. A cell that has lost digits at the edge
of the page has no decimals, or does not fit; it is unknown, and what holds of the others decides.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

from fathom.imported.model import ImportedCpu
from fathom.tools._lines import decimal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["folded_cpus", "scrambled_cpus"]

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
