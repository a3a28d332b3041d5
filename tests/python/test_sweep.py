"""Sweeps of a device whose true speed is known."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fathom
import numpy as np
import pytest
from fathom.cli import main
from fathom.experiments.axes import Grid, load_arguments, parse_axes
from fathom.experiments.sweep.experiment import Progress, Sweep, sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.stats import fit_surface
from fathom.store import Store
from simulated_device import SHAPES, Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The sizes, threads and depths of the script that people use, and the time that it takes.
SCRIPT = {"block": "4K,8K,16K,32K,64K,128K,512K,1M,2M", "threads": "1..64", "depth": "1..64"}
SCRIPT_S = 441 * 17
UNITS = {"K": 1 << 10, "M": 1 << 20}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file; what is tested here does not depend on its kind."""
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def load_of(parameters: dict[str, str]) -> Load:
    """Return what a cell asks of the device."""
    block = parameters.get("block", "64K")
    numbers = (int(parameters.get(name, 1)) for name in ("threads", "depth"))
    threads, depth = numbers
    write = int(parameters.get("write", 0))
    return Load(int(block[:-1]) * UNITS[block[-1]], threads, depth, write)


def errors(found: Sweep, device: SimulatedDevice) -> np.ndarray:
    """Return how far each cell is from the truth, as a share of it."""
    pairs = [(cell.iops, device.shape(load_of(cell.parameters))) for cell in found.cells]
    return np.array([abs(iops / true - 1) if iops else np.inf for iops, true in pairs])


def latency_errors(found: Sweep, device: SimulatedDevice) -> np.ndarray:
    """Return how far mean and p99 of the cells that were not measured are from the truth."""
    shares = []
    for cell in found.cells:
        if cell.source == "interpolated":
            assert cell.figures is None
            assert cell.estimated_latency is not None
            true = device.true_figures(load_of(cell.parameters))
            for name in ("latency_mean_ns", "latency_p99_ns"):
                one = cell.estimated_latency[name]
                assert one.low_ns < one.value_ns < one.high_ns
                shares.append(abs(one.value_ns / getattr(true, name) - 1))
    return np.array(shares)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_adaptive_sweep_is_right_in_a_tenth_of_the_scripts_time(kept: Store, shape: str) -> None:
    device = SimulatedDevice(SHAPES[shape], seed=5)
    plan, _ = plan_sweep(["x"], parse_axes(SCRIPT), seed=5)
    told: list[Progress] = []
    found = sweep(kept, device, plan, on_progress=told.append)
    assert np.mean(errors(found, device) <= 0.05) >= 0.95
    assert found.elapsed_s <= SCRIPT_S / 10
    # No cell is silently either: what was measured, was run.
    assert found.count("measured") == len(device.loads) == len(set(device.loads))
    assert found.count("measured") + found.count("interpolated") == 441
    # Every cell that was not measured got a short look.
    assert {load_of(one.parameters) for one in found.cells if one.source == "interpolated"} <= {
        *device.looks
    }
    assert found.checked >= found.within >= 9
    assert np.mean(latency_errors(found, device) <= 0.1) >= 0.95
    early = next(one for one in told if one.elapsed_s >= found.elapsed_s / 10)
    forecast_s = early.elapsed_s + early.remaining_s
    assert forecast_s == pytest.approx(found.elapsed_s, rel=0.2)


def test_cells_that_the_others_do_not_tell_are_all_measured(kept: Store) -> None:
    random = np.random.default_rng(1)
    rates: dict[Load, float] = {}

    def rough(load: Load) -> float:
        return rates.setdefault(load, float(random.uniform(1e4, 1e5)))

    device = SimulatedDevice(rough)
    plan, _ = plan_sweep(["x"], parse_axes({"threads": "1..64", "depth": "1..64"}))
    found = sweep(kept, device, plan)
    assert found.count("measured") == 49
    assert np.mean(errors(found, device) <= 0.05) >= 0.95


