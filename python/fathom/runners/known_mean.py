"""What is known of the mean of a tool that does not end by itself once it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathom import stats
from fathom.units import NS_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LEAST_INTERVALS", "known_mean"]

LEAST_INTERVALS = 8
_LEVEL_PERCENT = 95.0
_MILLI = 1000


def known_mean(
    series: Sequence[float], interval_ms: int, span: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the mean IOPS of a series and its interval, in the form of a result's ``stop``.

    The interval takes neighbours that resemble each other into account (``series_mean``); no
    transient is looked for, since the warm-up is the tool's own. None where there are fewer than 8
    intervals.
    """
    if len(series) < LEAST_INTERVALS or not any(series):
        return None
    rule = span["stop"]["confidence"] or {}
    level = rule.get("level_milli", _LEVEL_PERCENT * _MILLI) / _MILLI
    found = stats.series_mean(series, confidence=level / 100)
    return {
        "cause": "duration",
        "interval_ns": interval_ms * NS_PER_MS,
        "intervals": len(series),
        "steady": None,
        "confidence": {
            "level_percent": level,
            "iops_mean": found.mean,
            "iops_low": max(found.low, 0.0),
            "iops_high": found.high,
            "precision_percent": 100 * found.relative_half_width,
            # Nothing is requested where the duration is fixed.
            "precision_percent_limit": rule.get("precision_milli", 0) / _MILLI,
            "effective_samples": found.effective_count,
            "transient_intervals": 0,
            "transient_ns": 0,
        },
    }
