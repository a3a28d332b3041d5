"""Reports: the numbers behind the figures are those of the store, in every form."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import jsonschema  # type: ignore[import-untyped]
import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.report import (
    ReportError,
    drawn,
    figures_of,
    gather,
    html_page,
    markdown,
)
from fathom.report.collect._runs import device_facts
from fathom.report.render.page import changes
from fathom.store import Store
from fathom.tools.formats import read_source
from reported import EVIL, called, column, figures, saved_assessment, saved_repetition, saved_sweep
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from collections.abc import Iterator

GRID = {"block": "4K,16K,64K", "depth": "1..8"}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, str]]:
    """Return a store and a sweep of 441 cells in it."""
    with Store(tmp_path_factory.mktemp("large") / "store.sqlite") as opened:
        yield opened, f"e{saved_sweep(opened)}"


def test_an_assessment_has_its_verdict_five_numbers_and_the_knee(kept: Store) -> None:
    experiment_id = saved_assessment(kept)
    material = gather(kept, [f"e{experiment_id}"])
    (side,) = material.sides
    assert side.verdict is not None
    assert side.verdict.headline == "It is fast."
    runs = {run.label.removeprefix("assess "): run.columns for run in kept.runs.list()}
    assert [one.value for one in side.numbers] == [
        runs["read-1"]["total_latency_mean_ns"],
        runs["write-1"]["total_latency_mean_ns"],
        runs["threads-2"]["total_iops"],
        runs["random-write"]["total_iops"],
        runs["sequential-4"]["total_mib_per_s"],
    ]
    assert side.advice[0].remedy == "Use larger blocks."
    curve = figures(material)["load-curve"]
    random = [run for load, run in zip(column(curve, "Load"), column(curve, "IOPS"), strict=True)
              if load == "4K random read"]  # fmt: skip
    assert random == [runs[key]["total_iops"] for key in ("read-1", "random-4", "random-16",
                                                          "random-64")]  # fmt: skip
    # 80,000 IOPS are within 3 % of the greatest rate, at a quarter of its latency.
    assert "knee: 1 x 16, 80,000 IOPS" in json.dumps(curve.spec)


def test_all_figures_of_an_assessment_are_there(kept: Store) -> None:
    material = gather(kept, [f"e{saved_assessment(kept)}"])
    assert set(figures(material)) == {
        "load-curve",
        "by-depth",
        "latency-distribution",
        "time-series",
        "threads",
        "cache-step",
        "mixes",
        "workloads",
    }
    # What was measured before costs were kept, or without latencies of intervals, says so.
    assert [one.name for one in figures_of(material)[1]] == ["latency-map", "cpu-per-io"]


def test_every_specification_is_vega_lite_of_the_schema(kept: Store) -> None:
    import altair as alt  # noqa: PLC0415 - Slow to import, and only here.

    ids = [saved_assessment(kept), saved_sweep(kept, GRID), saved_repetition(kept, [9e3] * 6)]
    specs = {
        (one, figure.name): drawn(figure.spec, theme, 700)
        for one in ids
        for figure in figures_of(gather(kept, [f"e{one}"]))[0]
        for theme in ("light",)
    }
    assert len(specs) > 12
    schema = alt.load_schema()
    validator = jsonschema.validators.validator_for(schema)(schema)
    for name, spec in specs.items():
        assert validator.is_valid(spec), name
    assert not validator.is_valid({**specs[ids[0], "load-curve"], "width": "wide"})


def test_the_map_of_a_sweep_has_each_cell_with_its_source(kept: Store) -> None:
    experiment_id = saved_sweep(kept, GRID)
    outcome = kept.experiments.get(experiment_id).outcome
    assert outcome is not None
    heat = figures(gather(kept, [f"e{experiment_id}"]))["heat-map"]
    assert column(heat, "IOPS") == [cell["iops"] for cell in outcome["cells"]]
    assert column(heat, "Block") == [cell["parameters"]["block"] for cell in outcome["cells"]]
    assert column(heat, "Source") == [cell["source"] for cell in outcome["cells"]]
    assert heat.controls()["Shown"][:2] == ["IOPS", "MiB/s"]


def test_a_large_sweep_is_sliced_and_interpolated_cells_are_marked(
    large: tuple[Store, str],
) -> None:
    store, reference = large
    heat = figures(gather(store, [reference]))["heat-map"]
    assert len(heat.table.rows) == 441
    assert heat.controls()["Threads"] == ["1", "2", "4", "8", "16", "32", "64"]
    assert "interpolated" in column(heat, "Source")
    cells = [row for view in heat.views[:7] for row in view.spec["data"]["values"]]
    assert len(cells) == 441
    for cell in cells:
        assert cell["short"].startswith("(") == (cell["source"] == "interpolated")


def test_repetitions_have_boxes_and_the_window_in_which_they_were_steady(kept: Store) -> None:
    rates = [5_000.0, 7_000.0, 9_000.0, 9_100.0, 9_000.0, 9_200.0, 9_100.0]
    material = gather(kept, [f"e{saved_repetition(kept, rates)}"])
    boxes = figures(material)["box-plots"]
    assert column(boxes, "IOPS") == rates
    steady = figures(material)["steady-state"]
    assert column(steady, "In the window") == ["no", "no", *["yes"] * 5]
    assert steady.caption.startswith("The SNIA's rule is kept: over rounds 3 to 7")
    # Two runs before them were much slower, which the rule does not see.
    assert "All rounds: not steady (rounds differ by up to" in steady.caption


def test_two_repetitions_side_by_side_say_what_changed(kept: Store) -> None:
    rates = [10_000.0, 10_050.0, 9_950.0, 10_020.0, 9_980.0, 10_010.0]
    a = saved_repetition(kept, rates)
    b = saved_repetition(kept, [one + 2_000 for one in rates])
    material = gather(kept, [f"e{a}", f"e{b}"])
    changes = figures(material)["changes"]
    change = dict(zip(column(changes, "Figure"), column(changes, "Change"), strict=True))
    assert float(str(change["IOPS"])) == pytest.approx(20, abs=0.5)
    assert column(changes, "Verdict")[0] == "better"
    assert "side-by-side" in figures(material)


def test_one_sweep_through_two_tools_shows_both_with_their_difference(kept: Store) -> None:
    ours = saved_sweep(kept, GRID)
    fios = saved_sweep(kept, GRID, seed=6, runner="fio", tool_version="fio 3.33")
    a, b = (kept.experiments.get(one).outcome for one in (ours, fios))
    assert a is not None
    assert b is not None
    material = gather(kept, [f"e{ours}", f"e{fios}"])
    assert material.sides[1].name == f"sweep e{fios} (fio 3.33)"
    assert "--runner fio" in material.sides[1].commands[0]
    shown = figures(material)["same-loads"]
    assert list(shown.controls()) == ["Shown", "Block"]
    rates = [row for row in shown.table.rows if row[1] == "IOPS"]
    assert [row[2] for row in rates] == [cell["iops"] for cell in a["cells"]]
    assert [row[3] for row in rates] == [cell["iops"] for cell in b["cells"]]
    for one, other, row in zip(a["cells"], b["cells"], rates, strict=True):
        quotient = other["iops"] / one["iops"]
        # The interval of a quotient of means whose relative half widths are small.
        halves = [(cell["iops_high"] - cell["iops_low"]) / 2 / cell["iops"]
                  for cell in (one, other)]  # fmt: skip
        low, high = (100 * (quotient - 1) + sign * 100 * quotient * math.hypot(*halves)
                     for sign in (-1, 1))  # fmt: skip
        assert row[4:7] == pytest.approx((100 * (quotient - 1), low, high), abs=0.05)
    # Loads of different kinds have no mean that could change.
    assert "changes" not in figures(material)
    assert "over all 12 loads" in shown.caption


def test_two_assessed_targets_show_what_both_have_of_each_load(kept: Store) -> None:
    ids = [saved_assessment(kept, name) for name in ("/mnt/old", "/mnt/new")]
    shown = figures(gather(kept, [f"e{one}" for one in ids]))["same-loads"]
    rates = [row for row in shown.table.rows if row[1] == "IOPS"]
    runs = [
        [run.columns["total_iops"] for run in reversed(kept.runs.list(experiment_id=one))]
        for one in ids
    ]
    assert [[row[at] for row in rates] for at in (2, 3)] == runs
    assert {row[4] for row in rates} == {0.0}
    # Made-up runs have no intervals.
    assert {row[5] for row in rates} == {None}


def test_percentiles_that_too_few_ios_tell_are_not_told(kept: Store) -> None:
    shown = figures(gather(kept, [f"e{saved_assessment(kept)}"]))["latency-distribution"]
    # The made-up histograms have 4,000 I/Os.
    assert column(shown, "99.9 %")[0] is not None
    assert column(shown, "99.99 %")[0] is None
    assert [one.name for one in shown.table.columns][-2] == "99.9999999 %"


def test_text_of_users_is_never_markup(kept: Store) -> None:
    experiment_id = saved_assessment(kept, name=f"/mnt/{EVIL}", evil=EVIL)
    material = gather(kept, [f"e{experiment_id}"])
    page = html_page(material)
    assert EVIL not in page
    assert "window.evil" in page
    # In the block of commands at the end, text is text.
    words, _, _ = markdown(material).partition("## To repeat it")
    assert "&lt;script" in words
    assert "<script" not in words


def test_the_page_needs_no_network_and_is_small(kept: Store) -> None:
    page = html_page(gather(kept, [f"e{saved_assessment(kept)}"]))
    assert len(page.encode()) < 3 << 20
    head, _, _ = page.partition("<script>")
    assert not re.findall(r"(?:src|href)=\"(?!#)[^\"]*", head)


def test_views_that_are_sent_as_changes_are_those_that_were_made(kept: Store) -> None:
    ids = [saved_assessment(kept), saved_sweep(kept, GRID)]
    for figure in [one for wanted in ids for one in figures_of(gather(kept, [f"e{wanted}"]))[0]]:
        first = json.dumps({"spec": figure.spec})
        for view in figure.views[1:]:
            made = json.loads(first)
            for inner, value in changes(json.loads(first)["spec"], dict(view.spec)):
                part, place = made, ["spec", *inner]
                for key in place[:-1]:
                    part = part[key]
                part[place[-1]] = value
            assert made["spec"] == view.spec


def test_a_file_of_results_is_reported_without_a_store(
    kept: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = saved_repetition(kept, [4_000.0])
    (summary,) = kept.runs.list(experiment_id=experiment_id)
    raw = kept.runs.get(summary.id).result.raw
    place = tmp_path / "result.json"
    place.write_text(json.dumps(dict(raw)))
    material = gather(None, [str(place)])
    assert material.sides[0].numbers[0].value == 4_000.0
    place.write_text('{"what": "is this"}')
    with pytest.raises(ReportError, match="holds no result"):
        gather(None, [str(place)])
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    assert called(monkeypatch, "report", str(place)) == 1


def test_what_has_no_histogram_is_left_out_with_the_reason(kept: Store, tmp_path: Path) -> None:
    experiment_id = saved_repetition(kept, [4_000.0, 4_100.0])
    material = gather(kept, [f"e{experiment_id}"])
    for _, run in material.runs:
        for thread in run.result.raw["time_spans"][0]["threads"]:
            for target in thread["targets"]:
                for kind in ("read", "write"):
                    target[kind]["latency"] = None
    stripped = json.dumps([{"result": dict(run.result.raw)} for _, run in material.runs])
    place = tmp_path / "runs.json"
    place.write_text(stripped)
    left_out = {one.name: one.why for one in figures_of(gather(None, [str(place)]))[1]}
    assert "-L" in left_out["latency-distribution"]


_MOST_BYTES = 300 << 20
# The peak of the process itself: ru_maxrss would be that of whoever started it, if that was larger.
_PEAK = """
import sys
from pathlib import Path
from fathom.cli import main
try:
    main()
