"""Findings: each rule fires on the case made to show it, and on no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import fathom
import numpy as np
import pytest
from fabricated import GIB, fabricated, latencies_ns
from fathom import Result
from fathom.findings import RULES, TargetEvidence, find, raid_level
from fathom.findings.catalogue import drawn, rows
from fathom.findings.observed import Observed, observe, unanswered
from fathom.findings.search import apply
from fathom.units import size_words, time_words
from simulated import autoregressive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.findings import Finding
    from fathom.stats.floats import FloatArray

ROOT = Path(__file__).parents[2]


def noisy(level: float, share: float = 0.04, seed: int = 1) -> FloatArray:
    """Return the rates of 10 s with noise in which neighbours resemble each other."""
    noise = autoregressive(np.random.default_rng(seed), 0.5, (100,))
    return np.asarray(level * (1 + share * noise))


def stalls(period: int) -> FloatArray:
    rates = noisy(10_000)
    rates[period::period] = 500
    return rates


def two(low_us: float, high_us: float, share: float) -> FloatArray:
    """Return latencies of two populations."""
    count = int(4_000 * share)
    return np.concatenate((latencies_ns(low_us)[count:], latencies_ns(high_us)[:count]))


def sweep(*points: tuple[int, float, float]) -> list[Result]:
    """Return results at these depths, with IOPS and latency in microseconds."""
    return [fabricated(depth=depth, rates=rate, latency_ns=us) for depth, rate, us in points]


def reads_and_writes(write_rate: float) -> list[Result]:
    return [
        fabricated(depth=32, rates=8_000.0, latency_ns=4_000.0),
        fabricated(depth=32, rates=write_rate, latency_ns=4_000.0, write=100),
    ]


def there_before(*results: Result) -> list[Result]:
    """Return them as results of a target that none of their runs made."""
    for one in results:
        one.raw["request"]["profile"]["time_spans"][0]["targets"][0]["create_bytes"] = None
    return [*results]


def write_through(durable_us: float, quick_us: float) -> list[Result]:
    return [
        fabricated(latency_ns=100.0),
        fabricated(latency_ns=durable_us, write=100),
        fabricated(latency_ns=quick_us, write=100, write_through=False),
    ]


def limited(*points: tuple[int, int, float]) -> list[Result]:
    """Return results at these depths and KiB per block, with IOPS."""
    return [
        fabricated(depth=depth, block_bytes=kib << 10, rates=rate, latency_ns=1e6 * depth / rate)
        for depth, kib, rate in points
    ]


def fleet(*rates: float, **first: object) -> Result:
    """Return a result of hosts with these rates; ``first`` is what is said of the first host."""
    raw = dict(fabricated(rates=sum(rates), threads=1).raw)
    span = raw["time_spans"][0]
    (thread,) = span["threads"][:1]
    seconds = span["measured_ns"] / 1e9
    span["threads"], raw["parts"], raw["hosts"] = [], [], []
    for number, rate in enumerate(rates):
        own = json.loads(json.dumps(thread)) | {"index": number}
        for row in own["targets"]:
            row["read"]["ios"] = round(rate * seconds / len(own["targets"]))
        span["threads"].append(own)
        told = {"first_thread": number, "threads": 1, "measured_ns": span["measured_ns"]}
        told |= {"began_unix_ns": 1_000_000_000, "cpu": []}
        raw["parts"].append({"host": {"name": f"h{number}"}, "time_spans": [told]})
        host = {"name": f"h{number}", "version": "1", "kernel": "Linux 6", "clock_offset_ns": 0}
        host |= {"clock_uncertainty_ns": 9, "start_skew_ns": 0, "lost": None}
        raw["hosts"].append(host | (first if number == 0 else {}))
    return Result.from_json(json.dumps(raw))


def no_room(kind: str = "ENOSPC", **made: object) -> Result:
    """Return a result of writes, of which some found no room."""
    raw = json.loads(json.dumps(dict(fabricated(write=100, **made).raw)))  # type: ignore[arg-type]
    (row,) = raw["time_spans"][0]["threads"][0]["targets"]
    row["faults"] = [{"operation": "write", "kind": kind, "ios": 3, "outside_ios": 1}]
    return Result.from_json(json.dumps(raw))


def credits_used_up(after: float) -> FloatArray:
    """Return the rates of 10 s, of which the last six have this share of the first."""
    rates = noisy(10_000, 0.02)
    rates[40:] *= after
    return rates


CORE = ("core_saturated", "CPU 0 was 99.7 % busy.")
# What each rule is made to show: the results of one target, and the level of its array.
FIRES: dict[str, tuple[Sequence[Result], str | None]] = {
    "nothing-completed": ([fabricated(rates=0.0)], None),
    "no-room": ([no_room()], None),
    "past-the-knee": (sweep((1, 10e3, 100.0), (8, 40e3, 200.0), (32, 40.4e3, 800.0)), None),
    "not-enough-outstanding": (sweep((1, 10e3, 100.0), (2, 20e3, 100.0), (4, 38e3, 104.0)), None),
    "core-bound": ([fabricated(idle_percent=(0.3, 97.0), warnings=[CORE])], None),
    "cpu-taken-away": ([fabricated(warnings=[("cpu_offline", "CPU 1 was offline.")])], None),
    "suspended": ([fabricated(warnings=[("suspended", "It did not run for 2.5 s.")])], None),
    "not-the-device": (
        [fabricated(warnings=[("not_the_device", "Of 834,436 reads (3.2 GiB), 7 reached vda.")])],
        None,
    ),
    "cpu-throttled": ([fabricated(warnings=[("cpu_throttled", "It was so.")])], None),
    "cpu-contended": ([fabricated(warnings=[("cpu_contended", "It was so.")])], None),
    "io-limited": ([fabricated(warnings=[("io_limited", "It was so.")])], None),
    "stalled": ([fabricated(warnings=[("stalled", "It was so.")])], None),
    "io-errors": ([fabricated(warnings=[("io_errors", "3 of 9 failed.")])], None),
    "idle-between-ios": ([fabricated(warnings=[("idle_between_ios", "It was so.")])], None),
    "shared-blocks": ([fabricated(warnings=[("shared_sequential_blocks", "It was so.")])], None),
    "extents-changed": ([fabricated(warnings=[("extents_changed", "It was so.")])], None),
    "constant-data": ([fabricated(warnings=[("constant_data", "It was so.")])], None),
    "allocating-writes": (
        [
            fabricated(
                warnings=[
                    (
                        "allocating_writes",
                        "20.0 % of the 1 GiB that are written have no blocks of their own yet.",
                    )
                ]
            )
        ],
        None,
    ),
    "compressible-data": (
        [fabricated(warnings=[("compressible_data", "LZ4 makes it 4.0 times shorter.")])],
        None,
    ),
    "cached-by-device": ([fabricated(warnings=[("small_working_set", "It was so.")])], None),
    "network-share": ([fabricated(warnings=[("network_share", "Of 310 µs, 120.")])], None),
    "network-loss": ([fabricated(warnings=[("retransmits", "9 segments.")])], None),
    "reconnected": ([fabricated(warnings=[("reconnected", "It was so.")])], None),
    "server-window": ([fabricated(warnings=[("server_window", "It takes 32.")])], None),
    "no-device-seen": ([fabricated(warnings=[("device_unseen", "It lies on fuse.")])], None),
    "server-answered": ([fabricated(warnings=[("server_answered", "It lies on nfs4.")])], None),
    "page-cache": (
        [fabricated(warnings=[("page_cache", "9 reads went through the page cache.")])],
        None,
    ),
    "null-data": ([fabricated(warnings=[("all_zero_data", "It holds only zeros.")])], None),
    "rate-not-reached": (
        [fabricated(rate={"iops": 9}, warnings=[("rate_not_reached", "8")])],
        None,
    ),
    "device-cache": (
        [
            fabricated(rates=4_000.0, latency_ns=4_000.0),
            fabricated(rates=4_000.0, latency_ns=300.0, limit=GIB),
        ],
        None,
    ),
    "write-through-not-honoured": (write_through(22.0, 20.0), None),
    "working-set-small": ([fabricated(size=GIB // 4)], None),
    "not-steady": ([fabricated(rates=np.linspace(15e3, 7e3, 100))], None),
    "bimodal-latency": ([fabricated(latency_ns=two(90, 4_000, 0.3))], None),
    "periodic-stalls": ([fabricated(rates=stalls(10))], None),
    "noisy-neighbour": ([fabricated(rates=10e3), fabricated(rates=7e3)], None),
    "raid-penalty-absent": (reads_and_writes(7_500.0), "raid5"),
    "provisioned-limit": (limited((4, 4, 3_000.0), (16, 16, 3_010.0), (64, 64, 2_990.0)), None),
    "burst-credits": ([fabricated(rates=credits_used_up(0.3))], None),
    "host-lost": ([fleet(9e3, 9e3, lost="it has not answered for 4.0 s")], None),
    "slow-host": ([fleet(5e3, 9e3, 9e3)], None),
    "hosts-apart": ([fleet(9e3, 9e3, outside_overlap_ns=80_000_000)], None),
    "shared-limit": ([fleet(9e3), fleet(4.6e3, 4.6e3)], None),
    "too-good": ([fabricated(latency_ns=1.5, rates=600e3)], None),
    "resized": (there_before(fabricated(), fabricated(), fabricated(size=16 * GIB)), None),
}
# Cases that show nothing; each is the near neighbour of one that does.
SILENT: dict[str, tuple[Sequence[Result], str | None]] = {
    "one run with noise": ([fabricated(rates=noisy(10e3))], None),
    "a knee that is not passed": (
        sweep((1, 10e3, 100.0), (8, 40e3, 200.0), (16, 44e3, 360.0)),
        None,
    ),
    "a knee that is passed by a little": (
        sweep((8, 40e3, 200.0), (10, 40.1e3, 250.0)),
        None,
    ),
    "a disturbed run before the last one": (
        sweep((8, 40e3, 200.0), (16, 4e3, 210.0), (32, 39.5e3, 220.0)),
        None,
    ),
    "busy cores, but none at its limit": ([fabricated(idle_percent=(12.0, 10.0))], None),
    "a large and a small working set alike": (
        [fabricated(latency_ns=90.0), fabricated(latency_ns=84.0, limit=GIB)],
        None,
    ),
    "durable writes that take their time": (write_through(4_000.0, 30.0), None),
    "writes as slow as reads, durable or not": (write_through(95.0, 94.0), None),
    "one population with a tail": ([fabricated(latency_ns=latencies_ns(100, 0.6))], None),
    "a few slow ones": ([fabricated(latency_ns=two(90, 4_000, 0.02))], None),
    "two stalls": ([fabricated(rates=np.where(np.arange(100) % 60 == 40, 500, 10e3))], None),
    "a rate that is kept": ([fabricated(rate={"iops": 150}, rates=150.0)], None),
    "the same twice, nearly": ([fabricated(rates=10e3), fabricated(rates=9.4e3)], None),
    "parity RAID with its penalty": (reads_and_writes(2_000.0), "raid5"),
    "writes as quick as reads without RAID": (reads_and_writes(7_500.0), None),
    "a quick device": ([fabricated(latency_ns=9.0, rates=100e3)], None),
    "a warning about something else": (
        [fabricated(warnings=[("short_io", "3 were short.")])],
        None,
    ),
}


def fired(case: tuple[Sequence[Result], str | None]) -> list[str]:
    results, raid = case
    found = [observe(result) for result in results]
    observed = [one for one in found if isinstance(one, Observed)]
    silent = [one for one in map(unanswered, results) if isinstance(one, Observed)]
    assert len(observed) + len(silent) == len(results)
    evidence = TargetEvidence("made-up.dat", observed, 16 * GIB, raid, silent)
    return [one.rule for one in apply(evidence)]


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_each_rule_fires_on_its_case_and_is_silent_on_the_others(name: str) -> None:
    assert len(SILENT) >= 10
    assert name in FIRES, f"{name}: give FIRES in {Path(__file__).name} results that show it"
    assert fired(FIRES[name]).count(name) == 1
    others = {case: fired(FIRES[case]) for case in FIRES if case != name}
    assert [case for case, found in others.items() if name in found] == []
    assert [case for case, known in SILENT.items() if name in fired(known)] == []


def test_write_through_is_compared_with_reads_of_its_own_block() -> None:
    """Writes of 4 KiB that took as long as its reads were quick beside reads of 1 MiB."""
    large = fabricated(latency_ns=400.0, block_bytes=1 << 20)
    for results in (write_through(75.0, 75.0), [*write_through(75.0, 75.0), large]):
        assert "write-through-not-honoured" not in [one.rule for one in find(results)]
    assert "write-through-not-honoured" in [one.rule for one in find(write_through(22.0, 20.0))]


def warned(result: Result, kind: str) -> Result:
    """Return the result with one more of the engine's warnings."""
    told = {"kind": kind, "target": None, "time_span": 0, "evidence": "So.", "remedy": "Mend it."}
    return Result.from_json(json.dumps({**result.raw, "warnings": [*result.raw["warnings"], told]}))


