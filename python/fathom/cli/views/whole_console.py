"""The terminal, as Rich draws on it; imported where something is drawn."""

from __future__ import annotations

from typing import Any

from rich.console import Console

__all__ = ["WholeConsole"]


class WholeConsole(Console):
    """A terminal that cuts no line: what is too long for it is left to the terminal."""

    def print(self, *objects: Any, crop: bool = False, **more: Any) -> None:  # noqa: ANN401 - Rich's.
        """Print as Rich does, and cut nothing."""
        super().print(*objects, crop=crop, **more)
