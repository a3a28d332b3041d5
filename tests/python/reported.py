"""Experiments for the tests of reports, made up to order, in a store."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom.cli import main
from fathom.experiments.axes import parse_axes
from fathom.experiments.compare.interleaved import TurnsPlan, compare_interleaved
from fathom.experiments.prepare import (
    Asked,
    Meter,
    fill,
    look,
    look_data,
    plan_fill,
    plan_settling,
    settle,
)
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.report import figures_of
from fathom.runners import NativeRunner
from simulated_device import SHAPES, SimulatedDevice
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.report import Figure, Material
    from fathom.store import Store

__all__ = [
    "EVIL",
    "SCRIPT",
    "called",
    "column",
    "figures",
    "saved_assessment",
    "saved_comparison",
    "saved_preparations",
    "saved_repetition",
    "saved_sweep",
]

# The sizes, threads and depths of the script that people use.
SCRIPT = {"block": "4K,8K,16K,32K,64K,128K,512K,1M,2M", "threads": "1..64", "depth": "1..64"}
EVIL = "<script>window.evil = 1</script>"
MIB = 1 << 20


def saved_sweep(
    store: Store,
    ranges: dict[str, str] | None = None,
    label: str = "",
    **more: Any,  # noqa: ANN401 - Of the plan.
) -> int:
    """Sweep a simulated device; no run of it is kept, as its figures are in the outcome."""
    plan, _ = plan_sweep(["x"], parse_axes(ranges or SCRIPT), **{"seed": 5, **more})
    device = SimulatedDevice(SHAPES["saturation"], seed=plan.seed)
    return sweep(store, device, plan, label=label).experiment_id


def saved_repetition(store: Store, rates: list[float], path: str = "x.dat") -> int:
    """Save runs with these rates as a repetition."""
    experiment_id = store.experiments.begin("repeat", "repeat", {"arguments": [path]})
    for rate in rates:
        result = fabricated(rates=rate, latency_ns=1e9 / rate / 1e3, path=path, write=30, depth=8)
        store.runs.save(result, ["-o8", path], experiment_id=experiment_id)
    store.experiments.finish(experiment_id, "complete", outcome={"metrics": {}})
    return experiment_id


def saved_assessment(store: Store, name: str = "/mnt/new", evil: str = "") -> int:
    """Save runs as an assessment of one target leaves them, with an outcome that has no cells."""
    path = f"{name}/scratch.dat"
    cells: list[tuple[str, str, dict[str, Any], float, float]] = [
        ("read-1", "baseline latency", {"depth": 1}, 8_000.0, 120.0),
        ("write-1", "baseline latency", {"depth": 1, "write": 100}, 900.0, 1_100.0),
        ("random-4", "random saturation", {"depth": 4}, 30_000.0, 130.0),
        ("random-16", "random saturation", {"depth": 16}, 80_000.0, 200.0),
        ("random-64", "random saturation", {"depth": 64}, 81_000.0, 790.0),
        ("random-write", "random saturation", {"depth": 16, "write": 100}, 40_000.0, 400.0),
        ("sequential-1", "sequential saturation", {"block_bytes": MIB // 2}, 3_000.0, 330.0),
        (
            "sequential-4",
            "sequential saturation",
            {"block_bytes": MIB // 2, "depth": 4},
            6e3,
            660.0,
        ),
        ("threads-2", "thread scaling", {"depth": 16, "threads": 2}, 120_000.0, 260.0),
        ("mix-30", "read/write mixes", {"depth": 16, "write": 30}, 60_000.0, 260.0),
        ("set-16", "cache effects", {"limit": 16 * MIB}, 20_000.0, 50.0),
        ("cached", "cache effects", {"limit": 16 * MIB, "caching": "cached"}, 300_000.0, 3.0),
        ("oltp", "workloads", {"block_bytes": 8192, "depth": 16, "write": 30}, 50_000.0, 310.0),
    ]
    plan = {"targets": [name], "effort": {"seconds": 30.0, "size_bytes": 1 << 30}}
    steps = [(f"{name}: {key}{evil}", {"part": part}) for key, part, *_ in cells]
    experiment_id = store.experiments.begin("assess", name, plan, steps)
    found = store.experiments.get(experiment_id).steps
    for step, (key, _, load, rate, median_us) in zip(found, cells, strict=True):
        result = fabricated(rates=rate, latency_ns=median_us, path=path, **load)
        store.runs.save(
            result, [path], label=f"assess {key}", experiment_id=experiment_id, step_id=step.id
        )
    finding = {
        "rule": "core-bound",
        "title": "A core was the limit",
        "target": path,
        "evidence": f"CPU 0 was busy{evil}.",
        "remedy": "Use larger blocks.",
        "confidence": "likely",
        "source": "a test",
    }
    verdict = {"target": name, "sentences": [f"It is fast{evil}.", "Very."], "left_out": []}
    outcome = {"verdicts": [verdict], "findings": [finding]}
    store.experiments.finish(experiment_id, "complete", outcome=outcome)
    return experiment_id


def saved_comparison(store: Store) -> int:
    """Compare two simulated devices interleaved, of which B has a 1.25 times shorter service."""
    truths = {"old": Truth(read_us=125.0, noise=0.01), "new": Truth(noise=0.01)}
    device = SimulatedStorage(store, truths)
    common = ("-b4K", "-r", "-Su", "-o8", "-d2", "-W0", "-L", "-D100")
    plan = TurnsPlan((*common, "old.dat"), (*common, "new.dat"), pilot=8, most=8, seed=1)
    return compare_interleaved(store, device, plan).experiment_id


def saved_preparations(store: Store, folder: Path) -> tuple[int, int, int]:
    """Look at a file, fill it, and run a load on a simulated device until it is steady."""
    place = folder / "prepared.dat"
    with place.open("wb") as stream:
        stream.write(bytes(range(256)) * 4096)
        stream.truncate(4 * MIB)
    found = look(place)
    plan = {"kind": "look", "target": found.target.as_dict()}
    looked = store.experiments.begin("prepare", f"look {place}", plan)
    store.experiments.finish(looked, "complete", outcome=look_data(found))
    filling = plan_fill(store, folder / "new.dat", Asked(size_bytes=4 * MIB))
    fill(store, NativeRunner(store), filling, Meter(time.monotonic))
    rounds = plan_settling(store, [("", ["-b4K", "-r", "-w100", "-d1", "-W0", "-L", "x.dat"])])
    settle(store, SimulatedStorage(store, {"": Truth(noise=0.01)}), rounds)
    return looked, filling, rounds


def figures(material: Material) -> dict[str, Figure]:
    return {one.name: one for one in figures_of(material)[0]}


def column(figure: Figure, name: str) -> list[object]:
    at = [one.name for one in figure.table.columns].index(name)
    return [row[at] for row in figure.table.rows]


def called(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Call the command, and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["fathom", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)