@pytest.mark.parametrize("name", [rule.name for rule in RULES if rule.explained_by])
def test_what_a_warning_explains_is_not_put_down_to_the_device(name: str) -> None:
    """On tmpfs with other load, the cache of a drive was found, and two populations."""
    (rule,) = [one for one in RULES if one.name == name]
    results, raid = FIRES[name]
    for kind in sorted(rule.explained_by):
        assert name not in fired(([warned(one, kind) for one in results], raid))
    assert name in fired(([warned(one, "unknown") for one in results], raid))


@pytest.mark.parametrize(("kind", "writes"), [("reads", 0), ("writes", 100)])
@pytest.mark.parametrize("others", [9_000.0, 1_000.0], ids=["quicker", "slower"])
def test_a_limit_of_reads_or_of_writes_hid_behind_the_other_kind(
    kind: str, writes: int, others: float
) -> None:
    """Some providers limit them apart: all rates together have no plateau that all end at."""

    def loads(write: int, random: int, *points: tuple[int, int, float]) -> list[Result]:
        return [
            fabricated(depth=depth, block_bytes=kib << 10, rates=rate, write=write, random=random)
            for depth, kib, rate in points
        ]

    limited_kind = [
        *loads(writes, 100, (4, 4, 3_000.0), (16, 16, 3_010.0)),
        *loads(writes, 0, (16, 64, 2_990.0)),
    ]
    free_kind = loads(100 - writes, 100, (4, 4, others), (16, 16, others * 0.7))
    found = [one for one in find([*limited_kind, *free_kind]) if one.rule == "provisioned-limit"]
    (evidence,) = [one.evidence for one in found]
    assert evidence == (
        f"3 loads of {kind} alone with 4 to 16 outstanding and blocks of 4 KiB to 64 KiB all gave "
        "2,990 to 3,010 IOPS."
    )
    # Sixteen at once may be all that a device does, whatever is asked of it.
    many = [
        *loads(writes, 100, (16, 4, 3_000.0), (64, 16, 3_010.0)),
        *loads(writes, 0, (64, 64, 2_990.0)),
    ]
    assert ("provisioned-limit" in fired(([*many, *free_kind], None))) == (others < 3_000)
    # A device may carry so many random ones of any block by itself.
    random = loads(writes, 100, (4, 4, 3_000.0), (16, 16, 3_010.0), (16, 64, 2_990.0))
    is_found = "provisioned-limit" in fired(([*random, *free_kind], None))
    assert is_found == (others < 3_000)


