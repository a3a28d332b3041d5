"""Data frames: how results, sweeps and stores become tables of pandas, polars and Arrow.

Whoever has rows inherits ``Tabular`` and names its tables; none of the libraries is needed before
one is requested, and none belongs to the package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Columns", "Kind", "Row", "Tabular", "arrow_type", "completed"]

Row: TypeAlias = dict[str, object]
Kind: TypeAlias = Literal["int", "int?", "float", "float?", "str", "str?", "bool?"]
"""What a column holds; with a question mark, None where it is not known."""
Columns: TypeAlias = "Mapping[str, Kind]"

# In pandas whole numbers of which some are not known are floats, and texts are what it makes them.
_PANDAS = {"int": "int64", "int?": "float64", "float": "float64"}
_POLARS = {"int": "Int64", "float": "Float64", "str": "String", "bool": "Boolean"}
_ARROW = {"int": "int64", "float": "float64", "str": "string", "bool": "bool_"}


class Tabular:
    """Something that has tables: rows, and data frames of them.

    ``tables`` names them; the first is the one that is meant if none is named. Rows are flat, each
    figure has its unit in its name, and what is not known is None. A table has its columns also
    where it has no rows, and each column has one type whatever rows there are.
    """

    tables: ClassVar[tuple[str, ...]] = ()

    def rows(self, table: str | None = None) -> list[Row]:
        """Return a table, a dictionary for each row.

        Raises
        ------
        ValueError
            If there is no such table.

        """
        return self._table(self._named(table))[0]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a data frame of pandas.

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.

        """
        pandas = _library("pandas")
        values, kinds = self._columns(table)
        columns = {name: _series(pandas, values[name], kind) for name, kind in kinds.items()}
        frame: pd.DataFrame = pandas.DataFrame(columns)
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
        polars = _library("polars")
        values, kinds = self._columns(table)
        schema = {name: getattr(polars, _POLARS[_plain(kind)]) for name, kind in kinds.items()}
        frame: pl.DataFrame = polars.DataFrame(values, schema=schema, strict=False)
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
        arrow = _library("pyarrow")
        values, kinds = self._columns(table)
        fields = [
            arrow.field(name, arrow_type(arrow, kind), nullable=kind.endswith("?"))
            for name, kind in kinds.items()
        ]
        made: pa.Table = arrow.table(values, schema=arrow.schema(fields))
        return made

    def _named(self, table: str | None) -> str:
        name = self.tables[0] if table is None else table
        if name not in self.tables:
            raise ValueError(f"there is no table {name!r}; there are {', '.join(self.tables)}")
        return name

    def _rows(self, table: str) -> Iterable[Row]:
        """Return the rows of a table that there is."""
        raise NotImplementedError

    def _kinds(self, table: str) -> Columns:
        """Return the columns that a table has in any case."""
        raise NotImplementedError

    def _table(self, table: str) -> tuple[list[Row], dict[str, Kind]]:
        """Return the rows of a table, each with all columns, and what the columns hold."""
        return completed(self._rows(table), self._kinds(table))

    def _columns(self, table: str | None) -> tuple[dict[str, list[object]], dict[str, Kind]]:
        """Return the values of the columns of a table, and what they hold."""
        rows, kinds = self._table(self._named(table))
        return {name: [row[name] for row in rows] for name in kinds}, kinds


def completed(found: Iterable[Row], known: Columns) -> tuple[list[Row], dict[str, Kind]]:
    """Return rows, each with all columns, and what the columns hold.

    ``known`` are the columns that their table has in any case; what others hold, the rows tell.
    """
    rows = list(found)
    names = dict.fromkeys(name for row in rows for name in row)
    names |= dict.fromkeys(known)
    kinds = {
        name: known[name] if name in known else _kind_of(name, [row.get(name) for row in rows])
        for name in names
    }
    for place, row in enumerate(rows):
        if len(row) < len(names):
            rows[place] = {name: row.get(name) for name in names}
    return rows, kinds


def arrow_type(arrow: ModuleType, kind: Kind) -> pa.DataType:
    """Return the type of Arrow's that holds what a column does."""
    made: pa.DataType = getattr(arrow, _ARROW[_plain(kind)])()
    return made


def _plain(kind: Kind) -> str:
    return kind.removesuffix("?")


# Columns that only some rows have: latencies of cells that were estimated, and what imports tell.
_MEASURES = ("latency", "iops", "mib_per_s", "percentile")


def _kind_of(name: str, values: Sequence[object]) -> Kind:
    """Return what a column holds that not every such table has, such as a parameter of a sweep."""
    if name.startswith(_MEASURES):
        return "float?"
    known = [value for value in values if value is not None]
    return "int?" if known and all(type(value) is int for value in known) else "str?"


def _series(pandas: Any, values: Sequence[object], kind: Kind) -> Any:  # noqa: ANN401 - Of pandas.
    """Return a column of pandas; texts, and what is true, false or unknown, are objects."""
    return pandas.Series(values, dtype=_PANDAS.get(kind, _PANDAS.get(_plain(kind), "object")))


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{name} is not installed, and no part of Fathom: pip install {name}; rows() gives the "
            "same table as dictionaries, without any library",
            name=name,
        ) from error
