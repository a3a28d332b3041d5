"""Who takes part in which number, where several targets are compared."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import EFFORTS, AssessmentInterrupted, assess
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fathom.experiments.assess import Assessment, SideBySide

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
# Beyond what one thread at depth 1 could ask for, and below what looks like a limit of the rate.
PLAIN = Truth(servers=20, mib_per_s=3_000)
LIMIT = (("io_limited", "The rate was at its limit."),)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(os.environ["FATHOM_STORE"]) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.chdir(tmp_path)
    for name in ("fast", "slow", "third"):
        Path(name).mkdir()
    for name in ("only-read.dat", "gone.dat"):
        Path(name).write_bytes(b"x" * MIB)


def assessed(
    store: Store, truth_of: Callable[[str, dict[str, Any]], Truth], *names: str
) -> Assessment:
    """Assess targets whose truth may differ from load to load."""
    runner = SimulatedStorage(store, size_bytes=64 * MIB)

    def before(_number: int) -> None:
        asked = runner.asked[-1]
        name = next(one for one in names if str(asked["path"]).startswith(one))
        runner.truths = {"": truth_of(name, asked)}

    runner.before_run = before
    return assess(store, runner, list(names), QUICK)


def compared(found: Assessment) -> SideBySide:
    assert found.comparison is not None
    return found.comparison


def writes_limited(name: str, asked: dict[str, Any]) -> Truth:
    """Return the truth of a target that reads twice as fast, and whose writes meet a limit."""
    if name != "fast":
        return PLAIN
    return replace(PLAIN, read_us=50.0, doubts=LIMIT if asked["write_percent"] else ())


def test_the_slower_target_led_by_numbers_in_which_it_was_alone(store: Store) -> None:
    """*slow leads in 6 of 8*: four of them were those in which the other had met a limit."""
    found = compared(assessed(store, writes_limited, "fast", "slow"))
    assert found.headline.startswith(
        "fast leads: it is the best or not shown to be 5 % worse in 4 of 4 numbers"
    )
    best = {one.name: one.best for one in found.figures}
    assert best == {
        "read_latency": [0],
        "durable_write_latency": [],
        "random_reads": [0],
        "random_writes": [],
        "sequential_read": [0, 1],
        "oltp": [],
        "log": [],
        "backup": [0, 1],
    }
    (told,) = [one for one in found.sentences if one.startswith("Not compared")]
    assert told == (
        "Not compared, as the numbers of fast are those of a limit: One write that survives an "
        "outage; Random writes of 4 KiB; Transaction database: reads and writes of 8 KiB; "
        "Database log: one full buffer."
    )
    assert not any(one.startswith("One write that survives") for one in found.sentences)


def test_two_of_three_are_compared_where_the_third_met_a_limit(store: Store) -> None:
    """What the third lacks counts for nobody's lead, and the two that have it are named."""

    def truth_of(name: str, asked: dict[str, Any]) -> Truth:
        truth = writes_limited(name, asked)
        return truth if name == "fast" else replace(truth, write_us=100.0 if name == "slow" else 90)

    found = compared(assessed(store, truth_of, "fast", "slow", "third"))
    assert " 4 of 4 numbers" in found.headline
    assert found.headline.startswith("fast ")
    writes = {one.name: one for one in found.figures}["random_writes"]
    assert (writes.best, writes.factors[0]) == ([1, 2], None)
    assert any(one.startswith("Random writes of 4 KiB: ") for one in found.sentences)
    assert not any(one.startswith("Not compared") for one in found.sentences)


def test_a_limit_in_all_that_was_measured_keeps_a_target_out(store: Store) -> None:
    """Of a file that is only read, a limit of reads is one of everything."""

    def truth_of(name: str, _asked: dict[str, Any]) -> Truth:
        return replace(PLAIN, doubts=LIMIT if name == "only-read.dat" else ())

    found = compared(assessed(store, truth_of, "only-read.dat", "slow"))
    assert (
        found.headline
        == found.refused
        == ("No comparison of devices: the numbers of only-read.dat are not a device's.")
    )
    assert not any(one.best for one in found.figures)
    assert any(one.startswith("only-read.dat takes no part") for one in found.notes)


