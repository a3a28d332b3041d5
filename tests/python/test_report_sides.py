"""Sides of a report: what tells them apart, and which of their loads are compared."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom.experiments.assess import EFFORTS, AssessmentInterrupted, assess
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import sweep
from fathom.experiments.sweep.plan import plan_sweep
from fathom.report.collect.gather import gather
from fathom.report.figure import Column, LeftOut
from fathom.report.figures import figures_of
from fathom.report.figures._shared_loads import COMPARED, Difference, shared_loads
from fathom.report.figures.same_loads import _intervals_words, same_loads
from fathom.report.render.markdown import markdown
from fathom.report.render.page import html_page
from fathom.store import Store
from reported import figures, saved_assessment, saved_sweep
from simulated_device import SHAPES, SimulatedDevice
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.report.material import GridCell, Material

QUICK = replace(EFFORTS["quick"], size_bytes=64 << 20)
GRID = {"block": "4K,16K", "depth": "1..8"}
LIMITED = (("io_limited", "The control group allows 500 reads per second."),)


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "other"):
        Path(name).mkdir()


def saved(kept: Store, *names: str, **truth: Any) -> str:  # noqa: ANN401 - Of the truth.
    truths = {"": Truth(**{"servers": 8, **truth})}
    return f"e{assess(kept, SimulatedStorage(kept, truths), names or ['one'], QUICK).experiment_id}"


def left_out(material: Material) -> dict[str, LeftOut]:
    return {one.name: one for one in figures_of(material)[1]}


def test_two_assessments_of_one_target_had_the_same_name(kept: Store) -> None:
    first, second = saved(kept), saved(kept)
    material = gather(kept, [first, second])
    a, b = (side.name for side in material.sides)
    assert a.startswith(f"one ({first}, 20")
    assert b.startswith(f"one ({second}, 20")
    assert material.title == f"{a} and {b}"
    text = markdown(material)
    assert f"| Number | {a} | {b} |" in text
    # Named twice it is one, and what has a name of its own keeps it.
    assert [side.name for side in gather(kept, [first, first]).sides] == ["one"]
    assert [side.name for side in gather(kept, [first, saved(kept, "other")]).sides] == [
        "one",
        "other",
    ]


def test_one_target_named_twice_in_an_assessment_had_one_name(kept: Store) -> None:
    names = [side.name for side in gather(kept, [saved(kept, "one", "one")]).sides]
    assert len(set(names)) == 2
    assert names[1].endswith(", number 2")


def test_loads_at_other_knees_were_one_load(kept: Store) -> None:
    """Eight at once serve depth 16 best, sixty depth 64: *at the knee* is not one load."""
    material = gather(kept, [saved(kept), saved(kept, servers=60)])
    shown = figures(material)["same-loads"]
    loads = {row[0] for row in shown.table.rows}
    assert "4K random read, depth 16" in loads
    assert not any("at the knee" in str(one) and "4K" in str(one) for one in loads)
    told = shown.caption.partition("not the same load, and not compared: ")[2]
    assert "4K random read, 2 threads at the knee" in told
    assert "(depth is 16 in A and 64 in B)" in told
    for one in shared_loads(material.sides):
        assert one.a.point is not None
        assert one.b.point is not None
        assert (one.a.point.threads, one.a.point.depth) == (one.b.point.threads, one.b.point.depth)


def test_the_page_cache_counted_in_the_mean_over_all_loads(kept: Store) -> None:
    material = gather(kept, [saved(kept), saved(kept, cached_us=40.0)])
    loads = shared_loads(material.sides)
    assert [one.label for one in loads if not one.is_pooled] == [
        "4K random read, depth 1, first 4 MiB, page cache"
    ]
    shown = figures(material)["same-loads"]
    assert f"IOPS over {len(loads) - 1} of {len(loads)} loads: +0.0 % on average" in shown.caption


def test_a_mean_over_loads_had_an_interval_of_confidence(kept: Store) -> None:
    """It left 0 out where all runs of one side were disturbed: loads are no repetitions."""
    material = gather(kept, [saved(kept), saved(kept, read_us=110.0)])
    caption = figures(material)["same-loads"].caption
    assert " on average, " in caption
    assert " load by load" in caption
    assert "(-" not in caption.partition("loads: ")[2].partition(".")[0]


def test_what_the_page_refuses_to_compare_stood_side_by_side(kept: Store) -> None:
    limited = saved(kept, doubts=LIMITED)
    for references in ([limited, saved(kept)], [saved(kept), limited]):
        found = left_out(gather(kept, references))
        assert "not a device's" in found["same-loads"].why
        assert "not a device's" in found["side-by-side"].why
    # Two that are devices are compared, and the third is named.
    material = gather(kept, [limited, saved(kept), saved(kept, "other")])
    shown = figures(material)["side-by-side"]
    assert [one.name for one in shown.table.columns][1:] == [
        side.name for side in material.sides[1:]
    ]
    assert material.sides[0].name in shown.caption


def test_one_file_under_two_names_was_compared_below_the_headline(kept: Store) -> None:
    Path("linked").symlink_to("one")
    material = gather(kept, [saved(kept, "one", "linked")])
    found = left_out(material)
    for name in ("side-by-side", "same-loads"):
        assert found[name].why.startswith("No comparison: one and linked are one folder")


def test_a_table_without_a_best_had_a_legend_of_it(kept: Store) -> None:
    legend = "not shown to be 5 % worse"
    assert legend in markdown(gather(kept, [saved(kept, "one", "other")]))
    limited = gather(kept, [saved(kept, "one", "other", doubts=LIMITED)])
    assert legend not in markdown(limited)
    assert legend not in html_page(limited)


def test_cut_assessments_were_compared_at_their_own_depths(kept: Store) -> None:
    cut = []
    for at in (6, 8):
        runner = SimulatedStorage(kept, {"": Truth(servers=60)}, interrupted_at=at)
        with pytest.raises(AssessmentInterrupted) as ended:
            assess(kept, runner, ["one"], QUICK)
        cut.append(f"e{ended.value.assessment.experiment_id}")
    material = gather(kept, cut)
    told = [one.conditions for side in material.sides for one in side.numbers
            if one.label == "Random reads of 4 KiB, as far as measured"]  # fmt: skip
    assert len(set(told)) == 2
    assert "Random reads" not in str(figures(material)["side-by-side"].table.rows)


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ("-b4K", "-b64K", "block size (bytes) is 4096 in A and 65536 in B"),
        ("--skew=pareto:0.2", "--skew=zipf:1.1", "skew is pareto:0.2 in A and zipf:1.1 in B"),
    ],
)
def test_sweeps_of_other_blocks_were_the_same_loads(
    kept: Store, first: str, second: str, difference: str
) -> None:
    """Cells were paired by the depth alone, whatever else the sweeps had asked for."""
    ids = []
    for arguments in ([first, "-r", "x"], [second, "-r", "x"]):
        plan, _ = plan_sweep(arguments, parse_axes({"depth": "1..8"}), seed=5)
        device = SimulatedDevice(SHAPES["saturation"], seed=5)
        ids.append(sweep(kept, device, plan).experiment_id)
    material = gather(kept, [f"e{one}" for one in ids])
    assert shared_loads(material.sides) == ()
    assert left_out(material)["same-loads"].why == (
        "Of one name, but not the same load, and not compared: depth 1, depth 2, depth 4, depth 8 "
        f"({difference})."
    )


def test_sweeps_that_are_not_of_a_device_are_compared_through_two_tools_alone(kept: Store) -> None:
    ids = [saved_sweep(kept, GRID), saved_sweep(kept, GRID, seed=6)]
    material = gather(kept, [f"e{one}" for one in ids])
    barred = replace(material, sides=tuple(replace(one, is_barred=True) for one in material.sides))
    assert isinstance(same_loads(barred), LeftOut)
    tools = [replace(one, tool=f"tool {at}") for at, one in enumerate(barred.sides)]
    assert not isinstance(same_loads(replace(barred, sides=tuple(tools))), LeftOut)


def test_a_hundredfold_difference_was_a_percentage(kept: Store) -> None:
    shown = figures(gather(kept, [saved(kept), saved(kept, read_us=10_000.0)]))["same-loads"]
    rows = {row[1]: row for row in shown.table.rows if row[0] == "4K random read, depth 1"}
    assert rows["IOPS"][4:7] == (None, None, None)
    assert str(rows["IOPS"][7]).startswith("1/100 times")
    assert str(rows["Mean latency [ms]"][7]).startswith("100 times")
    assert "-99" not in shown.caption
    assert Difference(9365.2, 1982.2, 42925.8).words == "94.7 times (20.8 to 430)"
    assert Difference(-99.96).words == "1/2,500 times"
    assert Difference(-17.5, -25.8, -8.4).words == "-17.5 % (-25.8 to -8.4)"
    assert COMPARED[0].is_rate


def test_a_rate_had_thousandths() -> None:
    column = Column("A", digits=3, is_significant=True)
    told = [column.text(one) for one in (536.0, 26_692.0, 0.00366, 95.4, 0.0)]
    assert told == ["536", "26,692", "0.00366", "95.4", "0.000"]


def test_an_assessment_without_cells_has_one_name_for_each(kept: Store) -> None:
    ids = [saved_assessment(kept, "/mnt/new") for _ in range(2)]
    names = [one.name for one in gather(kept, [f"e{one}" for one in ids]).sides]
    assert [one.partition(", ")[0] for one in names] == [f"/mnt/new (e{one}" for one in ids]


def _words_of(shown: Any) -> str:  # noqa: ANN401 - A figure.
    return json.dumps([view.spec for view in shown.views])


def test_the_key_of_the_same_loads_has_the_letters_of_the_caption(kept: Store) -> None:
    """The axis said *B - A*, and neither letter stood in the picture."""
    shown = figures(gather(kept, [saved(kept), saved(kept, read_us=200.0)]))["same-loads"]
    a, b = (column.name for column in shown.table.columns[2:4])
    assert a.startswith("A: ")
    assert a in _words_of(shown)
    assert b in _words_of(shown)
    # Loads in rows have no rules: their intervals are words.
    assert ("Upright rules" in shown.caption) == ('"mark": {"type": "rule"' in _words_of(shown))


def test_an_interval_of_one_side_is_not_denied_below_its_picture(kept: Store) -> None:
    """*None of them has an interval* stood below the upright rules of one side."""
    loads = shared_loads(gather(kept, [saved(kept), saved(kept, read_us=200.0)]).sides)
    rising = [replace(one, rising="depth") for one in loads]

    def said(*, a: bool, b: bool) -> str:
        def known(cell: GridCell, *, is_known: bool) -> GridCell:
            low, high = (900.0, 1100.0) if is_known else (None, None)
            return replace(cell, iops_low=low, iops_high=high)

        some = [
            replace(one, a=known(one.a, is_known=a), b=known(one.b, is_known=b)) for one in rising
        ]
        return " ".join(_intervals_words(some))

    assert said(a=True, b=True).startswith("Upright rules are intervals")
    one_side = said(a=False, b=True)
    assert "of values whose side tells" in one_side
    assert "No difference has an interval" in one_side
    assert "Upright" not in said(a=False, b=False)
