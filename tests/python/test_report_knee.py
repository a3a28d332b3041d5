"""The knee that a load curve shows: that of the assessment, and of runs that nothing disturbed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.report.collect.gather import gather
from fathom.report.figures.load_curve import _CAPTION, knee_of, load_curve
from fathom.report.material import Point
from fathom.store import Store
from reported import figures
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from fathom.report.material import Material

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)


def point(depth: int, iops: float, *marks: str) -> Point:
    return Point(
        label=f"depth {depth}",
        threads=1,
        depth=depth,
        block_bytes=4096,
        write_percent=0,
        iops=iops,
        mib_per_s=iops / 256,
        mean_ns=1e9 * depth / iops,
        marks=marks,
    )


@pytest.fixture
def disturbed_at_64(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Material:
    """Return what a report has of an assessment whose deepest run waited for CPUs."""
    monkeypatch.chdir(tmp_path)
    for name in ("own", "other"):
        Path(name).mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, size_bytes=64 * MIB)

        def before(_number: int) -> None:
            asked: dict[str, Any] = runner.asked[-1]
            deepest = asked["outstanding"] == 64 and asked["threads"] == 1
            is_read = not asked["write_percent"] and asked["block_bytes"] == 4096
            busy = Truth(servers=18, doubts=(("cpu_contended", "It was so."),))
            runner.truths = {"": busy if deepest and is_read else Truth()}

        runner.before_run = before
        found = assess(store, runner, ["own", "other"], QUICK)
        assert [one.plan.knee("random") for one in found.targets] == [16, 16]
        return gather(store, [f"e{found.experiment_id}"])


def test_the_picture_drew_another_knee_than_the_assessment_measured_at(
    disturbed_at_64: Material,
) -> None:
    """Threads, writes and mixes ran at depth 16, and the curve said *knee: 1 x 64*."""
    curve = figures(disturbed_at_64)["load-curve"]
    told = [
        json.dumps(view.spec)
        for view in curve.views
        if view.choice.get("Load") == "4K random read" and view.choice["Of"] in ("own", "other")
    ]
    assert len(told) == 2
    assert all("knee: 1 x 16, 160,000 IOPS" in one for one in told)
    assert "of the runs that nothing disturbed" in curve.caption


def test_a_knee_of_runs_that_a_limit_explained_was_said_to_be_of_undisturbed_ones() -> None:
    limited = [point(depth, 128 + depth / 100, "io-limited") for depth in (1, 4, 16)]
    assert knee_of(limited).depth == 1
    assert "or of all of them if there are not two such" in _CAPTION


def test_without_a_knee_of_its_own_a_curve_leaves_out_disturbed_runs() -> None:
    points = [point(4, 40_000), point(16, 160_000), point(64, 180_000, "cpu-contended")]
    assert knee_of(points).depth == 16
    # What befell all of them is not what makes one differ.
    all_busy = [replace(one, marks=("cpu-contended",)) for one in points]
    assert knee_of(all_busy).depth == 64
    # A limit or a core that is full is what a rising depth comes to.
    assert knee_of([*points[:2], point(64, 180_000, "core-bound")]).depth == 64
    # One run alone is no curve.
    assert knee_of([point(4, 40_000, "stalled"), points[1], points[2]]).depth == 64


def test_a_knee_that_is_not_among_the_points_is_looked_for() -> None:
    points = [point(4, 40_000), point(16, 160_000)]
    assert knee_of(points, 64).depth == 16
    assert knee_of(points, 4).depth == 4


def test_a_sweep_has_a_knee_without_an_assessment(disturbed_at_64: Material) -> None:
    sides = tuple(
        replace(side, families=tuple(replace(one, knee_depth=None) for one in side.families))
        for side in disturbed_at_64.sides
    )
    found = load_curve(replace(disturbed_at_64, sides=sides))
    assert found is not None
    assert "knee: 1 x 64" not in json.dumps([view.spec for view in getattr(found, "views", [])])
