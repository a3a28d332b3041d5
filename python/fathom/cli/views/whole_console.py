"""The terminal, as Rich draws on it; imported where something is drawn."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from fathom.cli.views.table_format import write_table
from fathom.cli.views.whole_table import WholeTable

__all__ = ["WholeConsole"]


class WholeConsole(Console):
    """A terminal that cuts no line: what is too long for it is left to the terminal."""

    def print(self, *objects: Any, crop: bool = False, **more: Any) -> None:  # noqa: ANN401 - Rich's.
        """Print as Rich does, and cut nothing; tables in the form that was requested."""
        drawn = [one for one in objects if not (isinstance(one, WholeTable) and write_table(one))]
        if drawn or not objects:
            super().print(*drawn, crop=crop, **more)