finally:
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM:")), file=sys.stderr)
"""


def test_a_report_of_441_cells_takes_less_than_300_mib(
    large: tuple[Store, str], tmp_path: Path
) -> None:
    store, reference = large
    arguments = ["report", reference, "-o", str(tmp_path / "r.html"), "--store", store.name]
    # In a cache of its own, so that the bundle is made, too.
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    made = subprocess.run(
        [sys.executable, "-c", _PEAK, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert int(made.stderr.splitlines()[-1]) * 1024 < _MOST_BYTES
    assert (tmp_path / "r.html").stat().st_size < 3 << 20


def test_a_report_of_441_cells_reads_no_whole_runs(
    large: tuple[Store, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, reference = large
    read: list[int] = []
    monkeypatch.setattr(store.runs, "get", read.append)
    material = gather(store, [reference])
    assert len(material.sides[0].grid) == 441
    assert read == []


def test_the_heat_map_over_time_has_the_ios_of_each_interval(kept: Store, tmp_path: Path) -> None:
    target = str(tmp_path / "x.dat")
    arguments = ["-c4M", "-b4K", "-r", "-w30", "-o2", "-d1", "-W0", "-L", "-D100", target]
    result = fathom.run(["--interval-latency", *arguments])
    run_id = kept.runs.save(result, arguments)
    heat = figures(gather(kept, [str(run_id)]))["latency-map"]
    times, ios = column(heat, "From"), column(heat, "I/Os")
    for interval in range(10):
        counted = sum(
            target["series"]["cells"][interval]["ios"]
            for thread in result.raw["time_spans"][0]["threads"]
            for one in thread["targets"]
            for target in (one["read"], one["write"])
        )
        shown = [number for time, number in zip(times, ios, strict=True) if time == interval * 0.1]
        assert sum(int(str(one)) for one in shown) == counted
    # Every latency lies within what the histogram knows.
    low = min(float(str(one)) for one in column(heat, "Latency from"))
    high = max(float(str(one)) for one in column(heat, "Latency to"))
    assert result.total.latency is not None
    assert low <= result.total.latency.min_ns / 1e6 <= result.total.latency.max_ns / 1e6 <= high


def test_latencies_of_intervals_need_latencies_and_intervals() -> None:
    for missing in (["-L"], ["-D100"], []):
        with pytest.raises(fathom.InvalidRequestError, match="add -L and -D"):
            fathom.run(["--interval-latency", "-d1", *missing, "x.dat"])


def test_an_assessment_by_its_own_outcome_has_the_rounds_and_the_key_figures(
    kept: Store, tmp_path: Path
) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    runner = SimulatedStorage(kept)
    found = assess(kept, runner, [str(folder)], EFFORTS["quick"], steady_seconds=40)
    material = gather(kept, [f"e{found.experiment_id}"])
    (side,) = material.sides
    outcome = kept.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    target = outcome["targets"][0]
    assert [one.value for one in side.numbers] == [one["value"] for one in target["key_figures"]]
    assert side.verdict is not None
    assert side.verdict.headline == target["verdict"]["headline"]
    shown = figures(material)
    points = target["steady"]["points"].values()
    assert column(shown["steady-state"], "IOPS") == [one for two in points for one in two["iops"]]
    cells = {cell["key"]: cell["figures"]["iops"] for cell in target["cells"] if cell["figures"]}
    assert cells["read-1"] in column(shown["load-curve"], "IOPS")


def test_workloads_stand_each_in_its_own_unit_with_the_engines_of_all_runs(kept: Store) -> None:
    found = assess(kept, SimulatedStorage(kept), ["."], EFFORTS["quick"])
    material = gather(kept, [f"e{found.experiment_id}"])
    (side,) = material.sides
    known = {run.key: run for run in side.runs}
    shown = figures(material)["workloads"]
    units = [view.choice["Workload"].rpartition(": ")[2] for view in shown.views]
    assert units == ["IOPS", "mean latency", "MiB/s"]
    kinds = {"oltp": "iops", "log": "mean_ns", "backup": "mib_per_s"}
    truths = [[getattr(known[key].point, name)] for key, name in kinds.items()]
    values = [[row["value"] for row in view.spec["data"]["values"]] for view in shown.views]
    assert values == [pytest.approx(one, abs=1e-3) for one in truths]
    first = known["oltp"]
    others = [
        replace(one, facts={**one.facts, "io_backends": "libaio"}) if one is first else one
        for one in side.runs
    ]
    assert dict(device_facts(side.runs))["I/O through"] == first.facts["io_backends"]
    told = dict(device_facts(others))["I/O through"]
    assert f"libaio (run {first.run_id})" in told
    engines = {str(one.facts["io_backends"]) for one in others}
    assert len(engines) == 2
    assert all(engine in told for engine in engines)


def test_an_imported_run_says_what_it_does_not_know(kept: Store) -> None:
    content = (Path(__file__).parent / "fixtures" / "result.txt").read_bytes()
    (found,) = read_source(content).results
    (run_id,) = kept.imports.save([found], content, "result.txt")
    material = gather(kept, [str(run_id)])
    (side,) = material.sides
    assert side.numbers[0].value == kept.runs.get(run_id).summary.columns["total_iops"]
    assert not side.is_judged
    assert "None were looked for" in html_page(material)
    assert "time-series" in {one.name for one in figures_of(material)[1]}
    # Its table of percentiles is all that there is of its latencies.
    assert "only the points are known" in figures(material)["latency-distribution"].caption
