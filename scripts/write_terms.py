"""Write the table of terms into docs/coming-from-fio.md."""

from __future__ import annotations

from pathlib import Path

from fathom.tools import terms_table

HEADING = "## Terms\n\n"


def main() -> None:
    """Replace what stands behind the heading."""
    page = Path(__file__).parents[1] / "docs/coming-from-fio.md"
    head, heading, _ = page.read_text().partition(HEADING)
    page.write_text(head + heading + terms_table())


if __name__ == "__main__":
    main()
