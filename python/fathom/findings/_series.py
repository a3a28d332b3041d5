"""The rates of a run's intervals, without its warm-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.metrics import interval_series
from fathom.stats import find_transient

if TYPE_CHECKING:
    from fathom.result import Result
    from fathom.stats.floats import FloatArray

__all__ = ["settled_rates"]

# Fewer are no evidence of anything that happens in time.
_LEAST_INTERVALS = 25
# Means of fewer I/Os scatter by chance alone.
_LEAST_IOS = 2_000


def settled_rates(result: Result) -> FloatArray | None:
    """Return IOPS of each interval behind the transient; None if there are too few to judge."""
    series = interval_series(result, "iops")
    if series is None or series.size < _LEAST_INTERVALS or result.total.ios < _LEAST_IOS:
        return None
    transient = find_transient(series)
    # What does not end is no transient: nothing is left out of it.
    settled = series[transient.count :] if transient.is_over else series
    return settled if settled.size >= _LEAST_INTERVALS else None