def test_one_burst_hid_the_limit_that_all_other_loads_were_at() -> None:
    """A throttle lets what it saved up pass: eleven loads of 300 IOPS, and one of 358."""
    shapes = [(depth, kib) for depth in (2, 8, 32) for kib in (4, 16, 64)]
    level = [(depth, kib, 300.0) for depth, kib in shapes]
    (found,) = [one for one in find(limited(*level)) if one.rule == "provisioned-limit"]
    assert found.evidence.endswith(" all gave 300 IOPS.")
    assert found.confidence == "likely"
    burst = [*level[:4], (8, 16, 358.0), *level[5:]]
    (found,) = [one for one in find(limited(*burst)) if one.rule == "provisioned-limit"]
    assert found.evidence.startswith("8 loads with 2 to 32 outstanding")
    assert found.evidence.endswith(" all gave 300 IOPS; 1 more gave 358, as in a burst.")
    assert found.confidence == "possible"
    # Two of nine, or one that is far over it, are no bursts.
    for more in ([(8, 16, 358.0), (2, 4, 340.0)], [(8, 16, 450.0)]):
        kept = [one for one in level if one[:2] not in {other[:2] for other in more}]
        assert "provisioned-limit" not in fired((limited(*kept, *more), None))


def test_a_disk_that_seeks_for_each_io_was_a_likely_limit_of_somebody_else() -> None:
    """12.6 ms for a seek, 160 MB/s: 77 to 79 IOPS, whatever the depth and the block."""
    shapes = [(depth, kib) for depth in (1, 2, 16) for kib in (4, 16, 32)]
    disk = [(depth, kib, 1 / (0.0126 + kib * 1024 / 160e6)) for depth, kib in shapes]
    (found,) = [one for one in find(limited(*disk)) if one.rule == "provisioned-limit"]
    assert found.confidence == "possible"
    assert found.evidence.endswith(
        " IOPS; a disk that seeks for each of them, one after the other, does the same."
    )
    # Sequential ones, far larger blocks, or a higher rate tell a limit from it.
    sequential = fabricated(depth=4, block_bytes=4 << 10, rates=78.0, random=0)
    (found,) = [
        one for one in find([*limited(*disk), sequential]) if one.rule == "provisioned-limit"
    ]
    assert found.confidence == "likely"
    for rate, blocks in ((78.0, (4, 64, 512)), (500.0, (4, 8, 16))):
        level = [(depth, kib, rate) for depth in (1, 4, 16) for kib in blocks]
        (found,) = [one for one in find(limited(*level)) if one.rule == "provisioned-limit"]
        assert found.confidence == "likely", rate


