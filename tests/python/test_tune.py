"""Tuning of devices whose knee is known."""

from __future__ import annotations

import json
import math
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
import pytest
from fathom.cli import main
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.experiments.tune.knee_search import Goal, KneeSearch
from fathom.store import Store
from simulated import many
from simulated_device import SHAPES, Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fathom.experiments.progress import Progress

THREADS = (1, 2, 4, 8, 16, 32)
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
# Of all shapes. If 15 % of a shape's knees were off, of which 5 % may be, 95 of 100 tests found it.
SEEDS = many(120)
TIMES = ["-b4K", "-d10", "-W0", "--stop-confidence=95:2", "x"]


def true_points(device: SimulatedDevice, goal: Goal) -> dict[tuple[int, int], tuple[float, float]]:
    """Return throughput and latency of every load without noise."""
    return _true_points(device.shape, goal)


@cache
def _true_points(
    shape: Callable[[Load], float], goal: Goal
) -> dict[tuple[int, int], tuple[float, float]]:
    device, found = SimulatedDevice(shape), {}
    for threads in THREADS:
        for depth in DEPTHS:
            figures = device.true_figures(Load(4096, threads, depth))
            found[threads, depth] = (figures.iops, goal.latency_ns(figures) or 0.0)
    return found


def is_near_the_best(found: tuple[int, int] | None, device: SimulatedDevice, goal: Goal) -> bool:
    """Whether a load lies within one step of the best, or of one that is as good."""
    points = true_points(device, goal)
    best = goal.best(points)
    assert best is not None
    iops, ns = points[best]
    equals = [
        load
        for load, (other, latency) in points.items()
        if other >= iops * (1 - 1e-9) and latency <= ns * (1 + 1e-9)
    ]
    return found is not None and any(
        all(abs(math.log2(a / b)) <= 1 for a, b in zip(found, load, strict=True)) for load in equals
    )


def searched(device: SimulatedDevice, goal: Goal) -> KneeSearch:
    """Search until the best is known."""
    search = KneeSearch(THREADS, DEPTHS, goal)
    while loads := search.next_loads():
        for threads, depth in loads:
            figures = device.run([f"-t{threads}", f"-o{depth}", *TIMES]).figures
            search.add((threads, depth), figures)
    return search


