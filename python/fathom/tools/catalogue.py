"""The table of the formats in docs/import.md, drawn from what their readers say of themselves.

``python -m fathom.tools.catalogue docs/import.md`` draws it again.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.tools.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["drawn", "rows"]

_ROWS = re.compile(r"(?<=\| Format \| What it is \|\n\|---\|---\|\n)(?:.+\n)*")


def _words(read: Callable[..., object]) -> str:
    """Return the first line of a reader's file."""
    whole = read.func if isinstance(read, partial) else read
    return (sys.modules[whole.__module__].__doc__ or "").partition("\n")[0].replace("``", "`")


def rows() -> list[str]:
    """Return a row for each file of readers, with the names of its formats."""
    names: dict[str, list[str]] = {}
    for name, form in FORMATS.items():
        names.setdefault(_words(form.read), []).append(f"`{name}`")
    return [f"| {', '.join(several)} | {words} |" for words, several in names.items()]


def drawn(page: str) -> str:
    """Return a page with the table of today."""
    table = "".join(f"{row}\n" for row in rows())
    return _ROWS.sub(lambda _found: table, page, count=1)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(drawn(path.read_text(encoding="utf-8")), encoding="utf-8")
