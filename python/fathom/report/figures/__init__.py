"""The figures of a report, one file per subject, in the order in which they are shown.

Each is a function from the material to a figure, or to the reason why there is none; None where the
question does not arise, as of thread scaling in a report of a single run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom._text import plain
from fathom.report.figure import Figure, LeftOut, Table, View
from fathom.report.figures import (
    boxes,
    by_depth,
    cache_step,
    changes,
    cpu_cost,
    density,
    distribution,
    heat_map,
    holds,
    hosts,
    latency_map,
    load_curve,
    mixes,
    same_loads,
    side_by_side,
    steady_state,
    threads,
    time_series,
    workloads,
    writing,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.report.material import Material

__all__ = ["FIGURES", "figures_of"]

FIGURES: tuple[Callable[[Material], Figure | LeftOut | None], ...] = (
    side_by_side.side_by_side,
    changes.changes,
    same_loads.same_loads,
    density.density,
    hosts.hosts_together,
    hosts.hosts,
    holds.holds,
    writing.writing,
    load_curve.load_curve,
    heat_map.heat_map,
    by_depth.by_depth,
    distribution.distribution,
    latency_map.latency_map,
    time_series.time_series,
    threads.threads,
    cpu_cost.cpu_cost,
    steady_state.steady_state,
    cache_step.cache_step,
    boxes.box_plots,
    mixes.mixes,
    workloads.workloads,
)


def figures_of(material: Material) -> tuple[list[Figure], list[LeftOut]]:
    """Return all figures for which there are numbers, and why the others are missing."""
    found = [make(material) for make in FIGURES]
    return (
        [_plain(_without_twins(one)) for one in found if isinstance(one, Figure)],
        [one for one in found if isinstance(one, LeftOut)],
    )


def _plain(figure: Figure) -> Figure:
    """Return a figure whose pictures and choices have the names that the words beside them have."""
    views = [View(_spelt(one.spec), _spelt(one.choice)) for one in figure.views]
    return replace(figure, views=views)


def _spelt(part: object) -> Any:  # noqa: ANN401 - Any JSON.
    if isinstance(part, dict):
        return {key: _spelt(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_spelt(one) for one in part]
    return plain(part) if isinstance(part, str) else part


def _without_twins(figure: Figure) -> Figure:
    """Return a figure whose table has no column twice: what is chosen may be a part of a load."""
    table = figure.table
    texts = table.texts()
    seen: dict[tuple[str, ...], int] = {}
    for at, column in enumerate(table.columns):
        seen.setdefault((column.title, *(row[at] for row in texts)), at)
    kept = sorted(seen.values())
    if len(kept) == len(table.columns):
        return figure
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(figure, table=Table(tuple(table.columns[at] for at in kept), rows))
