"""The table of the rules in docs/findings.md, drawn from them.

``python -m fathom.findings.catalogue docs/findings.md`` draws it again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from fathom.findings.search import RULES

__all__ = ["drawn", "rows"]

_ROWS = re.compile(
    r"(?<=\| Rule \| Says \| Fires when \| Source \|\n\|---\|---\|---\|---\|\n)(?:.+\n)+"
)


def rows() -> list[str]:
    """Return a row for each rule."""
    return [f"| `{one.name}` | {one.title} | {one.fires_when} | {one.source} |" for one in RULES]


def drawn(page: str) -> str:
    """Return a page with the table of today."""
    return _ROWS.sub("".join(f"{row}\n" for row in rows()).replace("\\", r"\\"), page, count=1)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(drawn(path.read_text(encoding="utf-8")), encoding="utf-8")
