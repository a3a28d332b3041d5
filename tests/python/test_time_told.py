"""The time that experiments say they take, against what they took on a simulated clock.

``FATHOM_TIMES_TOLD=10`` takes ten times as many cases, as ``make soak`` does.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import sqlalchemy as sa
from commands import command
from fabricated import fabricated, latencies_ns
from fathom import Result
from fathom.cli.views.experiment_line import left_words
from fathom.experiments._run_times import ends_by_amount, further_run_s
from fathom.experiments.axes import Grid, parse_axes
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.experiments.repeat import Repeater, RepeatPolicy
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.runners import NativeRunner
from fathom.runners import measure as _measure
from fathom.store import Store
from fathom.units import clock_words
from simulated_device import SHAPES, Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from sqlite3 import Connection

    from fathom.experiments.progress import Progress
    from fathom.runners import RunOutcome

SHARE = 0.25
"""A prediction may be off by so much."""
TIMES = int(os.environ.get("FATHOM_TIMES_TOLD", "1"))


def small() -> dict[str, Any]:
    """Return a result with few figures: hundreds of runs are saved and read again."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(fabricated(latency_ns=NARROW).raw)))
    (span,) = raw["time_spans"]
    span["interval_ns"] = None
    for way in ("read", "write"):
        span["threads"][0]["targets"][0][way]["series"] = None
    return raw


NARROW = latencies_ns(100, 0.01, count=50)
SMALL = small()


