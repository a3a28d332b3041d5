"""Rules that took for the storage's what the request or the result itself tells otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from fabricated import GIB, fabricated
from fathom import Result
from fathom.findings import TargetEvidence, find
from fathom.findings.observed import Observed, observe
from fathom.findings.search import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fathom.findings import Finding


def changed(result: Result, change: Callable[[dict[str, Any]], object]) -> Result:
    """Return a copy of a result that ``change`` has altered."""
    raw = json.loads(json.dumps(dict(result.raw)))
    change(raw)
    return Result.from_json(json.dumps(raw))


def asked(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the time span that was requested."""
    span: dict[str, Any] = raw["request"]["profile"]["time_spans"][0]
    return span


def named(rule: str, results: Sequence[Result], raid: str | None = None) -> list[Finding]:
    """Return what a rule finds."""
    seen = [observe(one) for one in results]
    shown = [one for one in seen if isinstance(one, Observed)]
    found = apply(TargetEvidence("made-up.dat", shown, 16 * GIB, raid))
    return [one for one in found if one.rule == rule]


def test_the_pauses_of_bursts_are_no_stalls_of_the_device() -> None:
    """Of -i40000 -j800 it said that the device stalls every 1.2 s."""

    def in_bursts(raw: dict[str, Any]) -> None:
        asked(raw)["targets"][0] |= {"burst_ios": 40_000, "think_ms": 800}

    rates = np.full(120, 20_000.0)
    rates[5::6] = 0
    assert named("periodic-stalls", [fabricated(rates=rates)])
    assert not named("periodic-stalls", [changed(fabricated(rates=rates), in_bursts)])
    assert not named("periodic-stalls", [fabricated(rates=rates, rate={"iops": 20_000})])


def reads_and_writes(**load: object) -> list[Result]:
    """Return reads and writes that are as fast as each other."""
    rates = 500.0
    return [fabricated(rates=rates, depth=32, write=write, **load) for write in (0, 100)]  # type: ignore[arg-type]


def test_writes_at_a_requested_rate_say_nothing_of_the_penalty_of_raid() -> None:
    """500 of 500 requested reads and writes: *The write penalty of RAID does not show*."""
    assert named("raid-penalty-absent", reads_and_writes(), raid="raid5")
    paced = reads_and_writes(rate={"iops": 500})
    assert not named("raid-penalty-absent", paced, raid="raid5")


def test_whole_stripes_and_sequential_writes_have_no_penalty() -> None:
    """Of blocks of 8 MiB it said that *a small random write costs 4 I/Os*."""
    assert named("raid-penalty-absent", reads_and_writes(block_bytes=65_536), raid="raid5")
    for load in ({"block_bytes": 8 << 20}, {"block_bytes": 128 << 10}, {"random": 1}):
        assert not named("raid-penalty-absent", reads_and_writes(**load), raid="raid5"), load


def of_trims(done: int, failed: int, failed_writes: int = 0) -> Finding:
    """Return what is said of a run of trims, without a read or write that completed."""

    def with_trims(raw: dict[str, Any]) -> None:
        (row,) = raw["time_spans"][0]["threads"][0]["targets"]
        row["trim"] = row["write"] | {"ios": done, "errors": failed, "latency": None}
        row["write"]["errors"] = failed_writes

    (found,) = find([changed(fabricated(rates=0.0), with_trims)])
    return found


def test_trims_that_failed_are_not_hidden() -> None:
    """Of 510 trims, of which 500 failed, it said: *10 trims did*, and no more."""
    some = of_trims(10, 500)
    assert (
        some.evidence == "No read or write completed in 5.0 s; 10 trims did, and 500 trims failed."
    )
    assert "why I/Os failed" in some.remedy
    every = of_trims(0, 500, 7)
    assert every.title == "No I/O completed"
    assert every.evidence == (
        "No I/O completed in 5.0 s: all that came back failed (7 writes and 500 trims)."
    )
    assert "longer" not in every.remedy


def without_room(*kinds: str, ended_by: str | None = None, rates: float = 10_000.0) -> Finding:
    """Return what is said of writes that failed so, in a run that did not come to its end."""

    def with_faults(raw: dict[str, Any]) -> None:
        (row,) = raw["time_spans"][0]["threads"][0]["targets"]
        row["faults"] = [
            {"operation": "write", "kind": kind, "ios": 1_500, "outside_ios": 0} for kind in kinds
        ]
        raw["time_spans"][0]["outcome"] = "interrupted"
        if ended_by:
            failure = {"kind": "no_space", "code": ended_by, "message": "A write failed."}
            raw["failures"] = [failure]

    found = find([changed(fabricated(write=100, rates=rates), with_faults)])
    return next(one for one in found if one.rule == "no-room")


def test_what_somebody_ended_was_not_ended_by_want_of_room() -> None:
    """After Ctrl-C of a run with --on-error=continue: *which ended the run after 5.00 s*."""
    found = without_room("ENOSPC")
    assert "1,500 I/Os found no room to write (ENOSPC), and the run ended after 5.00 s" in (
        found.evidence
    )
    ended = without_room("ENOSPC", ended_by="ENOSPC")
    assert "(ENOSPC), which ended the run after 5.00 s" in ended.evidence
    assert "which ended" not in without_room("ENOSPC", ended_by="EIO").evidence
    assert "which ended" not in without_room("ENOSPC", rates=0.0).evidence


