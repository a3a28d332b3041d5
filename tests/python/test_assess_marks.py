"""What befalls a run of an assessment stands at its row, in its sentence, and in the count."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import marks_of
from test_assess_pairs import CLEAN, assessed, is_random_read, sentence, with_cause

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.assess import TargetAssessment
    from simulated_storage import Truth
    from test_assess_pairs import Asked

_STALL = "the measured time ended in a stall: 1 I/O was in flight at its end, the oldest for 1.9 s"


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def marks(one: TargetAssessment) -> dict[str, tuple[str, ...]]:
    return {cell.cell.key: found for cell in one.plan.done() if (found := marks_of(cell))}


def test_a_stall_of_the_page_cache_cell_is_marked_and_counted(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return with_cause("stalled") if asked["caching"] == "cached" else CLEAN

    one = assessed(tmp_path, truth)
    assert [key for key, rules in marks(one).items() if "stalled" in rules] == ["cached"]
    (found,) = [finding for finding in one.findings if finding.rule == "stalled"]
    assert (found.run_count, found.judged_count) == (1, len(one.plan.done()))
    assert found.where.startswith(f"In 1 of {len(one.plan.done())} runs")
    assert "the load stalled in one of the runs" in sentence(one, "caches")


def test_that_the_page_cache_answers_its_own_cell_is_no_finding(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return with_cause("page_cache") if asked["caching"] == "cached" else CLEAN

    one = assessed(tmp_path, truth)
    assert "cached" not in marks(one)
    assert "page-cache" not in [finding.rule for finding in one.findings]


def test_a_latency_of_a_run_that_ended_in_a_stall_says_so(tmp_path: Path) -> None:
    def truth(asked: Asked, number: int) -> Truth:
        is_first = is_random_read(asked, 1) and asked["outstanding"] == 1 and number < 4
        doubts = (("stalled_at_end", _STALL),)
        return replace(CLEAN, doubts=doubts) if is_first else CLEAN

    one = assessed(tmp_path, truth)
    words = "; it ended in a stall, of whose I/Os only the beginning was seen."
    assert sentence(one, "latency").endswith(words)
    assert "but the target stalled (certain)" in one.verdict.headline
    assert "stall" not in sentence(one, "sequential")


def is_written(asked: Asked) -> bool:
    return bool(asked["write_percent"] == 100)


def test_a_limit_of_writes_forbids_nothing_of_reads(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return with_cause("io_limited") if asked["write_percent"] else CLEAN

    one = assessed(tmp_path, truth)
    forbidden = {claim.key: claim.forbidden_by for claim in one.verdict.claims}
    assert forbidden["latency"] == forbidden["headline"] == ()
    assert forbidden["durable"] == forbidden["log"] == forbidden["oltp"] == ("io-limited",)
    assert one.verdict.headline.startswith("It is in the class of flash")
    assert (
        "by its reads alone; of its writes nothing is concluded: a limit of I/O was measured "
        "(certain)" in one.verdict.headline
    )


def test_a_limit_of_reads_forbids_nothing_of_writes(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return CLEAN if is_written(asked) else with_cause("io_limited")

    one = assessed(tmp_path, truth)
    forbidden = {claim.key: claim.forbidden_by for claim in one.verdict.claims}
    assert forbidden["durable"] == forbidden["log"] == ()
    assert forbidden["latency"] == forbidden["headline"] == ("io-limited",)
    assert one.verdict.headline.startswith("No verdict on a device")


def test_a_limit_that_both_met_forbids_all(tmp_path: Path) -> None:
    one = assessed(tmp_path, lambda _asked, _number: with_cause("io_limited"))
    assert {claim.forbidden_by for claim in one.verdict.claims} == {("io-limited",)}


def test_a_providers_limit_of_writes_marks_the_writes_and_no_reads(tmp_path: Path) -> None:
    """Ten writes of any size and depth at one rate, and reads that are slower by themselves."""

    def truth(asked: Asked, _number: int) -> Truth:
        if not asked["write_percent"]:
            return replace(CLEAN, servers=1, read_us=5_000.0 * asked["block_bytes"] / 4096)
        return replace(CLEAN, servers=1, read_us=200.0, write_us=200.0, durable_us=200.0)

    one = assessed(tmp_path, truth)
    (found,) = [finding for finding in one.findings if finding.rule == "provisioned-limit"]
    touched = {key for key, rules in marks(one).items() if "provisioned-limit" in rules}
    runs = {run_id for case in found.cases for run_id in case.run_ids}
    assert {one.plan.cells[at].run_id for at in range(len(one.plan.cells))} >= runs
    assert touched == {cell.cell.key for cell in one.plan.done() if cell.run_id in runs}
    assert not touched & {"read-1", "random-4", "again", "cached"}
    weak = {claim.key: claim.weakened_by for claim in one.verdict.claims}
    assert "provisioned-limit" not in weak["latency"]


def test_a_count_of_runs_has_all_rows_of_the_table(tmp_path: Path) -> None:
    """*In 11 of 23 runs* stood above 24 rows, as the page cache's was in no count."""
    one = assessed(tmp_path, lambda _asked, _number: CLEAN)
    (found,) = [finding for finding in one.findings if finding.rule == "core-bound"]
    assert found.judged_count + found.left_out_count == len(one.plan.done())
    assert "1 other is not looked at" in found.where


def test_cpu_time_that_was_stolen_from_the_page_cache_cell_is_marked_too(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return with_cause("cpu_stolen") if asked["caching"] == "cached" else CLEAN

    one = assessed(tmp_path, truth)
    assert marks(one)["cached"] == ("noisy-neighbour",)
    assert "hypervisor took CPU time in one of the runs" in sentence(one, "caches")
    (found,) = [finding for finding in one.findings if finding.rule == "noisy-neighbour"]
    assert (found.run_count, found.judged_count) == (1, len(one.plan.done()))
