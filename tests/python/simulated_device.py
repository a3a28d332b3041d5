"""A device whose true speed is known, on a clock of its own: hours pass in seconds.

It takes DiskSpd arguments as the engine does. Its intervals carry AR(1) noise and a warm-up, its
runs differ from each other, and ``--stop-confidence`` ends a run by the engine's rule
(``simulated_stop``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from fathom.runners import Figures, RunOutcome
from scipy.signal import lfilter
from simulated_stop import stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.stats.floats import FloatArray

__all__ = ["SHAPES", "Load", "SimulatedDevice"]

_INTERVAL_S = 0.01
_BYTES_PER_MIB = 1 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
# Opening the target and starting threads.
_START_S = 0.05


@dataclass(frozen=True)
class Load:
    """What the device sees of a run."""

    block_bytes: int = 4096
    threads: int = 1
    depth: int = 1
    write_percent: int = 0

    @property
    def outstanding(self) -> int:
        """Of all threads."""
        return self.threads * self.depth


@cache
def _repairman(customers: int, servers: int, think: float) -> float:
    """Return the throughput of a closed M/M/m queue in units of one server's rate.

    ``think`` is the time between a completion and the next submission, in service times: the birth
    and death chain of the machine repairman (Kleinrock, Queueing Systems I, 3.8).
    """
    state = np.arange(customers)
    births = np.log((customers - state) / think)
    deaths = np.log(np.minimum(state + 1, servers))
    weights = np.concatenate([[0.0], np.cumsum(births - deaths)])
    shares = np.exp(weights - weights.max())
    busy = np.minimum(np.arange(customers + 1), servers)
    return float((shares * busy).sum() / shares.sum())


def _service_s(load: Load) -> float:
    """Return a fixed part, and what the bytes take at 2 GiB/s."""
    return 80e-6 * (1 + 0.3 * load.write_percent / 100) + load.block_bytes / (2 << 30)


def _saturation(load: Load) -> float:
    """Eight servers, and 10 microseconds of the host between two I/Os."""
    service_s = _service_s(load)
    return _repairman(load.outstanding, 8, 10e-6 / service_s) / service_s


def _contended(load: Load) -> float:
    """Gunther's law in threads; depth fills a pipeline of 16."""
    threads = load.threads
    law = threads / (1 + 0.03 * (threads - 1) + 4e-4 * threads * (threads - 1))
    filled = load.depth * 16 / (load.depth + 16)
    return law * filled * 0.3 / _service_s(load)


def _capped(load: Load) -> float:
    """32 channels without any queue before, and a bus of 3 GiB/s: two sharp bends."""
    return min(min(load.outstanding, 32) / _service_s(load), (3 << 30) / load.block_bytes)


def _thrashing(load: Load) -> float:
    """Beyond saturation, more load costs speed."""
    return _saturation(load) / (1 + load.outstanding / 4000)


SHAPES: dict[str, Callable[[Load], float]] = {
    "saturation": _saturation,
    "contention": _contended,
    "bandwidth cap": _capped,
    "thrashing": _thrashing,
}


@dataclass
class SimulatedDevice:
    """Runs DiskSpd arguments against a known surface.

    ``interval_noise`` is the relative deviation of an interval of 10 ms, ``correlation`` that of
    neighbours, ``run_noise`` the deviation between runs, ``drop`` and ``warm_s`` the depth and the
    time constant of the warm-up.
    """

    shape: Callable[[Load], float]
    seed: int = 1
    interval_noise: float = 0.03
    correlation: float = 0.4
    run_noise: float = 0.005
    drop: float = 0.4
    warm_s: float = 0.1
    fails: Callable[[Load], bool] = lambda _load: False
    stop_rule: Callable[[FloatArray, float, float], tuple[int, float, float | None]] = stopped
    now_s: float = 0.0
    loads: list[Load] = field(default_factory=list)
    looks: list[Load] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin the noise."""
        self._random = np.random.default_rng(self.seed)

    def clock(self) -> float:
        """Return the seconds that have passed on the device's clock."""
        return self.now_s

    def true_figures(self, load: Load) -> Figures:
        """Return what a run without any noise would find."""
        return _figures(load, self.shape(load), None, 1.0)

    def run(
        self,
        arguments: Sequence[str],
        *,
        label: str = "",
        experiment_id: int | None = None,
        step_id: int | None = None,
    ) -> RunOutcome:
        """Run as the engine would."""
        del label, experiment_id, step_id
        load, options = _read(arguments)
        # A short look is no measurement.
        (self.looks if "--stop-ios" in options else self.loads).append(load)
        self.now_s += _START_S
        if self.fails(load):
            return RunOutcome(None, None, "the device said no")
        true = self.shape(load)
        duration_s, warm_up_s = float(options["-d"]), float(options.get("-W", "5"))
        series = self._series(true, duration_s, warm_up_s)
        rule = options.get("--stop-confidence")
        end, mean, half = len(series), float(series.mean()), None
        if rule is not None:
            level, precision = (float(one) / 100 for one in rule.split(":"))
            end, mean, half = self.stop_rule(series, level, precision)
        if "--stop-ios" in options:
            done = np.cumsum(series) * _INTERVAL_S
            end = min(1 + int(np.searchsorted(done, float(options["--stop-ios"]))), len(series))
            mean = float(series[:end].mean())
        self.now_s += warm_up_s + end * _INTERVAL_S
        return RunOutcome(None, _figures(load, mean, half, end * _INTERVAL_S), None)

    def _series(self, true: float, duration_s: float, warm_up_s: float) -> FloatArray:
        count = round(duration_s / _INTERVAL_S)
        fresh = self._random.standard_normal(count + 100)
        noise = lfilter([1.0], [1.0, -self.correlation], fresh)[100:]
        noise *= self.interval_noise * np.sqrt(1 - self.correlation**2)
        times = warm_up_s + np.arange(count) * _INTERVAL_S
        warming = 1 - self.drop * np.exp(-times / self.warm_s)
        level = true * (1 + self.run_noise * self._random.standard_normal())
        return np.asarray(level * warming * (1 + noise))


def _read(arguments: Sequence[str]) -> tuple[Load, dict[str, str]]:
    options: dict[str, str] = {}
    for one in arguments:
        if one.startswith("--"):
            name, _, value = one.partition("=")
            options[name] = value
        elif one.startswith("-"):
            options[one[:2]] = one[2:]
    block = options.get("-b", "64K")
    unit = _UNITS.get(block[-1], 0)
    size = int(block[:-1]) * unit if unit else int(block)
    threads, depth, write = (
        int(options.get(name, missing)) for name, missing in (("-t", "1"), ("-o", "2"), ("-w", "0"))
    )
    return Load(size, threads, depth, write), options


def _figures(load: Load, iops: float, half: float | None, measured_s: float) -> Figures:
    mean_ns = load.outstanding / iops * 1e9
    idle_ns = _service_s(load) * 1e9
    return Figures(
        iops=iops,
        mib_per_s=iops * load.block_bytes / _BYTES_PER_MIB,
        relative_half_width=half,
        measured_s=measured_s,
        latency_mean_ns=mean_ns,
        latency_p50_ns=0.9 * mean_ns,
        latency_p95_ns=mean_ns + 0.6 * max(mean_ns - 0.5 * idle_ns, 0.0),
        latency_p99_ns=mean_ns + 1.2 * max(mean_ns - 0.5 * idle_ns, 0.0),
        latency_p999_ns=mean_ns + 2.0 * max(mean_ns - 0.5 * idle_ns, 0.0),
        cpu_percent=None,
        busiest_cpu_percent=None,
    )
