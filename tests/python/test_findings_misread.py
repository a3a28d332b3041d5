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
