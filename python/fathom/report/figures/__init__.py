"""The figures of a report, one file per subject, in the order in which they are shown.

Each is a function from the material to a figure, or to the reason why there is none; None where the
question does not arise, as of thread scaling in a report of a single run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.report._figure import Figure, LeftOut
from fathom.report.figures._boxes import box_plots
from fathom.report.figures._by_depth import by_depth
from fathom.report.figures._cache_step import cache_step
from fathom.report.figures._changes import changes
from fathom.report.figures._cpu_cost import cpu_cost
from fathom.report.figures._distribution import distribution
from fathom.report.figures._heat_map import heat_map
from fathom.report.figures._holds import holds
from fathom.report.figures._latency_map import latency_map
from fathom.report.figures._load_curve import load_curve
from fathom.report.figures._mixes import mixes
from fathom.report.figures._same_loads import same_loads
from fathom.report.figures._side_by_side import side_by_side
from fathom.report.figures._steady_state import steady_state
from fathom.report.figures._threads import threads
from fathom.report.figures._time_series import time_series
from fathom.report.figures._workloads import workloads
from fathom.report.figures._writing import writing

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.report._material import Material

__all__ = ["FIGURES", "figures_of"]

FIGURES: tuple[Callable[[Material], Figure | LeftOut | None], ...] = (
    side_by_side,
    changes,
    same_loads,
    holds,
    writing,
    load_curve,
    heat_map,
    by_depth,
    distribution,
    latency_map,
    time_series,
    threads,
    cpu_cost,
    steady_state,
    cache_step,
    box_plots,
    mixes,
    workloads,
)


def figures_of(material: Material) -> tuple[list[Figure], list[LeftOut]]:
    """Return all figures for which there are numbers, and why the others are missing."""
    found = [make(material) for make in FIGURES]
    return (
        [one for one in found if isinstance(one, Figure)],
        [one for one in found if isinstance(one, LeftOut)],
    )
