"""What a figure is: a picture as data, the words beneath it, and the same numbers as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Cell", "Column", "Figure", "LeftOut", "Table", "View"]

Cell = str | float | None
"""A cell of a table; None where it is not known."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, its unit, and how many digits stand behind the point.

    ``unit`` is empty where there is none, ``digits`` None where the column holds words. These are
    decimals, or digits in all of figures that are not of one size (``is_significant``).
    """

    name: str
    unit: str = ""
    digits: int | None = None
    is_significant: bool = False

    @property
    def title(self) -> str:
        """The name with its unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def is_number(self) -> bool:
        """Whether its cells are numbers."""
        return self.digits is not None

    def text(self, value: Cell) -> str:
        """Return a cell as a reader sees it."""
        if value is None:
            return "-"
        if isinstance(value, str):
            return value
        digits = self.digits or 0
        if self.is_significant and value:
            digits = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
        return f"{value:,.{digits}f}"


@dataclass(frozen=True)
class Table:
    """Rows of cells; each row has as many as there are columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def texts(self) -> list[list[str]]:
        """Return all cells as a reader sees them."""
        pairs = [zip(self.columns, row, strict=True) for row in self.rows]
        return [[column.text(cell) for column, cell in row] for row in pairs]


@dataclass(frozen=True)
class View:
    """One picture of a figure.

    Attributes
    ----------
    choice
        What the reader has chosen, such as ``{"Shown": "IOPS"}``; all views of a figure have the
        same keys, and no two the same choice. Empty where there is nothing to choose.
    spec
        Vega-Lite. Colours that depend on light and dark are names of ``style``; ``"container"``
        stands for the width that there is.

    """

    spec: Mapping[str, Any] = field(repr=False)
    choice: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What was chosen, in words."""
        return ", ".join(f"{name.lower()}: {value}" for name, value in self.choice.items())


@dataclass(frozen=True)
class Figure:
    """A figure of a report.

    Attributes
    ----------
    name
        For anchors and names of files, such as ``load-curve``.
    title
        What it shows, in a few words.
    caption
        What one sees and what it means, in sentences.
    views
        At least one; the first is what paper shows.
    table
        The numbers behind it.

    """

    name: str
    title: str
    caption: str
    views: Sequence[View]
    table: Table

    @property
    def spec(self) -> Mapping[str, Any]:
        """The picture that is shown first."""
        return self.views[0].spec

    def controls(self) -> dict[str, list[str]]:
        """Return what can be chosen, and the values of each."""
        found: dict[str, dict[str, None]] = {}
        for view in self.views:
            for name, value in view.choice.items():
                found.setdefault(name, {})[value] = None
        return {name: list(values) for name, values in found.items() if len(values) > 1}


@dataclass(frozen=True)
class LeftOut:
    """A figure for which the numbers are missing: its name and title, and why, as a sentence."""

    name: str
    title: str
    why: str
