"""Files of TOML that somebody wrote, with whatever editor of whatever system."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from fathom._files import read_bytes
from fathom._text import decoded

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_toml"]

_MOST_MIB = 1


def read_toml(path: Path) -> dict[str, object]:
    """Return what a file of TOML says; editors of Windows set a mark before it.

    Raises
    ------
    OSError
        As ``read_bytes``.
    ValueError
        If it is no TOML, holds a number of more digits than Python reads, or is nested too deeply.

    """
    data = read_bytes(path, most_mib=_MOST_MIB)
    try:
        return tomllib.loads(decoded(data))
    except RecursionError as error:
        raise ValueError(str(error)) from error
