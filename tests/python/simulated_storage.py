"""Storage whose truth is known, behind the seam of runners, on a clock of its own.

It answers DiskSpd arguments with whole results: counts that follow exactly from its truth and the
time, latencies, intervals, CPU tables and warnings. Each trait is one that a finding is about.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
from fabricated import fabricated, latencies_ns
from fathom._permission import NOTHING, Permission
from fathom.runners import RunOutcome, stored_figures
from fathom.runners.saving import save_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fathom import Result
    from fathom.stats.floats import FloatArray
    from fathom.store import Store

__all__ = ["SimulatedStorage", "Truth"]

INTERVAL_S = 0.1
# What a run takes besides its time.
START_S = 0.05
_BOUND = ("core_saturated", "CPU 0 was 99.5 % busy.")
_GIB = 1 << 30
_MIB = 1 << 20


def with_failure(result: Result, failure: dict[str, str]) -> Result:
    """Return a result as a run has it that failed so."""
    return fathom.Result.from_json(json.dumps({**result.raw, "failures": [failure]}))


@dataclass
class Truth:
    """What storage is: so many I/Os at once, each in the same time; the others wait.

    ``read_us`` and ``write_us`` are of a small I/O, ``durable_us`` of a write-through one;
    ``mib_per_s`` is the most that passes. Reads that stay within ``cache_bytes`` take
    ``cached_us``. One thread completes at most ``thread_iops``, and keeps one of ``cpus`` busy.
    Each run begins at the full rate and ends at ``ends_at`` of it. Every ``stall_every_s`` the rate
    falls to a twentieth for one interval. ``slow_share`` of the I/Os take ``slow_us``. By ``drift``
    of itself the rate grows with each second on the clock. Of each run the engine gives ``doubts``:
    kinds of warnings, with their evidence.
    """

    servers: int = 16
    read_us: float = 100.0
    write_us: float = 100.0
    durable_us: float = 100.0
    mib_per_s: float = 100_000.0
    cache_bytes: int = 0
    cached_us: float = 10.0
    thread_iops: float = float("inf")
    cpus: int = 4
    ends_at: float = 1.0
    stall_every_s: float = 0.0
    slow_share: float = 0.0
    slow_us: float = 0.0
    drift: float = 0.0
    noise: float = 0.0
    doubts: tuple[tuple[str, str], ...] = ()

    def service_us(self, asked: dict[str, Any], size_bytes: int) -> float:
        """Return what one I/O takes when it need not wait."""
        reach = min(asked["limit_bytes"] or size_bytes, size_bytes)
        cached = reach <= self.cache_bytes or asked["caching"] == "cached"
        write = float(asked["write_percent"]) / 100
        written_us = self.durable_us if asked["write_through"] else self.write_us
        return (1 - write) * (self.cached_us if cached else self.read_us) + write * written_us

    def iops(self, asked: dict[str, Any], size_bytes: int, now_s: float = 0.0) -> float:
        """Return the true rate of a load."""
        outstanding = int(asked["outstanding"] * asked["threads"])
        rate = min(outstanding, self.servers) * 1e6 / self.service_us(asked, size_bytes)
        rate = min(rate, asked["threads"] * self.thread_iops)
        rate = min(rate, self.mib_per_s * _MIB / asked["block_bytes"])
        return float(rate * np.exp(self.drift * now_s))


@dataclass
class Permitted:
    """Runs of which a person allows more."""

    storage: SimulatedStorage
    permission: Permission

    def clock(self) -> float:
        """Return the storage's clock."""
        return self.storage.clock()

    def run(self, arguments: Sequence[str], **more: Any) -> RunOutcome:  # noqa: ANN401 - Handed on.
        """Run as the storage does."""
        self.storage.permission = self.permission
        try:
            return self.storage.run(arguments, **more)
        finally:
            self.storage.permission = NOTHING


