"""Pages of assessments of which one direction, or one target, is no device's or was cut short."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom.experiments.assess import EFFORTS, KeyFigure, assess
from fathom.experiments.assess._compared_figure import Width, compared
from fathom.report.collect._barred import barred_keys
from fathom.report.collect.gather import gather
from fathom.report.figure import Figure, LeftOut
from fathom.report.figures import figures_of
from fathom.report.render.markdown import markdown
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fathom.report.material import Material

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
PLAIN = Truth(servers=20, mib_per_s=3_000)
LIMIT = (("io_limited", "The rate was at its limit."),)
WRITES = ("write-1", "plain-write-1", "random-write", "sequential-write", "log")


@pytest.fixture
def kept() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "slow"):
        Path(name).mkdir()


def limited(kept: Store, *names: str) -> str:
    """Assess targets, of which the writes of ``fast`` meet a limit."""
    truths = {"fast": replace(PLAIN, read_us=50.0), "": PLAIN}
    device = SimulatedStorage(kept, truths, size_bytes=64 * MIB)

    def before(_number: int) -> None:
        doubts = LIMIT if device.asked[-1]["write_percent"] else ()
        device.truths["fast"] = replace(device.truths["fast"], doubts=doubts)

    device.before_run = before
    return f"e{assess(kept, device, [*names], QUICK).experiment_id}"


def shown(material: Material, name: str) -> Figure | LeftOut:
    return next(one for few in figures_of(material) for one in few if one.name == name)


def outcome_of(kept: Store, reference: str) -> Mapping[str, Any]:
    outcome = kept.experiments.get(int(reference[1:])).outcome
    assert outcome is not None
    return outcome


def test_the_page_ranked_reads_and_called_them_no_device_s(kept: Store) -> None:
    """The table had the best reads, and below it the figures were left out as no device's."""
    material = gather(kept, [limited(kept, "fast", "slow")])
    assert [side.is_barred for side in material.sides] == [False, False]
    assert set(WRITES) <= material.sides[0].barred_keys
    assert "read-1" not in material.sides[0].barred_keys
    beside, loads = shown(material, "side-by-side"), shown(material, "same-loads")
    assert isinstance(beside, Figure)
    assert isinstance(loads, Figure)
    assert [row[0] for row in beside.table.rows] == [
        "One random read of 4 KiB, on average",
        "Random reads of 4 KiB, at most",
        "Reading in order, at most",
    ]
    assert beside.caption.endswith(
        "Numbers that met a limit are not set beside the others: One write that survives an "
        "outage, Random writes of 4 KiB (fast)."
    )
    labels = {str(row[0]) for row in loads.table.rows}
    assert "4K random read, depth 1" in labels
    assert not any("write" in one for one in labels)
    assert "fast met a limit in these, which are not compared: " in loads.caption
    text = markdown(material)
    assert "not a device's" not in text
    assert "| One random read of 4 KiB, on average | 50 µs \\* | 100 µs |" in text


def test_a_limit_of_writes_lets_reads_of_other_assessments_be_compared(kept: Store) -> None:
    """Without a comparison of its own, the outcome of each target tells what is no device's."""
    material = gather(kept, [limited(kept, "fast"), limited(kept, "slow")])
    beside = shown(material, "side-by-side")
    assert isinstance(beside, Figure)
    assert len(beside.table.rows) == 3


def test_an_outcome_that_names_no_forbidden_cells_is_read(kept: Store) -> None:
    (target, _) = outcome_of(kept, limited(kept, "fast", "slow"))["targets"]
    told = barred_keys(target)
    older = [
        {name: one for name, one in cell.items() if name != "forbidden_by"}
        for cell in target["cells"]
    ]
    assert barred_keys(target | {"cells": older}) == told
    # Where not even the findings of a cell are kept, none is of a device.
    oldest = [{"key": one["key"], "figures": one["figures"]} for one in older]
    measured = {one["key"] for one in older if one["figures"]}
    assert barred_keys(target | {"cells": oldest}) == measured


def test_a_target_that_was_measured_whole_had_the_partial_verdict_of_another(kept: Store) -> None:
    """*2 measurements were made, then nas.dat is gone* stood below all targets."""
    file = Path("nas.dat")
    file.write_bytes(b"x" * MIB)
    runner = SimulatedStorage(kept)

    def vanish(number: int) -> None:
        if number >= 8 and str(runner.asked[-1]["path"]) == "nas.dat":
            file.unlink(missing_ok=True)
            raise fathom.InvalidRequestError("nas.dat: no such file")

    runner.before_run = vanish
    found = assess(kept, runner, ["fast", "nas.dat"], QUICK)
    whole, lost = gather(kept, [f"e{found.experiment_id}"]).sides
    assert not whole.notes
    (note,) = lost.notes
    assert note.startswith("This verdict is partial: ")
    assert "nas.dat is gone" in note


def test_the_outcome_names_what_forbids_a_conclusion_on_each_cell(kept: Store) -> None:
    (target, other) = outcome_of(kept, limited(kept, "fast", "slow"))["targets"]
    forbidden = {one["key"] for one in target["cells"] if one["forbidden_by"] == ["io-limited"]}
    assert set(WRITES) <= forbidden
    assert not any(one["forbidden_by"] for one in other["cells"])


def test_a_number_that_was_not_measured_to_its_end_stands_beside_one_that_was(kept: Store) -> None:
    """Under two names it was no number of both, and the table called it *at most* of each."""
    material = gather(kept, [limited(kept, "fast", "slow")])
    fast, slow = material.sides
    cut = "Random reads of 4 KiB, as far as measured"
    numbers = tuple(
        replace(one, label=cut) if one.label == "Random reads of 4 KiB, at most" else one
        for one in slow.numbers
    )
    for sides in ([fast, replace(slow, numbers=numbers)], [replace(slow, numbers=numbers), fast]):
        beside = shown(replace(material, sides=tuple(sides)), "side-by-side")
        assert isinstance(beside, Figure)
        assert [row[0] for row in beside.table.rows if "Random" in str(row[0])] == [cut]


def test_a_row_is_called_at_most_only_if_that_holds_of_each_target() -> None:
    row = [KeyFigure("random_reads", f"Reads, {how}", "ios_per_s", 1.0) for how in
           ("at most", "as far as measured")]  # fmt: skip
    for some in (row, row[::-1]):
        assert (
            compared(some, [Width(0.1)] * 2, (), 0.0, (0, 1)).label == "Reads, as far as measured"
        )
    assert compared(row[:1] * 2, [Width(0.1)] * 2, (), 0.0, (0, 1)).label == "Reads, at most"
