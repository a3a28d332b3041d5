"""Findings: each rule is silent on ten cases that come near to what it fires on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import GIB, fabricated, latencies_ns
from fathom.findings import RULES, find
from test_findings import (
    CORE,
    FIRES,
    credits_used_up,
    fired,
    fleet,
    limited,
    no_room,
    noisy,
    reads_and_writes,
    sweep,
    there_before,
    two,
    write_through,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fathom import Result

Case = tuple["Sequence[Result]", "str | None"]
TEN = range(10)
DEPTHS = (1, 2, 4, 8, 16, 32)
# What the engine warns of besides what a rule is about.
WARNINGS = (
    *("page_cache", "all_zero_data", "rate_not_reached", "core_saturated", "cpu_stolen"),
    *("shared_sequential_blocks", "response_behind_schedule", "stop_rule_not_met", "io_errors"),
    *("short_io", "backend_fallback", "mixed_cores", "no_effect", "range_beyond_target"),
)


def _of_one_size() -> Iterator[Case]:
    """Ranges of one target, files that each run makes at its own size, and ones not reached."""
    for number in TEN[:4]:
        yield there_before(fabricated(), fabricated(limit=GIB << number)), None
    for number in TEN[4:8]:
        yield [fabricated(size=8 * GIB), fabricated(size=GIB << (number - 4))], None
    yield there_before(fabricated(), fabricated(size=0)), None
    yield [fleet(9e3, 9e3), fleet(9e3)], None


def _growing() -> Iterator[Case]:
    """Sweeps that end before the knee: each step still brings 4 % or more."""
    for number in TEN:
        power = 0.1 + 0.09 * number
        rates = [10e3 * depth**power for depth in DEPTHS]
        points = [
            (depth, rate, 1e6 * depth / rate) for depth, rate in zip(DEPTHS, rates, strict=True)
        ]
        yield sweep(*points), None


def _saturated() -> Iterator[Case]:
    """Sweeps whose last step brought little: the device is at its limit."""
    for number in TEN:
        most = 10e3 * (2 + number)
        rates = [min(10e3 * depth, most * (1 + 0.01 * depth)) for depth in DEPTHS]
        points = [
            (depth, rate, 1e6 * depth / rate) for depth, rate in zip(DEPTHS, rates, strict=True)
        ]
        yield sweep(*points), None


def _no_plateau() -> Iterator[Case]:
    """Larger blocks or more outstanding change the rate, if only by a twentieth."""
    for number in TEN:
        share = 0.94 - 0.05 * number
        yield limited((4, 4, 3_000.0), (16, 16, 3_000.0 * share), (64, 64, 3_000 * share**2)), None


def _no_step() -> Iterator[Case]:
    """Rates that decline steadily, scatter widely, or fall by less than a fifth."""
    for number in TEN[:4]:
        yield [fabricated(rates=np.linspace(10e3, 8e3 - 2e3 * number, 100))], None
    for number in TEN[4:7]:
        yield [fabricated(rates=noisy(10e3, 0.05 * (number - 2), seed=number))], None
    for number in TEN[7:]:
        yield [fabricated(rates=credits_used_up(0.82 + 0.03 * (number - 7)))], None


def _busy() -> Iterator[Case]:
    """Cores that are busy, which the engine did not find to be the limit."""
    for number in TEN:
        yield [fabricated(idle_percent=(2.0 + number, 90.0 - 8 * number))], None


def _warned(*own: str) -> Iterator[Case]:
    """Warnings about something else."""
    for kind in [one for one in WARNINGS if one not in own][:10]:
        yield [fabricated(warnings=[(kind, "It was so.")])], None


def _rates_kept() -> Iterator[Case]:
    for number in TEN:
        rate = 10.0 * 3**number
        yield [fabricated(rate={"iops": rate}, rates=rate)], None


def _working_sets_alike() -> Iterator[Case]:
    """Small working sets that take up to 1.45 times less, and not more."""
    for number in TEN:
        small = fabricated(latency_ns=100.0, limit=GIB)
        yield [fabricated(latency_ns=100.0 * (1 + 0.05 * number)), small], None


def _durable() -> Iterator[Case]:
    """Durable writes that take their time, or as long as the reads that come from the medium."""
    for number in range(5):
        yield write_through(100.0 + 500 * number, 20.0), None
        yield write_through(70.0 + 10 * number, 70.0 + 10 * number), None


def _large_sets() -> Iterator[Case]:
    for number in TEN:
        yield [fabricated(size=(4 + number**3) * GIB)], None


def _steady() -> Iterator[Case]:
    """Noise in which neighbours resemble each other, with a drift of at most 5 %."""
    for number in TEN:
        yield [fabricated(rates=noisy(10e3, 0.05, seed=number + 2) * _line(number))], None


def _line(number: int) -> Sequence[float]:
    return [float(one) for one in np.linspace(1.0, 1.0 - 0.005 * number, 100)]


def _one_population() -> Iterator[Case]:
    """Broad and narrow ones, a second one that is rare, and two that are near each other."""
    for number in range(4):
        yield [fabricated(latency_ns=latencies_ns(100, 0.1 + 0.2 * number))], None
    for number in range(3):
        yield [fabricated(latency_ns=two(90, 4_000, 0.01 * (1 + number)))], None
        yield [fabricated(latency_ns=two(90, 150 + 30 * number, 0.5))], None


def _irregular() -> Iterator[Case]:
    """Stalls at distances by chance, or too few of them."""
    gaps = (2, 3, 5, 8, 21, 3, 13, 30, 2)
    for number in range(8):
        rates = noisy(10e3, seed=number + 2)
        at = np.cumsum(np.roll(gaps, number))
        rates[at[at < rates.size]] = 500
        yield [fabricated(rates=rates)], None
    for count in (1, 3):
        rates = noisy(10e3)
        rates[20 : 20 + 25 * count : 25] = 500
        yield [fabricated(rates=rates)], None


def _same_twice() -> Iterator[Case]:
    for number in TEN:
        yield [fabricated(rates=10e3), fabricated(rates=10e3 / (1 + 0.024 * number))], None


def _penalties() -> Iterator[Case]:
    """Penalties that show, and quick writes where there is none to expect."""
    for level, share in (("raid5", 0.25), ("raid6", 0.17), ("raid10", 0.5), ("raid4", 0.3)):
        yield reads_and_writes(8_000 * share), level
        yield reads_and_writes(8_000 * share * 1.3), level
    for none in (None, "raid0"):
        yield reads_and_writes(8_000.0), none


def _quick_devices() -> Iterator[Case]:
    for number in TEN:
        yield [fabricated(latency_ns=5.5 + number, rates=1e6 / (5.5 + number))], None


def _fleets() -> Iterator[Case]:
    """Fleets whose hosts are nearly alike, begin nearly together, and add up."""
    for number in TEN:
        near = fleet(9e3 * (1 - 0.019 * number), 9e3, 9e3, outside_overlap_ns=number * 5_000_000)
        yield [near, fleet(9e3)], None


def _slow() -> Iterator[Case]:
    """Return runs of a few I/Os."""
    for number in TEN:
        yield [fabricated(rates=1.0 + number / 10)], None


NEAR: dict[str, Callable[[], Iterator[Case]]] = {
    "nothing-completed": _slow,
    "not-the-device": lambda: _warned("not_the_device"),
    "cpu-throttled": lambda: _warned("cpu_throttled"),
    "cpu-contended": lambda: _warned("cpu_contended"),
    "io-limited": lambda: _warned("io_limited"),
    "stalled": lambda: _warned("stalled", "stalled_at_end", "no_io_completed"),
    "io-errors": lambda: _warned("io_errors"),
    "no-room": lambda: (([no_room("EIO", rates=1e3 * one)], None) for one in range(1, 11)),
    "idle-between-ios": lambda: _warned("idle_between_ios"),
    "shared-blocks": lambda: _warned("shared_sequential_blocks"),
    "extents-changed": lambda: _warned("extents_changed"),
    "constant-data": lambda: _warned("constant_data"),
    "allocating-writes": lambda: _warned("allocating_writes"),
    "compressible-data": lambda: _warned("compressible_data"),
    "cached-by-device": lambda: _warned("small_working_set"),
    "network-share": lambda: _warned("network_share"),
    "network-loss": lambda: _warned("retransmits"),
    "reconnected": lambda: _warned("reconnected"),
    "server-window": lambda: _warned("server_window"),
    "no-device-seen": lambda: _warned("device_unseen"),
    "server-answered": lambda: _warned("server_answered"),
    "page-cache": lambda: _warned("page_cache"),
    "cpu-taken-away": lambda: _warned("affinity_changed", "cpu_offline"),
    "suspended": lambda: _warned("suspended"),
    "null-data": lambda: _warned("all_zero_data"),
    "too-good": _quick_devices,
    "core-bound": _busy,
    "noisy-neighbour": _same_twice,
    "rate-not-reached": _rates_kept,
    "device-cache": _working_sets_alike,
    "working-set-small": _large_sets,
    "write-through-not-honoured": _durable,
    "raid-penalty-absent": _penalties,
    "not-steady": _steady,
    "periodic-stalls": _irregular,
    "bimodal-latency": _one_population,
    "past-the-knee": _growing,
    "provisioned-limit": _no_plateau,
    "burst-credits": _no_step,
    "not-enough-outstanding": _saturated,
    "resized": _of_one_size,
    **dict.fromkeys(("host-lost", "slow-host", "hosts-apart", "shared-limit"), _fleets),
}


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_a_rule_is_silent_on_ten_cases_near_to_its_own(name: str) -> None:
    assert name in NEAR, f"{name}: give NEAR in test_findings_silent.py ten cases near to its own"
    cases = list(NEAR[name]())
    assert len(cases) == 10, "ten cases"
    wrong = [number for number, case in enumerate(cases) if name in fired(case)]
    assert wrong == []
    # The rule is not silent for having nothing to look at: on its own case it speaks.
    assert name in fired(FIRES[name])


def test_null_data_are_told_once_though_each_run_counts_again() -> None:
    results = [
        fabricated(warnings=[("all_zero_data", f"{count} of 64 places hold only zeros.")])
        for count in (64, 50, 30)
    ]
    assert fired((results, None)).count("null-data") == 1


@pytest.mark.parametrize(
    ("idle", "words"),
    [
        ((0.3, 97.0), "Measure with more threads (-t2)"),
        ((0.3, 1.0), "a faster host"),
    ],
)
def test_a_full_core_is_told_with_what_more_threads_would_bring(
    idle: tuple[float, float], words: str
) -> None:

    (found,) = find([fabricated(idle_percent=idle, warnings=[CORE])])
    assert words in found.remedy
    assert "more threads" in found.evidence


def test_idle_cores_promise_nothing_where_each_could_have_had_a_thread() -> None:
    """Two threads on two cores, of which one idles: a third thread is no remedy."""
    cell = {"idle_percent": (0.3, 97.0), "warnings": [CORE]}
    (found,) = find([fabricated(threads=2, **cell)])  # type: ignore[arg-type]
    assert "1 of 2 cores were at least half idle" in found.evidence
    assert "There is a thread for each core" in found.evidence
    assert found.remedy == "Mend it."
    assert "No run with more threads" not in found.evidence
    assert "-t4" not in found.remedy
    # With a core more than threads, more threads may still bring it in.
    more = {"idle_percent": (0.3, 97.0, 97.0), "warnings": [CORE]}
    (found,) = find([fabricated(threads=2, **more)])  # type: ignore[arg-type]
    assert "No run with more threads tells whether they help" in found.evidence
    assert "(-t4)" in found.remedy
