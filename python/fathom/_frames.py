"""Data frames: how results, sweeps and stores become tables of pandas, polars and Arrow.

Whoever has rows inherits ``Tabular`` and names its tables; none of the libraries is needed before
one is requested, and none belongs to the package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Row", "Tabular"]

Row: TypeAlias = dict[str, object]


class Tabular:
    """Something that has tables: rows, and data frames of them.

    ``tables`` names them; the first is the one that is meant if none is named. Rows are flat, each
    figure has its unit in its name, and what is not known is None.
    """

    tables: ClassVar[tuple[str, ...]] = ()

    def rows(self, table: str | None = None) -> list[Row]:
        """Return a table, a dictionary for each row.

        Raises
        ------
        ValueError
            If there is no such table.

        """
        name = self.tables[0] if table is None else table
        if name not in self.tables:
            raise ValueError(f"there is no table {name!r}; there are {', '.join(self.tables)}")
        return list(self._rows(name))

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a data frame of pandas.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.

        """
        frame: pd.DataFrame = _library("pandas").DataFrame(self._columns(table))
        return frame

    def to_polars(self, table: str | None = None) -> pl.DataFrame:
        """Return a table as a data frame of polars.

        Raises
        ------
        ImportError
            If polars is not installed.
        ValueError
            If there is no such table.

        """
        frame: pl.DataFrame = _library("polars").DataFrame(self._columns(table), strict=False)
        return frame

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """Return a table as one of Arrow.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        ValueError
            If there is no such table.

        """
        made: pa.Table = _library("pyarrow").table(self._columns(table))
        return made

    def _rows(self, table: str) -> Iterable[Row]:
        """Return the rows of a table that there is."""
        raise NotImplementedError

    def _columns(self, table: str | None) -> dict[str, list[object]]:
        """Return the columns of a table: all that any of its rows has."""
        rows = self.rows(table)
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: [row.get(name) for row in rows] for name in names}


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed, and no part of Fathom: pip install {name}; rows() gives the "
            "same table as dictionaries, without any library",
            name=name,
        ) from error