def test_a_stall_that_the_end_of_the_run_cut_off_is_a_stall_too() -> None:
    words = "The measured time ended in a stall: 32 I/Os were in flight, the oldest for 2.378 s."
    assert fired(([fabricated(warnings=[("stalled_at_end", words)])], None)) == ["stalled"]


def test_an_unsteady_rate_of_a_busy_host_is_no_matter_of_the_device() -> None:
    unsteady = warned(FIRES["not-steady"][0][0], "cpu_contended")
    (found,) = [one for one in find([unsteady]) if one.rule == "not-steady"]
    assert "precondition" not in found.remedy
    # Whatever a busy host made fall, and where it stayed so: no credits were used up.
    step = warned(fabricated(rates=credits_used_up(0.25)), "cpu_contended")
    assert "burst-credits" not in fired(([step], None))


def test_only_writes_wear_a_device_so_that_reads_need_no_preconditioning() -> None:
    """A run of reads that a stall had cut was to "precondition the device for writes"."""
    rates = np.linspace(15e3, 7e3, 100)
    reads = fabricated(rates=rates)

    def remedy(result: Result) -> str:
        (found,) = [one for one in find([result]) if one.rule == "not-steady"]
        return found.remedy

    assert remedy(reads) == "Measure longer (-d, --stop-steady)."
    assert "precondition" in remedy(fabricated(rates=rates, write=100))
    assert "other findings" in remedy(warned(reads, "stalled_at_end"))