def test_writes_have_a_surface_of_their_own(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"])
    named = {"threads": "1..64", "depth": "1..64", "write": "0,100"}
    plan, _ = plan_sweep(["x"], parse_axes(named))
    found = sweep(kept, device, plan)
    assert found.count("interpolated")
    assert np.mean(errors(found, device) <= 0.05) >= 0.95
    assert {load.write_percent for load in device.loads} == {0, 100}


def test_fixed_durations_measure_every_cell_for_as_long_as_was_said(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"])
    axes = parse_axes({"depth": "1..64"})
    plan, forecast = plan_sweep(
        ["x"], axes, mode="fixed", duration_s=10, warm_up_s=5, tolerance=0.0
    )
    found = sweep(kept, device, plan)
    assert found.count("measured") == 7
    assert found.elapsed_s == pytest.approx(forecast.seconds)
    assert found.cells[0].iops_low is None
    depths = [load.depth for load in device.loads]
    assert sorted(depths) == [1, 2, 4, 8, 16, 32, 64] != depths


def test_a_cell_that_fails_is_noted_and_the_others_are_measured(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"], fails=lambda load: load.depth == 4)
    plan, _ = plan_sweep(["x"], parse_axes({"depth": "1..16"}))
    found = sweep(kept, device, plan)
    by_depth = {cell.parameters["depth"]: cell for cell in found.cells}
    assert by_depth["4"].source == "failed"
    assert by_depth["4"].failure == "the device said no"
    assert by_depth["4"].iops is None
    assert found.count("measured") == 4
    experiment = kept.experiments.get(found.experiment_id)
    assert (experiment.state, experiment.failure) == ("complete", "1 cell failed")
    assert sorted(step.state for step in experiment.steps) == ["done"] * 4 + ["failed"]


def test_what_is_interpolated_is_marked_in_the_store(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"])
    plan, _ = plan_sweep(["x"], parse_axes({"threads": "1..64", "depth": "1..64"}))
    found = sweep(kept, device, plan)
    experiment = kept.experiments.get(found.experiment_id)
    states = [step.state for step in experiment.steps]
    assert states.count("skipped") == found.count("interpolated") > 0
    assert experiment.outcome is not None
    sources = [cell["source"] for cell in experiment.outcome["cells"]]
    assert sources.count("interpolated") == found.count("interpolated")
    # What is reported of a cell that was not measured never looks like a measurement.
    for cell in experiment.outcome["cells"]:
        measured = cell["source"] == "measured"
        assert (cell["figures"] is not None, cell["estimated_latency"] is None) == (measured,) * 2
    # The order is that of the plan, by chance but always the same.
    labels = [step.label for step in experiment.steps if "cell" in step.parameters]
    grid = Grid(plan.axes)
    assert labels == [grid.label(cell) for cell in plan.order(len(grid))] != sorted(labels)


def test_ranges_double_and_lists_are_taken_as_they_are() -> None:
    axes = parse_axes(
        {"block": "4K..64K", "threads": "1,4..24", "write": "0,30"},
        ["--rate=1000..4000", "-rs=0,50"],
    )
    assert [axis.values for axis in axes] == [
        ("4K", "8K", "16K", "32K", "64K"),
        ("1", "4", "8", "16", "24"),
        ("0", "30"),
        ("1000", "2000", "4000"),
        ("0", "50"),
    ]
    assert Grid(axes).arguments(0) == ["-b4K", "-t1", "-w0", "--rate=1000", "-rs0"]


@pytest.mark.parametrize(
    ("named", "others", "words"),
    [
        ({}, [], "nothing is varied"),
        ({"depth": "8..1"}, [], "a range rises"),
        ({"depth": "1,,2"}, [], "missing"),
        ({"depth": "many"}, [], "not a number"),
        ({"depth": "0,1"}, [], "at least 1"),
        ({"block": "4K,4K"}, [], "stands twice"),
        # Values are compared, not how they are written.
        ({"depth": "1,01"}, [], "stands twice"),
        ({"block": "1M,1024K"}, [], "stands twice"),
        ({"block": "4K..16K,8192"}, [], "stands twice"),
        ({"write": "0,00"}, [], "stands twice"),
        ({}, ["-rs=10,010"], "stands twice"),
        # Options are named as they are typed.
        ({"write": "0,0x10"}, [], "--writes 0,0x10"),
        ({"block": "8K..4K"}, [], "--block 8K..4K"),
        ({"depth": "1,2"}, ["-o=1,2"], "varied twice"),
        ({}, ["rate=1"], "--rate=1000..8000"),
        ({"write": "0,101"}, [], "-w"),
    ],
)
def test_wrong_ranges_are_refused_with_what_is_wrong(
    named: dict[str, str], others: list[str], words: str
) -> None:
    with pytest.raises(fathom.InvalidRequestError, match=words):
        plan_sweep(["-Sh", "-r", "x"], parse_axes(named, others))


def test_counts_have_one_notation_in_sweeps_and_tunings() -> None:
    axes = parse_axes({"depth": "1K,2K", "threads": "1..02", "block": "1024K,2M"})
    assert [axis.values for axis in axes] == [("1024", "2048"), ("1", "2"), ("1024K", "2M")]
    assert axes[0].positions == (10, 11)
    plan_sweep(["-Sh", "-r", "x"], axes)


@pytest.mark.parametrize("argument", ["-o8", "-d5", "-W1", "--stop-ios=5"])
def test_what_the_sweep_sets_itself_is_refused(argument: str) -> None:
    with pytest.raises(fathom.InvalidRequestError, match="sets itself"):
        load_arguments([argument, "x"], ["-o"])


def test_a_surface_tells_how_far_it_can_be_trusted() -> None:
    random = np.random.default_rng(2)
    points = random.uniform(0, 8, (60, 2))

    def height(at: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(at[:, 0], 4) + 0.3 * at[:, 1])

    surface = fit_surface(points, height(points) + 0.01 * random.standard_normal(60))
    inside = random.uniform(0, 8, (200, 2))
    heights, deviations = surface.predict(inside)
    assert np.mean(abs(heights - height(inside)) <= 1.96 * deviations) >= 0.9
    _, far = surface.predict([[30.0, 30.0]])
    assert far[0] > 3 * float(np.median(deviations))


def test_a_dry_run_tells_cells_order_time_and_writes_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = str(tmp_path / "x.dat")
    words = ["fathom", "sweep", "--depth", "1..4", "--write", "0,50", "--duration", "10"]
    monkeypatch.setattr("sys.argv", [*words, "--dry-run", target])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "6 cells, about 6 of them measured; about 1:30" in printed
    # Half of the time runs write, half of their I/O: 45 s x 50 % x 100 MiB/s.
    assert "2.2 GiB at 100 MiB/s" in printed
    assert "depth=4 write=50" in printed
    assert list(tmp_path.iterdir()) == []


def test_the_command_sweeps_a_file_and_resumes_nothing_that_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target, kept = str(tmp_path / "x.dat"), str(tmp_path / "store.sqlite")
    words = ["fathom", "sweep", "--store", kept, "--json"]
    arguments = ["--depth", "1,2", "--longest", "1", "-c1M", "-b4K", "-r", target]
    monkeypatch.setattr("sys.argv", [*words, *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    assert [cell["parameters"] for cell in found["cells"]] == [{"depth": "1"}, {"depth": "2"}]
    assert all(cell["source"] == "measured" and cell["iops"] > 0 for cell in found["cells"])
    with Store(kept) as store:
        runs = store.runs.list(experiment_id=found["experiment_id"])
        assert {run.columns["outstanding_per_thread"] for run in runs} == {1, 2}
        assert {run.id for run in runs} == {cell["run_id"] for cell in found["cells"]}
    monkeypatch.setattr("sys.argv", [*words, "--resume", "e1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert "e1 is complete" in capsys.readouterr().err
