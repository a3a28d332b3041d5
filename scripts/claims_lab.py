"""What sweeps, tunings and ``--stop-confidence`` claim, on simulated devices and intervals.

Part of claims.py: the devices are those of the tests, with hours that pass in seconds.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.stats import find_transient
from fathom.store import Store

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from simulated_device import SHAPES, Load, SimulatedDevice
from simulated_stop import stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt
    from fathom.experiments.tune.result import Tuning

    FloatArray = npt.NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int], FloatArray]
    Outcome = Literal["right", "wrong", "cannot tell"]

_MOST_RUNS = 400
RUNS_OF_DEVICE = 40
"""After so many runs the noise of a device starts again."""
GRID = {"threads": "1..64", "depth": "1..64"}
_THREADS, _DEPTHS = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64, 128)


@dataclass
class _Rows:
    """The deviations of the runs of a device, one after the other."""

    values: Sequence[float]
    at: int = 0

    def standard_normal(self) -> float:
        """Return the next one, in the place of a normal deviation."""
        self.at += 1
        return float(self.values[(self.at - 1) % len(self.values)])


@dataclass
class _Noisy(SimulatedDevice):
    """A device whose runs have a noise of a kind."""

    rows: _Rows = field(default_factory=lambda: _Rows([0.0]))

    def _series(self, true: float, duration_s: float, warm_up_s: float) -> FloatArray:
        level = 1 + self.rows.standard_normal()
        return super()._series(true * max(level, 0.05), duration_s, warm_up_s)


def _device(draw: Draw, random: np.random.Generator) -> _Noisy:
    shape = [*SHAPES.values()][int(random.integers(len(SHAPES)))]
    seed = int(random.integers(1 << 30))
    rows = [float(one) for one in np.resize(draw(random, RUNS_OF_DEVICE), _MOST_RUNS)]
    return _Noisy(shape, seed=seed, run_noise=0.0, rows=_Rows(rows))


def inferred_cells(draw: Draw, mean: float, random: np.random.Generator) -> list[Outcome]:
    """Return for each cell of a small sweep that was not measured whether its interval holds."""
    device = _device(draw, random)
    plan, _ = plan_sweep(["x"], parse_axes(GRID), seed=int(random.integers(1000)))
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "x.sqlite") as store:
        found = sweep(store, device, plan)
    outcomes: list[Outcome] = []
    for cell in found.cells:
        if cell.source != "interpolated":
            outcomes.append("cannot tell")
            continue
        load = Load(64 << 10, int(cell.parameters["threads"]), int(cell.parameters["depth"]))
        truth = device.shape(load) * (1 + mean)
        holds = (cell.iops_low or 0.0) <= truth <= (cell.iops_high or 0.0)
        outcomes.append("right" if holds else "wrong")
    return outcomes


def confirmed_knee(draw: Draw, random: np.random.Generator) -> list[Outcome]:
    """Return whether the knee that a tuning confirms is within one step of the true one."""
    device = _device(draw, random)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "x.sqlite") as store:
        found = tune(store, device, plan_tune(["-b4K", "-r", "x"], "1..32", "1..128", grow=False))
    if not found.is_confirmed:
        return ["cannot tell"]
    return ["right" if is_near(device.shape, found) else "wrong"]


def is_near(shape: Callable[[Load], float], found: Tuning) -> bool:
    """Whether what a tuning found is within one step of the knee; equally good loads are it."""
    if found.threads is None or found.depth is None:
        return False
    rates = {(t, d): shape(Load(4096, t, d)) for t in _THREADS for d in _DEPTHS}
    fast = [load for load, rate in rates.items() if rate >= 0.97 * max(rates.values())]
    least = min(load[0] * load[1] / rates[load] for load in fast)
    best = [load for load in fast if load[0] * load[1] / rates[load] <= least * (1 + 1e-9)]
    steps = (
        max(abs(np.log2(found.threads / load[0])), abs(np.log2(found.depth / load[1])))
        for load in best
    )
    return bool(min(steps) <= 1)


def known_mean(series: FloatArray, levels: FloatArray) -> Outcome:
    """Return whether the interval by which ``--stop-confidence`` ends a run holds the true mean.

    That is the mean of the levels behind the transient, up to the end.
    """
    looked, mean, half = stopped(series, 0.95, 0.02)
    if half is None:
        return "cannot tell"
    truth = float(levels[find_transient(series[:looked]).count : looked].mean())
    return "right" if abs(mean - truth) <= half * mean else "wrong"
