"""Tables as files: CSV, JSON, Parquet, Excel.

Parquet and Excel need libraries that are large and seldom wanted: they are extras of the package.
"""

from __future__ import annotations

import csv
import json
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any

from fathom import _packages
from fathom._extras import install_line
from fathom._files import anything, is_empty, replacing, why_no_file
from fathom._finite import finite
from fathom._formulas import no_formula
from fathom._frames import arrow_type, completed
from fathom.errors import FathomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom._frames import Columns

__all__ = [
    "FORMATS",
    "TEXT",
    "ExportError",
    "Format",
    "check_place",
    "content_of",
    "format_of",
    "new_file",
    "write_file",
    "write_text",
]

Format = str
"""One of ``FORMATS``."""
# https://support.microsoft.com/office/excel-specifications-and-limits: rows, characters of a cell.
_XLSX_ROWS = 1_048_576
_XLSX_CHARACTERS = 32_767
_NONE_KNOWN: Columns = MappingProxyType({})
# What XML cannot hold, and with it no cell of Excel.
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class ExportError(FathomError):
    """The table cannot be written so; no file was changed."""


def format_of(path: Path) -> Format:
    """Return the form that a file's name asks for.

    Raises
    ------
    ExportError
        If it asks for none that there is.

    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix in FORMATS:
        return suffix
    *first, last = [f".{one}" for one in FORMATS]
    raise ExportError(f"{path} does not say its form: end it with {', '.join(first)} or {last}")


def content_of(
    rows: Sequence[dict[str, object]], form: Format, columns: Columns = _NONE_KNOWN
) -> bytes:
    """Return what a file of this form holds.

    ``columns`` are those that the table has in any case, also without a row.

    Raises
    ------
    ExportError
        If a library is missing, or the rows do not fit the form.

    """
    with tempfile.NamedTemporaryFile(prefix="fathom-", suffix=f".{form}") as file:
        _WRITERS[form](_finite_rows(rows), Path(file.name), columns)
        return Path(file.name).read_bytes()


def write_text(
    rows: Sequence[dict[str, object]],
    form: Format,
    stream: IO[str],
    columns: Columns = _NONE_KNOWN,
) -> None:
    """Write a form of text to an open stream; ``columns`` as for ``content_of``.

    Raises
    ------
    ExportError
        If the form is not text.

    """
    if form not in TEXT:
        raise ExportError(f"{form} needs a file: name one with --output")
    _TEXT_WRITERS[form](_finite_rows(rows), stream, columns)


def write_file(
    rows: Sequence[dict[str, object]],
    form: Format,
    path: Path,
    *,
    overwrite: bool = False,
    columns: Columns = _NONE_KNOWN,
) -> None:
    """Write a file, which appears only once it is whole; ``columns`` as for ``content_of``.

    Raises
    ------
    ExportError
        If a library is missing, the rows do not fit the form, or the file exists or cannot be
        written.

    """
    write = _WRITERS[form]
    with new_file(path, overwrite=overwrite) as unfinished:
        write(_finite_rows(rows), unfinished, columns)


def check_place(path: Path, *, overwrite: bool = False) -> None:
    """Refuse a place that no file can be written to, before anything is made for it.

    Raises
    ------
    ExportError
        If it is the place of something else, or of a file that has something to lose.

    """
    why = why_no_file(path)
    if why is not None:
        raise ExportError(f"{path} {why}")
    if path.exists() and not overwrite and not is_empty(path.resolve()):
        raise ExportError(f"{path} exists: name another file, or add --overwrite")


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Return the name of an empty file, which is put at ``path`` once it is whole.

    Raises
    ------
    ExportError
        If a file is there that has something to lose, and is not to be overwritten, or the file
        cannot be written.

    """
    check_place(path, overwrite=overwrite)
    may_go = anything if overwrite else is_empty
    try:
        with replacing(path, may_go=may_go, keep=True) as unfinished:
            yield unfinished
    except OSError as error:
        raise ExportError(f"{path} cannot be written: {error.strerror or error}") from error


def _finite_rows(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return the rows without what JSON has no word for, and a spreadsheet takes for a text."""
    return [{name: finite(value) for name, value in row.items()} for row in rows]


def _names(rows: Sequence[dict[str, object]], known: Columns) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row)) or list(known)


def _csv(rows: Sequence[dict[str, object]], stream: IO[str], columns: Columns) -> None:
    writer = csv.DictWriter(stream, _names(rows, columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: no_formula(value) for name, value in row.items()} for row in rows)


def _json(rows: Sequence[dict[str, object]], stream: IO[str], _columns: Columns) -> None:
    json.dump(rows, stream, indent=2, allow_nan=False)
    stream.write("\n")


def _csv_file(rows: Sequence[dict[str, object]], path: Path, columns: Columns) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        _csv(rows, stream, columns)


def _json_file(rows: Sequence[dict[str, object]], path: Path, columns: Columns) -> None:
    with path.open("w", encoding="utf-8") as stream:
        _json(rows, stream, columns)


def _parquet_file(rows: Sequence[dict[str, object]], path: Path, columns: Columns) -> None:
    try:
        pa, parquet = _packages.pa, _packages.parquet
        array: Any = pa.array
    except ImportError as error:
        raise ExportError(f"Parquet needs pyarrow: {install_line('parquet')}") from error
    # What a column holds is the same in each file, whatever rows it has: several are read as one.
    whole, kinds = completed(rows, columns)
    made = {}
    for name, kind in kinds.items():
        values = [row[name] for row in whole]
        # What is no number, and that nobody knows, its values tell.
        is_told = name not in columns and kind == "str?" and any(one is not None for one in values)
        made[name] = array(values, type=None if is_told else arrow_type(pa, kind))
    parquet.write_table(pa.table(made), path, compression="zstd")


def _xlsx_file(rows: Sequence[dict[str, object]], path: Path, columns: Columns) -> None:
    try:
        workbook, cell_of = _packages.openpyxl.Workbook, _packages.WriteOnlyCell
    except ImportError as error:
        raise ExportError(f"Excel needs openpyxl: {install_line('xlsx')}") from error
    if len(rows) >= _XLSX_ROWS:
        raise ExportError(
            f"Excel holds {_XLSX_ROWS - 1:,} rows, not {len(rows):,}: export Parquet or CSV"
        )
    book = workbook(write_only=True)
    sheet = book.create_sheet("fathom")
    sheet.freeze_panes = "A2"
    names = _names(rows, columns)

    def cell(value: object) -> object:
        if not isinstance(value, str):
            return value
        text = cell_of(sheet, _NO_XML.sub("\ufffd", value)[:_XLSX_CHARACTERS])
        # A name that begins with "=" is no formula.
        text.data_type = "s"
        return text

    sheet.append([cell(name) for name in names])
    for row in rows:
        sheet.append([cell(row.get(name)) for name in names])
    book.save(path)


_WRITERS: dict[Format, Callable[[Sequence[dict[str, object]], Path, Columns], None]] = {
    "csv": _csv_file,
    "json": _json_file,
    "parquet": _parquet_file,
    "xlsx": _xlsx_file,
}
_TEXT_WRITERS: dict[Format, Callable[[Sequence[dict[str, object]], IO[str], Columns], None]] = {
    "csv": _csv,
    "json": _json,
}
FORMATS = tuple(_WRITERS)
"""The forms that a table can have, as files end in them."""
TEXT = tuple(_TEXT_WRITERS)
"""Those of them that a terminal can show."""
