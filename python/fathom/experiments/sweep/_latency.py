"""The latencies of cells that a sweep did not measure: estimates, each with its interval.

The sweep goes on until it is sure of the rates, not of the latencies. Theirs are surfaces of their
own through the logarithms of what was measured, whose intervals are widened by how far each
measured cell lies from what the others say of it (leave-one-out).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fathom.stats import fit_surface

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.runners import Figures
    from fathom.stats.floats import FloatArray

__all__ = ["LATENCIES", "EstimatedLatency", "Latencies", "estimate_latencies"]

LATENCIES = (
    "latency_mean_ns",
    "latency_p50_ns",
    "latency_p95_ns",
    "latency_p99_ns",
    "latency_p999_ns",
)
"""Those of ``Figures``, in the order of the tables."""

# Fewer points make no surface in three coordinates.
_LEAST_POINTS = 8
# Two-sided, 95 %.
_DEVIATIONS = 1.96


@dataclass(frozen=True)
class EstimatedLatency:
    """A latency that was not measured, and the limits between which it is at 95 %; nanoseconds."""

    value_ns: float
    low_ns: float
    high_ns: float


Latencies = dict[str, EstimatedLatency]


def estimate_latencies(
    features: FloatArray, measured: Mapping[int, Figures], cells: Sequence[int]
) -> dict[int, Latencies]:
    """Return the latencies of cells, by their coordinates and by what was measured around them.

    ``features`` has one row for each cell. A latency that too few cells have is left out.
    """
    found: dict[int, Latencies] = {cell: {} for cell in cells}
    for name in LATENCIES if cells else ():
        known = {cell: getattr(figures, name) for cell, figures in measured.items()}
        heights = {cell: math.log(value) for cell, value in known.items() if value}
        if len(heights) < _LEAST_POINTS:
            continue
        for cell, one in zip(cells, _estimated(features, heights, cells), strict=True):
            found[cell][name] = one
    return found


def _estimated(
    features: FloatArray, heights: Mapping[int, float], cells: Sequence[int]
) -> list[EstimatedLatency]:
    surface = fit_surface(features[list(heights)], list(heights.values()))
    # Never narrower than the surface says: nothing checks a latency afterwards.
    scale = max(float(np.sqrt(np.mean(surface.held_out_scores() ** 2))), 1.0)
    middles, deviations = surface.predict(features[list(cells)])
    spreads = np.exp(_DEVIATIONS * scale * deviations)
    return [
        EstimatedLatency(value, value / spread, value * spread)
        for value, spread in zip(np.exp(middles).tolist(), spreads.tolist(), strict=True)
    ]
