"""What a sweep, a tuning and an assessment take, by the stop rule and by the one before it.

Part of claims.py: the devices are those of the tests, with hours that pass in seconds.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import claims_lab
import numpy as np
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.store import Store
from scipy.signal import lfilter
from scipy.special import stdtrit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from simulated_device import SHAPES, Load, SimulatedDevice
from simulated_stop import stopped
from simulated_storage import INTERVAL_S, SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt
    from fathom.experiments.tune.result import Tuning

    FloatArray = npt.NDArray[np.float64]
    StopRule = Callable[[FloatArray, float, float], tuple[int, float, float | None]]

SCRIPT = {
    "block": "4K,8K,16K,32K,64K,128K,512K,1M,2M",
    "threads": "1..64",
    "depth": "1..64",
}
# What the loads of a script that people use take with its fixed times: 2 s + 5 s + 10 s.
_FIXED_RUN_S = 17
_FIXED = {"sweep": 441 * _FIXED_RUN_S, "tune": 48 * _FIXED_RUN_S}
_MIB = 1 << 20
# In percent, and how many tunings of each of the four devices.
_RUN_NOISES = (0.5, 2.0, 6.0)
_SEEDS = 25


def stopped_before(
    series: FloatArray, level: float, precision: float
) -> tuple[int, float, float | None]:
    """Return what ``stopped`` does by the rule before: MSER-5 cuts what it will, 80 values do.

    It is here for what it took, and for nothing else.
    """
    looked, mean, half = 80, float(series.mean()), None
    while looked <= len(series):
        seen = series[:looked]
        batches = seen[: seen.size // 5 * 5].reshape(-1, 5).mean(axis=1)
        rests = [batches[at:] for at in range(batches.size // 2 + 1)]
        cut = int(np.argmin([rest.var() / rest.size for rest in rests]))
        rest = seen[5 * cut :]
        centred = rest - rest.mean()
        r = float(centred[1:] @ centred[:-1]) / float(centred @ centred) + 1 / rest.size
        if cut < batches.size // 2 and rest.size >= 80 * (1 + r) / (1 - min(r, 0.99)):
            size = rest.size // 20
            means = rest[-size * 20 :].reshape(20, size).mean(axis=1)
            mean = float(rest.mean())
            error = float(means.std(ddof=1)) / np.sqrt(20)
            half = float(stdtrit(19, (1 + level) / 2) * error / mean)
            if half <= precision:
                return looked, mean, half
        looked += looked // 2
    return len(series), mean, half


def never_stopped(
    series: FloatArray, _level: float, _precision: float
) -> tuple[int, float, float | None]:
    """Return all of a run, as a fixed duration does."""
    return len(series), float(series.mean()), None


def costs() -> dict[str, dict[str, float]]:
    """Return what each takes in seconds: with fixed durations, by the rule before, and now."""
    rules: dict[str, StopRule] = {"before": stopped_before, "now": stopped}
    found: dict[str, dict[str, float]] = {}
    for name, shape in SHAPES.items():
        for verb, timed in (("sweep", _swept_s), ("tune", _tuned_s)):
            times = {key: timed(shape, rule) for key, rule in rules.items()}
            found[f"{verb}, {name}"] = {"fixed": _FIXED[verb], **times}
    rules = {"fixed": never_stopped, **rules}
    found["assess"] = {key: _assessed_s(rule) for key, rule in rules.items()}
    return found


def tunings() -> dict[str, dict[str, int]]:
    """Return how often tunings of devices with so much noise between runs are right."""
    found = {}
    for noise in _RUN_NOISES:
        counts = Counter[str]()
        for shape in SHAPES.values():
            for seed in range(_SEEDS):
                device = SimulatedDevice(shape, seed=seed, run_noise=noise / 100)
                tuning = _tuned(device, grow=False)
                near = claims_lab.is_near(shape, tuning)
                counts.update(
                    tunings=1,
                    right=near,
                    confirmed=tuning.is_confirmed,
                    wrong=tuning.is_confirmed and not near,
                )
        found[f"{noise:g}"] = dict(counts)
    return found


def rendered_tunings(found: dict[str, dict[str, int]]) -> str:
    """Return the table of how often tunings are right."""
    rows = [
        f"| {noise} % | {one['tunings']} | {100 * one['right'] / one['tunings']:.0f} % |"
        f" {100 * one['confirmed'] / one['tunings']:.0f} % | {one['wrong']} |"
        for noise, one in found.items()
    ]
    return _table(
        "| Between runs | tunings | within one step | confirmed | confirmed and wrong |", rows
    )


def rendered_costs(found: dict[str, dict[str, float]]) -> str:
    """Return the table of what was timed."""
    rows = [
        f"| {name} | {one['fixed']:,.0f} | {one['before']:,.0f} | {one['now']:,.0f} |"
        f" {100 * one['now'] / one['fixed']:.1f} % |"
        for name, one in found.items()
    ]
    return _table("| Seconds | fixed durations | rule before | rule now | now of fixed |", rows)


def _table(head: str, rows: list[str]) -> str:
    """Return a table of five columns."""
    return "\n".join([head, "|---|---|---|---|---|", *rows, ""])


def _swept_s(shape: Callable[[Load], float], rule: StopRule) -> float:
    device = SimulatedDevice(shape, seed=5, stop_rule=rule)
    plan, _ = plan_sweep(["x"], parse_axes(SCRIPT), seed=5)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "x.sqlite") as store:
        return sweep(store, device, plan).elapsed_s


def _tuned_s(shape: Callable[[Load], float], rule: StopRule) -> float:
    device = SimulatedDevice(shape, seed=5, stop_rule=rule)
    _tuned(device, grow=True)
    return device.now_s


def _tuned(device: SimulatedDevice, *, grow: bool) -> Tuning:
    plan = plan_tune(["-b4K", "-r", "x"], "1..32", "1..128", grow=grow)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "x.sqlite") as store:
        return tune(store, device, plan)


@dataclass
class _Timed(SimulatedStorage):
    """Storage whose runs end by a rule, on intervals of 10 ms with the noise of the devices."""

    rule: StopRule = stopped

    def _series(self, truth: Truth, rate: float, profile: dict[str, Any]) -> FloatArray:
        known = profile["stop"]["confidence"]
        if not known:
            return super()._series(truth, rate, profile)
        count = round(profile["duration_s"] / 0.01)
        noise = lfilter([1.0], [1.0, -0.4], self._random.standard_normal(count + 100))[100:]
        noise = 0.03 * np.sqrt(1 - 0.4**2) * noise
        at_s = profile["warm_up_s"] + 0.01 * np.arange(count)
        series = np.asarray(rate * (1 - 0.4 * np.exp(-at_s / 0.1)) * (1 + noise))
        level, precision = (known[f"{key}_milli"] / 1e5 for key in ("level", "precision"))
        end, _, _ = self.rule(series, level, precision)
        whole = round(INTERVAL_S / 0.01)
        return np.asarray(series[: end // whole * whole].reshape(-1, whole).mean(axis=1))


def _assessed_s(rule: StopRule) -> float:
    effort = replace(EFFORTS["default"], size_bytes=64 * _MIB)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "x.sqlite") as store:
        storage = _Timed(
            store, {"": Truth(write_us=130.0, mib_per_s=3000.0)}, effort.size_bytes, rule=rule
        )
        assess(store, storage, [folder], effort)
        return storage.now_s
