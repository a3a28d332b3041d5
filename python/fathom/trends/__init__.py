"""Trends: one load on one target over time, where its level changed, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._later import later

if TYPE_CHECKING:
    from fathom.trends.figure import trend_figure
    from fathom.trends.trend import DEFAULT_METRIC, MOST_RUNS, Level, Trend, find_trend

__all__ = [
    "DEFAULT_METRIC",
    "MOST_RUNS",
    "Level",
    "Trend",
    "find_trend",
    "trend_figure",
]

if not TYPE_CHECKING:
    __getattr__ = later(__name__)
