"""Runs that stand on both sides of a comparison: no sides of their own, and that is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from fabricated import fabricated
from fathom.cli.exit_codes import EXIT_CANNOT_TELL, EXIT_INVALID
from fathom.errors import InvalidRequestError
from fathom.experiments.compare.saved import compare_runs, parse_condition
from fathom.gates import gate_of, judge_gate
from fathom.imported import OwnRun
from fathom.store import Store
from reported import called

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("FATHOM_STORE", str(tmp_path / "store.sqlite"))
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def repeated(store: Store, count: int = 6) -> str:
    """Save an experiment of so many runs, and return its name."""
    experiment_id = store.experiments.begin("repeat", "repeat", {"arguments": ["x.dat"]})
    for number in range(count):
        result = fabricated(rates=10_000.0 + 50 * number)
        store.runs.save(result, ["x.dat"], experiment_id=experiment_id)
    return f"e{experiment_id}"


def test_runs_compared_with_themselves_were_interleaved_and_equal(
    kept: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``compare e1 e1`` gave "+0.000 %: equal", and a gate passed with certainty."""
    name = repeated(kept)
    with pytest.raises(InvalidRequestError, match=rf"A \({name}\) and B \({name}\) are the same"):
        compare_runs(kept, name, name)
    with pytest.raises(InvalidRequestError, match="are the same runs"):
        compare_runs(kept, "1,2,3,4,5,6", name)
    assert called(monkeypatch, "compare", name, name, "--fail-if", "iops<-3%") == EXIT_INVALID
    shown = capsys.readouterr()
    assert "interleaved" not in shown.out
    assert "name other runs, another experiment or a baseline" in shown.err


def test_a_gate_on_its_own_baseline_passed(kept: Store) -> None:
    name = repeated(kept)
    with pytest.raises(InvalidRequestError, match="are the same runs"):
        judge_gate(kept, gate_of(["iops>-5%"], baseline="1,2,3,4,5,6"), name)


def test_sides_that_share_runs_were_two_samples(
    kept: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sets that share 3 of 6 runs were compared without a word."""
    repeated(kept, 9)
    sides = ("1,2,3,4,5,6", "4,5,6,7,8,9")
    found = compare_runs(kept, *sides, conditions=[parse_condition("iops<-3%")])
    doubt = "A and B share runs 4 to 6 (name each on one side alone)"
    assert all(one.doubts[0] == doubt for one in found.metrics.values())
    assert {found.word(name) for name in found.metrics} == {"cannot tell"}
    assert found.verdicts[0].decision == "cannot tell"
    assert found.latency is None
    gate = judge_gate(kept, gate_of(["iops>-5%"], baseline=sides[0]), sides[1])
    assert gate.decision == "cannot tell"
    assert called(monkeypatch, "compare", *sides, "--fail-if", "iops<-3%") == EXIT_CANNOT_TELL
    shown = capsys.readouterr()
    assert f"{doubt}, so that no difference can be shown." in shown.out
    assert doubt in shown.err
    assert "measure more runs" not in shown.err
    apart = compare_runs(kept, "1,2,3", "4,5,6").metrics["iops"]
    assert not any("share" in one for one in apart.doubts)


def test_runs_of_which_each_stands_beside_itself_were_interleaved(kept: Store) -> None:
    """Sorted by time, a run that is on both sides was a pair of A and B."""
    repeated(kept, 6)
    found = compare_runs(kept, "1,2,3,4,5", "1,2,3,4,6")
    assert not found.metrics["iops"].in_turns
    assert found.word("iops") == "cannot tell"


def test_a_copy_that_was_imported_is_the_same_measurement(kept: Store) -> None:
    repeated(kept, 4)
    result = kept.runs.get(2).result
    content = json.dumps(dict(result.raw)).encode()
    ((copy, _is_new),) = kept.imports.save_own([OwnRun(result)], content, "copy.json")
    found = compare_runs(kept, "1,2", f"3,4,{copy}")
    assert f"run 2 of A and run {copy} of B are the same" in found.metrics["iops"].doubts[0]
    assert found.word("iops") == "cannot tell"


def test_runs_that_began_within_one_second_are_ordered_by_their_numbers(kept: Store) -> None:
    """Their starts are whole seconds, and sorted by side they were one block after the other."""
    repeated(kept, 8)
    assert compare_runs(kept, "1,4,5,8", "2,3,6,7").metrics["iops"].in_turns
    assert not compare_runs(kept, "1,2,3,4", "5,6,7,8").metrics["iops"].in_turns


def test_a_comparison_without_figures_named_no_doubt(kept: Store) -> None:
    """``compare 1 2`` said "No figure can be compared." of runs of which one had met a limit."""
    limit = [("io_limited", "the limit was measured, and not the device")]
    for warnings in (limit, [], [("stalled", "Thread 0 waited 1.00 s for its I/Os")], []):
        kept.runs.save(fabricated(rates=10_000.0, warnings=warnings), ["x.dat"])
    pairs = (("1", "2"), ("2", "3"))
    limited, stalled = (
        compare_runs(kept, *pair, metrics=["write.iops"]).claims[0].text for pair in pairs
    )
    assert limited == (
        "No figure can be compared, and these are not their numbers: A: a limit of I/O was "
        "measured (certain)."
    )
    assert stalled == "No figure can be compared, and B: the target stalled (certain)."