def test_limits_of_opposite_directions_leave_nothing_to_compare(store: Store) -> None:
    def truth_of(name: str, asked: dict[str, Any]) -> Truth:
        is_mine = bool(asked["write_percent"]) == (name == "fast")
        return replace(PLAIN, doubts=LIMIT if is_mine else ())

    found = compared(assessed(store, truth_of, "fast", "slow"))
    assert found.headline == (
        "There is nothing to compare: in each number, one of them met a limit."
    )
    assert not any(one.best for one in found.figures)


def gone(store: Store, *names: str) -> SideBySide:
    """Compare targets of which ``gone.dat`` vanishes before its first run ends."""
    truths = {"slow": replace(PLAIN, read_us=300.0), "": PLAIN}
    runner = SimulatedStorage(store, truths, size_bytes=64 * MIB)

    def vanish(number: int) -> None:
        if str(runner.asked[-1]["path"]) == "gone.dat":
            Path("gone.dat").unlink(missing_ok=True)
            runner.fails_at = number

    runner.before_run = vanish
    return compared(assess(store, runner, [*names], QUICK))


def test_a_target_on_which_nothing_was_measured_kept_the_others_apart(store: Store) -> None:
    """*There is nothing that was measured on all of them*, above two that were measured whole."""
    found = gone(store, "gone.dat", "fast", "slow")
    assert found.headline.startswith("fast leads: it is the best or not shown to be 5 % worse in ")
    assert " of 8 numbers" in found.headline
    assert found.headline.endswith(". Nothing was measured on gone.dat.")
    assert not found.refused
    # Whole targets have the numbers of a whole comparison, whoever stands first.
    labels = [one.label for one in found.figures]
    assert "Random reads of 4 KiB, at most" in labels
    assert all(one.texts[0] == "not measured" for one in found.figures)
    assert not any("different sizes" in one for one in found.notes)


def test_one_that_was_measured_is_not_compared_with_one_that_was_not(store: Store) -> None:
    found = gone(store, "fast", "gone.dat")
    assert found.headline == found.refused == "No comparison: nothing was measured on gone.dat."
    assert not any(one.best for one in found.figures)


def test_the_fastest_in_everything_had_half_of_the_numbers(store: Store) -> None:
    """It said *in everything that was measured* of a file whose writes nobody had measured."""

    def truth_of(name: str, _asked: dict[str, Any]) -> Truth:
        return PLAIN if name == "only-read.dat" else replace(PLAIN, read_us=300.0, mib_per_s=2_000)

    found = compared(assessed(store, truth_of, "slow", "only-read.dat"))
    assert found.headline == (
        "only-read.dat is the fastest in all 4 numbers that both have; of only-read.dat's writes "
        "nothing is known."
    )
    three = compared(assessed(store, truth_of, "slow", "only-read.dat", "third"))
    assert three.headline == (
        "only-read.dat is the fastest in all 4 numbers that all have; of only-read.dat's writes "
        "nothing is known."
    )


def test_the_headline_says_of_what_a_limit_lets_nothing_be_concluded(store: Store) -> None:
    found = compared(assessed(store, writes_limited, "fast", "slow"))
    assert found.headline == (
        "fast leads: it is the best or not shown to be 5 % worse in 4 of 4 numbers that both have, "
        "alone in 2; of fast's writes nothing is concluded, as they met a limit."
    )


def test_an_assessment_that_ends_within_its_first_run_compares_nothing(store: Store) -> None:
    runner = SimulatedStorage(store, interrupted_at=1)
    with pytest.raises(AssessmentInterrupted) as ended:
        assess(store, runner, ["fast", "slow"], QUICK)
    found = compared(ended.value.assessment)
    assert (
        found.headline == found.refused == ("No comparison: nothing was measured on fast and slow.")
    )
