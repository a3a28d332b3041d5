"""Statistics for measurements of storage.

>>> from fathom.stats import runs_mean
>>> found = runs_mean([100, 101, 99, 100, 102, 98, 100, 101, 99, 100])
>>> round(found.low, 1), round(found.mean, 1), round(found.high, 1)
(99.2, 100.0, 100.8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.stats.autocorrelation import Neighbours, neighbours
    from fathom.stats.change_points import ChangePoint, find_change_points
    from fathom.stats.compare import Comparison, compare_means
    from fathom.stats.distribution import DistributionComparison, compare_distributions
    from fathom.stats.groups import PooledSpread, pooled_spread
    from fathom.stats.histogram import Histograms, QuantileEstimate
    from fathom.stats.mean import Estimate, independent_mean, long_run, planned_count, series_mean
    from fathom.stats.noise import Noise, recognise
    from fathom.stats.runs import RunsEstimate, order_interval, runs_mean, runs_percentile
    from fathom.stats.scaling import (
        GREATEST_ERROR,
        LoadPoint,
        ScalabilityLaw,
        find_knee,
        fit_scalability,
    )
    from fathom.stats.spread import (
        Drift,
        Outlier,
        coefficient_of_variation,
        find_drift,
        find_outliers,
    )
    from fathom.stats.steadiness import Steadiness, find_steadiness
    from fathom.stats.steady import SteadyState, WindowCheck, find_steady_state
    from fathom.stats.surface import Surface, fit_surface
    from fathom.stats.transient import Transient, find_transient

__all__ = [
    "GREATEST_ERROR",
    "ChangePoint",
    "Comparison",
    "DistributionComparison",
    "Drift",
    "Estimate",
    "Histograms",
    "LoadPoint",
    "Neighbours",
    "Noise",
    "Outlier",
    "PooledSpread",
    "QuantileEstimate",
    "RunsEstimate",
    "ScalabilityLaw",
    "Steadiness",
    "SteadyState",
    "Surface",
    "Transient",
    "WindowCheck",
    "coefficient_of_variation",
    "compare_distributions",
    "compare_means",
    "find_change_points",
    "find_drift",
    "find_knee",
    "find_outliers",
    "find_steadiness",
    "find_steady_state",
    "find_transient",
    "fit_scalability",
    "fit_surface",
    "independent_mean",
    "long_run",
    "neighbours",
    "order_interval",
    "planned_count",
    "pooled_spread",
    "recognise",
    "runs_mean",
    "runs_percentile",
    "series_mean",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
