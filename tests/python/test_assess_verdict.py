"""What a verdict must not say: of writes that met a limit, of a preconditioning that was cut."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from fathom import Result
from fathom.experiments.assess import (
    EFFORTS,
    AssessmentInterrupted,
    assess,
    key_figures,
    target,
    verdict_of,
)
from fathom.experiments.assess.claim_maker import findings_of
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth
from test_assess_pairs import CLEAN, QUICK, assessed, is_random_read, sentence, with_cause

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.assess import TargetAssessment
    from test_assess_pairs import Asked

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def cut(
    folder: Path,
    truth: Truth = CLEAN,
    *,
    name: str = "own",
    steady_seconds: int = 0,
    **ends: Any,  # noqa: ANN401 - Of the storage.
) -> TargetAssessment:
    """Assess what ends early: ``fails_at``, ``interrupted_at`` or ``before_run``."""
    path = folder / name
    if not path.exists():
        path.mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, {"": truth}, size_bytes=QUICK.size_bytes, **ends)
        try:
            found = assess(store, runner, [str(path)], QUICK, steady_seconds=steady_seconds)
        except AssessmentInterrupted as interruption:
            found = interruption.assessment
    return found.targets[0]


def labels(one: TargetAssessment) -> dict[str, str]:
    return {figure.name: figure.label for figure in key_figures(one.plan)}


def is_single(asked: Asked) -> bool:
    return is_random_read(asked, 1) and asked["outstanding"] == 1


def test_writes_of_which_nothing_is_concluded_were_called_400_times_as_slow(
    tmp_path: Path,
) -> None:
    limited = replace(CLEAN, durable_us=20_000.0, doubts=(("io_limited", "It was so."),))
    one = assessed(tmp_path, lambda asked, _: limited if asked["write_percent"] else CLEAN)
    assert one.verdict.headline.startswith(
        "It is in the class of flash (NVMe or SATA), by its reads alone; of its writes nothing is "
        "concluded: a limit of I/O was measured (certain)"
    )
    assert "rotating" not in one.verdict.headline
    reads = {cell.run_id for cell in one.plan.done() if cell.cell.key == "read-1"}
    assert {figure.run_id for figure in one.verdict.claims[0].evidence} == reads


def test_a_write_that_ended_in_memory_survived_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the file system knows no O_DIRECT, writes were buffered without write-through."""
    monkeypatch.setattr(target, "_is_direct", lambda _path: False)
    truth = replace(CLEAN, write_us=9.0, durable_us=3_000.0, cached_us=90.0)
    one = assessed(tmp_path, lambda _asked, _number: truth)
    for cell in one.plan.done():
        assert cell.result is not None
        (asked,) = cell.result.raw["request"]["profile"]["time_spans"][0]["targets"]
        assert asked["caching"] == "cached"
        assert asked["write_through"] or not asked["write_percent"], cell.cell.key
    assert labels(one)["durable_write_latency"] == "One write that survives an outage"
    assert sentence(one, "durable") == "A write that has to survive an outage takes 3 ms."
    assert "cached, write-through" in sentence(one, "log")


def test_a_write_without_write_through_is_not_called_durable(tmp_path: Path) -> None:
    one = assessed(tmp_path, lambda _asked, _number: replace(CLEAN, durable_us=20_000.0))
    (write,) = [cell for cell in one.plan.done() if cell.cell.key == "write-1"]
    write.arguments = tuple("-Sb" if word == "-Sh" else word for word in write.arguments)
    assert labels(one)["durable_write_latency"] == "One write, which need not survive an outage"
    verdict = verdict_of(one.plan, findings_of(one.plan))
    assert "has to survive" not in " ".join(verdict.sentences)
    assert "survives an outage" not in verdict.headline


def test_a_cut_preconditioning_was_a_steady_state_by_the_rules_of_the_snia(
    tmp_path: Path,
) -> None:
    """It wrote 30 MiB of 128, in the 30 s that it had."""
    one = cut(tmp_path, Truth(mib_per_s=1.0, servers=64), steady_seconds=60)
    words = sentence(one, "steady")
    assert words.startswith(
        "Within 5 rounds it kept the SNIA's window rule, which alone is no steady state by its "
        "rules: its preconditioning wrote 30 MiB of 128 MiB; 4K random write 256 IOPS; "
    )
    (first,) = [cell for cell in one.plan.cells if cell.cell.key == "precondition"]
    assert first.cell.label == "128K sequential write, up to twice the size"
    claim = next(claim for claim in one.verdict.claims if claim.key == "steady")
    assert first.run_id in {figure.run_id for figure in claim.evidence}


def test_reads_alone_were_a_steady_state_without_any_preconditioning(tmp_path: Path) -> None:
    (tmp_path / "mine.dat").write_bytes(b"mine" * MIB)
    words = sentence(cut(tmp_path, name="mine.dat", steady_seconds=60), "steady")
    assert "It was steady" not in words
    assert "nothing was written before, so that there was no preconditioning" in words


