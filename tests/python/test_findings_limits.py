"""What findings say of limits: of outstanding I/O, of hosts together, and of what is too good."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricated import fabricated, latencies_ns
from fathom import Result
from fathom.findings import find
from fathom.stats.histogram import from_values
from test_findings import fleet, limited
from test_findings_loads import asked, rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.findings import Finding


def of_rule(name: str, *results: Result) -> Finding:
    """Return the one finding of a rule."""
    (found,) = [one for one in find(results) if one.rule == name]
    return found


def hosts(rates: Sequence[float], depth: int, latency_us: float) -> Result:
    """Return a result of hosts with these rates, this depth on each, and this latency."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(fleet(*rates).raw)))
    buckets = from_values(latencies_ns(latency_us))
    for thread in raw["time_spans"][0]["threads"]:
        for row in thread["targets"]:
            own = row["read"]["latency"]
            own |= {"bucket_lower_ns": [int(one) for one in buckets]}
            own |= {"bucket_counts": [int(one) for one in buckets.values()]}
            own |= {"sum_ns": int(latency_us * 1e3 * own["count"])}
    return asked(Result.from_json(json.dumps(raw)), outstanding=depth)


def test_a_limit_that_somebody_set_was_not_yet_the_greatest_rate_of_the_device() -> None:
    """One page had both: a provisioned limit of 3,000 IOPS, and "allow more outstanding I/O"."""
    rising = limited((1, 4, 1_490.0), (4, 4, 3_000.0))
    assert "not-enough-outstanding" in rules(*rising)
    found = rules(*rising, *limited((16, 16, 3_010.0), (64, 64, 2_990.0)))
    assert "provisioned-limit" in found
    assert "not-enough-outstanding" not in found
    # What grows beyond it is no matter of the limit.
    others = [fabricated(write=100, depth=depth, rates=depth * 400.0) for depth in (1, 4)]
    assert "not-enough-outstanding" in rules(*rising, *others)


def test_a_total_of_all_threads_was_the_value_of_o() -> None:
    """-t8 -o4 was advised as "32 outstanding at once (-o)", of which -o32 makes 256."""
    points = ((1, 80e3, 100.0), (4, 160e3, 200.0), (32, 161e3, 1590.0))
    runs = [fabricated(threads=8, depth=d, rates=rate, latency_ns=us) for d, rate, us in points]
    found = of_rule("past-the-knee", *runs)
    assert found.remedy == "Keep about 32 outstanding at once (-o4 with 8 threads); more only wait."
    alone = [fabricated(depth=8 * d, rates=rate, latency_ns=us) for d, rate, us in points]
    assert "at once (-o32); " in of_rule("past-the-knee", *alone).remedy
    shared = [
        asked(one, span={"thread_count": 8, "request_count": depth})
        for one, (depth, *_) in zip(runs, points, strict=True)
    ]
    assert "(-O4 with 8 threads)" in of_rule("past-the-knee", *shared).remedy
    growing = of_rule("not-enough-outstanding", *shared[:2])
    assert "(-O) or threads (-F)" in growing.remedy


def test_what_each_host_has_outstanding_was_that_of_the_fleet() -> None:
    """It said "8 outstanding at once give 40,000 IOPS" of four hosts with 8 each."""
    runs = [hosts([5e3] * 4, 1, 200), hosts([10e3] * 4, 8, 800), hosts([10.1e3] * 4, 32, 3200)]
    found = of_rule("past-the-knee", *runs)
    assert "8 outstanding at once on each host give 40,000 IOPS" in found.evidence
    assert found.remedy.startswith("Keep about 8 outstanding at once on each host (-o8); ")
    growing = of_rule("not-enough-outstanding", hosts([5e3] * 4, 4, 800), hosts([9e3] * 4, 8, 800))
    assert "from 4 to 8 outstanding I/Os on each host the rate still grew" in growing.evidence
    one = of_rule("not-enough-outstanding", *limited((4, 4, 5e3), (8, 4, 9e3)))
    assert "outstanding I/Os the rate" in one.evidence


def test_a_rate_that_was_asked_for_was_a_limit_that_hosts_share() -> None:
    few, many = fleet(9e3), fleet(4.6e3, 4.6e3)
    assert "shared-limit" in rules(few, many)
    for paced in ({"options": {"total_iops": 9000}}, {"rate": {"iops": 9000}}):
        assert "shared-limit" not in rules(*(asked(one, **paced) for one in (few, many)))


def carrying(result: Result, block_bytes: int) -> Result:
    """Return a result whose reads have this size."""
    raw: dict[str, Any] = json.loads(json.dumps(dict(result.raw)))
    for thread in raw["time_spans"][0]["threads"]:
        for row in thread["targets"]:
            row["read"]["bytes"] = row["read"]["ios"] * block_bytes
    return asked(Result.from_json(json.dumps(raw)), block_bytes=block_bytes)


def test_what_a_fleet_carries_together_was_too_much_for_one_slot() -> None:
    """16 hosts with 8,000 MiB/s each: 128,000 MiB/s is more than one has lanes for."""
    assert "too-good" not in rules(carrying(fleet(*[8e3] * 16), 1 << 20))
    alone = carrying(fleet(120e3), 1 << 20)
    assert ": 120,000 MiB/s is more than" in of_rule("too-good", alone).evidence
    one_of_two = carrying(fleet(8e3, 120e3), 1 << 20)
    assert ": 120,000 MiB/s of host h1 is more than" in of_rule("too-good", one_of_two).evidence


def test_twice_the_rate_that_was_asked_for_was_what_more_threads_gave() -> None:
    """-g500i with one thread and with two: "more threads help", by 2.00 times."""
    full = ("core_saturated", "CPU 0 was 99.7 % busy.")
    one = fabricated(idle_percent=(0.3, 97.0), warnings=[full], rates=500.0)
    two = fabricated(threads=2, rates=1000.0)
    assert "more threads help" in of_rule("core-bound", one, two).evidence
    paced = [asked(result, rate={"iops": 500}) for result in (one, two)]
    assert "more threads help" not in of_rule("core-bound", *paced).evidence
