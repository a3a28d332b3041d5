"""Results of other tools, as data: what a source said, and no more.

``fathom.tools`` reads them. In the store, an imported result is a run like any other:
``Store.runs.save_imported`` fills the summary columns as far as the source tells their figures, and
leaves the others None. ``StoredRun`` then has both forms: ``imported`` is the ``ImportedResult``
with all that the source told (None if the run was measured by Fathom), and ``result`` a view of it
in the shape of a measured one (``view``): documented rates, latencies only where the source has a
histogram, and neither threads nor warnings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.imported.errors import ImportFormatError, UnknownFormatError
    from fathom.imported.model import (
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
    from fathom.imported.view import result_view

__all__ = [
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
    "result_view",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
