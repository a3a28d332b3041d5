"""Trends: one load on one target over time, where its level changed, and how sure that is."""

from fathom.trends.figure import trend_figure
from fathom.trends.trend import DEFAULT_METRIC, MOST_RUNS, Level, Trend, find_trend

__all__ = ["DEFAULT_METRIC", "MOST_RUNS", "Level", "Trend", "find_trend", "trend_figure"]
