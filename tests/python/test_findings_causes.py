"""What another cause explains: no rule says it of the storage, and no sentence compares it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from fabricated import GIB, fabricated
from fathom import Result
from fathom.findings import RULES, TargetEvidence, find
from fathom.findings.causes import (
    CORE_AT_ITS_LIMIT,
    DISTURBING,
    EXPLAINED,
    HOST_IN_THE_WAY,
    OTHERS_ANSWERED,
    STALLED,
    TITLES,
    apart,
    causes_of,
)
from fathom.findings.observed import Observed, observe
from fathom.findings.search import apply
from test_findings import FIRES, sweep, two, warned
from test_findings_warnings import kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.findings import Finding

NO_CAUSE = {
    "all_zero_data",
    "backend_fallback",
    "compressible_data",
    "constant_data",
    "device_unseen",
    "events_not_counted",
    "interrupted",
    "mixed_cores",
    "network_share",
    "no_effect",
    "range_beyond_target",
    "rate_not_reached",
    "response_behind_schedule",
    "server_answered",
    "short_io",
    "small_working_set",
    "stop_rule_not_met",
    "target_replaced",
    "unwritten_extents",
    "users_unseen",
}
# They tell what was seen of the run, the load or the hosts, and say nothing of the storage.
OF_THE_RUN = {
    "allocating-writes",
    "compressible-data",
    "constant-data",
    "cpu-contended",
    "cpu-taken-away",
    "cpu-throttled",
    "extents-changed",
    "host-lost",
    "hosts-apart",
    "idle-between-ios",
    "io-errors",
    "io-limited",
    "network-loss",
    "network-share",
    "no-device-seen",
    "no-room",
    "not-steady",
    "not-the-device",
    "nothing-completed",
    "null-data",
    "page-cache",
    "rate-not-reached",
    "reconnected",
    "resized",
    "server-answered",
    "server-window",
    "shared-blocks",
    "slow-host",
    "suspended",
}
# What each other rule may look past, as it explains nothing of what the rule is about.
PAST = {
    "bimodal-latency": CORE_AT_ITS_LIMIT | STALLED,
    "burst-credits": CORE_AT_ITS_LIMIT | STALLED,
    "cached-by-device": EXPLAINED - OTHERS_ANSWERED,
    "core-bound": CORE_AT_ITS_LIMIT | OTHERS_ANSWERED | {"idle_between_ios"},
    "device-cache": CORE_AT_ITS_LIMIT,
    "noisy-neighbour": CORE_AT_ITS_LIMIT | {"cpu_stolen"},
    "periodic-stalls": CORE_AT_ITS_LIMIT | STALLED,
    "shared-limit": EXPLAINED - DISTURBING - OTHERS_ANSWERED - {"io_limited"},
    "stalled": EXPLAINED - HOST_IN_THE_WAY | {"affinity_changed", "cpu_offline"},
    "too-good": EXPLAINED - OTHERS_ANSWERED,
    "working-set-small": EXPLAINED - {"not_the_device"},
    "write-through-not-honoured": CORE_AT_ITS_LIMIT,
}


def found(results: Sequence[Result], raid: str | None = None) -> list[Finding]:
    runs = [observe(result, 1 + place) for place, result in enumerate(results)]
    known = [one for one in runs if isinstance(one, Observed)]
    assert len(known) == len(results)
    return apply(TargetEvidence("made-up.dat", known, 16 * GIB, raid))


def with_beneath(result: Result, **beneath: object) -> Result:
    raw = json.loads(json.dumps(result.raw))
    raw["time_spans"][0]["beneath"] = beneath
    return Result.from_json(json.dumps(raw))


def test_each_kind_of_warning_is_a_cause_or_is_none() -> None:
    hint = "what explains bad figures stands in causes.py with its title, the rest in NO_CAUSE here"
    assert set(kinds()) ^ (EXPLAINED | NO_CAUSE) == set(), hint
    assert not EXPLAINED & NO_CAUSE
    assert set(TITLES) == EXPLAINED


@pytest.mark.parametrize("name", [rule.name for rule in RULES if rule.name not in OF_THE_RUN])
def test_no_rule_rests_on_a_run_that_another_cause_explains(name: str) -> None:
    """The knee of runs in memory was told, and stalls of threads that had no CPU."""
    results, raid = FIRES[name]
    assert name in [one.rule for one in found(results, raid)]
    for kind in sorted(EXPLAINED - PAST.get(name, frozenset())):
        everywhere = [warned(one, kind) for one in results]
        hint = (
            f"{name} looks past {kind}: explained_by=EXPLAINED, or it stands in PAST or OF_THE_RUN"
        )
        assert name not in [one.rule for one in found(everywhere, raid)], hint
        for place in range(len(results)):
            mixed = [*results]
            mixed[place] = warned(mixed[place], kind)
            for one in found(mixed, raid):
                if one.rule == name:
                    assert place + 1 not in {run for case in one.cases for run in case.run_ids}
                    assert one.left_out_count == 1


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_a_rule_that_looks_past_a_cause_is_one_that_may(name: str) -> None:
    """A new rule looks past nothing unless it says so."""
    (rule,) = [one for one in RULES if one.name == name]
    may = EXPLAINED if name in OF_THE_RUN else PAST.get(name, frozenset())
    # They leave out themselves what they compare.
    if name not in ("noisy-neighbour", "stalled"):
        hint = f"{name}: explained_by=EXPLAINED, or what it looks past in PAST or OF_THE_RUN here"
        assert EXPLAINED - rule.explained_by <= may, hint


def test_what_is_not_looked_at_is_counted() -> None:
    """Runs that were left out were so silently: *The greatest working set was 8 MiB* of 64 MiB."""
    whole = fabricated(size=GIB // 4, warnings=[("not_the_device", "Of 9 reads, 2 reached vda.")])
    part = fabricated(size=GIB // 4, limit=8 << 20)
    (one,) = [one for one in found([whole, part]) if one.rule == "working-set-small"]
    assert one.evidence.startswith(
        "The greatest working set, without 1 run that the device did not answer, was 8 MiB;"
    )
    assert one.left_out_count == 1
    bimodal = fabricated(latency_ns=two(90, 4_000, 0.3))
    (one,) = [
        one
        for one in found([bimodal, warned(bimodal, "io_limited"), fabricated()])
        if one.rule == "bimodal-latency"
    ]
    assert one.where == (
        "In 1 of 2 runs (run 1). 1 other is not looked at: another cause explains the figures."
    )


@pytest.mark.parametrize("kind", ["not_the_device", "io_limited", "cpu_contended"])
def test_two_populations_of_holes_memory_or_a_limit_are_no_tier(kind: str) -> None:
    """Of a file with holes it said *look for a cache or tier with hits and misses*."""
    one = warned(fabricated(latency_ns=two(2, 90, 0.3)), kind)
    assert "bimodal-latency" not in [finding.rule for finding in find([one])]


def stalled(length_s: float, waited_s: float, kind: str = "stalled") -> Result:
    """Return a run with a stall, whose threads waited so long for a CPU."""
    told = f"Thread 3 waited {length_s} s for its I/Os, from 0.18 s on, and none came back."
    if kind == "stalled_at_end":
        told = f"64 I/Os were in flight at its end, the oldest for {length_s:.3f} s."
    run = fabricated(warnings=[(kind, told), ("cpu_contended", "Threads waited for a CPU.")])
    return with_beneath(
        run,
        cpu={"waited_ns": int(waited_s * 1e9), "stolen_ns": 0},
        stalls=[{"thread": 3, "from_ns": 1, "length_ns": int(length_s * 1e9)}],
        layers=[],
        targets=[],
    )


@pytest.mark.parametrize("kind", ["stalled", "stalled_at_end"])
def test_a_thread_without_a_cpu_is_no_stall_of_the_target(kind: str) -> None:
    """*The target stalled (certain)* stood in a headline; its threads had waited for a CPU."""
    assert "stalled" not in [one.rule for one in find([stalled(0.79, 1.83, kind)])]
    # What is longer than all waiting together, nothing but the target explains.
    assert "stalled" in [one.rule for one in find([stalled(30.0, 9.0, kind)])]


def test_the_knee_is_not_told_of_memory_nor_of_loads_that_disagree_with_themselves() -> None:
    """It told *Keep about 1 outstanding*: the same load had given 390,671 and 594,114."""
    points = sweep((1, 390e3, 2.6), (32, 590e3, 54.0), (64, 600e3, 106.0))
    assert "past-the-knee" in [one.rule for one in find(points)]
    in_memory = [warned(one, "not_the_device") for one in points]
    assert "past-the-knee" not in [one.rule for one in find(in_memory)]
    again = fabricated(depth=1, rates=594e3, latency_ns=1.7)
    (knee,) = [one for one in find([*points, again]) if one.rule == "past-the-knee"]
    assert "Keep about 32 outstanding" in knee.remedy


def test_a_cache_of_the_drive_holds_for_each_run_of_the_load() -> None:
    """Of a load that was measured twice, the run that stood last was taken."""
    small = fabricated(latency_ns=100.0, limit=GIB)
    large = [fabricated(latency_ns=us, rates=1e6 / us) for us in (110.0, 300.0)]
    for pair in (large, large[::-1]):
        assert "device-cache" not in [one.rule for one in find([small, *pair])]


def test_runs_are_apart_by_what_one_of_them_has() -> None:
    plain, memory = fabricated(), fabricated(warnings=[("not_the_device", "So.")])
    busy = fabricated(warnings=[("cpu_contended", "So.")])
    assert apart(plain, plain) is None
    assert apart(plain, busy) == "other processes took the CPUs in one of the runs"
    assert apart(busy, busy) == "other processes took the CPUs in both runs"
    assert apart(memory, memory) is None
    assert apart(plain, memory) == "something else than the device answered in one of the runs"
    assert apart(plain, memory, expected=OTHERS_ANSWERED) is None
    assert causes_of(warned(busy, "short_io")) == {"cpu_contended"}


@pytest.mark.parametrize("kind", sorted(EXPLAINED - CORE_AT_ITS_LIMIT))
def test_each_cause_keeps_a_run_from_being_compared(kind: str) -> None:
    for pair in ((fabricated(), warned(fabricated(), kind)), (warned(fabricated(), kind), None)):
        reason = apart(fabricated(), *pair)
        assert reason is not None
        assert reason.startswith(TITLES[kind])
