"""What a comparison of targets must not say: a leader that nothing shows, or of unequal loads."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fathom import Result
from fathom.experiments.assess import EFFORTS, AssessmentInterrupted, assess, key_figures
from fathom.experiments.assess.side_by_side import side_by_side
from fathom.findings.causes import HOST_IN_THE_WAY
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fathom.experiments.assess import Assessment, SideBySide, TargetCells

QUICK = replace(EFFORTS["quick"], size_bytes=64 << 20)
FAST, SLOW = Truth(servers=8, read_us=100.0), Truth(servers=8, read_us=150.0)
WHOLE = "This comparison is partial, and only of loads that all have "


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "slow"):
        Path(name).mkdir()


def assessed(store: Store, names: list[str], **more: Any) -> Assessment:  # noqa: ANN401 - As it is.
    truths = {"slow": SLOW, "": FAST}
    return assess(store, SimulatedStorage(store, truths, **more), names, QUICK)


def compared(found: Assessment) -> SideBySide:
    again = side_by_side(
        [one.plan for one in found.targets], [one.findings for one in found.targets]
    )
    assert again is not None
    return again


def with_result(plan: TargetCells, change: dict[str, Any]) -> None:
    """Put something into the time span of each result."""
    for one in plan.done():
        assert one.result is not None
        raw = json.loads(json.dumps(dict(one.result.raw)))
        raw["time_spans"][0] |= change
        one.result = Result.from_json(json.dumps(raw))


def test_what_has_no_interval_led_in_most_numbers(store: Store) -> None:
    """It was *the fastest* where no run had told how well its mean is known."""
    found = assessed(store, ["fast", "slow"])
    assert compared(found).headline.startswith("fast ")
    for plan in (one.plan for one in found.targets):
        for one in plan.done():
            assert one.figures is not None
            one.figures = replace(one.figures, relative_half_width=None)
    again = compared(found)
    assert again.headline == (
        "Which is the fastest is not known: none of 8 numbers has an interval by which a "
        "difference would be shown. To know it, measure longer (--time) while nothing else runs, "
        "or compare repeated runs (fathom compare --run)."
    )
    assert all(one.best == [0, 1] for one in again.figures)
    assert "slow 150 us (1.50 times as long; no interval, 5 % is not shown)" in again.sentences[0]
    assert any(one.startswith("Of no number an interval is known") for one in again.sentences)


def test_one_interval_of_two_showed_a_difference(store: Store) -> None:
    found = assessed(store, ["fast", "slow"])
    cells = {one.cell.key: one for one in found.targets[0].plan.done()}
    figures = cells["read-1"].figures
    assert figures is not None
    cells["read-1"].figures = replace(figures, relative_half_width=None)
    latency = compared(found).figures[0]
    assert (latency.best, latency.factor_intervals) == ([0, 1], [None, None])
    assert any("Only of 7 of 8 numbers an interval" in one for one in compared(found).sentences)


def test_a_disturbed_run_showed_a_difference(store: Store) -> None:
    """An interval of a run whose threads waited for a CPU tells how those ran, not the target."""
    busy = replace(SLOW, doubts=(("cpu_contended", "Others used 1.7 of 2 CPUs."),))
    runner = SimulatedStorage(store, {"slow": busy, "": FAST})
    found = assess(store, runner, ["fast", "slow"], QUICK)
    assert found.comparison is not None
    assert found.comparison.headline.startswith("Which is the fastest is not known")


def test_runs_that_come_apart_when_repeated_showed_a_difference(store: Store) -> None:
    """The first load gave 30 % less at the end: then half as much more latency is not shown."""
    found = assessed(store, ["fast", "slow"])
    for plan in (one.plan for one in found.targets):
        again = next(one for one in plan.done() if one.cell.key == "again")
        assert again.figures is not None
        again.figures = replace(again.figures, iops=again.figures.iops * 0.7)
    latency = compared(found).figures[0]
    low, high = latency.factor_intervals[1] or (0.0, 0.0)
    assert low < 1
    assert high > 1.5
    assert latency.best == [0, 1]
    assert compared(found).headline.startswith("None is shown to be the fastest")


@pytest.mark.parametrize("other", ["linked.dat", "./one.dat", "one.dat", "by-name.dat"])
def test_one_file_under_two_names_had_a_leader(store: Store, other: str) -> None:
    Path("one.dat").write_bytes(b"x" * (1 << 20))
    Path("linked.dat").hardlink_to("one.dat")
    Path("by-name.dat").symlink_to("one.dat")
    shown = (
        ["one.dat (number 1)", "one.dat (number 2)"] if other == "one.dat" else ["one.dat", other]
    )
    # As if the second had been measured while something else ran.
    runner = SimulatedStorage(store)
    runner.truths = {"": replace(FAST, noise=0.02, drift=-0.003)}
    found = assess(store, runner, ["one.dat", other], QUICK).comparison
    assert found is not None
    assert found.targets == shown
    assert (
        found.refused
        == found.headline
        == (
            f"No comparison: {shown[0]} and {shown[1]} are one file, so that what differs between "
            "them is noise."
        )
    )
    assert f"{shown[0]} and {shown[1]} are one file: what differs between them is noise." in (
        found.notes
    )


def test_one_folder_under_two_names_had_a_leader(store: Store) -> None:
    Path("linked").symlink_to("fast")
    found = assessed(store, ["fast", "linked"]).comparison
    assert found is not None
    assert found.headline.startswith("No comparison: fast and linked are one folder")


def test_a_file_of_two_names_is_as_good_under_both_beside_a_third(store: Store) -> None:
    Path("one.dat").write_bytes(b"x" * (1 << 20))
    Path("slow-name.dat").hardlink_to("one.dat")
    Path("third-slow.dat").write_bytes(b"x" * (1 << 20))
    found = assessed(store, ["one.dat", "slow-name.dat", "third-slow.dat"]).comparison
    assert found is not None
    assert {tuple(one.best) for one in found.figures if one.best} == {(0, 1)}
    assert found.headline.startswith("None is shown to be the fastest")
    assert "third-slow.dat" not in found.headline


def test_partitions_of_one_disk_were_told_as_two_devices(store: Store) -> None:
    found = assessed(store, ["fast", "slow"])
    for number, plan in enumerate(one.plan for one in found.targets):
        layers = [
            {"name": f"sda{number + 1}", "kind": "partition"},
            {"name": "sda", "kind": "disk"},
        ]
        beneath = {"layers": layers, "targets": []}
        with_result(plan, {"beneath": beneath})
    again = compared(found)
    assert again.headline.endswith(
        " They lie on one device (sda): these are places on it, not devices."
    )
    assert "fast and slow lie on one device, sda: they share what it can do." in again.notes
    # The same file system elsewhere is another device.
    with_result(
        found.targets[1].plan,
        {
            "beneath": {
                "layers": [
                    {"name": "ext4", "kind": "file_system"},
                    {"name": "sdb", "kind": "disk"},
                ],
                "targets": [],
            }
        },
    )
    assert "one device" not in " ".join([compared(found).headline, *compared(found).notes])


def test_a_cut_comparison_named_the_one_that_was_measured_more(store: Store) -> None:
    """By then one had been measured at a greater depth, at which it completed more."""
    truths = {"slow": replace(FAST, read_us=110.0), "": FAST}
    # Baseline, and depth 4 of both; depth 16 of the slower one alone, as turns alternate.
    for cut in range(1, 30):
        runner = SimulatedStorage(store, truths, interrupted_at=cut)
        with pytest.raises(AssessmentInterrupted) as ended:
            assess(store, runner, ["slow", "fast"], QUICK)
        partial = ended.value.assessment
        counts = [len(one.plan.done()) for one in partial.targets]
        keys = [{cell.cell.key for cell in one.plan.done()} for one in partial.targets]
        if "random-16" in keys[0] and "random-16" not in keys[1]:
            break
    found = partial.comparison
    assert found is not None
    assert found.headline.startswith(WHOLE)
    assert f"fast has {counts[1]} of " in found.headline
    reads = next(one for one in found.figures if one.name == "random_reads")
    assert reads.label == "Random reads of 4 KiB at depth 4"
    assert reads.cell_keys == ["random-4", "random-4"]
    assert reads.best == [1]
    assert "slow is the fastest" not in found.headline
    assert not any("at most" in one for one in found.sentences)


def test_who_was_not_measured_lost_the_number(store: Store) -> None:
    """Where one of three cannot be written, its writes were lost by it in the count."""
    Path("read-only.dat").write_bytes(b"x" * (1 << 20))
    found = assessed(store, ["fast", "slow", "read-only.dat"]).comparison
    assert found is not None
    # Four numbers of reading: of two of them this is as good.
    assert " of 4 numbers" in found.headline
    assert "fast and read-only.dat" in found.headline


def test_a_cut_assessment_told_at_most_of_what_it_had_reached(store: Store) -> None:
    runner = SimulatedStorage(store, interrupted_at=6)
    with pytest.raises(AssessmentInterrupted) as ended:
        assess(store, runner, ["fast"], QUICK)
    (one,) = ended.value.assessment.targets
    figures = {figure.name: figure for figure in key_figures(one.plan)}
    assert figures["random_reads"].value is not None
    assert figures["random_reads"].label == "Random reads of 4 KiB, as far as measured"
    assert not any("at most" in words for words in one.verdict.sentences if "completes" in words)


def test_a_class_was_told_by_reads_that_a_cache_answers(store: Store) -> None:
    """A read of 37 us beside a durable write of 1.73 ms was *the fastest flash*."""
    truth = Truth(servers=8, read_us=37.3, write_us=115.0, durable_us=1_730.0)
    (one,) = assess(store, SimulatedStorage(store, {"": truth}), ["fast"], QUICK).targets
    assert one.verdict.headline.startswith(
        "It is in the class of the fastest flash (NVMe) by its reads alone: a write that survives "
        "an outage takes 46 times as long, and is in the class of networked or hybrid storage; "
    )
    headline = one.verdict.claims[0]
    runs = {cell.cell.key: cell.run_id for cell in one.plan.done()}
    assert runs["write-1"] in {evidence.run_id for evidence in headline.evidence}


@pytest.mark.parametrize(
    ("read_us", "durable_us"), [(50.0, 400.0), (100.0, 240.0), (240.0, 2_300.0), (2_000.0, 30.0)]
)
def test_writes_that_a_flush_slows_keep_the_class(
    store: Store, read_us: float, durable_us: float
) -> None:
    truth = Truth(servers=8, read_us=read_us, write_us=20.0, durable_us=durable_us)
    (one,) = assess(store, SimulatedStorage(store, {"": truth}), ["fast"], QUICK).targets
    assert "by its reads alone" not in one.verdict.headline


@pytest.mark.parametrize("kind", sorted(HOST_IN_THE_WAY))
def test_no_cause_of_the_host_is_forgotten_where_targets_are_compared(
    store: Store, kind: str
) -> None:
    """Names of rules were listed here, without that of a hypervisor that took CPUs."""
    busy = replace(SLOW, doubts=((kind, "29.0 % of CPU 0 were taken."),))
    runner = SimulatedStorage(store, {"slow": busy, "": FAST})
    found = assess(store, runner, ["fast", "slow"], QUICK)
    assert found.comparison is not None
    assert not any(one.is_known for one in found.comparison.figures)
    assert not found.comparison.headline.startswith("fast ")
