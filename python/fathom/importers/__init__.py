"""Imports: results of other tools, as data.

An importer is pure: bytes in, a ``Reading`` out, which has all results of the source and names each
line that no rule knows. It touches no machine and no store.

>>> from fathom.importers import read_source
>>> reading = read_source(open("fio.json", "rb").read())  # doctest: +SKIP
>>> [(one.title, one.total.iops) for one in reading.results]  # doctest: +SKIP

In the store, an imported result is a run like any other: ``Store.runs.save_imported`` fills the
summary columns as far as the source tells their figures, and leaves the others None. ``StoredRun``
then has both forms: ``imported`` is the ``ImportedResult`` with all that the source told (None if
the run was measured by Fathom), and ``result`` a view of it in the shape of a measured one
(``_view``): documented rates, latencies only where the source has a histogram, and neither threads
nor warnings.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fathom.importers._errors import ImportFormatError, UnknownFormatError
from fathom.importers._imported import (
    ImportedCpu,
    ImportedDirection,
    ImportedLatency,
    ImportedLoad,
    ImportedResult,
    ImportedRow,
    ImportedSeries,
    ImportedTarget,
    OwnRun,
    Reading,
    UnparsedLine,
)
from fathom.importers._view import result_view

if TYPE_CHECKING:
    from fathom.importers._fio_json import fio_results
    from fathom.importers._formats import FORMATS, MAX_BYTES, format_of, read_source

__all__ = [
    "FORMATS",
    "MAX_BYTES",
    "ImportFormatError",
    "ImportedCpu",
    "ImportedDirection",
    "ImportedLatency",
    "ImportedLoad",
    "ImportedResult",
    "ImportedRow",
    "ImportedSeries",
    "ImportedTarget",
    "OwnRun",
    "Reading",
    "UnknownFormatError",
    "UnparsedLine",
    "fio_results",
    "format_of",
    "read_source",
    "result_view",
]

# The store needs what an import is, and none of those that read one.
_READERS = {
    "FORMATS": "_formats",
    "MAX_BYTES": "_formats",
    "fio_results": "_fio_json",
    "format_of": "_formats",
    "read_source": "_formats",
}


def __getattr__(name: str) -> object:
    """Import the readers when one is asked for (PEP 562)."""
    if name not in _READERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_READERS[name]}"), name)
    globals()[name] = found
    return found
