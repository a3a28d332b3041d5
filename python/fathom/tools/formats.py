"""The formats, and which one a source has."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fathom._text import encoding_of
from fathom.imported.errors import ImportFormatError, UnknownFormatError
from fathom.imported.model import Reading
from fathom.tools._own_json import looks_like_own_json, parsed_json, read_own_json
from fathom.tools.crystaldiskmark.read import (
    looks_like_crystaldiskmark,
    read_crystaldiskmark,
)
from fathom.tools.diskspd.read import looks_like_diskspd_text, read_diskspd_text
from fathom.tools.diskspd.read_xml import looks_like_diskspd_xml, read_diskspd_xml
from fathom.tools.fio.read import looks_like_fio_json, read_fio_json
from fathom.tools.fio.read_logs import (
    looks_like_fio_hist_log,
    looks_like_fio_log,
    read_fio_hist_log,
    read_fio_log,
)
from fathom.tools.iometer.load import looks_like_icf
from fathom.tools.iometer.read import looks_like_iometer_csv, read_iometer_csv, read_iometer_icf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FORMATS", "MAX_BYTES", "format_of", "read_source"]

# The largest real ones are JSON+ of many jobs and logs of single I/Os, of some 10 MiB; what is
# larger is something else, and would fill the memory.
MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class _Format:
    looks: Callable[[str], bool]
    read: Callable[[bytes], Reading]


def _never(_text: str) -> bool:
    """Say that content alone does not show this format."""
    return False


FORMATS: Mapping[str, _Format] = {
    "fathom-json": _Format(looks_like_own_json, read_own_json),
    "fio-json": _Format(looks_like_fio_json, read_fio_json),
    "diskspd-xml": _Format(looks_like_diskspd_xml, read_diskspd_xml),
    "iometer-csv": _Format(looks_like_iometer_csv, read_iometer_csv),
    "iometer-icf": _Format(looks_like_icf, read_iometer_icf),
    "crystaldiskmark-text": _Format(looks_like_crystaldiskmark, read_crystaldiskmark),
    "fio-hist-log": _Format(looks_like_fio_hist_log, read_fio_hist_log),
    **{
        f"fio-{kind}-log": _Format(_never, partial(read_fio_log, kind=kind))
        for kind in ("bw", "iops", "lat", "clat", "slat")
    },
    "diskspd-text": _Format(looks_like_diskspd_text, read_diskspd_text),
}


# Enough to tell how a document begins.
_BEGINNING_CHARS = 1000
# What programs print, and what one log may hold one after the other.
_PRINTED = ("fio-json", "diskspd-xml", "crystaldiskmark-text", "diskspd-text")

# What a log of fio measures stands in its name alone: job_clat.1.log.
_LOG_NAME = re.compile(r"_(bw|iops|lat|clat|slat)(?:\.\d+)?\.log$")


def format_of(data: bytes, name: str = "") -> str:
    """Return the name of the format that a source has, by its content.

    Logs of fio are recognised by the file's ``name``, too.

    Raises
    ------
    ImportFormatError
        If it is empty or damaged JSON; ``UnknownFormatError`` if it is of none that is known.

    """
    data = _utf8(data)
    if not data.strip():
        raise ImportFormatError("it is empty; nothing was imported: write the result once more")
    text = data.decode("utf-8", "replace")
    for form, one in FORMATS.items():
        if one.looks(text):
            return form
    if looks_like_fio_log(text):
        if match := _LOG_NAME.search(name):
            return f"fio-{match[1]}-log"
        raise ImportFormatError(
            "it is a log of fio, of which only the name tells what it measures: add --from "
            "fio-bw-log, fio-iops-log, fio-lat-log, fio-clat-log or fio-slat-log"
        )
    raise UnknownFormatError(_unknown(text))


def _unknown(text: str) -> str:
    """Say what a source of no known format is, and what to do."""
    hint = f"if it is one of {', '.join(FORMATS)}, name that with --from"
    if "\0" in text:
        return f"it is no text, and no result of a tool that is known; {hint}"
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        # A document that was cut off is named so, as its end may have been what shows its kind.
        parsed_json(text)
        return f"its JSON is neither fio's nor Fathom's; {hint}"
    return f"it has no result of a tool that is known; {hint}"


def _utf8(data: bytes) -> bytes:
    """Return a text as UTF-8: Windows PowerShell redirects output into files of UTF-16."""
    if encoding_of(data) == "utf-16":
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def read_source(data: bytes, form: str | None = None, name: str = "") -> Reading:
    """Return all results of a source.

    Parameters
    ----------
    data
        The whole file.
    form
        Its format, a key of FORMATS; by default the one that its content shows, and those that
        what lies around its results shows: a log may hold the text of one program and the XML of
        the next.
    name
        Its file's name, by which the logs of fio are recognised.

    Raises
    ------
    ImportFormatError
        If the source is empty, too large, damaged, or of no known format.

    """
    if len(data) > MAX_BYTES:
        raise ImportFormatError(
            f"it has more than the {MAX_BYTES >> 20} MiB that an import reads: split it"
        )
    data = _utf8(data)
    found = form or format_of(data, name)
    if found not in FORMATS:
        raise ImportFormatError(f"there is no format {found!r}; there are {', '.join(FORMATS)}")
    is_log = not form and found in _PRINTED
    if is_log:
        _refuse_own(data)
    try:
        reading = FORMATS[found].read(data)
        return _with_others(data, reading, found) if is_log else reading
    except (ArithmeticError, ValueError) as error:
        words = "it has a number that is none, or that no figure holds"
        raise ImportFormatError(f"it is damaged: {words}") from error


def _with_others(data: bytes, reading: Reading, found: str) -> Reading:
    """Return a reading with the results that lie around its own, in the order of the source."""
    for form in _PRINTED:
        around = _around(data, reading)
        if form == found or not FORMATS[form].looks(around):
            continue
        more = FORMATS[form].read(around.encode())
        if more.results:
            within = [line for line in reading.unparsed if line.is_within]
            lines = sorted((*within, *more.unparsed), key=lambda line: line.number)
            results = sorted((*reading.results, *more.results), key=lambda one: one.lines or (0, 0))
            reading = Reading(tuple(results), tuple(lines))
    return reading


def _refuse_own(data: bytes) -> None:
    """Refuse what has a result of our own in its midst, which is read as a whole file only."""
    text = data.decode("utf-8", "replace")
    for begin in re.finditer(r"^\{", text, re.MULTILINE):
        if looks_like_own_json(text[begin.start() : begin.start() + _BEGINNING_CHARS]):
            line = text.count("\n", 0, begin.start()) + 1
            raise ImportFormatError(
                f"a result of Fathom follows in line {line}; nothing of it was imported: give each "
                "result a file of its own"
            )


def _around(data: bytes, reading: Reading) -> str:
    """Return the lines outside of all results, each in its place, and empty ones for the others."""
    outside = {line.number for line in reading.unparsed if not line.is_within}
    lines = data.decode("utf-8", "replace").split("\n")
    return "\n".join(line if number in outside else "" for number, line in enumerate(lines, 1))
