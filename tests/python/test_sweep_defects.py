"""Defects of sweeps that were mended: what they said of cells that they had not measured."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fathom._claims import Doubt, ToldRun, ToldRuns
from fathom.experiments.axes import parse_axes
from fathom.experiments.session import Observation, answered
from fathom.experiments.sweep._probe import Probes
from fathom.experiments.sweep.claims import sweep_claims
from fathom.experiments.sweep.experiment import Sweep, _Sweeping, sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.report.collect._sweep import sweep_side
from fathom.report.figure import Figure
from fathom.report.figures.heat_map import heat_map
from fathom.report.material import GridCell, Material, Point, Side
from fathom.runners import Figures, RunOutcome
from fathom.store import Store
from fathom.units import MIB
from simulated_device import SHAPES, Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fathom.experiments.session import Step
    from fathom.experiments.sweep.plan import SweepPlan
    from fathom.experiments.sweep.result import SweptCell

LOADS = {"threads": "1..64", "depth": "1..64"}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file; what is tested here does not depend on its kind."""
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def inferred(found: Sweep) -> list[SweptCell]:
    """Return the cells that were not measured, of which there are some."""
    cells = [cell for cell in found.cells if cell.source == "interpolated"]
    assert cells
    return cells


def io_bytes(cell: SweptCell) -> float:
    """Return the bytes of an I/O of a cell by its figures."""
    assert cell.iops is not None
    assert cell.mib_per_s is not None
    return cell.mib_per_s * MIB / cell.iops


def test_throughput_of_inferred_cells_was_by_the_block_of_another_slice(kept: Store) -> None:
    # It was so: `--vary=-b=4K,64K` took the bytes of an I/O from the first cell that was measured,
    # and the greatest throughput was one of 4K, 16 times what it is.
    plan, _ = plan_sweep(["x"], parse_axes(LOADS, ["-b=4K,64K"]), seed=2)
    found = sweep(kept, SimulatedDevice(SHAPES["saturation"], seed=2), plan)
    assert {cell.parameters["-b"] for cell in inferred(found)} == {"4K", "64K"}
    for cell in found.cells:
        size = {"4K": 4096, "64K": 65536}[cell.parameters["-b"]]
        assert io_bytes(cell) == pytest.approx(size, rel=1e-9)
    (throughput,) = [one.text for one in found.claims if one.key == "throughput"]
    assert "-b 64K" in throughput


class MixingDevice(SimulatedDevice):
    """Reads so many bytes with each I/O on average, whatever its block is."""

    mean_bytes = 0.7 * 4096 + 0.3 * 65536

    def run(self, arguments: Sequence[str], **more: Any) -> RunOutcome:  # noqa: ANN401
        """Run, and tell the bytes of a mix of sizes."""
        outcome = super().run(arguments, **more)
        assert outcome.figures is not None
        mib_per_s = outcome.figures.iops * self.mean_bytes / MIB
        return replace(outcome, figures=replace(outcome.figures, mib_per_s=mib_per_s))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--block-mix=4K:70,64K:30"], {}),
        # The size of the option is that of writes, of which there are none.
        (["--read-block-mix=4K:70,64K:30"], {"block": "4K,8K,16K"}),
    ],
)
def test_throughput_of_inferred_cells_of_a_mix_was_by_its_block(
    kept: Store, arguments: list[str], named: dict[str, str]
) -> None:
    plan, _ = plan_sweep([*arguments, "-r", "x"], parse_axes({**named, **LOADS}), seed=2)
    found = sweep(kept, MixingDevice(SHAPES["saturation"], seed=2), plan)
    for cell in inferred(found):
        assert io_bytes(cell) == pytest.approx(MixingDevice.mean_bytes, rel=1e-3)


def test_throughput_of_inferred_cells_is_by_the_block_that_a_pattern_reads(kept: Store) -> None:
    class Patterned(MixingDevice):
        mean_bytes = 32768.0

    arguments = ["-b4K", "--read-pattern=random,block=32K", "-r", "x"]
    plan, _ = plan_sweep(arguments, parse_axes(LOADS), seed=2)
    found = sweep(kept, Patterned(SHAPES["saturation"], seed=2), plan)
    assert {round(io_bytes(cell)) for cell in inferred(found)} == {32768}


