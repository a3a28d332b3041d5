"""Limits of latency: what the runs measured, beside what the surfaces through them expect."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from fathom._claims import ToldRuns
from fathom.experiments.session import Observation, Step, answered
from fathom.experiments.tune._reasons import reasons
from fathom.experiments.tune.claims import tune_claims
from fathom.experiments.tune.experiment import Tuner
from fathom.experiments.tune.knee_search import Goal, KneeSearch
from fathom.experiments.tune.plan import TunePlan
from simulated_device import SHAPES, SimulatedDevice
from simulated_device import Load as DeviceLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom.experiments.tune.knee_search import Load
    from fathom.experiments.tune.result import Tuning
    from fathom.runners import Figures

LIMIT = Goal("mean", limit_ns=1e6)
# With this noise the least load keeps the limit, and the surface through all has it beyond.
SEED = 141
GRID = [*product((1, 2, 4), (1, 2, 4))]


def blank() -> Figures:
    """Return figures of a run, to be given other values."""
    return SimulatedDevice(SHAPES["saturation"]).true_figures(DeviceLoad(4096, 1, 1))


def found_at(load: Load, mean_ms: float) -> Figures:
    """Return figures of a load whose throughput grows with the root of what is outstanding."""
    rate = 1000 * math.sqrt(math.prod(load))
    return replace(blank(), iops=rate, latency_mean_ns=1e6 * mean_ms)


def tuned(measured: Callable[[Load, str], float | None]) -> Tuning:
    """Tune under a limit of 1 ms, where a load and a role give the mean in ms, or a failure."""

    def answer(step: Step) -> Observation:
        asked: Any = step.parameters
        load = asked["threads"], asked["depth"]
        mean_ms = measured(load, asked["role"])
        if mean_ms is None:
            return Observation(failure="EIO", took_s=2.0)
        return Observation(found_at(load, mean_ms), None, None, 2.0)

    return answered(Tuner(TunePlan(("x",), (1, 2, 4), (1, 2, 4), LIMIT)).strategy(), answer)


def searched_ms(load: Load) -> float:
    """Return the mean in ms that the search finds."""
    noise = dict(zip(GRID, np.random.default_rng(SEED).standard_normal(len(GRID)), strict=True))
    return float(1.03 * math.sqrt(math.prod(load)) * math.exp(0.04 * noise[load]))


def headline(found: Tuning) -> str:
    """Return the first sentence of a tuning."""
    return tune_claims(found.as_dict(), ToldRuns())[0].text  # type: ignore[arg-type]


def test_a_load_whose_run_kept_the_limit_was_said_not_to_keep_it() -> None:
    """The surface had it a little slower, and "even the least one is slower" was said of runs."""
    search = KneeSearch((1, 2, 4), (1, 2, 4), LIMIT)
    while loads := search.next_loads():
        for load in loads:
            search.add(load, found_at(load, searched_ms(load)))
    assert search.means()[1, 1][1] < 1e6 < search.expected()[1, 1][1]
    assert search.best() == (1, 1)


def test_a_load_that_the_surface_has_beyond_the_limit_is_confirmed_by_runs_of_its_own() -> None:
    found = tuned(lambda load, role: searched_ms(load) if role == "search" else 0.98)
    assert (found.threads, found.depth, found.is_confirmed) == (1, 1, True)
    assert headline(found).startswith("Best: 1 thread, depth 1")


def test_a_load_that_kept_the_limit_by_chance_is_not_the_best_and_its_mean_is_told() -> None:
    found = tuned(lambda load, role: searched_ms(load) if role == "search" else 1.05)
    assert found.threads is None
    assert headline(found) == "No load will do."
    runs = [one.figures for one in found.points if (one.threads, one.depth) == (1, 1)]
    mean = sum((one and one.latency_mean_ns) or 0 for one in runs) / len(runs) / 1e6
    said = (
        f"No load that was measured keeps the mean of 1 ms: the least is {mean:.3f} ms, at "
        "1 thread, depth 1."
    )
    assert found.reasons == [said]


def test_the_least_load_was_called_slower_though_its_run_had_failed() -> None:
    found = tuned(lambda load, _role: None if load == (1, 1) else 1.05 * math.prod(load))
    assert found.threads is None
    said = (
        "No load that was measured keeps the mean of 1 ms: the least is 2.100 ms, at 1 thread, "
        "depth 2. The least load, 1 thread, depth 1, was not measured and may keep it."
    )
    assert found.reasons == [said, "Left out, as its run failed: 1 thread, depth 1."]


def test_a_next_step_is_not_beyond_a_limit_that_its_own_runs_keep() -> None:
    random, depths = np.random.default_rng(1), (1, 2, 4, 8, 16, 32, 64)
    search = KneeSearch((1,), depths, LIMIT)
    for depth in depths:
        mean_ms = 0.37 * math.sqrt(depth) * math.exp(0.06 * random.standard_normal())
        search.add((1, depth), found_at((1, depth), mean_ms))
    assert search.means()[1, 8][1] < 1e6 < search.expected()[1, 8][1]
    best = search.best()
    assert best == (1, 4)
    (step,) = [one.text for one in reasons(search, best, None) if "changes by" in one.text]
    assert "by the surfaces beyond the mean of 1 ms, which its own runs keep" in step
    assert not step.startswith("Latency rising")