@dataclass
class SimulatedStorage:
    """Runs DiskSpd arguments on simulated storage: ``truths`` by what the path contains.

    ``before_run`` is called with the number of each run, from 1, and may raise or destroy.
    """

    store: Store | None = None
    truths: dict[str, Truth] = field(default_factory=lambda: {"": Truth()})
    size_bytes: int = 64 * _GIB
    before_run: Callable[[int], None] = lambda _number: None
    fails_at: int = 0
    failure: dict[str, str] = field(default_factory=lambda: {"kind": "medium", "code": "EIO"})
    interrupted_at: int = 0
    now_s: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    arguments: list[list[str]] = field(default_factory=list)
    began_s: list[float] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    permissions: list[Permission] = field(default_factory=list)
    permission: Permission = NOTHING

    def permitted(self, permission: Permission) -> Permitted:
        """Return this storage, noting what is allowed."""
        return Permitted(self, permission)

    def __post_init__(self) -> None:
        """Begin the noise."""
        self._random = np.random.default_rng(1)

    def clock(self) -> float:
        """Return the seconds that have passed on the storage's clock."""
        return self.now_s

    def truth(self, path: str | Path) -> Truth:
        """Return the truth of what a path leads to."""
        return next(one for part, one in self.truths.items() if part in str(path))

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run as the engine would."""
        profile = fathom.parse(list(arguments))["time_spans"][0]
        (asked,) = profile["targets"]
        self.asked.append(asked)
        self.arguments.append([*arguments])
        self.permissions.append(self.permission)
        number = len(self.asked)
        self.before_run(number)
        self.began_s.append(self.now_s)
        result = self._result(profile, asked)
        self.results.append(result)
        failures = ["the disk is gone"] if number == self.fails_at else []
        if failures:
            result = with_failure(result, {**self.failure, "message": failures[0]})
        run_id = None
        if self.store is not None:
            ids = {"experiment_id": experiment_id, "step_id": step_id}
            run_id = save_run(self.store, result, arguments, label=label, failures=failures, **ids)
        if number == self.interrupted_at:
            raise fathom.RunInterrupted(result)
        if failures:
            return RunOutcome(run_id, None, failures[0], result)
        return RunOutcome(run_id, stored_figures(result), None, result)

    def _result(self, profile: dict[str, Any], asked: dict[str, Any]) -> Result:
        truth = self.truth(asked["path"])
        rate = truth.iops(asked, self.size_bytes, self.now_s)
        series = self._series(truth, rate, profile)
        self.now_s += START_S + profile["warm_up_s"] + len(series) * INTERVAL_S
        outstanding = asked["outstanding"] * asked["threads"]
        bound = rate >= 0.99 * asked["threads"] * truth.thread_iops
        busy = min(asked["threads"], truth.cpus)
        return fabricated(
            rates=series,
            latency_ns=self._latencies(truth, 1e6 * outstanding / rate),
            idle_percent=[0.5 if bound and at < busy else 80.0 for at in range(truth.cpus)],
            warnings=[*truth.doubts, *([_BOUND] if bound else [])],
            path=asked["path"],
            block_bytes=asked["block_bytes"],
            random=asked["access"].get("random_percent", 0),
            write=asked["write_percent"],
            threads=asked["threads"],
            depth=asked["outstanding"],
            caching=asked["caching"],
            write_through=asked["write_through"],
            limit=asked["limit_bytes"],
            size=self.size_bytes,
        )

    def _series(self, truth: Truth, rate: float, profile: dict[str, Any]) -> FloatArray:
        """Return the rates of the intervals; a steady run ends early where the rule is asked."""
        seconds = profile["duration_s"]
        is_plain = truth.ends_at == 1.0 and not truth.stall_every_s
        if profile["stop"]["confidence"] and is_plain:
            seconds = min(seconds, 3)
        if profile["stop"]["bytes"]:
            (target,) = profile["targets"]
            needed_s = profile["stop"]["bytes"] / (rate * target["block_bytes"])
            seconds = min(seconds, max(needed_s, INTERVAL_S))
        count = round(seconds / INTERVAL_S)
        series = rate * np.linspace(1.0, truth.ends_at, count)
        series *= 1 + truth.noise * self._random.standard_normal(count)
        if truth.stall_every_s:
            every = round(truth.stall_every_s / INTERVAL_S)
            series[every::every] /= 20
        return np.asarray(series)

    @staticmethod
    def _latencies(truth: Truth, mean_us: float) -> FloatArray:
        """Return latencies with exactly this mean, apart from the slow ones."""
        values = latencies_ns(mean_us)
        values *= 1e3 * mean_us / values.mean()
        slow = round(truth.slow_share * values.size)
        return np.concatenate((values[slow:], latencies_ns(truth.slow_us or 1.0)[:slow]))