CACHED = Doubt("page-cache", "Reads came from the page cache", "certain")


def cell_of(depth: int, iops: float, run_id: int | None = None, **more: str) -> dict[str, Any]:
    """Return a cell of an outcome; one without a run was interpolated."""
    return {
        "parameters": {"depth": str(depth), **more},
        "source": "interpolated" if run_id is None else "measured",
        "iops": iops,
        "mib_per_s": iops / 256,
        "run_id": run_id,
    }


def test_a_headline_of_an_inferred_cell_lost_what_its_runs_say() -> None:
    # It was so: "At most 1,001 IOPS (depth 2; interpolated)." of reads from the page cache, with
    # nothing that forbids a verdict, so that the page judged it as a device.
    told = ToldRuns({one: ToldRun(1, 4**one, "cached", (CACHED,)) for one in (1, 2)})
    cells = [cell_of(4, 1000.0, 1), cell_of(8, 1001.0), cell_of(16, 999.0, 2)]
    outcome: Any = {"cells": cells}
    headline, throughput, *_ = sweep_claims(outcome, told)
    for claim in (headline, throughput):
        assert claim.forbidden_by == ("page-cache",)
        assert [one.run_id for one in claim.evidence] == [1, 2]
        # What all its runs have in common is said, as of a cell that was measured.
        assert "(depth 8, threads 1, cached; interpolated)" in claim.text
    assert headline.text.startswith("No verdict on a device")
    assert [(one.value, one.unit) for one in headline.evidence] == [(1000, "IOPS"), (999, "IOPS")]


def test_threads_of_each_target_were_called_like_those_of_all() -> None:
    """One table had two columns of this name, with 1 and 2, and a third number in the headline."""
    told = ToldRuns({1: ToldRun(2, 8, "unbuffered"), 2: ToldRun(4, 8, "unbuffered")})
    cells = [cell_of(8, 900.0, 1, threads="1"), cell_of(8, 1000.0, 2, threads="2")]
    outcome: Any = {"cells": cells}
    headline = sweep_claims(outcome, told)[0]
    assert "threads 2 per target" in headline.text
    of_one = ToldRuns({1: ToldRun(1, 8, "unbuffered"), 2: ToldRun(2, 8, "unbuffered")})
    assert "per target" not in sweep_claims(outcome, of_one)[0].text
    for threads, title in ((1, "Threads"), (2, "Threads per target")):
        point = Point("x", threads, 8, 4096, 0.0, 1000.0, 4.0)
        cells_of_two = (
            GridCell({"threads": "1", "write": "0"}, "measured", point),
            GridCell({"threads": "1", "write": "100"}, "measured", point),
        )
        side = Side("sweep", "sweep", grid=cells_of_two, axes=("threads", "write"))
        figure = heat_map(Material("x", "x", (side,), "now"))
        assert isinstance(figure, Figure)
        assert figure.table.columns[0].title == title


def test_a_claim_of_an_inferred_cell_rests_on_its_own_slice() -> None:
    told = ToldRuns({1: ToldRun(1, 4, "unbuffered"), 2: ToldRun(1, 4, "cached", (CACHED,))})
    cells = [
        cell_of(4, 1000.0, 1, write="0"),
        cell_of(8, 1001.0, write="0"),
        cell_of(4, 900.0, 2, write="100"),
    ]
    outcome: Any = {"cells": cells}
    headline = sweep_claims(outcome, told)[0]
    assert [one.run_id for one in headline.evidence] == [1]
    assert not headline.forbidden_by
    assert "unbuffered; interpolated" in headline.text


def test_key_numbers_of_inferred_cells_were_as_if_measured(kept: Store) -> None:
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=2)
    found = sweep(kept, SimulatedDevice(SHAPES["saturation"], seed=2), plan)
    experiment = kept.experiments.get(found.experiment_id)
    outcome: Any = json.loads(json.dumps(experiment.outcome))
    best = max(outcome["cells"], key=lambda one: one["iops"])
    for source, title in (
        ("measured", "Most IOPS"),
        ("interpolated", "Most IOPS (interpolated)"),
    ):
        best |= {"source": source, "figures": best["figures"] if source == "measured" else None}
        side = sweep_side(replace(experiment, outcome=outcome), None, [])
        assert side.numbers[0].title == title
        assert side.numbers[0].value == best["iops"]


