"""The time that experiments say they take, against what they took on a simulated clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fathom.cli.views.experiment_line import left_words
from fathom.experiments._run_times import further_run_s
from fathom.experiments.compare.interleaved import TurnsPlan, compare_in_turns
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.runners import NativeRunner
from fathom.runners import measure as _measure
from fathom.store import Store
from fathom.units import clock_words
from simulated_device import SHAPES, SimulatedDevice
from test_repeat import result_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import fathom
    from fathom.experiments.progress import Progress
    from fathom.runners import RunOutcome

SHARE = 0.25
"""A prediction may be off by so much."""


class Clocked(NativeRunner):
    """Runs as asked on a clock of its own, each with a set-up; the first one makes the file."""

    def __init__(self, store: Store, seconds: float, seed: int) -> None:
        """Let a run take about so many seconds."""
        super().__init__(store)
        self.now_s = 0.0
        self.runs = 0
        self._seconds = seconds
        self._random = np.random.default_rng(seed)

    def clock(self) -> float:
        """Return the simulated time."""
        return self.now_s

    def run(self, arguments: Sequence[str], **more: Any) -> RunOutcome:  # noqa: ANN401 - Of it.
        """Let time pass."""
        self.runs += 1
        self.now_s += self._seconds + 0.1 * self._random.exponential() + 3 * (self.runs == 1)
        return super().run(arguments, **more)


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    """Return a store in a file."""
    return Store(tmp_path / "store.sqlite")


def is_near(told_s: float, taken_s: float) -> bool:
    """Whether a prediction is as good as is asked for."""
    return abs(told_s - taken_s) <= SHARE * taken_s


def test_compare_tells_the_time_of_its_pilot_and_then_of_all_its_pairs(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_start, in_range, after_pilot, stood, tried = 0, 0, 0, 0, 0
    for noise in (0.002, 0.01, 0.02, 0.04):
        for seed in range(6):
            random = np.random.default_rng(seed)

            def one(
                _arguments: Sequence[str],
                random: np.random.Generator = random,
                noise: float = noise,
                **_more: object,
            ) -> fathom.Result:
                return result_with(float(np.exp(noise * random.standard_normal())))

            monkeypatch.setattr(_measure, "run_kept", one)
            seconds = (2, 5, 30)[seed % 3]
            side = ("-o8", f"-d{seconds}", "-W0", "x")
            plan = TurnsPlan(side, ("-o16", *side[1:]), seed=seed, most=40)
            runner = Clocked(kept, seconds, seed)
            seen: list[Progress] = []
            compare_in_turns(kept, runner, plan, on_progress=seen.append)
            told, pilot = plan.forecast(), seen[2 * plan.pilot - 1]
            tried += 1
            at_start += is_near(told.least_s, pilot.elapsed_s)
            in_range += 0.75 * told.least_s <= runner.now_s <= 1.25 * told.most_s
            after_pilot += is_near(pilot.elapsed_s + pilot.remaining_s, runner.now_s)
            stood += sum(left_words(at) == "0:00" for at in seen[:-1])
            assert seen[-1].done == seen[-1].expected == runner.runs
            assert left_words(seen[-1]) == "0:00"
    assert tried >= 20
    assert at_start >= 0.9 * tried
    assert in_range >= 0.9 * tried
    assert after_pilot >= 0.9 * tried
    assert not stood


def test_the_first_run_which_made_the_file_tells_little_of_the_others() -> None:
    assert further_run_s(2.0, [13.0]) == 2.0
    assert further_run_s(2.0, [13.0, 2.0, 2.0]) == 2.0
    assert further_run_s(2.0, [13.0, 3.0, 3.0]) == pytest.approx(2.5)


def test_what_is_left_is_a_second_at_least() -> None:
    assert (clock_words(0.0), clock_words(0.2), clock_words(59.7)) == ("0:00", "0:01", "1:00")


def test_tune_takes_the_time_that_it_foretold_whatever_the_storage_does(tmp_path: Path) -> None:
    near, stood, tried = 0, 0, 0
    for shape in SHAPES.values():
        for run_noise, noise in ((0.002, 0.03), (0.02, 0.1), (0.06, 0.3)):
            for grid in (("1..2", "1..16"), ("1..4", "1..8")):
                device = SimulatedDevice(shape, tried, noise, run_noise=run_noise)
                plan = plan_tune(["-b4K", "-r", "x"], *grid, grow=True)
                seen: list[Progress] = []
                with Store(tmp_path / f"{tried}.sqlite") as store:
                    found = tune(store, device, plan, on_progress=seen.append)
                tried += 1
                near += is_near(plan.forecast().seconds, found.elapsed_s)
                stood += sum(left_words(at) == "0:00" for at in seen[:-1])
    assert tried >= 20
    assert near >= 0.9 * tried
    assert not stood


def test_another_tool_and_a_finer_precision_are_foreseen_to_take_longer() -> None:
    usual, finer, other = (
        plan_tune(["x"], "1..2", "1..8", **more).typical_run_s
        for more in ({}, {"precision": 0.01}, {"runner": "fio"})
    )
    assert usual < finer < other
    assert other == pytest.approx(10.05)
