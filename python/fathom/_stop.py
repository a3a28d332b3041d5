"""Why a time span with stop rules ended, and what its rules had found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Awaited", "KnownMean", "SteadyWindow", "Stop"]


@dataclass(frozen=True)
class SteadyWindow:
    """The window of intervals by which steadiness was judged last, in percent of its mean.

    ``range_percent`` is the greatest minus the least rate, ``slope_percent`` the rise or fall of
    the line of least squares over the window; steady is what keeps both within their limits.
    """

    window_intervals: int
    iops_mean: float
    range_percent: float
    range_percent_limit: float
    slope_percent: float
    slope_percent_limit: float


@dataclass(frozen=True)
class KnownMean:
    """What is known of the mean IOPS behind the transient, at a level of confidence.

    ``precision_percent`` is half of the interval from ``iops_low`` to ``iops_high`` in percent of
    the mean, ``precision_percent_limit`` what was requested. ``effective_samples`` independent
    intervals would know the mean as well as the correlated ones do. The transient, which is left
    out of this mean, began with the measured time, and had ``transient_iops`` in it.
    """

    level_percent: float
    iops_mean: float
    iops_low: float
    iops_high: float
    precision_percent: float
    precision_percent_limit: float
    effective_samples: float
    transient_intervals: int
    transient_ns: int
    transient_iops: float = 0.0


@dataclass(frozen=True)
class Awaited:
    """What the rule about the mean waited for, how much of it was seen, and how much would do.

    ``kind`` is ``transient`` or ``seconds`` (both figures in seconds), ``episodes`` (stalls or
    bursts), ``periods`` (four of the slowest, in seconds), ``level`` (it changed), ``values``
    (independent intervals) or ``precision`` (in percent of the mean).
    """

    kind: str
    seen: float
    needed: float


@dataclass(frozen=True)
class Stop:
    """Why a time span with stop rules ended, and what its rules had found by then.

    ``cause`` is ``duration``, ``interruption``, ``bytes``, ``ios``, ``pass``, ``steady`` or
    ``confidence``. ``steady`` and ``confidence`` are None without the rule, or if there were too
    few intervals to tell; ``interval_ns`` is 0 if no rule judged the rate. ``awaited`` is what the
    rule about the mean had not seen yet; None if it was met, or of an older result.
    """

    cause: str
    interval_ns: int
    intervals: int
    steady: SteadyWindow | None
    confidence: KnownMean | None
    awaited: Awaited | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self | None:
        """Read the end of a time span of the JSON form; None if it had no rules."""
        if data is None:
            return None
        steady, confidence = data["steady"], data["confidence"]
        awaited = data.get("awaited")
        return cls(
            cause=data["cause"],
            interval_ns=data["interval_ns"],
            intervals=data["intervals"],
            steady=SteadyWindow(**steady) if steady else None,
            confidence=KnownMean(**confidence) if confidence else None,
            awaited=Awaited(**awaited) if awaited else None,
        )