class Looking(SimulatedDevice):
    """A device at which short looks fail, all but the first so many."""

    succeeding = 0

    def run(self, arguments: Sequence[str], **more: Any) -> RunOutcome:  # noqa: ANN401
        """Run, and let a look fail."""
        outcome = super().run(arguments, **more)
        is_look = any("--stop-ios" in one for one in arguments)
        if is_look and len(self.looks) > self.succeeding:
            return RunOutcome(None, None, "no look")
        return outcome


@pytest.mark.parametrize("succeeding", [0, 4])
def test_looks_that_failed_counted_as_looks_that_found_nothing(
    kept: Store, succeeding: int
) -> None:
    # It was so: "12 of the others got a short look, which finds a cell that is slow or fast by
    # itself: 0 stood apart", where every look had failed, or too few succeeded to compare them.
    device = Looking(SHAPES["saturation"], seed=5)
    device.succeeding = succeeding
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=5)
    found = sweep(kept, device, plan)
    count = len(inferred(found))
    assert (found.probed, found.stood_apart, found.unprobed) == (0, 0, count)
    texts = {one.key: one.text for one in found.claims}
    assert "probed" not in texts
    assert f"No short look tells whether {count} interpolated cells are slow" in texts["unprobed"]


def test_looks_that_tell_are_counted_and_leave_nothing_open(kept: Store) -> None:
    device = SimulatedDevice(SHAPES["saturation"], seed=5)
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=5)
    found = sweep(kept, device, plan)
    assert found.probed == len({*device.looks}) >= len(inferred(found))
    assert found.unprobed == 0
    assert "unprobed" not in {one.key for one in found.claims}


def test_a_broken_cell_of_the_few_that_were_left_was_said_to_have_been_looked_at(
    kept: Store,
) -> None:
    # It was so: two cells were left, one of them with half of its rate, and two looks, which
    # cannot be compared, "found" that none stood apart.
    broken = Load(65536, 2, 2)

    def shape(load: Load) -> float:
        return SHAPES["contention"](load) * (0.5 if load == broken else 1.0)

    device = SimulatedDevice(shape, seed=1)
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=1)
    found = sweep(kept, device, plan)
    (cell,) = [one for one in found.cells if [*one.parameters.values()] == ["2", "2"]]
    assert cell.source == "measured"
    assert cell.iops == pytest.approx(shape(broken), rel=0.05)
    assert found.count("measured") == len(device.loads) == 49


def test_another_tool_has_no_looks_and_its_sweep_says_so(kept: Store) -> None:
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=5, runner="fio")
    found = sweep(kept, SimulatedDevice(SHAPES["saturation"], seed=5), plan)
    assert (found.probed, found.unprobed) == (0, len(inferred(found)))
    assert "unprobed" in {one.key for one in found.claims}


def test_looks_are_compared_only_where_enough_succeeded() -> None:
    expected = dict.fromkeys(range(6), 8.0)
    probes = Probes(dict.fromkeys(range(6), 7.7))
    probes.found[5] = 7.0
    assert probes.telling(expected) == {*range(6)}
    assert probes.apart(expected, 0.05) == {5}
    assert probes.unclear(expected) == set()
    # A look that failed alone tells that something is wrong there: its cell is measured.
    probes.found |= {6: None}
    assert probes.unclear(range(7)) == {6}
    assert probes.apart(dict.fromkeys(range(7), 8.0), 0.05) == {5}
    # Four looks tell nothing, so that these cells are measured.
    few = Probes({0: 7.7, 1: 7.7, 2: 7.7, 3: 7.0, 4: None})
    assert few.apart(dict.fromkeys(range(5), 8.0), 0.05) == set()
    assert few.unclear(range(5)) == {*range(5)}
    # Where most fail, looking does not work.
    assert Probes({0: 7.7, 1: None, 2: None}).unclear(range(5)) == set()


