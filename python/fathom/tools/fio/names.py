"""Names of files, sections and engines as fio reads them.

fio parts several files with colons, takes a backslash before a colon for a part of the name, and
no other backslash for anything else. It cuts every value at the first ``;`` or ``#`` and drops
white space and control characters at its end (``strip_blank_end``), so that a job with such a name
would go to another file. All of this was tried with fio 3.33, a character at a time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SYNCHRONOUS", "filename_of", "files_of", "is_global", "is_plain", "without_comment"]

SYNCHRONOUS = ("sync", "psync", "vsync", "pvsync", "pvsync2", "mmap")
"""Engines with one I/O at a time, whatever iodepth says (fio(1), ``iodepth``)."""

# Where fio itself would read more, or less, into the name of a file than a name.
_UNSPEAKABLE = re.compile(r"[$;#\x00-\x1f\x7f]|^\s|[\s\\]\Z|^-\Z")
_COLON = re.compile(r"(?<!\\):")
_COMMENT = re.compile(r"[;#]")


def is_plain(path: str) -> bool:
    """Tell whether fio can be told a file of this name."""
    return _UNSPEAKABLE.search(path) is None


def is_global(section: str) -> bool:
    """Tell whether fio takes a section of this name for options of all jobs, and for no job.

    It looks at the first six letters alone (``init.c``), so that ``global.dat`` is none either.
    """
    return section.startswith("global")


def filename_of(paths: Iterable[str]) -> str:
    """Return the value of fio's ``filename`` for these files.

    Raises
    ------
    InvalidRequestError
        If fio would take a name for that of another file.

    """
    return ":".join(_told(path) for path in paths)


def files_of(filename: str) -> list[str]:
    """Return the files that a value of fio's ``filename`` names."""
    return [path.replace("\\:", ":") for path in _COLON.split(filename)]


def without_comment(value: str) -> str:
    """Return a value up to where fio cuts it."""
    return _COMMENT.split(value, maxsplit=1)[0].rstrip()


def _told(path: str) -> str:
    if path.startswith(("#", "*")):
        raise InvalidRequestError(f"{path}: name the target by its path, such as /dev/nvme0n1")
    if is_address(path):
        raise InvalidRequestError(f"{path}: fio has no words for a target over the network")
    if not is_plain(path):
        words = "fio would read another name into it; rename the file"
        raise InvalidRequestError(f"{path!r}: fio cannot be told a file of this name: {words}")
    return path.replace(":", "\\:")