@pytest.mark.parametrize("shape", SHAPES)
def test_the_knee_is_found_within_one_step(shape: str) -> None:
    seeds = range(SEEDS // len(SHAPES))
    right, runs = 0, 0
    for seed in seeds:
        device = SimulatedDevice(SHAPES[shape], seed=seed)
        found = searched(device, Goal())
        right += is_near_the_best(found.best(), device, Goal())
        runs += len(device.loads)
    assert right >= 0.95 * len(seeds)
    # Fewer than half of the loads are ever run.
    assert runs < 0.5 * len(THREADS) * len(DEPTHS) * len(seeds)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_greatest_throughput_under_a_limit_is_found_within_one_step(shape: str) -> None:
    goal = Goal("p99", 2e6)
    right = 0
    seeds = range(SEEDS // len(SHAPES))
    for seed in seeds:
        device = SimulatedDevice(SHAPES[shape], seed=seed)
        right += is_near_the_best(searched(device, goal).best(), device, goal)
    assert right >= 0.95 * len(seeds)


def test_under_a_limit_the_least_latency_of_what_is_equally_fast_is_preferred() -> None:
    goal = Goal("p99", 2e6)
    points = {
        (1, 8): (90_000.0, 2e5),
        (1, 16): (98_000.0, 5e5),
        (1, 32): (100_000.0, 1.5e6),
        (1, 64): (120_000.0, 3e6),
    }
    assert goal.best(points) == (1, 16)
    assert goal.fastest(points) == (1, 32)
    assert Goal("p99", 1e5).best(points) is None


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file; what is tested here does not depend on its kind."""
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def test_tuning_says_why_confirms_and_keeps_everything(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["thrashing"])
    found = tune(kept, device, plan_tune(["-b4K", "-r", "x"], "1..32", "1..128"))
    assert is_near_the_best((found.threads or 0, found.depth or 0), device, Goal())
    assert found.is_confirmed
    assert {"confirm", "search"} <= {point.role for point in found.points}
    assert any(one.startswith(("Plateau", "Past the peak")) for one in found.reasons)
    assert found.law is not None
    assert any("Universal Scalability Law" in one for one in found.reasons)
    experiment = kept.experiments.get(found.experiment_id)
    assert (experiment.state, len(experiment.steps)) == ("complete", len(found.points))
    assert experiment.outcome is not None
    assert (experiment.outcome["threads"], experiment.outcome["depth"]) == (
        found.threads,
        found.depth,
    )
    loads = experiment.outcome["loads"]
    assert len(loads) == len(THREADS) * len(DEPTHS)
    measured = {(one["threads"], one["depth"]) for one in loads if one["source"] == "measured"}
    assert measured == {(point.threads, point.depth) for point in found.points}
    assert all(one["estimate"]["iops_low"] < one["estimate"]["iops_high"] for one in loads)


def test_the_time_that_is_left_lies_in_the_range_that_is_told(kept: Store) -> None:
    told_right, told, widths = 0, 0, []
    for seed, (shape, noise) in enumerate(product(SHAPES.values(), (0.005, 0.02, 0.06))):
        device = SimulatedDevice(shape, seed=seed, run_noise=noise)
        seen: list[Progress] = []
        plan = plan_tune(["-b4K", "-r", "x"], "1..32", "1..128")
        found = tune(kept, device, plan, on_progress=seen.append)
        for share in (0.1, 0.3, 0.5, 0.7):
            at = next(one for one in seen if one.elapsed_s >= share * found.elapsed_s)
            left_s = found.elapsed_s - at.elapsed_s
            assert at.remaining_low_s is not None
            assert at.remaining_high_s is not None
            told += 1
            told_right += at.remaining_low_s <= left_s <= at.remaining_high_s
            widths.append((at.remaining_high_s - at.remaining_low_s) / found.elapsed_s)
        assert seen[-1].remaining_low_s == 0
    assert told_right >= 0.85 * told
    # It says something: less than the time of the whole.
    assert np.median(widths) < 1


def test_a_law_that_does_not_describe_the_device_is_marked(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["bandwidth cap"])
    found = tune(kept, device, plan_tune(["-b4K", "-r", "x"], "1..32", "1..128"))
    assert found.law is not None
    assert not found.law.is_fitting
    (words,) = [one for one in found.reasons if "Universal Scalability Law" in one]
    assert "does not describe" in words
    assert "IOPS" not in words
    told: Any = found.as_dict()
    assert told["law"]["is_fitting"] is False

    def lawful(load: Load) -> float:
        waiting = 0.1 * (load.outstanding - 1) + 1e-3 * load.outstanding * (load.outstanding - 1)
        return 9000 * load.outstanding / (1 + waiting)

    found = tune(kept, SimulatedDevice(lawful), plan_tune(["-r", "x"], "1..4", "1..128"))
    assert found.law is not None
    assert found.law.is_fitting
    assert found.law.contention == pytest.approx(0.1, rel=0.1)
    (words,) = [one for one in found.reasons if "Universal Scalability Law" in one]
    assert "its peak is at" in words


def test_a_limit_that_more_load_would_break_is_given_as_the_reason(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"])
    plan = plan_tune(["-b4K", "-r", "-t1", "x"], "1..32", "1..128", goal=Goal("p99", 5e5))
    found = tune(kept, device, plan)
    assert found.threads == 1
    assert found.latency_ns is not None
    assert found.latency_ns <= 5e5
    assert any("beyond the p99 of 0.5 ms" in one for one in found.reasons)


def test_a_limit_that_nothing_keeps_ends_without_a_best(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"])
    plan = plan_tune(["-b4K", "-r", "x"], "1..4", "1..8", goal=Goal("mean", 1000.0))
    found = tune(kept, device, plan)
    assert (found.threads, found.is_confirmed) == (None, False)
    assert "No load" in found.reasons[0]


def test_loads_that_fail_are_noted_and_never_the_answer(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"], fails=lambda load: load.depth > 8)
    found = tune(kept, device, plan_tune(["-b4K", "-r", "x"], "1..2", "1..128"))
    assert found.depth is not None
    assert found.depth <= 8
    failed = [point for point in found.points if point.failure]
    assert failed
    states = [step.state for step in kept.experiments.get(found.experiment_id).steps]
    assert states.count("failed") == len(failed)


@pytest.mark.parametrize("arguments", [["-t2", "-o8", "x"], ["-d5", "x"], ["-Sh"]])
def test_what_leaves_nothing_to_choose_is_refused(arguments: list[str]) -> None:
    with pytest.raises(fathom.InvalidRequestError):
        plan_tune(arguments, "1..4", "1..8")


def test_counts_with_suffixes_are_counts_and_stand_once() -> None:
    assert plan_tune(["x"], "1K", "1..1K").threads == (1024,)
    assert plan_tune(["-t1K", "x"], "1", "1,2").threads == (1024,)
    with pytest.raises(fathom.InvalidRequestError, match="a value stands twice"):
        plan_tune(["x"], "1024,1K", "1")


def test_a_dry_run_tells_runs_and_time_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fathom", "tune", "--dry-run", "--threads", "1..4", "--depth", "1..8", "--p99", "2ms"]
    arguments = ["-w30", "-c1M", "-r", str(tmp_path / "x.dat")]
    for more in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", [*words, *more, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    printed, _, document = capsys.readouterr().out.partition("{")
    assert "12 loads" in printed
    assert "whose p99 is at most 2 ms" in printed
    assert "30%" in printed
    forecast = json.loads("{" + document)
    assert forecast["least_runs"] < forecast["runs"] < forecast["most_runs"]
    assert forecast["least_s"] < forecast["seconds"] < forecast["most_s"]
    assert list(tmp_path.iterdir()) == []


def test_the_command_tunes_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fathom", "tune", "--json", "--longest", "1", "--precision", "50"]
    # Past the cache, so that each second waits for the device and the CPUs are for other tests.
    arguments = ["--depth", "1,2", "-t1", "-c1M", "-b4K", "-r", "-Su", str(tmp_path / "x.dat")]
    monkeypatch.setattr("sys.argv", [*words, *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    # Where it still rises at the end, the range is doubled, twice at most.
    assert (found["threads"], found["depth"] in {1, 2, 4, 8}) == (1, True)
    assert all(point["run_id"] for point in found["points"])
    assert found["confirmation"]["rounds"] >= 3
    assert found["is_confirmed"] == found["confirmation"]["is_supported"]