def rough_device(seed: int) -> SimulatedDevice:
    """Return a device whose cells lie off any surface by 1.2 %, each always by the same."""
    random, off = np.random.default_rng(0), dict[Load, float]()

    def shape(load: Load) -> float:
        own = off.setdefault(load, float(np.exp(0.012 * random.standard_normal())))
        return SHAPES["saturation"](load) * own

    return SimulatedDevice(shape, seed=seed)


def gone_on(plan: SweepPlan, outcome: dict[str, Any], device: SimulatedDevice) -> Sweep:
    """Return what a sweep that ended with this outcome says once its failed cells were run."""
    cells = range(len(outcome["cells"]))
    states = {"measured": "done", "interpolated": "skipped", "failed": "failed"}
    steps = [SimpleNamespace(id=at, state=states[outcome["cells"][at]["source"]]) for at in cells]
    saved = {
        at: Observation(Figures(**figures))
        for at in cells
        if (figures := outcome["cells"][at]["figures"])
    }
    sweeping = _Sweeping(plan, {at: at for at in cells})
    experiment: Any = SimpleNamespace(steps=steps, outcome=outcome)
    sweeping.take_up(saved, experiment)

    def answer(step: Step) -> Observation:
        outcome = device.run(step.arguments)
        return Observation(outcome.figures, None, outcome.failure)

    return answered(sweeping.strategy(), answer)


def kept_outcome(store: Store, found: Sweep) -> dict[str, Any]:
    """Return the outcome of a sweep as the store keeps it."""
    outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    return dict(outcome)


def widths(found: Sweep, like: Sweep) -> list[float]:
    """Return by how much cells that both sweeps inferred may be more than what is said of them."""
    pairs = zip(found.cells, like.cells, strict=True)
    both = [one for one, other in pairs if one.source == other.source == "interpolated"]
    return [(one.iops_high or 0) / (one.iops or 1) for one in both]


ROUGH = {"threads": "1,2,3,4,6,8,12,16,24,32,48,64", "depth": "1..64"}


def test_going_on_with_a_sweep_that_ended_forgot_what_its_checks_had_found(kept: Store) -> None:
    # It was so: +/- 4.5 % became 2.9 % at the median, though but one cell far away was measured.
    device = rough_device(2)
    device.fails = lambda load: (load.threads, load.depth) == (64, 64)
    plan, _ = plan_sweep(["x"], parse_axes(ROUGH), seed=2)
    found = sweep(kept, device, plan)
    assert found.count("failed") == 1
    assert len(found.learnt[0].check_scores) == found.checked
    device.fails = lambda _load: False
    again = gone_on(plan, kept_outcome(kept, found), device)
    assert again.count("failed") == 0
    assert again.learnt == found.learnt
    before, after = widths(found, again), widths(again, found)
    assert np.median(after) - 1 == pytest.approx(np.median(before) - 1, rel=0.1)


@pytest.mark.parametrize("is_older", [False, True])
def test_going_on_with_one_slice_changed_what_was_said_of_another(
    kept: Store,
    is_older: bool,  # noqa: FBT001
) -> None:
    device = rough_device(2)
    device.fails = lambda load: (load.depth, load.write_percent) == (64, 100)
    plan, _ = plan_sweep(["x"], parse_axes({**LOADS, "write": "0,100"}), seed=2)
    found = sweep(kept, device, plan)
    outcome = kept_outcome(kept, found)
    if is_older:
        # Outcomes of older versions do not have it.
        del outcome["learnt"], outcome["unprobed"]
    device.fails = lambda _load: False
    again = gone_on(plan, outcome, device)
    assert again.count("failed") == 0
    untouched = [
        (one, other)
        for one, other in zip(found.cells, again.cells, strict=True)
        if one.parameters["write"] == "0" and one.source == "interpolated"
    ]
    assert untouched
    for one, other in untouched:
        ends = one.iops, one.iops_low, one.iops_high, one.mib_per_s
        assert ends == pytest.approx(
            (other.iops, other.iops_low, other.iops_high, other.mib_per_s), rel=1e-9
        )


def test_a_sweep_whose_retried_cell_fails_again_says_what_it_said(kept: Store) -> None:
    device = rough_device(2)
    device.fails = lambda load: (load.threads, load.depth) == (64, 64)
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=2)
    found = sweep(kept, device, plan)
    again = gone_on(plan, kept_outcome(kept, found), device)
    assert widths(again, found) == pytest.approx(widths(found, again), rel=1e-9)
    counts = [(one.probed, one.stood_apart, one.unprobed) for one in (found, again)]
    assert counts[0] == counts[1]


