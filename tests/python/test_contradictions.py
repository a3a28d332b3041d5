"""No sentence of drawn but possible results contradicts its own figures."""

from __future__ import annotations

import random

import pytest
from contradictions import Judge, drawn_target, judge_many
from contradictions_drawn import ContradictionError
from fathom.assess import verdict_of

SETS = 150


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