def result_with(factor: float) -> Result:
    """Return a small result at so many times its speed."""
    (span,) = SMALL["time_spans"]
    spans = [{**span, "measured_ns": int(span["measured_ns"] / factor)}]
    return Result.from_json(json.dumps({**SMALL, "time_spans": spans}))


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
def kept(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file that no power cut befalls, as thousands of steps are saved."""

    def hurry(connection: Connection, _record: object) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    sa.event.listen(sa.Engine, "connect", hurry)
    try:
        with Store(tmp_path / "store.sqlite") as opened:
            yield opened
    finally:
        sa.event.remove(sa.Engine, "connect", hurry)


def say(words: str) -> None:
    """Show what was counted, where the output of tests is shown (``pytest -s``)."""
    sys.stdout.write(f"{words}\n")


def is_near(told_s: float, taken_s: float) -> bool:
    """Whether a prediction is as good as is requested."""
    return abs(told_s - taken_s) <= SHARE * taken_s


def test_compare_tells_the_time_of_its_pilot_and_then_of_all_its_pairs(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_start, in_range, after_pilot, stood, tried = 0, 0, 0, 0, 0
    for noise, seed in product((0.002, 0.01, 0.02, 0.04), range(3 * TIMES)):
        random = np.random.default_rng([seed, int(1000 * noise)])

        def one(
            _arguments: Sequence[str],
            random: np.random.Generator = random,
            noise: float = noise,
            **_more: object,
        ) -> Result:
            return result_with(float(np.exp(noise * random.standard_normal())))

        monkeypatch.setattr(_measure, "run_kept", one)
        seconds = (2, 5, 30)[seed % 3]
        side = ("-o8", f"-d{seconds}", "-W0", "x")
        plan = TurnsPlan(side, ("-o16", *side[1:]), seed=seed, most=24)
        runner = Clocked(kept, seconds, seed)
        seen: list[Progress] = []
        compare_interleaved(kept, runner, plan, on_progress=seen.append)
        told, pilot = plan.forecast(), seen[2 * plan.pilot - 1]
        tried += 1
        at_start += is_near(told.least_s, pilot.elapsed_s)
        in_range += 0.75 * told.least_s <= runner.now_s <= 1.25 * told.most_s
        after_pilot += is_near(pilot.elapsed_s + pilot.remaining_s, runner.now_s)
        stood += sum(left_words(at) == "0:00" for at in seen[:-1])
        assert seen[-1].done == seen[-1].expected == runner.runs
        assert left_words(seen[-1]) == "0:00"
    say(
        f"compare: of {tried}, {at_start} as told, {in_range} in the range, {after_pilot} as told "
        f"after the pilot; 0:00 too early: {stood}"
    )
    assert tried >= 10
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


NOISES = ((0.002, 0.03), (0.02, 0.1), (0.06, 0.3))
"""Between runs, and within them."""
GRIDS = (("1..2", "1..16"), ("1..4", "1..8"))


def test_tune_takes_the_time_that_it_foretold_whatever_the_storage_does(kept: Store) -> None:
    near, stood, tried = 0, 0, 0
    for turn, shape, (run_noise, noise) in product(range(TIMES), SHAPES.values(), NOISES):
        device = SimulatedDevice(shape, tried, noise, run_noise=run_noise)
        # The grids alternate, and each shape gets both with each noise in two turns.
        plan = plan_tune(["-b4K", "-r", "x"], *GRIDS[(tried + turn) % 2], grow=True)
        seen: list[Progress] = []
        found = tune(kept, device, plan, on_progress=seen.append)
        tried += 1
        near += is_near(plan.forecast().seconds, found.elapsed_s)
        stood += sum(left_words(at) == "0:00" for at in seen[:-1])
    say(f"tune: {near} of {tried} as told; 0:00 too early: {stood}")
    assert tried >= 10
    assert near >= 0.9 * tried
    assert not stood


def test_defect_7_what_tune_has_left_is_at_most_told_no_less_than_it_is_expected(
    kept: Store,
) -> None:
    """Once runs had used up the budget, "at most" was the time of one run."""

    class Slow(SimulatedDevice):
        def run(self, arguments: Sequence[str], **more: Any) -> RunOutcome:  # noqa: ANN401
            self.now_s += 30.0
            return super().run(arguments, **more)

    told: list[Progress] = []
    plan = plan_tune(["-b4K", "-r", "x"], "1..4", "1..16")
    tune(kept, Slow(SHAPES["saturation"], seed=1), plan, on_progress=told.append)
    assert len(told) > 5
    for one in told:
        assert one.remaining_high_s is not None
        assert one.remaining_high_s >= one.remaining_s


def test_another_tool_and_a_finer_precision_are_foreseen_to_take_longer() -> None:
    usual, finer, other = (
        plan_tune(["x"], "1..2", "1..8", **more).typical_run_s
        for more in ({}, {"precision": 0.01}, {"runner": "fio"})
    )
    assert usual < finer < other
    assert other == pytest.approx(10.05)


def test_runs_that_end_after_an_amount_are_told_by_the_first_ones() -> None:
    """-d60 was taken for their time, though a run ends after 2 s: 45 s were foretold behind it."""
    load = ["-b4K", "-d60", "-W0", "--stop-ios=500", "x"]
    assert ends_by_amount(load)
    assert not ends_by_amount(["-b4K", "-d60", "x"])
    policy = RepeatPolicy(pilot=5, most=5)
    repeater = Repeater(policy, load, lambda _seen: None, values=[1.0], durations_s=[2.0])
    assert repeater.forecast(2.0).remaining_s == pytest.approx(8.0)
    # The first one made the file.
    assert further_run_s(60.05, [50.0, 2.0, 2.2], is_limit=True) == pytest.approx(2.1)
    assert further_run_s(60.05, [90.0], is_limit=True) == 60.05


def test_the_start_says_what_depends_on_the_targets_speed(tmp_path: Path) -> None:
    load = ["-b4K", "-r", "-d60", "-W0", "-c1G", str(tmp_path / "x.dat")]
    for verb in (["repeat"], ["compare", "--run", "-o1", "-o2"]):
        told = command(*verb, "--dry-run", "--stop-ios=500", *load)
        assert "at most (each ends after so many I/Os or bytes" in told.stdout
        assert "x.dat is filled first, 1 GiB" in told.stderr
        assert "0:51 at 20 MiB/s" in told.stderr
        known = command(*verb, "--dry-run", *load)
        assert "at most (each" not in known.stdout
    small = command("repeat", "--dry-run", "-b4K", "-d1", "-c1M", tmp_path / "x.dat")
    assert "filled first" not in small.stderr


def test_a_sweep_told_no_time_for_cells_that_it_had_chosen(kept: Store) -> None:
    """Beyond the cells of its design, it told of its looks alone: 8 s of a certain 25 s."""
    random = np.random.default_rng(1)
    rates: dict[Load, float] = {}

    def rough(load: Load) -> float:
        return rates.setdefault(load, float(random.uniform(1e4, 1e5)))

    told: list[Progress] = []
    plan, _ = plan_sweep(["x"], parse_axes({"threads": "1..64", "depth": "1..64"}))
    found = sweep(kept, SimulatedDevice(rough), plan, on_progress=told.append)
    assert found.count("measured") == len(told) == 49
    assert all(one.expected >= min(one.done + 1, 49) for one in told)
    # Each run takes 3 s, and another was chosen before each of these was told.
    assert all(one.remaining_s > 2 for one in told[:-1])
    assert told[-1].remaining_s == 0


def test_a_sweep_of_a_smooth_device_expects_no_more_cells_than_before(kept: Store) -> None:
    told: list[Progress] = []
    plan, _ = plan_sweep(["x"], parse_axes(dict.fromkeys(("threads", "depth"), "1..128")))
    found = sweep(
        kept, SimulatedDevice(SHAPES["saturation"], seed=5), plan, on_progress=told.append
    )
    design = sum(one.expected_count(0) for one in plan.refinements(Grid(plan.axes)))
    assert told[0].expected == pytest.approx(design)
    assert found.count("interpolated")