def test_intervals_that_a_busy_host_shifts_do_not_hide_a_step_down() -> None:
    """What one interval lacks comes with the next one."""
    rates = credits_used_up(0.25)
    for at in (3, 29):
        rates[at] -= 6_000
        rates[at + 1] += 6_000
    assert "burst-credits" in fired(([fabricated(rates=rates)], None))
    # What falls all the time has no levels.
    assert "burst-credits" not in fired(([fabricated(rates=np.linspace(10e3, 1e3, 100))], None))


@pytest.mark.parametrize("kind", ["stalled_at_end", "stalled", None])
def test_a_stall_until_the_end_is_no_level_that_credits_fell_to(kind: str | None) -> None:
    """A server that hung for the last third of a run was said to have used up its credits."""
    rates = credits_used_up(0.0)
    rates[43] = 100  # One answer that was on its way.
    stalled = fabricated(rates=rates)
    found = fired(([warned(stalled, kind) if kind else stalled], None))
    assert "burst-credits" not in found
    # A low level that answers now and then is one.
    slow = credits_used_up(0.0)
    slow[40::3] = 100
    assert "burst-credits" in fired(([fabricated(rates=slow)], None))


@pytest.mark.parametrize("case", SILENT)
def test_cases_that_show_nothing_give_no_findings(case: str) -> None:
    assert fired(SILENT[case]) == []


