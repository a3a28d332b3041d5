"""Verdicts say no more than their runs: what speaks against the numbers stands in the sentence."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fabricated import fabricated
from fathom._claims import FORBIDDING, WEAKENING, Claim, Doubt, Evidence
from fathom.experiments.assess import EFFORTS, AssessmentInterrupted, assess
from fathom.findings import RULES, find
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from fathom import Result
    from fathom.experiments.assess import TargetAssessment

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
CLEAN = Truth(write_us=130.0, mib_per_s=3_000.0, noise=0.02)
# The engine's kinds of warnings after which nothing can be said of a device.
NO_DEVICE = {
    "not_the_device": "Of 834,436 reads, 7 reached vda.",
    "device_unseen": "No block device lies beneath it.",
    "io_limited": "The group's limit of 300 reads a second was met.",
    "cpu_throttled": "The group was throttled for 7.87 s.",
    "page_cache": "All of it was in memory.",
    "all_zero_data": "All that was read are zeros.",
}


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def assessed(folder: Path, truth: Truth, *, stops_at: int = 0) -> TargetAssessment:
    """Assess a folder on storage of this truth; ``stops_at`` is the run that Ctrl-C ends."""
    own = folder / "own"
    own.mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(
            store, {"": truth}, size_bytes=QUICK.size_bytes, interrupted_at=stops_at
        )
        try:
            return assess(store, runner, [str(own)], QUICK).targets[0]
        except AssessmentInterrupted as interruption:
            return interruption.assessment.targets[0]


@pytest.mark.parametrize("kind", NO_DEVICE)
def test_what_no_device_made_gives_no_verdict_on_a_device(kind: str, tmp_path: Path) -> None:
    one = assessed(tmp_path, Truth(doubts=((kind, NO_DEVICE[kind]),)))
    words = " ".join([one.verdict.headline, *one.verdict.sentences])
    assert one.verdict.headline.startswith("No verdict on a device, as these are not its numbers")
    assert "suited" not in words
    assert "in the class of" not in words
    # Without counters of the layers beneath, nobody is certain of the page cache.
    sure = "likely" if kind == "page_cache" else "certain"
    assert f"({sure})" in one.verdict.headline
    assert all(claim.forbidden_by for claim in one.verdict.claims)


def test_a_stall_stands_in_the_headline(tmp_path: Path) -> None:
    one = assessed(tmp_path, replace(CLEAN, doubts=(("stalled", "Nothing came."),)))
    assert "in the class of" in one.verdict.headline
    assert "; but the target stalled (certain)" in one.verdict.headline
    assert any("stalled" in claim.weakened_by for claim in one.verdict.claims)


@pytest.mark.parametrize("read_us", [80.0 * 1.5**number for number in range(10)])
def test_clean_storage_has_a_headline_without_reservations(read_us: float, tmp_path: Path) -> None:
    one = assessed(tmp_path, replace(CLEAN, read_us=read_us, write_us=1.3 * read_us))
    assert one.verdict.headline.startswith("It is in the class of")
    assert "but" not in one.verdict.headline
    assert not any(claim.weakened_by or claim.forbidden_by for claim in one.verdict.claims)


def test_after_few_measurements_nothing_is_the_most(tmp_path: Path) -> None:
    one = assessed(tmp_path, Truth(), stops_at=4)
    text = " ".join(one.verdict.sentences)
    planned = sum(cell.state != "left_out" for cell in one.plan.cells)
    assert f"this rests on 3 of {planned} measurements" in one.verdict.headline
    assert "at most 10,000" not in text
    assert "whether more outstanding bring more was not measured to the end" in text


def test_threads_are_compared_at_the_same_depth(tmp_path: Path) -> None:
    """A knee at depth 4 of each thread: four of them have 16 outstanding, one has 4."""
    one = assessed(tmp_path, Truth(servers=16, thread_iops=45_000))
    (claim,) = [claim for claim in one.verdict.claims if claim.key == "threads"]
    many, single, *_ = claim.evidence
    assert (many.threads, single.threads) == (4, 1)
    assert many.depth == single.depth
    assert f"{many.value / single.value:.2f} times" in claim.text


def test_each_claim_can_be_computed_again_from_the_store(tmp_path: Path) -> None:
    one = assessed(tmp_path, Truth(noise=0.05))
    with Store(os.environ["FATHOM_STORE"]) as store:
        for claim in one.verdict.claims:
            assert claim.evidence
            for figure in claim.evidence:
                assert figure.run_id is not None
                columns = next(run.columns for run in store.runs.list() if run.id == figure.run_id)
                assert columns[f"total_{figure.name}"] == pytest.approx(figure.value)
                assert columns["outstanding_per_thread"] == figure.depth
                assert columns["thread_count"] == figure.threads


def test_numbers_of_the_first_page_tell_depth_and_caching(tmp_path: Path) -> None:
    from fathom.experiments.assess import key_figures  # noqa: PLC0415 - As the command does.

    found = {one.name: one.conditions for one in key_figures(assessed(tmp_path, Truth()).plan)}
    assert found["read_latency"] == "depth 1, unbuffered"
    assert found["random_writes"] == "depth 16, unbuffered, write-through"


def test_rules_that_forbid_or_weaken_exist_and_are_not_both() -> None:
    known = {rule.name for rule in RULES}
    assert set(FORBIDDING) | set(WEAKENING) <= known
    assert not set(FORBIDDING) & set(WEAKENING)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_claim_of_what_is_not_known_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not known"):
        Claim("x", "It is so.", (Evidence(1, "iops", value, "IOPS"),))
    with pytest.raises(ValueError, match="not known"):
        Claim("x", f"It gave {value:,.0f} IOPS.")


def test_a_target_without_a_device_is_neither_the_best_nor_a_yardstick(tmp_path: Path) -> None:
    truths = {
        "slow/": replace(CLEAN, read_us=300.0),
        "quick/": CLEAN,
        "ram/": Truth(read_us=3.0, doubts=(("not_the_device", "None reached a device."),)),
    }
    folders = [str(tmp_path / name.rstrip("/")) for name in truths]
    for folder in folders:
        Path(folder).mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, truths, size_bytes=QUICK.size_bytes)
        found = assess(store, runner, folders, QUICK).comparison
    assert found is not None
    assert folders[2] not in found.headline
    assert all(2 not in figure.best and figure.factors[2] is None for figure in found.figures)
    assert any(note.startswith(f"{folders[2]} takes no part") for note in found.notes)
    assert found.doubts[0] == found.doubts[1] == []


def cell(threads: int, depth: int, iops: float, *, bound: bool = False) -> Result:
    """Return a run; one that is ``bound`` had a core at its limit."""
    doubts = [("core_saturated", "CPU 0 was 99.7 % busy.")] if bound else []
    idle = (0.3, 97.0, 97.0, 97.0)
    return fabricated(threads=threads, depth=depth, rates=iops, idle_percent=idle, warnings=doubts)


def core_finding(*results: Result) -> list[str]:
    return [one.evidence for one in find(results) if one.rule == "core-bound"]


def test_a_full_core_is_compared_with_more_threads_at_the_same_depth_alone() -> None:
    (other,) = core_finding(cell(1, 4, 40e3, bound=True), cell(2, 64, 90e3))
    assert "threads with" not in other
    (same,) = core_finding(cell(1, 4, 40e3, bound=True), cell(2, 4, 76e3), cell(2, 64, 90e3))
    assert "2 threads with 4 outstanding each gave 1.90 times its 40,000 IOPS" in same


def test_the_host_is_not_blamed_for_what_others_took() -> None:
    doubts = [("core_saturated", "CPU 0 was 99 % busy."), ("cpu_contended", "Others had 60 %.")]
    assert core_finding(fabricated(idle_percent=(0.3, 97.0), warnings=doubts)) == []


def test_a_headline_had_i_os_and_c_pus_in_small_letters() -> None:
    for title, words in (
        ("I/Os failed", "I/Os failed"),
        ("CPUs were taken away during the run", "CPUs were taken away during the run"),
        ("A server answered, with its cache", "a server answered, with its cache"),
        ("Other processes took the CPUs", "other processes took the CPUs"),
    ):
        assert Doubt("rule", title, "certain").words == f"{words} (certain)"
