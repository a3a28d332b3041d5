"""Runs on several targets: their rows had marks, and the findings said that nothing was found."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from fabricated import fabricated
from fathom import Result
from fathom.experiments.compare.saved import _load_words
from fathom.findings import find
from fathom.findings.observed import observe
from fathom.report.collect._points import run_of_result
from fathom.report.collect._runs import run_command, runs_side
from fathom.store import Store

if TYPE_CHECKING:
    from pathlib import Path

CONTENDED = (
    "cpu_contended",
    "Other processes used 1.20 of 2 CPUs; the threads of load waited 15.1 % of their time for one.",
)


def on_two(result: Result, second: str = "other.dat", **load: object) -> Result:
    """Return the same result of a run on a second target, too."""
    raw = json.loads(json.dumps(dict(result.raw)))
    for whole in (raw["request"]["profile"], raw):
        targets = whole["time_spans"][0]["targets"]
        targets.append({**targets[0], "path": second})
    raw["request"]["profile"]["time_spans"][0]["targets"][1] |= load
    return Result.from_json(json.dumps(raw))


def test_nothing_speaks_against_these_numbers_stood_below_a_headline_that_did() -> None:
    runs = [
        run_of_result(on_two(one), "")
        for one in (fabricated(warnings=[CONTENDED]), fabricated(depth=4))
    ]
    side = runs_side("two targets", runs)
    (first,) = side.advice
    assert (first.rule, first.where) == ("cpu-contended", "In 1 of 2 runs.")
    assert side.runs[0].marks == ("cpu-contended",)
    assert side.verdict is not None
    assert "other processes took the CPUs" in side.verdict.headline
    clean = runs_side("two targets", [run_of_result(on_two(fabricated()), "")])
    assert clean.advice == ()


def test_findings_of_several_targets_are_of_all_and_of_none_unless_asked_for() -> None:
    result = on_two(fabricated(warnings=[CONTENDED], size=1 << 20))
    assert find([result]) == []
    (found,) = find([result], several=True)
    assert (found.rule, found.target) == ("cpu-contended", "made-up.dat and other.dat")
    # That the working set is small says something of one storage.
    assert "working-set-small" in {one.rule for one in find([fabricated(size=1 << 20)])}


def test_a_load_of_several_targets_was_called_that_of_the_first() -> None:
    seen = observe(on_two(fabricated(threads=2, depth=4), threads=1, outstanding=3), several=True)
    assert seen is not None
    assert (seen.load.words(), seen.load.outstanding) == ("I/O on 2 targets", 2 * 4 + 1 * 3)
    other = observe(on_two(fabricated(threads=2, depth=4), write_percent=100), several=True)
    assert other is not None
    assert other.load != seen.load


def differences(a: Result, b: Result) -> str:
    """Return how the loads of two runs differ, in words."""
    sides: Any = [[SimpleNamespace(result=one)] for one in (a, b)]
    return _load_words(*sides)


def test_the_settings_of_the_last_target_stood_for_those_of_all() -> None:
    """What differed in the first target alone was said to differ among the runs of one side."""
    plain = on_two(fabricated(), block_bytes=65_536)
    other = on_two(fabricated(block_bytes=8_192), block_bytes=65_536)
    words = "block size (bytes) is 4096 in A and 8192 in B"
    assert differences(plain, other) == f"target 1: {words}"
    assert differences(on_two(fabricated()), on_two(fabricated(block_bytes=8_192))) == words
    assert differences(fabricated(), fabricated(block_bytes=8_192)) == words


def test_a_profile_in_a_file_was_named_to_repeat_a_run_although_it_may_have_changed() -> None:
    run = replace(run_of_result(fabricated(), ""), arguments=("-Xp.xml",), run_id=7)
    assert run_command(run) == "fathom run @7"
    assert run_command(replace(run, run_id=None)) == "diskspd -Xp.xml"
    plain = ("-b4K", "x.dat")
    assert run_command(replace(run, arguments=plain)) == f"diskspd {shlex.join(plain)}"


def test_the_page_of_findings_left_out_runs_on_several_targets(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from fathom.web import lookups  # noqa: PLC0415 - An extra.

    with Store(tmp_path / "s.sqlite") as store:
        store.runs.save(on_two(fabricated(warnings=[CONTENDED])), ["a.dat", "b.dat"])
        (found,) = lookups.findings(store)
    assert (found.rule, found.run_ids) == ("cpu-contended", [1])