def test_the_number_said_at_most_where_its_sentence_did_not(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        is_mine = asked["outstanding"] == 16 and not asked["write_percent"]
        return with_cause("cpu_contended") if is_mine else CLEAN

    one = assessed(tmp_path, truth)
    assert "at most" not in sentence(one, "saturation")
    assert labels(one)["random_reads"] == "Random reads of 4 KiB, as far as measured"
    assert labels(one)["sequential_read"] == "Reading in order, as far as measured"


def test_at_most_stood_beside_that_the_device_was_not_loaded_to_its_limit(tmp_path: Path) -> None:
    one = assessed(tmp_path, lambda _asked, _number: Truth(servers=4_000))
    assert "not-enough-outstanding" in [found.rule for found in one.findings]
    assert labels(one)["random_reads"] == "Random reads of 4 KiB, as far as measured"
    words = sentence(one, "saturation")
    assert "at most" not in words
    assert words.endswith(
        "; with more outstanding it may complete more: the last step still brought much."
    )


def test_one_failed_read_left_too_little_for_a_verdict(tmp_path: Path) -> None:
    """19 of 20 were measured, and the same load at the end was one of them."""
    one = cut(tmp_path, fails_at=1)
    assert one.verdict.headline.startswith(
        "It is in the class of flash (NVMe or SATA); this is by 4K random read, depth 1, at the "
        "end, as its first run failed; well suited for a transaction database, "
    )
    (again,) = [cell for cell in one.plan.done() if cell.cell.key == "again"]
    assert again.run_id in {figure.run_id for figure in one.verdict.claims[0].evidence}
    assert key_figures(one.plan)[0].run_id == again.run_id


def test_without_any_read_the_headline_names_the_load_and_judges_the_rest(tmp_path: Path) -> None:
    one = cut(tmp_path, fails_at=1)
    (again,) = [cell for cell in one.plan.done() if cell.cell.key == "again"]
    again.state, again.figures = "failed", None
    headline = verdict_of(one.plan, one.findings).headline
    assert headline.startswith(
        "Its class is not known, as 4K random read, depth 1, failed; well suited for a transaction "
        "database, and very well suited for its log"
    )
    done = len(one.plan.done())
    assert headline.endswith(f"; this rests on {done} of {done + 2} measurements.")


def test_as_far_as_reading_tells_stood_beside_what_writes_told(tmp_path: Path) -> None:
    slow = replace(CLEAN, read_us=37.0, durable_us=1_730.0)
    headline = cut(tmp_path, slow, interrupted_at=5).verdict.headline
    assert "a write that survives an outage takes 47 times as long" in headline
    assert "; how it serves a transaction database was not measured; " in headline
    assert "as far as reading tells" not in headline


def test_a_log_that_was_measured_dropped_out_with_the_database(tmp_path: Path) -> None:
    one = cut(tmp_path)
    (oltp,) = [cell for cell in one.plan.done() if cell.cell.key == "oltp"]
    oltp.state, oltp.figures = "failed", None
    assert (
        "; very well suited for a database's log; how it serves a transaction database was not "
        "measured"
    ) in verdict_of(one.plan, one.findings).headline


def test_a_lost_target_had_two_counts_of_what_was_planned(tmp_path: Path) -> None:
    """*2 of 3 measurements* stood beside *2 of 12*."""
    mine = tmp_path / "mine.dat"
    mine.write_bytes(b"mine" * (16 * MIB))

    def vanish(number: int) -> None:
        if number == 3:
            mine.unlink()

    one = cut(tmp_path, name="mine.dat", fails_at=3, before_run=vanish)
    planned = sum(cell.state != "left_out" for cell in one.plan.cells)
    assert f"this rests on 2 of {planned} measurements" in one.verdict.headline
    assert one.verdict.partial is not None
    assert one.verdict.partial.endswith(
        f" Of the others, 1 failed and {planned - 3} were not reached."
    )


def test_what_failed_before_an_interruption_was_not_counted(tmp_path: Path) -> None:
    """6 were made and 13 were not, of 20."""
    one = cut(tmp_path, fails_at=3, interrupted_at=8)
    planned = len(one.plan.cells)
    assert one.verdict.partial == (
        f"This verdict is partial: 6 measurements were made, 1 failed, and {planned - 7} were not "
        "reached when it was interrupted."
    )
    assert f"this rests on 6 of {planned} measurements" in one.verdict.headline


def test_1_measurements_were_made(tmp_path: Path) -> None:
    partial = cut(tmp_path, interrupted_at=2).verdict.partial
    assert partial is not None
    assert partial.startswith("This verdict is partial: 1 measurement was made, and ")


def of_fleet(one: TargetAssessment, lost_in: tuple[str, ...]) -> list[str]:
    """Return the sentences where a fleet of two measured, of which one was lost in some runs."""
    base = {"version": "1", "kernel": "6", "clock_offset_ns": 0, "clock_uncertainty_ns": 0}
    for cell in one.plan.done():
        assert cell.result is not None
        raw: dict[str, Any] = json.loads(json.dumps(dict(cell.result.raw)))
        is_lost = cell.cell.key.startswith(lost_in)
        lost = {"lost": "it answered no more"} if is_lost else {}
        raw["hosts"] = [{"name": "a", **base}, {"name": "b", **base, **lost}]
        cell.result = Result.from_json(json.dumps(raw))
    one.plan.target = replace(one.plan.target, hosts=2)
    return verdict_of(one.plan, findings_of(one.plan)).sentences


@pytest.mark.parametrize(
    ("lost_in", "hosts", "each"),
    [
        ((), "2 hosts", " on each of 2 hosts"),
        (("read-1",), "1 to 2 hosts", ""),
        (("oltp",), "1 to 2 hosts", " on each of 2 hosts"),
    ],
)
def test_hosts_that_were_lost_are_not_in_the_rates(
    tmp_path: Path, lost_in: tuple[str, ...], hosts: str, each: str
) -> None:
    first, second, *_ = of_fleet(cut(tmp_path), lost_in)
    assert first.startswith(f"Rates are those of {hosts} together; ")
    assert f"(one at a time{each})" in second


def test_a_fleet_of_which_one_host_was_left_had_rates_of_two_together(tmp_path: Path) -> None:
    text = " ".join(of_fleet(cut(tmp_path), ("",)))
    assert "together" not in text
    assert "on each of" not in text


def test_a_fleet_of_one_host_had_rates_of_1_hosts_together(tmp_path: Path) -> None:
    one = cut(tmp_path)
    one.plan.target = replace(one.plan.target, hosts=1)
    assert not any("host" in words for words in verdict_of(one.plan, one.findings).sentences)


def apart(asked: Asked, number: int) -> Truth:
    return replace(CLEAN, read_us=50.0 if number < 3 else 1_500.0) if is_single(asked) else CLEAN


def test_one_load_three_classes_apart_was_judged_by_its_first_run(tmp_path: Path) -> None:
    one = assessed(tmp_path, apart)
    assert one.verdict.headline.startswith(
        "It is in the class of the fastest flash (NVMe) to that of networked or hybrid storage: "
        "the same load took 50 us at first and 1.5 ms at the end; well suited for "
    )
    assert "; the same load took 1.5 ms at the end" in sentence(one, "latency")
    runs = {cell.run_id for cell in one.plan.done() if cell.cell.key in ("read-1", "again")}
    for claim in one.verdict.claims[:2]:
        assert runs <= {figure.run_id for figure in claim.evidence}


def test_a_disturbed_run_at_the_end_is_in_no_class(tmp_path: Path) -> None:
    def truth(asked: Asked, number: int) -> Truth:
        found = apart(asked, number)
        is_slow = found.read_us > 1_000
        return replace(found, doubts=(("suspended", "It was so."),)) if is_slow else found

    one = assessed(tmp_path, truth)
    assert one.verdict.headline.startswith("It is in the class of the fastest flash (NVMe); ")


def test_storage_that_takes_seconds_completed_0_reads_a_second(tmp_path: Path) -> None:
    effort = replace(EFFORTS["quick"], seconds=6_000, size_bytes=64 * MIB)
    slow = Truth(servers=1, read_us=2.2e6, write_us=2.2e6, durable_us=2.2e6, mib_per_s=0.3)
    one = assessed(tmp_path, lambda _asked, _number: slow, effort)
    told = {figure.name: figure.text for figure in key_figures(one.plan)}
    rate = told["random_reads"].removesuffix(" IOPS")
    assert float(rate) < 1
    assert f" {rate} random reads of 4 KiB a second" in sentence(one, "saturation")
    assert f"In order it reads {told['sequential_read']} (" in sentence(one, "sequential")
    assert ": 0 reads and writes" not in sentence(one, "oltp")
    assert sentence(one, "backup").endswith(" days.")


def test_a_write_that_failed_left_reads_not_measured_to_their_end(tmp_path: Path) -> None:
    """Of a disk that ran full, all reads of which were measured, the most of them was not known."""
    one = assessed(tmp_path, lambda _asked, _number: CLEAN)
    (write,) = [cell for cell in one.plan.cells if cell.cell.key == "random-write"]
    write.state, write.figures, write.result = "failed", None, None
    assert labels(one)["random_reads"].endswith("at most")
    verdict = verdict_of(one.plan, findings_of(one.plan))
    assert "not measured to the end" not in " ".join(verdict.sentences)


def test_250_us_at_first_and_250_us_at_the_end_were_two_classes(tmp_path: Path) -> None:
    singles = iter((249.8, 250.4))

    def truth(asked: Asked, _number: int) -> Truth:
        return replace(CLEAN, read_us=next(singles, 250.4)) if is_single(asked) else CLEAN

    headline = assessed(tmp_path, truth).verdict.headline
    assert headline.startswith("It is in the class of flash (NVMe or SATA)")
    assert "at the end" not in headline
