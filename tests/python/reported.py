"""Experiments for the tests of reports, made up to order, in a store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom.cli import main
from fathom.experiments._axes import parse_axes
from fathom.experiments._sweep import sweep
from fathom.experiments._sweep_plan import plan_sweep
from fathom.report import figures_of
from simulated_device import SHAPES, SimulatedDevice

if TYPE_CHECKING:
    from fathom.report import Figure, Material
    from fathom.store import Store

__all__ = [
    "EVIL",
    "SCRIPT",
    "called",
    "column",
    "figures",
    "saved_assessment",
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
