"""The engine in this process; each run is saved as it ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fathom import stats
from fathom._permission import NOTHING, Permission
from fathom.metrics import interval_series
from fathom.runners.known_mean import LEAST_INTERVALS
from fathom.runners.measure import measure
from fathom.runners.runner import Figures, RunOutcome
from fathom.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.engine import EventCallback
    from fathom.result import Direction, Result
    from fathom.store import Store

__all__ = ["OWN_TOOL", "NativeRunner", "cut_short", "stored_figures"]

OWN_TOOL = "Fathom diskspd"
"""The name in our own results."""


class NativeRunner:
    """Runs with Fathom's own engine."""

    def __init__(
        self,
        store: Store | None,
        *,
        on_event: EventCallback | None = None,
        permission: Permission = NOTHING,
    ) -> None:
        """Save into this store, or nowhere; ``on_event`` gets the events of each run.

        ``permission`` is what a person has typed for these runs.
        """
        self._store = store
        self._on_event = on_event
        self._permission = permission

    def permitted(self, permission: Permission) -> NativeRunner:
        """Return a runner with this permission; see ``PermittedRunner``."""
        return NativeRunner(self._store, on_event=self._on_event, permission=permission)

    def clock(self) -> float:
        """Return seconds of a clock that nobody sets."""
        return time.monotonic()

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run and save; see ``Runner.run``."""
        found = measure(
            self._store,
            arguments,
            label=label,
            experiment_id=experiment_id,
            step_id=step_id,
            on_event=self._on_event,
            permission=self._permission,
        )
        failure = found.failure or cut_short(found.result)
        figures = stored_figures(found.result) if failure is None else None
        return RunOutcome(found.run_id, figures, failure, found.result)


def cut_short(result: Result) -> str | None:
    """Say that a run ended before its time, if it did: its figures are of another length.

    Ctrl-C ends an experiment, too, and raises; an event that the load names (``-yp``) does not.
    """
    profile = result.raw["request"]["profile"]
    ended = [span for span in result.time_spans if span.complete]
    if len(ended) == len(profile["time_spans"]):
        return None
    event = (profile.get("events") or {}).get("stop")
    return f"the event {event} (-yp) ended it before its time" if event else "it ended too early"


def stored_figures(result: Result) -> Figures:
    """Return the figures of a result's first time span, such as one that the store kept."""
    span = result.time_spans[0]
    # Where the rule was not met, what it takes for the transient may be any stall.
    is_known = span.stop is not None and span.stop.cause == "confidence"
    known = span.stop.confidence if is_known and span.stop is not None else None
    iops, mib_per_s = span.total.iops, span.total.mib_per_s
    if known is not None and iops:
        # The rule knows the mean behind the transient; bytes follow I/Os.
        mib_per_s *= known.iops_mean / iops
        iops = known.iops_mean
    if result.raw["tool"]["name"] != OWN_TOOL and span.stop is not None:
        # Another tool goes on to its end, and its warm-up is its own.
        known = span.stop.confidence
    spans = (one["time_spans"][0] for one in (result.raw, *result.raw.get("parts", ())))
    used = [cpu["user_percent"] + cpu["kernel_percent"] for span in spans for cpu in span["cpu"]]
    threads = _thread_percents(result)
    return Figures(
        iops=iops,
        mib_per_s=mib_per_s,
        relative_half_width=(
            _series_half_width(result) if known is None else known.precision_percent / 100
        ),
        measured_s=span.measured_ns / NS_PER_S,
        latency_mean_ns=None if span.total.latency is None else span.total.latency.mean_ns,
        latency_p50_ns=_quantile(span.total, 0.5),
        latency_p95_ns=_quantile(span.total, 0.95),
        latency_p99_ns=_quantile(span.total, 0.99),
        latency_p999_ns=_quantile(span.total, 0.999),
        cpu_percent=span.cpu_percent,
        busiest_cpu_percent=max(used, default=None),
        latency_ios=None if span.total.latency is None else span.total.latency.count,
        load_cpu_percent=sum(threads) / len(used) if used and threads else None,
        busiest_thread_percent=max(threads, default=None),
    )


def _thread_percents(result: Result) -> list[float]:
    """Return what each thread of load used of one CPU; nothing of another tool's."""
    span = result.time_spans[0]
    if result.raw["tool"]["name"] != OWN_TOOL or not span.measured_ns:
        return []
    # A thread that hands over many I/Os at once notices the end of the time late.
    return [min(100 * one.cpu_ns / span.measured_ns, 100.0) for one in span.threads]


def _series_half_width(result: Result) -> float | None:
    """Return what the series of a run without rules (``-D``) tells of its mean."""
    if result.time_spans[0].stop is not None:
        return None
    series = interval_series(result, "iops")
    if series is None or series.size < LEAST_INTERVALS or not series.any():
        return None
    return stats.series_mean(series).relative_half_width


def _quantile(direction: Direction, quantile: float) -> float | None:
    return None if direction.latency is None else direction.latency.quantile_ns(quantile)
