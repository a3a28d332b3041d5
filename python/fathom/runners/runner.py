"""The seam between experiments and what runs their measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._permission import Permission
    from fathom.result import Result

__all__ = ["Figures", "PermittedRunner", "RunOutcome", "Runner", "RunnerOfHosts"]


@dataclass(frozen=True)
class Figures:
    """What an experiment needs to know of a run.

    Attributes
    ----------
    iops, mib_per_s
        Of reads and writes, behind the transient where a stop rule found one.
    relative_half_width
        Half of the interval of ``iops`` as a share of it; None if neither a stop rule nor a series
        (``-D``) told.
    measured_s
        How long was measured, in seconds.
    latency_mean_ns, latency_p50_ns, latency_p95_ns, latency_p99_ns, latency_p999_ns
        Of the whole measured time; None without ``-L``.
    cpu_percent, busiest_cpu_percent
        Mean use of the CPUs, and that of the busiest one; None if unknown.
    latency_ios
        Of how many I/Os the latencies are. The percentiles have no interval: the I/Os of a run are
        not independent, and few of them carry none anyhow.
    load_cpu_percent, busiest_thread_percent
        What the threads of load used of all CPUs, and the busiest one of one CPU; None if unknown.
        What else runs on this machine is not in them.

    """

    iops: float
    mib_per_s: float
    relative_half_width: float | None
    measured_s: float
    latency_mean_ns: float | None
    latency_p50_ns: float | None
    latency_p95_ns: float | None
    latency_p99_ns: float | None
    latency_p999_ns: float | None
    cpu_percent: float | None
    busiest_cpu_percent: float | None
    latency_ios: int | None = None
    load_cpu_percent: float | None = None
    busiest_thread_percent: float | None = None


@dataclass(frozen=True)
class RunOutcome:
    """A run that ended.

    Attributes
    ----------
    run_id
        In the store; None if it was not saved.
    figures
        None if the run failed.
    failure
        Why it failed, if it did.
    result
        All that was measured, for what figures do not tell; None if the runner has no more.
    more
        What a runner measures that knows other figures than those of I/O, which its strategy knows.

    """

    run_id: int | None
    figures: Figures | None
    failure: str | None
    result: Result | None = None
    more: object = None


class Runner(Protocol):
    """Runs DiskSpd arguments, which may come from anywhere: they allow nothing."""

    def clock(self) -> float:
        """Return seconds on the clock by which runs take their time."""

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run, and save the run where runs are saved.

        Raises
        ------
        InvalidRequestError, RefusedError
            If nothing was run.
        RunInterrupted
            If Ctrl-C ended the run.

        """


@runtime_checkable
class RunnerOfHosts(Protocol):
    """A runner whose loads several hosts may run."""

    def keep_hosts(self, names: Sequence[str]) -> None:
        """Measure with these hosts and no others, as what was measured before is theirs."""


class PermittedRunner(Runner, Protocol):
    """A runner that can be allowed more for some of its runs."""

    def permitted(self, permission: Permission) -> Runner:
        """Return a runner for runs of which a person allows this."""
