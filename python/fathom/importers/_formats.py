"""The formats, and which one a source has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.importers._diskspd_text import looks_like_diskspd_text, read_diskspd_text
from fathom.importers._diskspd_xml import looks_like_diskspd_xml, read_diskspd_xml
from fathom.importers._errors import ImportFormatError
from fathom.importers._fio_json import looks_like_fio_json, read_fio_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fathom.importers._imported import Reading

__all__ = ["FORMATS", "MAX_BYTES", "format_of", "read_source"]

# The largest real ones are JSON+ of many jobs and logs of single I/Os, of some 10 MiB; what is
# larger is something else, and would fill the memory.
MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class _Format:
    looks: Callable[[str], bool]
    read: Callable[[bytes], Reading]


FORMATS: Mapping[str, _Format] = {
    "fio-json": _Format(looks_like_fio_json, read_fio_json),
    "diskspd-xml": _Format(looks_like_diskspd_xml, read_diskspd_xml),
    "diskspd-text": _Format(looks_like_diskspd_text, read_diskspd_text),
}


def format_of(data: bytes) -> str:
    """Return the name of the format that a source has, by its content.

    Raises
    ------
    ImportFormatError
        If it is empty, or of none that is known.

    """
    if not data.strip():
        raise ImportFormatError("it is empty")
    text = data.decode("utf-8", "replace")
    for name, one in FORMATS.items():
        if one.looks(text):
            return name
    raise ImportFormatError(
        f"no known format: it should be one of {', '.join(FORMATS)}; name one with --format if it "
        "is"
    )


def read_source(data: bytes, form: str | None = None) -> Reading:
    """Return all results of a source.

    Parameters
    ----------
    data
        The whole file.
    form
        Its format, a key of FORMATS; by default the one that its content shows.

    Raises
    ------
    ImportFormatError
        If the source is empty, too large, damaged, or of no known format.

    """
    if len(data) > MAX_BYTES:
        raise ImportFormatError(
            f"it has more than the {MAX_BYTES >> 20} MiB that an import reads: split it"
        )
    name = form or format_of(data)
    if name not in FORMATS:
        raise ImportFormatError(f"there is no format {name!r}; there are {', '.join(FORMATS)}")
    return FORMATS[name].read(data)