def test_findings_have_numbers_remedy_source_and_target() -> None:
    for results, _raid in FIRES.values():
        for one in find(results):
            assert one.target == "made-up.dat"
            assert one.remedy.endswith(".")
            assert one.source
            assert one.confidence in ("certain", "likely", "possible")
    (one,) = find(FIRES["device-cache"][0])
    assert "1 GiB" in one.evidence
    assert "64 GiB" in one.evidence
    assert "306 us" in one.evidence or "us" in one.evidence


@pytest.mark.parametrize(("rate", "remedy"), [(30e3, "Use 4 threads"), (10.2e3, "do not help")])
def test_a_full_core_is_told_with_what_more_threads_gave(rate: float, remedy: str) -> None:
    cell = {"idle_percent": (0.3, 97.0), "warnings": [CORE]}
    one = fabricated(**cell)  # type: ignore[arg-type]
    (found,) = find([one, fabricated(threads=4, rates=rate)])
    assert found.rule == "core-bound"
    assert "1 of 2 cores were at least half idle" in found.evidence
    assert remedy in found.remedy


def test_runs_without_any_io_are_judged_by_one_rule_alone() -> None:
    """No finding told that nothing had completed."""
    empty = fabricated(rates=0.0)
    assert observe(empty) is None
    (found,) = find([empty, fabricated()], [1, 2])
    assert (found.rule, found.run_count, found.judged_count) == ("nothing-completed", 1, 2)
    assert found.evidence == "No I/O completed in 5.0 s."
    assert found.where == "In 1 of 2 runs (run 1)."
    warned_of = fabricated(rates=0.0, warnings=[("no_io_completed", "Not one of 32.")])
    assert [one.evidence for one in find([warned_of])] == ["Not one of 32."]


def test_trims_that_completed_are_no_target_that_does_not_answer() -> None:
    """*No I/O completed; see whether the target answers at all* was said of 4,934 trims."""
    raw = json.loads(json.dumps(fabricated(rates=0.0).raw))
    (target,) = raw["time_spans"][0]["threads"][0]["targets"]

    def told(trims: int, syncs: int = 0) -> Finding:
        target["trim"] = target["write"] | {"ios": trims, "bytes": trims * 65_536}
        target["sync"] = target["write"] | {"ios": syncs}
        (found,) = find([Result.from_json(json.dumps(raw))])
        return found

    found = told(4_934)
    assert (found.rule, found.title) == ("nothing-completed", "No read or write completed")
    assert found.evidence == "No read or write completed in 5.0 s; 4,934 trims did."
    assert "whether the target answers" not in found.remedy
    assert told(2, 1).evidence.endswith("; 2 trims and 1 sync did.")
    assert told(0).evidence == "No I/O completed in 5.0 s."
    assert "whether the target answers" in told(0).remedy


