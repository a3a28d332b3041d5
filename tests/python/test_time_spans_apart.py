"""Runs of several time spans: what befell one of them was said of the figures of another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricated import fabricated
from fathom import Result
from fathom._claims import ToldRuns
from fathom._load_words import load_words
from fathom.cli.views.runs import show_result
from fathom.experiments.repeat_claims import KnownRate, repeat_claims
from fathom.experiments.told_runs import told_run
from fathom.findings import find
from fathom.findings.causes import causes_of
from fathom.gates import gate_of, judge_gate
from fathom.limits import judge_limits, parse_limit
from fathom.report.collect._points import run_of_result
from fathom.report.collect._runs import runs_side
from fathom.store import Store, run_row

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

STALLED = ("stalled", "Thread 0 waited 1.20 s for its I/Os, from 0.88 s on, and none came back.")


def joined(*spans: Result) -> Result:
    """Return a result with the time spans of several, one after the other."""
    raws = [json.loads(json.dumps(dict(one.raw))) for one in spans]
    whole = raws[0]
    for number, raw in enumerate(raws[1:], start=1):
        whole["time_spans"] += raw["time_spans"]
        whole["request"]["profile"]["time_spans"] += raw["request"]["profile"]["time_spans"]
        whole["warnings"] += [{**one, "time_span": number} for one in raw["warnings"]]
    return Result.from_json(json.dumps(whole))


def fast_then_stalled() -> Result:
    """Return a run whose second time span, of another block size, stalled."""
    return joined(
        fabricated(rates=10_000.0),
        fabricated(rates=3_000.0, block_bytes=65_536, depth=8, warnings=[STALLED]),
    )


def test_a_stall_of_the_second_time_span_was_said_of_the_figures_of_the_first() -> None:
    whole = fast_then_stalled()
    assert told_run(whole).doubts == ()
    # A limit judges the worst of them.
    assert told_run(whole, every_time_span=True).rules == ["stalled"]
    assert causes_of(whole) == frozenset()
    (stalled,) = [one for one in find([whole], [7]) if one.rule == "stalled"]
    assert stalled.evidence == f"Time span 2: {STALLED[1]}"
    assert (stalled.run_count, stalled.judged_count, stalled.where) == (1, 1, "")
    (stalled,) = [one for one in find([whole, fabricated()], [7, 8]) if one.rule == "stalled"]
    assert stalled.where == "In 1 of 2 runs (run 7)."


def test_a_stall_of_the_first_time_span_is_still_said_of_its_figures() -> None:
    whole = joined(fabricated(warnings=[STALLED]), fabricated(block_bytes=65_536))
    assert told_run(whole).rules == ["stalled"]
    assert causes_of(whole) == {"stalled"}


def test_a_report_had_no_row_for_the_second_time_span_of_a_run() -> None:
    side = runs_side("run 7", [run_of_result(fast_then_stalled(), "")])
    first, second = side.runs
    assert first.label == "4K random read, 1 x 1, time span 1"
    assert second.label == "64K random read, 1 x 8, time span 2"
    assert (first.marks, second.marks) == ((), ("stalled",))
    assert (round(first.point.iops), round(second.point.iops)) == (10_000, 3_000)
    assert side.verdict is not None
    assert "stalled" not in side.verdict.headline
    assert "the target stalled" in side.verdict.sentences[0]
    assert [one.text for one in side.numbers if one.label == "Runs"] == ["1"]
    assert second.result.request.profile.time_spans[0].targets[0].block_bytes == 65_536


def test_a_report_of_one_time_span_has_its_run_as_it_was() -> None:
    run = run_of_result(fabricated(), "mine")
    assert [one.label for one in runs_side("mine", [run]).runs] == ["mine"]


def test_a_warning_did_not_say_of_which_time_span_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_result(fast_then_stalled())
    assert f"Warning: time span 2, made-up.dat: {STALLED[1]}" in capsys.readouterr().out
    show_result(fabricated(warnings=[STALLED]))
    assert f"Warning: made-up.dat: {STALLED[1]}" in capsys.readouterr().out


def test_lists_and_repetitions_did_not_say_that_their_figures_are_of_the_first() -> None:
    whole = fast_then_stalled()
    row = run_row(whole, (), "", ())
    assert load_words(row) == "4K rand w0 t1 o1 (1 of 2 time spans)"
    told = ToldRuns({1: told_run(whole)})
    rates = [(1, 10_000.0)]
    _, second = repeat_claims(rates, KnownRate(10_000.0, None, None, 0.95), told)
    assert "the figures of the first" in second.text
    plain = ToldRuns({1: told_run(fabricated())})
    assert len(repeat_claims(rates, KnownRate(10_000.0, None, None, 0.95), plain)) == 1


def test_a_list_named_the_first_of_several_targets_and_not_that_there_are_others(
    tmp_path: Path,
) -> None:
    raw = json.loads(json.dumps(dict(fabricated().raw)))
    raw["time_spans"][0]["targets"] += raw["time_spans"][0]["targets"]
    with Store(tmp_path / "s.sqlite") as store:
        store.runs.save(Result.from_json(json.dumps(raw)), [])
        store.runs.save(fabricated(), [])
        words = [load_words(one.columns) for one in store.runs.list()]
    assert words == ["4K rand w0 t1 o1", "4K rand w0 t1 o1, 2 targets"]


def test_a_limit_did_not_say_of_which_time_span_its_figure_is(tmp_path: Path) -> None:
    """``list`` has that of the first, and a gate another one, of the same run."""
    whole = fast_then_stalled()
    (most, least) = judge_limits(whole, [parse_limit("iops>5000"), parse_limit("iops<20k")])
    assert "3,000 IOPS measured in time span 2, the worst; the limit is" in most.words
    assert "10,000 IOPS measured in time span 1, the worst;" in least.words
    (alone,) = judge_limits(fabricated(rates=3_000.0), [parse_limit("iops>5000")])
    assert "3,000 IOPS measured; the limit is" in alone.words
    with Store(str(tmp_path / "s.sqlite")) as store:
        for _ in range(2):
            store.runs.save(whole, ["x"])
        gate = gate_of(["iops>5000"])
        for reference, mean in (("1", ""), ("1,2", "mean of 2 runs, ")):
            (check,) = judge_gate(store, gate, reference).checks
            assert (check.decision, check.mean) == ("broken", f"{mean}worst of 2 time spans")


def test_whose_figures_the_second_time_span_has_stood_below_those_of_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = json.loads(json.dumps(dict(fast_then_stalled().raw)))
    asked = {"read_ios": 1, "write_ios": 0, "trim_ios": 0}
    told = {"target": 0, "answered_by": "memory", "sentence": "memory answered all", "layers": []}
    whole["time_spans"][1]["beneath"] = {"targets": [{**told, "asked": asked}], "layers": []}
    show_result(Result.from_json(json.dumps(whole)))
    said = capsys.readouterr().out
    first, second = said.split("Time span 2")
    assert ("total" in first, "Not a device's figures" in first) == (True, False)
    assert second.index("Not a device's figures") < second.index("total")
