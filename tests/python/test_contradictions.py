"""No sentence of drawn but possible results contradicts its own figures."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from contradictions import Judge, drawn_target, judge_many
from contradictions_captions import Captions
from contradictions_drawn import ContradictionError
from contradictions_repeat import Repeats
from fathom.experiments.assess import verdict_of
from fathom.report.figures._shared_loads import overall

if TYPE_CHECKING:
    from fathom.report.figures._shared_loads import Difference

SETS = 100


def test_no_sentence_contradicts_its_figures() -> None:
    judge_many(SETS, seed=2)


def test_the_judge_sees_a_contradiction() -> None:
    """It is no judge that passes a verdict of other figures."""
    draw = random.Random(5)  # noqa: S311 - Repeatable.
    while True:
        plan = drawn_target(draw, "x")
        if {"latency", "saturation"} <= {one.key for one in verdict_of(plan, []).claims}:
            break
    judge = Judge(plan, [])
    judge.judge()
    other = drawn_target(draw, "x")
    while "read-1" not in other.figures():
        other = drawn_target(draw, "x")
    judge.plan, judge.figures = other, other.figures()
    with pytest.raises((ContradictionError, KeyError, ValueError)):
        judge.judge()


def test_the_judge_sees_a_repetition_of_other_runs() -> None:
    one, other = Repeats(random.Random(1)), Repeats(random.Random(1))  # noqa: S311 - Repeatable.
    one.judge()
    drawn = other._rows()
    outcome = {"metrics": {"iops": {"estimate": {"low": 0.0, "high": 1.0}, "outliers": []}}}
    rates = [float(row["total_iops"] or 0) for row in drawn]
    with pytest.raises(ContradictionError):
        other._judge_page("99 runs gave 1 IOPS", (), outcome, rates)


def test_the_judge_sees_a_caption_that_counts_loads_without_the_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It said *over all 12 loads* where only some had a mean latency."""

    def all_of_them(*arguments: Any) -> tuple[int, Difference] | None:  # noqa: ANN401 - Handed on.
        found = overall(*arguments)
        return None if found is None else (len(arguments[1]), found[1])

    monkeypatch.setattr("fathom.report.figures.same_loads.overall", all_of_them)

    def judge() -> None:
        for number in range(100):
            Captions(random.Random(number)).judge()  # noqa: S311 - Repeatable.

    with pytest.raises(ContradictionError):
        judge()