def test_a_file_system_that_ran_full_is_told_and_what_to_do() -> None:
    """The finding was that I/Os failed: look at the kernel's log, and replace the disk."""
    words = ("io_errors", "0 of 0 reads and 3 of 9 writes failed.")
    found = {one.rule: one for one in find([no_room(warnings=[words])])}
    assert "io-errors" not in found
    told = found["no-room"]
    assert "4 I/Os found no room to write (ENOSPC)" in told.evidence
    assert told.target in told.evidence
    assert "Make room" in told.remedy
    assert "no other run" in told.remedy
    # Before anything was measured, too.
    (silent, *_) = [one for one in find([no_room(rates=0.0)]) if one.rule == "no-room"]
    assert "ENOSPC" in silent.evidence
    assert [one.rule for one in find([no_room("EIO", warnings=[words])])][:1] == ["io-errors"]


def test_the_working_set_is_what_the_engine_says_that_the_load_can_touch() -> None:
    """It was the range, of which a stride may leave out nearly all."""
    result = fabricated()
    raw = json.loads(json.dumps(dict(result.raw)))
    (target,) = raw["time_spans"][0]["targets"]
    assert "working_set_bytes" not in target
    older = observe(result)
    assert older is not None
    assert older.load.working_set_bytes == target["size_bytes"]
    target["working_set_bytes"] = 65_536
    told = observe(Result.from_json(json.dumps(raw)))
    assert told is not None
    assert told.load.working_set_bytes == 65_536


def test_a_stride_that_leaves_out_most_makes_a_small_working_set(tmp_path: Path) -> None:
    load = f"--engine=null -c64M -b4K -W0 -d1 --stop-ios=100 {tmp_path / 'x.dat'}"
    sizes = []
    for options in ("-s4K", "-s16M", "-r", "-r32M -B0:48M", "-r --skew=zipf:1.2"):
        seen = observe(fathom.run(f"{options} {load}"))
        assert seen is not None
        sizes.append(seen.load.working_set_bytes)
    assert sizes == [64 << 20, 4 * 4096, 64 << 20, 2 * 4096, 64 << 20]


def test_the_level_of_an_array_is_the_kernel_s(tmp_path: Path) -> None:
    path = tmp_path / "on-it.dat"
    path.touch()
    number = path.stat().st_dev
    assert raid_level(path, sys=tmp_path) is None
    folder = tmp_path / f"dev/block/{number >> 8 & 0xFFF}:{number & 0xFF}/md"
    folder.mkdir(parents=True)
    (folder / "level").write_text("raid6\n")
    assert raid_level(path, sys=tmp_path) == "raid6"


def test_sizes_and_times_in_words() -> None:
    assert [size_words(one) for one in (512, 4096, 3 << 29)] == ["512 bytes", "4 KiB", "1.5 GiB"]
    assert [time_words(one) for one in (85_000, 4_200_000, 1.5e9)] == ["85 us", "4.2 ms", "1.5 s"]


def test_the_documentation_lists_the_rules() -> None:
    page = (ROOT / "docs/findings.md").read_text()
    assert drawn(page) == page, "python -m fathom.findings.catalogue docs/findings.md"
    assert all(f"\n{row}\n" in page for row in rows())
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names) == len(FIRES)
    places = [rule.place for rule in RULES]
    assert places == sorted(set(places))


def test_a_scratch_file_that_was_made_again_is_the_same_target() -> None:
    # A resumed assessment gave each finding twice.
    results = [fabricated(size=GIB // 4) for _ in range(2)]
    for number, one in enumerate(results):
        one.raw["time_spans"][0]["targets"][0]["path"] = f"/data/.fathom-{number}/scratch.dat"
    assert len([one for one in find(results) if one.rule == "working-set-small"]) == 2
    (found,) = [one for one in find(results, target="/data") if one.rule == "working-set-small"]
    assert (found.target, found.judged_count) == ("/data", 2)
