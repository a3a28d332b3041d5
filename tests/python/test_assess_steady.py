"""Steady state in an assessment: preconditioning, and rounds by the rules of the SNIA."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fathom.cli.views.assess import show_assessment
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.assess._steady import POINTS, rounds_counted
from fathom.report import gather
from fathom.store import Store
from reported import figures
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.assess import Assessment

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)


def steady(
    target: Path, truth: Truth, seconds: int = 3_000
) -> tuple[SimulatedStorage, Assessment, dict[str, Any]]:
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, {"": truth})
        found = assess(store, runner, [str(target)], QUICK, steady_seconds=seconds)
        outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    return runner, found, outcome["targets"][0]


def rounds(runner: SimulatedStorage) -> list[dict[str, Any]]:
    """Return what was asked in the rounds: at random, 32 outstanding by each of 4 threads."""
    return [
        one
        for one in runner.asked
        if (one["threads"], one["outstanding"]) == (4, 32) and one["access"]["random_percent"]
    ]


def test_storage_that_is_steady_needs_five_rounds_of_three_points(tmp_path: Path) -> None:
    runner, found, target = steady(tmp_path, Truth())
    asked = rounds(runner)
    assert [(one["block_bytes"] >> 10, one["write_percent"]) for one in asked] == [
        (4, 100),
        (64, 35),
        (1024, 0),
    ] * 5
    # 1,500 of the seconds are divided among 25 rounds of three points.
    assert sum("-d20" in words for words in runner.arguments) == 15
    assert (target["steady"]["is_steady"], target["steady"]["rounds"]) == (True, 5)
    assert target["steady"]["points"]["4k"]["iops"] == [160_000.0] * 5
    cells = [one for one in target["cells"] if one["role"] == "steady_round"]
    assert [one["state"] for one in cells] == ["done"] * 15 + ["skipped"] * 60
    text = " ".join(found.verdicts[0].sentences)
    assert "It was steady after 5 rounds by the rules of the SNIA: 4K random write 160,000" in text


def test_the_preconditioning_writes_twice_the_size_in_order_before_the_rounds(
    tmp_path: Path,
) -> None:
    runner, _, target = steady(tmp_path, Truth())
    (number,) = [
        at for at, words in enumerate(runner.arguments) if f"--stop-bytes={128 * MIB}" in words
    ]
    asked = runner.asked[number]
    assert (asked["block_bytes"], asked["write_percent"]) == (128 << 10, 100)
    assert asked["access"]["random_percent"] == 0
    assert number < runner.asked.index(rounds(runner)[0])
    (cell,) = [one for one in target["cells"] if one["role"] == "preconditioning"]
    assert cell["state"] == "done"


def test_storage_that_slows_down_is_not_steady_in_25_rounds(tmp_path: Path) -> None:
    """It loses 3 % in each round of 60 s: more than the line of five rounds may fall."""
    runner, found, target = steady(tmp_path, Truth(drift=-0.0005))
    assert len(rounds(runner)) == 75
    rates = target["steady"]["points"]["4k"]["iops"]
    assert rates == sorted(rates, reverse=True)
    assert (target["steady"]["is_steady"], target["steady"]["is_exhausted"]) == (False, True)
    words = " ".join(found.verdicts[0].sentences)
    assert "not steady within 25 rounds" in words
    # What it gave is an average of five rounds, and what it will give is not known.
    assert "; on average of the last 5: 4K random write " in words
    assert "go on changing" not in words


@pytest.mark.parametrize("fails", [0, 4])
def test_a_failed_point_moved_the_others_of_its_round_to_other_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fails: int
) -> None:
    """The 1M reads of a round stood below "64K", and a first point took its column with it."""
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store)

        def fail(number: int) -> None:
            if len(rounds(runner)) == fails + 1:
                runner.fails_at = number

        runner.before_run = fail
        show_assessment(assess(store, runner, [str(tmp_path)], QUICK, steady_seconds=3_000))
    shown = capsys.readouterr().out
    assert "steady state, IOPS 4K random write 64K random, 35 % writes 1M random read" in shown
    lines = [line.split()[2:] for line in shown.splitlines() if line.startswith("  round")]
    expected = ["160,000", "160,000", "100,000"]
    expected[fails % 3] = "-"
    assert lines[fails // 3] == expected


def test_one_failed_point_hid_all_rounds_behind_it(tmp_path: Path) -> None:
    """The 22 rounds behind the third were run, and "2 rounds were made, and it takes 5"."""
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store)

        def fail_the_third(number: int) -> None:
            if len(rounds(runner)) == 3 * 2 + 2:
                runner.fails_at = number

        runner.before_run = fail_the_third
        found = assess(store, runner, [str(tmp_path)], QUICK, steady_seconds=3_000)
        outcome = store.experiments.get(found.experiment_id).outcome
        page = gather(store, [f"e{found.experiment_id}"])
    assert outcome is not None
    (target,) = outcome["targets"]
    # A window reaches over no round that lacks a point: rounds 4 to 8 are the first five.
    assert len(rounds(runner)) == 3 * 8
    assert target["steady"]["is_steady"]
    assert (target["steady"]["rounds"], target["steady"]["first_round"]) == (5, 4)
    words = " ".join(found.verdicts[0].sentences)
    assert "It was steady after 5 rounds (rounds 4 to 8, as a round of which a point was" in words
    assert "4K random write, counted from round 4 on" in figures(page)["steady-state"].caption


def test_rounds_that_count_are_whole_and_side_by_side() -> None:
    def counted(*complete: int) -> list[int]:
        return [*rounds_counted([f"steady-{n}-{point}" for n in complete for point in POINTS])]

    assert counted() == []
    assert counted(1, 2) == [1, 2]
    assert counted(1, 2, 4) == [4]
    assert counted(1, 2, 3, 4, 5, 7, 8) == [1, 2, 3, 4, 5]
    assert counted(*range(1, 7), *range(8, 13)) == [8, 9, 10, 11, 12]
    assert counted(*range(1, 26)) == [*range(1, 26)]
    assert [*rounds_counted(["steady-1-4k", "steady-1-64k"])] == []


def test_what_exists_is_judged_by_reads_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.dat"
    file.write_bytes(b"mine" * MIB)
    runner, _, target = steady(file, Truth())
    assert {one["write_percent"] for one in runner.asked} == {0}
    assert [one["block_bytes"] >> 10 for one in rounds(runner)] == [4, 64, 1024] * 5
    assert target["steady"]["is_steady"]


def test_rounds_stand_in_a_table_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ssd").mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store)
        show_assessment(assess(store, runner, ["ssd"], QUICK, steady_seconds=300))
    shown = capsys.readouterr().out
    assert [line.split() for line in shown.splitlines() if line.startswith("  round")] == [
        ["round", str(number), "160,000", "160,000", "100,000"] for number in range(1, 6)
    ]
    assert max(map(len, shown.splitlines())) <= 80
    # Plain text where nobody looks: no colours, no blanks at the ends of lines.
    assert shown.isascii()
    assert "\x1b" not in shown
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_at_most_was_less_than_what_the_rounds_completed(tmp_path: Path) -> None:
    """*At most* told the saturation alone, and the rounds below it read more of the same."""
    file = tmp_path / "mine.dat"
    file.write_bytes(b"mine" * MIB)
    # It grows faster meanwhile.
    _, found, target = steady(file, Truth(drift=0.0005))
    words = " ".join(found.verdicts[0].sentences)
    rates = [one["figures"]["iops"] for one in target["cells"]
             if one["state"] == "done" and one["parameters"]["block_bytes"] == 4096
             and one["parameters"]["caching"] == "unbuffered"
             and not one["parameters"]["limit_bytes"]]  # fmt: skip
    assert max(rates) == target["steady"]["points"]["4k"]["iops"][-1]
    assert f"It completes at most {max(rates):,.0f} random reads of 4 KiB a second (4 threads" in (
        words
    )
    reads = next(one for one in target["key_figures"] if one["name"] == "random_reads")
    assert (reads["label"], reads["value"]) == ("Random reads of 4 KiB, at most", max(rates))
    # What will be is not known, and the last figures are means of five rounds.
    assert "go on changing" not in words


def test_the_baseline_again_was_more_than_at_most(tmp_path: Path) -> None:
    _, found, target = steady(tmp_path, Truth(servers=1, drift=0.001))
    again = next(one for one in target["cells"] if one["key"] == "again")
    assert f"at most {again['figures']['iops']:,.0f} random reads" in " ".join(
        found.verdicts[0].sentences
    )