def heat_of(kept: Store, found: Sweep, outcome: Any = None) -> Figure:  # noqa: ANN401
    """Return the heat map of a sweep, or of another outcome of it."""
    experiment = kept.experiments.get(found.experiment_id)
    side = sweep_side(replace(experiment, outcome=outcome or experiment.outcome), None, [])
    heat = heat_map(Material("x", "x", (side,), "now"))
    assert isinstance(heat, Figure)
    return heat


def test_maps_of_latency_had_empty_cells_where_there_are_estimates(kept: Store) -> None:
    # It was so: "empty cells failed or are still to be measured", and 12 had been interpolated.
    plan, _ = plan_sweep(["x"], parse_axes(LOADS), seed=5)
    found = sweep(kept, SimulatedDevice(SHAPES["saturation"], seed=5), plan)
    heat = heat_of(kept, found)
    assert "Cells whose number stands in brackets" in heat.caption
    assert "mpty" not in heat.caption
    assert [view.choice["Shown"] for view in heat.views][2:] == ["Mean latency", "99th percentile"]
    names = ("latency_mean_ns", "latency_p99_ns")
    for view, name in zip(heat.views[2:], names, strict=True):
        rows = view.spec["data"]["values"]
        assert all(row["value"] for row in rows)
        told = {(row["y"], row["x"]): row for row in rows if row["inferred"]}
        assert len(told) == len(inferred(found))
        for cell in inferred(found):
            assert cell.estimated_latency is not None
            row = told[cell.parameters["threads"], cell.parameters["depth"]]
            assert row["value"] == pytest.approx(cell.estimated_latency[name].value_ns, abs=0.01)
            assert row["short"].startswith("(")
    # No estimate stands where latencies of measured cells are compared.
    side = sweep_side(kept.experiments.get(found.experiment_id), None, [])
    points = [point for family in side.families for point in family.points]
    assert any(not point.is_measured for point in points)
    assert all(point.is_measured == (point.mean_ns is not None) for point in points)


def test_a_map_names_the_reasons_of_empty_cells_that_occur_in_it(kept: Store) -> None:
    plan, _ = plan_sweep(["x"], parse_axes({"threads": "1,2", "depth": "1..4"}))
    found = sweep(kept, SimulatedDevice(SHAPES["saturation"]), plan)
    outcome: Any = json.loads(json.dumps(kept.experiments.get(found.experiment_id).outcome))
    start, end = "Each cell is one combination; more is darker.", "Choose above what"
    assert heat_of(kept, found).caption.startswith(f"{start} {end}")
    outcome["cells"][0]["figures"]["latency_p99_ns"] = None
    heat = heat_of(kept, found, outcome)
    assert heat.caption.startswith(f"{start} Empty cells have no such figure. {end}")
    outcome["cells"][0] = {**outcome["cells"][0], "source": "failed", "figures": None, "iops": None}
    heat = heat_of(kept, found, outcome)
    assert heat.caption.startswith(f"{start} Empty cells failed. {end}")
    outcome["cells"][1] = {"parameters": outcome["cells"][1]["parameters"], "source": "pending"}
    heat = heat_of(kept, found, outcome)
    assert "Empty cells failed or are still to be measured." in heat.caption


def test_the_map_of_a_tuning_promised_that_what_it_left_out_would_be_measured() -> None:
    def cell(threads: int, depth: int) -> GridCell:
        point = Point("x", threads, depth, 4096, 0.0, 1e3 * depth, 4.0 * depth, mean_ns=1e5)
        return GridCell({"threads": str(threads), "depth": str(depth)}, "measured", point)

    loads = [cell(1, 1), cell(1, 4), cell(2, 4)]
    side = Side("tuning e1", "tune", grid=tuple(loads), axes=("threads", "depth"))
    heat = heat_map(Material("x", "x", (side,), "now"))
    assert isinstance(heat, Figure)
    assert "still to be measured" not in heat.caption
    assert "Where there is no cell, that load was not measured." in heat.caption
    assert "brackets" not in heat.caption
