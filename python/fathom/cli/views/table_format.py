"""Tables in the form that ``--format`` asks for: drawn, as Markdown, as CSV or as JSON.

As CSV and JSON the standard output has tables alone; what is said besides goes to the error output.
Numbers are then those of machines: a point for decimals, and nothing between thousands.
"""

from __future__ import annotations

import csv
import re
import sys
from contextlib import contextmanager
from enum import StrEnum
from typing import IO, TYPE_CHECKING

from fathom._finite import json_words
from fathom._formulas import no_formula

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.cli.views.whole_table import WholeTable

__all__ = ["TableFormat", "choose", "chosen_tables", "write_table"]

_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,17})(?:\.\d+)?")
# Within a word an underscore is none (GitHub Flavored Markdown, 6.2).
_SIGNS = re.compile(r"[\\`*<&|~\[\]]|(?<![^\W_])_|_(?![^\W_])")
_UNTITLED = ("name", "value")


class TableFormat(StrEnum):
    """The forms of a table."""

    TABLE = "table"
    MARKDOWN = "markdown"
    CSV = "csv"
    JSON = "json"


class _Chosen:
    """What was requested of one command, and what it has written so far."""

    def __init__(self) -> None:
        self.form = TableFormat.TABLE
        self.stream: IO[str] | None = None
        self.tables: list[dict[str, object]] = []


_chosen = _Chosen()


def choose(form: TableFormat) -> None:
    """Write all tables of this command so."""
    _chosen.form = form
    if form in (TableFormat.CSV, TableFormat.JSON) and _chosen.stream is None:
        _chosen.stream, sys.stdout = sys.stdout, sys.stderr


@contextmanager
def chosen_tables() -> Iterator[None]:
    """Let a command choose the form of its tables; JSON is written at its end, as one document."""
    global _chosen  # noqa: PLW0603 - The streams of a process are its own, too.
    _chosen = mine = _Chosen()
    before = sys.stdout
    try:
        yield
    finally:
        _chosen, sys.stdout = _Chosen(), before
        if mine.form is TableFormat.JSON and mine.stream is not None:
            mine.stream.write(f"{json_words(mine.tables)}\n")


def write_table(table: WholeTable) -> bool:
    """Write a table in the form that was chosen; return whether it is not to be drawn."""
    if _chosen.form is TableFormat.TABLE:
        return False
    if _chosen.form is TableFormat.MARKDOWN:
        sys.stdout.write(_markdown(table))
    elif _chosen.form is TableFormat.JSON:
        _chosen.tables.append(_as_dict(table))
    elif _chosen.stream is not None:
        _csv(table, _chosen.stream)
    return True


def _titles(table: WholeTable) -> list[str]:
    names = iter(_UNTITLED)
    return [column.title.strip() or next(names, "") for column in table.columns]


def _rows(table: WholeTable) -> list[list[str]]:
    rows = [[" ".join(cell.split()) for cell in row] for row in table.rows]
    return [["" if cell == "-" else cell for cell in row] for row in rows]


def _markdown(table: WholeTable) -> str:
    marks = ["---:" if column.is_number else "---" for column in table.columns]
    rows = [[_escaped(cell) for cell in row] for row in (_titles(table), *_rows(table))]
    lines = [_markdown_row(row) for row in (rows[0], marks, *rows[1:])]
    title = [f"**{_escaped(table.title)}**", ""] if table.title else []
    caption = ["", _escaped(table.caption)] if table.caption else []
    return "\n".join([*title, *lines, *caption, "", ""])


def _escaped(text: str) -> str:
    """Return a text that Markdown shows as it is: names may hold its signs, and those of HTML."""
    return _SIGNS.sub(r"\\\g<0>", text)


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _csv(table: WholeTable, stream: IO[str]) -> None:
    if _chosen.tables:
        # Several tables are distinguished by an empty line.
        stream.write("\n")
    _chosen.tables.append({})
    writer = csv.writer(stream, lineterminator="\n")
    # A target may be named like a formula, and is a title where targets stand side by side.
    writer.writerow(map(no_formula, _titles(table)))
    texts = [column.is_text for column in table.columns]
    for row in _rows(table):
        cells = zip(row, texts, strict=True)
        writer.writerow(
            (not is_text and _digits(cell)) or no_formula(cell) for cell, is_text in cells
        )


def _as_dict(table: WholeTable) -> dict[str, object]:
    titles = _titles(table)
    texts = [column.is_text for column in table.columns]
    values = [
        [
            (cell or None) if is_text else _value(cell)
            for cell, is_text in zip(row, texts, strict=True)
        ]
        for row in _rows(table)
    ]
    rows = [dict(zip(titles, row, strict=True)) for row in values]
    return {"title": table.title, "columns": titles, "rows": rows, "caption": table.caption}


def _value(cell: str) -> str | int | float | None:
    """Return a cell as a number if it is one, and None where it says that there is nothing."""
    if not cell:
        return None
    digits = _digits(cell)
    if not digits:
        return cell
    return float(digits) if "." in digits else int(digits)


def _digits(cell: str) -> str:
    """Return the digits of a number without those marks that are for people; else nothing.

    Digits that no number keeps, such as those of a serial number, are none.
    """
    found = _NUMBER.fullmatch(cell)
    return cell.replace(",", "") if found else ""