def test_a_quota_is_no_full_file_system() -> None:
    """Of EDQUOT alone it said ENOSPC, and to make room in a full file system."""
    found = without_room("EDQUOT")
    assert "no room to write (EDQUOT)" in found.evidence
    assert "Raise the quota" in found.remedy
    assert "full file system" not in found.remedy
    both = without_room("ENOSPC", "EDQUOT")
    assert "(EDQUOT and ENOSPC)" in both.evidence
    assert "quota" in both.remedy
    assert "make room" in both.remedy
    assert "quota" not in without_room("ENOSPC").remedy


FULL = ("core_saturated", "CPU 0 was 99.7 % busy.")


def sharing(threads: int, **made: object) -> Result:
    """Return a result of a load whose threads share all targets (-F)."""
    result = fabricated(**made)  # type: ignore[arg-type]
    return changed(result, lambda raw: asked(raw).update(thread_count=threads))


def test_threads_that_share_all_targets_are_set_by_their_own_flag() -> None:
    """Of a load with -F1 it said *use 2 threads (-t2)*, which DiskSpd refuses beside -F."""
    full = sharing(1, idle_percent=(0.3, 97.0, 97.0), warnings=[FULL])
    (alone,) = named("core-bound", [full])
    assert "(-F2)" in alone.remedy
    (measured,) = named("core-bound", [full, sharing(2, rates=20e3)])
    assert measured.remedy == "Use 2 threads (-F2)."
    plain = fabricated(idle_percent=(0.3, 97.0, 97.0), warnings=[FULL])
    assert "(-t2)" in named("core-bound", [plain])[0].remedy


def test_many_cores_that_idle_a_little_are_room_for_more_threads() -> None:
    """Of 15 cores that were idle for 49 %: *more threads will not help*."""
    (room,) = named("core-bound", [fabricated(idle_percent=[0.3] + 15 * [49.0], warnings=[FULL])])
    assert "Together they were idle like 7.4 whole ones." in room.evidence
    assert "will" not in room.evidence
    assert "Measure with more threads" in room.remedy
    (full,) = named("core-bound", [fabricated(idle_percent=[0.3] + 3 * [30.0], warnings=[FULL])])
    assert "less than one core, so that more threads will hardly help" in full.evidence


def test_runs_of_the_page_cache_are_not_called_those_of_the_device() -> None:
    """*Of the runs that the device answered*, it said of one that the page cache answered."""
    memory = fabricated(size=GIB, warnings=[("not_the_device", "It lies in memory.")])
    held = ("page_cache", "9 reads went through the page cache, which held 100.0 % of the 256 MiB.")
    (found,) = named("working-set-small", [memory, fabricated(size=GIB // 4, warnings=[held])])
    assert found.evidence.startswith(
        "The greatest working set, without 1 run that the device did not answer, was 256 MiB;"
    )


def test_a_size_that_is_written_alike_is_not_less() -> None:
    """*The greatest working set was 4 GiB; measure at least 4 GiB*."""

    def found(size_bytes: int) -> list[Finding]:
        def reach(raw: dict[str, Any]) -> None:
            raw["time_spans"][0]["targets"][0]["working_set_bytes"] = size_bytes

        return named("working-set-small", [changed(fabricated(size=5 * GIB), reach)])

    assert not found(4 * GIB - 65_536)
    assert found(4 * GIB - (64 << 20))


def test_a_run_with_stop_steady_is_not_advised_to_set_it() -> None:
    """It had --stop-steady, and was to *measure longer (-d, --stop-steady)*."""

    def remedy(cause: str | None) -> str:
        def until_steady(raw: dict[str, Any]) -> None:
            rule = {"intervals": 5, "range_milli": 20_000, "slope_milli": 10_000}
            asked(raw).setdefault("stop", {})["steady"] = rule
            told = {"interval_ns": 10**9, "intervals": 9, "steady": None, "confidence": None}
            raw["time_spans"][0]["stop"] = told | {"cause": cause} if cause else None

        unsteady = fabricated(rates=np.linspace(15e3, 7e3, 100))
        (found,) = named("not-steady", [changed(unsteady, until_steady)])
        return found.remedy

    for cause in ("duration", None):
        assert remedy(cause).startswith("Measure longer (-d, the longest time")
    assert remedy("steady").startswith("Warm up for longer (-W)")


def test_a_run_whose_credits_were_used_up_has_no_noisy_neighbour() -> None:
    """*Somebody else was busy*, of 10,000 and then 2,996 IOPS beside a run of 3,000."""
    rates = np.full(100, 10_000.0)
    rates[40:] *= 0.2996
    rates *= 1 + 0.01 * np.random.default_rng(1).standard_normal(100)
    step, low = fabricated(rates=rates), fabricated(rates=3_000.0)
    assert named("burst-credits", [step, low])
    assert not named("noisy-neighbour", [step, low])
    # It still is said of runs that nothing explains.
    (found,) = named("noisy-neighbour", [step, low, fabricated(rates=2_000.0)])
    assert found.run_count == 2
