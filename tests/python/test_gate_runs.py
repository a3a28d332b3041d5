"""``fathom gate``: which runs it judges, and which of them can be judged at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from commands import command
from fabricated import fabricated
from fathom import Result
from fathom.gates import gate_of, judge_gate, runs_of_gate
from fathom.gates.loads import runs_by_load
from fathom.store import NotFoundError, Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = 1.79e9
ARGUMENTS = ["-b4K", "x.dat"]
CLOSED = "'x.dat' could not be closed: Input/output error"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "gate.sqlite") as opened:
        yield opened


def measured(rate: float, **more: object) -> Result:
    given: dict[str, Any] = {"latency_ns": 200.0, "path": "x.dat", **more}
    return fabricated(rates=rate, **given)


def begun(result: Result, at_unix_s: float) -> Result:
    return Result.from_json(json.dumps({**result.raw, "started_at_unix_s": at_unix_s}))


def test_a_run_that_failed_kept_its_limit_by_what_it_had_measured(kept: Store) -> None:
    """A file that could not be closed passed with exit code 0, as all its I/Os had completed."""
    run = kept.runs.save(measured(9_000.0), ARGUMENTS, failures=[CLOSED])
    done = command("gate", str(run), "--require", "iops>5k", "--store", kept.name)
    assert done.returncode == 7
    assert f"iops>5k: cannot tell: run {run}: the run failed: {CLOSED}" in done.stdout


def test_a_run_of_which_a_time_span_is_missing_kept_its_limit(kept: Store) -> None:
    raw = json.loads(json.dumps(dict(measured(9_000.0).raw)))
    raw["request"]["profile"]["time_spans"] *= 2
    run = kept.runs.save(Result.from_json(json.dumps(raw)), ARGUMENTS)
    (check,) = judge_gate(kept, gate_of(["iops>5k"]), str(run)).checks
    assert check.words == f"iops>5k: cannot tell: run {run}: the run did not come to its end"


def test_one_run_of_many_that_failed_is_no_pass(kept: Store) -> None:
    for number in range(12):
        kept.runs.save(measured(9_000.0), ARGUMENTS, failures=[CLOSED] if number == 4 else [])
    reference = ",".join(str(number) for number in range(1, 13))
    (check,) = judge_gate(kept, gate_of(["iops>5k"]), reference).checks
    assert check.decision == "cannot tell"
    assert "run 5: the run failed" in check.words


def test_a_change_was_judged_without_a_word_of_the_runs_that_failed(kept: Store) -> None:
    for number in range(24):
        kept.runs.save(measured(9_000.0), ARGUMENTS, failures=[CLOSED] if number in {4, 17} else [])
    before, after = (",".join(map(str, one)) for one in (range(1, 13), range(13, 25)))
    judged = judge_gate(kept, gate_of(["iops>-5%"], baseline=before), after)
    assert "Of A, run 5 is left out: it is not complete." in judged.notes
    assert "Of B, run 18 is left out: it is not complete." in judged.notes


def of_label(store: Store, label: str) -> str:
    return runs_of_gate(store, gate_of(["iops>5k"], label=label))


def test_the_label_of_a_gate_found_runs_of_other_labels(kept: Store) -> None:
    """``disk_a*fast`` found the runs of another team, and ``disk`` those of ``Disk``."""
    for label in ("disk_a*fast", "disk", "disk_a of another team, fast", "Disk"):
        kept.runs.save(measured(9_000.0), ARGUMENTS, label=label)
    assert [of_label(kept, one) for one in ("disk_a*fast", "disk", "Disk")] == ["1", "2", "4"]
    with pytest.raises(NotFoundError, match=r"label disk\*") as told:
        of_label(kept, "disk*")
    assert "letter for letter; the newest like it has" in str(told.value)
    with pytest.raises(NotFoundError, match=r"has the label log$"):
        of_label(kept, "log")


def test_runs_of_last_year_that_were_copied_were_the_newest(kept: Store) -> None:
    for at in (NOON, NOON + 60, NOON - 86_400 * 400):
        kept.runs.save(begun(measured(9_000.0), at), ARGUMENTS, label="nightly")
    assert of_label(kept, "nightly") == "2"
    kept.runs.save(begun(measured(9_000.0), NOON + 60), ARGUMENTS, label="nightly")
    assert of_label(kept, "nightly") == "4"


def swept(store: Store, slow: float) -> str:
    """Save a sweep of two depths with 6 runs each, and return a reference to it."""
    cells: list[tuple[str, dict[str, int]]] = [("deep", {"o": 32}), ("shallow", {"o": 1})]
    number = store.experiments.begin("sweep", "nightly", {}, cells)
    for at in range(12):
        rate, depth = (slow * (1 + at / 1000), 1) if at % 2 else (100_000.0 * (1 + at / 1000), 32)
        store.runs.save(measured(rate, depth=depth), ARGUMENTS, experiment_id=number)
    return f"e{number}"


def test_runs_that_answered_nothing_were_said_to_lack_the_figure(kept: Store) -> None:
    for rate in (*[1000.0] * 10, *[0.0] * 10):
        kept.runs.save(measured(rate), ARGUMENTS)
    runs, baseline = ("11,12,13,14,15,16,17,18,19,20", "1,2,3,4,5,6,7,8,9,10")
    found = judge_gate(kept, gate_of(["iops>1", "iops>-5%"], baseline=baseline), runs)
    assert [one.decision for one in found.checks] == ["broken", "cannot tell"]
    assert "0 IOPS is the mean of 10 runs" in found.checks[0].words
    assert "run 11 has a rate of 0" in found.checks[1].words


def test_a_mean_of_several_loads_hid_the_slow_one(kept: Store) -> None:
    """6 of 12 runs had 900 IOPS, and ``iops>5k`` was kept by their mean of 50,399."""
    done = command("gate", swept(kept, 900.0), "--require", "iops>5k", "--store", kept.name)
    assert done.returncode == 5
    assert "(mean of 6 runs, worst of 2 loads)" in done.stdout
    assert "of 2 loads this is the worst: runs 2, 4, 6, 8, 10 and 12" in done.stdout


def test_a_limit_that_every_load_keeps_tells_the_figure_of_the_worst(kept: Store) -> None:
    gate = gate_of(["iops>5k", "iops<200k"])
    least, most = judge_gate(kept, gate, swept(kept, 9_000.0)).checks
    assert [least.decision, most.decision] == ["kept", "kept"]
    assert least.measured == pytest.approx(9_000, rel=0.02)
    assert most.measured == pytest.approx(100_000, rel=0.02)


def test_runs_of_two_targets_are_judged_one_by_one(kept: Store) -> None:
    for rate, path in ((9_000.0, "x.dat"), (900.0, "y.dat"), (9_100.0, "x.dat")):
        kept.runs.save(measured(rate, path=path), ARGUMENTS)
    (check,) = judge_gate(kept, gate_of(["iops>5k"]), "1,2,3").checks
    assert (check.decision, check.mean) == ("broken", "worst of 2 loads or targets")


def test_chance_and_a_failure_make_no_other_load(kept: Store) -> None:
    for seed in range(3):
        raw = json.loads(json.dumps(dict(measured(9_000.0).raw)))
        for target in raw["request"]["profile"]["time_spans"][0]["targets"]:
            target["random_seed"] = seed
        raw["request"]["profile"]["time_spans"][0]["random_seed"] = seed
        failures = [CLOSED] if seed == 1 else []
        kept.runs.save(Result.from_json(json.dumps(raw)), ARGUMENTS, failures=failures)
    assert len(runs_by_load([kept.runs.get(one) for one in (1, 2, 3)])) == 1


def test_more_runs_were_advised_where_both_sides_share_some(kept: Store) -> None:
    """However many are measured, a baseline that has some of them tells nothing."""
    for number in range(12):
        kept.runs.save(measured(9_000.0 + number), ARGUMENTS)
    gate = gate_of(["iops>-5%"], baseline="1,2,3,4,5,6,7,8")
    shared, apart = (judge_gate(kept, gate, one).checks[0] for one in ("5,6,7,8,9,10", "9"))
    assert (shared.decision, apart.decision) == ("cannot tell", "cannot tell")
    assert "A and B share runs 5 to 8" in shared.words
    assert shared.words.endswith("judge runs that are not the baseline's, or name another baseline")
    assert "measure more" not in shared.words
    assert "measure more" in apart.words
