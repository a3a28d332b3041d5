"""A rule gives one finding of a target: the worst case as evidence, and which runs were so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from fabricated import fabricated
from fathom._claims import FORBIDDING, MARKS, WEAKENING, mark_of
from fathom.experiments.assess import EFFORTS, assess
from fathom.findings import RULES, find
from fathom.findings.finding import numbers_words
from fathom.report.collect.gather import gather
from fathom.report.render.markdown import markdown
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fathom import Result
    from fathom.experiments.assess import Assessment

CONTENDED = "other processes used 1.10 of 2 CPUs, and the threads of load waited {} % of their time"
SMALL = "All of 64 MiB was read {} times."


def contended(*percents: float) -> list[Result]:
    return [
        fabricated(warnings=[("cpu_contended", CONTENDED.format(one))] if one else [])
        for one in percents
    ]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([7], "run 7"),
        ([7, 8], "runs 7 and 8"),
        ([3, 5, 6, 7, 9], "runs 3, 5 to 7 and 9"),
        ([1, 2, 3, 4], "runs 1 to 4"),
    ],
)
def test_numbers_of_runs_in_words(numbers: Sequence[int], words: str) -> None:
    assert numbers_words(numbers) == words


def test_the_worst_run_is_the_evidence_and_each_run_is_kept() -> None:
    results = contended(12.5, 0, 61.0, 30.25)
    (found,) = [one for one in find(results, [4, 5, 6, 8]) if one.rule == "cpu-contended"]
    assert "waited 61.0 %" in found.evidence
    assert found.where == "In 3 of 4 runs (runs 4, 6 and 8); the worst is shown."
    kept = {case.run_ids: case.evidence for case in found.cases}
    assert set(kept) == {(4,), (6,), (8,)}
    assert "12.5 %" in kept[4,]


def test_a_number_with_thousands_is_compared_as_a_number() -> None:
    found = find(
        fabricated(warnings=[("suspended", f"It did not run for {one} s.")])
        for one in ("9.5", "1,200", "80")
    )
    (one,) = [one for one in found if one.rule == "suspended"]
    assert "1,200 s" in one.evidence


def test_runs_that_say_the_same_are_one_case_and_a_single_run_needs_no_place() -> None:
    (same,) = [one for one in find(contended(20, 20), [1, 2]) if one.rule == "cpu-contended"]
    assert len(same.cases) == 1
    assert same.where == "In 2 of 2 runs (runs 1 and 2)."
    (single,) = [one for one in find(contended(20), [1]) if one.rule == "cpu-contended"]
    assert not single.where


def test_results_from_files_have_no_numbers_but_a_count() -> None:
    (found,) = [one for one in find(contended(20, 30)) if one.rule == "cpu-contended"]
    assert found.where == "In 2 of 2 runs; the worst is shown."


def test_the_surest_is_told_first() -> None:
    """Stolen time is certain; that the same load gave other rates has other causes."""
    stolen = ("cpu_stolen", "2 % of the time was stolen.")
    results = [fabricated(rates=10e3), fabricated(rates=5e3), fabricated(warnings=[stolen])]
    (found,) = [one for one in find(results) if one.rule == "noisy-neighbour"]
    assert found.confidence == "certain"
    assert len(found.cases) == 2


def assessed(folder: Path, store: Store) -> Assessment:
    doubts = (("cpu_contended", CONTENDED.format(40)), ("small_working_set", SMALL.format(9)))
    runner = SimulatedStorage(store, {"": Truth(doubts=doubts)}, size_bytes=1 << 28)
    own = folder / "own"
    own.mkdir()
    return assess(store, runner, [str(own)], EFFORTS["quick"])


def test_an_assessment_has_each_rule_once_in_text_page_and_json(tmp_path: Path) -> None:
    with Store(os.environ["FATHOM_STORE"]) as store:
        found = assessed(tmp_path, store)
        rules = [one.rule for one in found.findings]
        assert len(rules) == len(set(rules))
        (one,) = [one for one in found.findings if one.rule == "cpu-contended"]
        assert one.run_count == one.judged_count > 10
        outcome = store.experiments.get(found.experiment_id).outcome
        assert outcome is not None
        kept = [each for each in outcome["findings"] if each["rule"] == "cpu-contended"]
        assert [len(each["cases"][0]["run_ids"]) for each in kept] == [one.run_count]
        material = gather(store, [f"e{found.experiment_id}"])
    titles = [advice.title for advice in material.sides[0].advice]
    assert len(titles) == len(set(titles))
    assert one.where in markdown(material)


def test_rows_have_letters_and_the_legend_says_what_they_mean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fathom.cli.views.assess import show_assessment  # noqa: PLC0415 - As the command does.

    with Store(os.environ["FATHOM_STORE"]) as store:
        show_assessment(assessed(tmp_path, store))
    text = capsys.readouterr().out
    table, _, findings = text.partition("Measurements of")[2].partition("Findings")
    marks = mark_of(["cpu-contended", "cached-by-device"])
    assert f"depth 4 [{marks}]" in table
    assert f"[{MARKS['cpu-contended']}] Other processes took the CPUs" in " ".join(table.split())
    assert "cpu-contended" not in text
    assert findings.count("Other processes took the CPUs") == 1


def test_each_rule_that_speaks_against_figures_has_a_letter_of_its_own() -> None:
    assert set(MARKS) == {*FORBIDDING, *WEAKENING} <= {rule.name for rule in RULES}
    assert len(set(MARKS.values())) == len(MARKS)
    assert all(MARKS[rule].isupper() for rule in FORBIDDING)
    assert all(MARKS[rule].islower() for rule in WEAKENING)


def test_an_older_outcome_with_a_finding_of_each_run_is_shown_once(tmp_path: Path) -> None:
    with Store(os.environ["FATHOM_STORE"]) as store:
        found = assessed(tmp_path, store)
        experiment = store.experiments.get(found.experiment_id)
        outcome = dict(experiment.outcome or {})
        old = [one for one in outcome["targets"][0]["findings"] if one["rule"] == "cpu-contended"]
        for one in old:
            for name in ("cases", "run_count", "judged_count"):
                del one[name]
        outcome["targets"][0]["findings"] = [dict(old[0], evidence=f"Run {at}") for at in range(12)]
        store.experiments.finish(found.experiment_id, "complete", outcome=outcome)
        advice = gather(store, [f"e{found.experiment_id}"]).sides[0].advice
    assert len(advice) == 1
    assert len(advice[0].cases) == 12


def test_a_result_of_older_versions_that_stood_still_was_suspended() -> None:
    (one,) = find([fabricated(warnings=[("stood_still", "It did not run for 2.5 s.")])])
    assert one.rule == "suspended"
