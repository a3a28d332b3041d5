"""Why the difference of two targets has no interval, where it has none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.experiments.assess.side_by_side import side_by_side
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fathom.experiments.assess import Assessment, SideBySide

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
FAST = Truth(servers=20, mib_per_s=3_000)
SLOW = Truth(servers=20, mib_per_s=1_000, read_us=300.0, write_us=300.0, durable_us=300.0)
SUSPENDED = (("suspended", "The process was suspended for 2 s."),)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "slow"):
        Path(name).mkdir()


def assessed(store: Store, repeated: Callable[[str, Truth], Truth]) -> Assessment:
    """Assess two folders; ``repeated`` is the truth of the first load when it is measured again."""
    runner = SimulatedStorage(store, size_bytes=64 * MIB)
    seen: list[str] = []

    def before(_number: int) -> None:
        asked = runner.asked[-1]
        name = "slow" if str(asked["path"]).startswith("slow") else "fast"
        truth = SLOW if name == "slow" else FAST
        single = asked["threads"] == asked["outstanding"] == 1 and not asked["limit_bytes"]
        is_first = single and not asked["write_percent"] and asked["caching"] == "unbuffered"
        is_first = is_first and asked["block_bytes"] == 4096
        seen.extend([name] * is_first)
        runner.truths = {"": repeated(name, truth) if seen.count(name) > 1 and is_first else truth}

    runner.before_run = before
    return assess(store, runner, ["fast", "slow"], QUICK)


def compared(found: Assessment) -> SideBySide:
    again = side_by_side(
        [one.plan for one in found.targets], [one.findings for one in found.targets]
    )
    assert again is not None
    return again


def note(found: SideBySide) -> str:
    """Return the sentence about intervals that there are."""
    return next(one for one in found.sentences if one.startswith("Intervals are of "))


def test_one_suspended_repetition_showed_no_difference_of_three_times(store: Store) -> None:
    """It ran ten times slower, as this host slept, and took all eight comparisons with it."""

    def repeated(name: str, truth: Truth) -> Truth:
        return replace(truth, read_us=3_000.0, doubts=SUSPENDED) if name == "slow" else truth

    found = compared(assessed(store, repeated))
    assert found.headline == "fast is the fastest in everything that was measured."
    assert "slow 300 us (3.00 times as long, " in found.sentences[0]
    assert note(found) == (
        "Intervals are of the noise within a run, and of how far the first load came apart when it "
        "was measured again, without slow, of which a run was disturbed (the measuring process was "
        "suspended); fathom compare --run tells it by more runs."
    )


def test_without_any_repetition_the_intervals_say_that_they_lack_it(store: Store) -> None:
    found = compared(assessed(store, lambda _name, truth: replace(truth, doubts=SUSPENDED)))
    words = note(found)
    assert words.startswith("Intervals are of the noise within a run alone: how far runs of ")
    assert "is not known of fast, of which a run was disturbed (" in words
    assert " and slow, of which a run was disturbed (" in words


def test_a_repetition_that_came_apart_was_a_run_that_was_too_short(store: Store) -> None:
    """*The runs were too short, measure longer*: every mean was known to within 3 %."""

    def repeated(name: str, truth: Truth) -> Truth:
        return replace(truth, read_us=3_000.0) if name == "slow" else truth

    found = compared(assessed(store, repeated))
    assert found.headline.startswith(
        "Which is the fastest is not known: none of 8 numbers has an interval by which a "
        "difference would be shown, as the first load came too far apart when it was measured "
        "again. To know it, "
    )
    told = " ".join(found.sentences)
    assert "Of no number an interval is known: the first load came too far apart " in told
    assert "too short" not in told


def test_each_reason_for_no_interval_is_counted(store: Store) -> None:
    found = assessed(store, lambda _name, truth: truth)
    cells = {one.cell.key: one for one in found.targets[0].plan.done()}
    for key, half in (("read-1", None), ("write-1", 1.5)):
        figures = cells[key].figures
        assert figures is not None
        cells[key].figures = replace(figures, relative_half_width=half)
    again = compared(found)
    assert any(
        one.startswith(
            "Only of 6 of 8 numbers an interval is known: of 1 the runs were too short to know "
            "their means; of 1 the noise within the runs is too great, so that what differs"
        )
        for one in again.sentences
    )
    reasons = [one.without_interval for one in again.figures]
    assert reasons[2:] == [""] * 6
