"""Findings through a whole assessment: storage with a trait gives the finding, others do not."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.findings import Finding

GIB = 1 << 30
# A trait each, and a part of the evidence that its truth tells.
TRAITS = {
    "past-the-knee": (
        Truth(servers=8),
        "16 outstanding at once give 80,000 IOPS at 200 us, 64 give 80,000 at 800 us",
    ),
    "not-enough-outstanding": (Truth(servers=4_000), "from 16 to 64 outstanding"),
    "core-bound": (
        Truth(thread_iops=100_000, servers=4_000),
        "4 threads with 16 outstanding each gave 4.00 times its 100,000 IOPS",
    ),
    "device-cache": (Truth(cache_bytes=4 * GIB), "10 us within 4 GiB, and 100 us within 64 GiB"),
    "not-steady": (Truth(ends_at=0.5), "drift"),
    "bimodal-latency": (Truth(slow_share=0.3, slow_us=20_000.0), "30 % about"),
    "periodic-stalls": (Truth(stall_every_s=0.5), "every 0.5 s the rate fell"),
    "too-good": (Truth(read_us=2.0), "the quickest devices need 5 us"),
    "write-through-not-honoured": (
        Truth(read_us=5_000.0, write_us=20.0, durable_us=21.0),
        "Write-through takes 21 us, writes without it 20 us",
    ),
    "noisy-neighbour": (Truth(drift=-0.01), "the same load gave"),
}
# Storage without a trait: noise is usual, and the last depth of each saturation still brings a
# half more, so that it is neither too deep nor far too little.
PLAIN = [
    Truth(
        servers=20 + number,
        mib_per_s=3e6 / (60.0 * 1.9**number),
        read_us=60.0 * 1.9**number,
        write_us=40.0 * 1.9**number,
        durable_us=70.0 * 1.9**number,
        noise=0.02 + 0.003 * number,
    )
    for number in range(10)
]
# So that each run lasts long enough for what happens in time.
EFFORT = replace(EFFORTS["quick"], seconds=120, depths=(4, 16, 64), sequential_depths=(1, 4, 16))


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scale to as many threads as the simulated host has CPUs."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def findings_on(truth: Truth, folder: Path) -> list[Finding]:
    """Assess a file without blocks that is as large as the simulated storage."""
    file = folder / "large.dat"
    with file.open("xb") as opened:
        opened.truncate(64 * GIB)
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, {"": truth}, size_bytes=64 * GIB)
        found = assess(store, runner, [str(file)], EFFORT, writes=True, overwrite=True)
        outcome = store.experiments.get(found.experiment_id).outcome
    assert outcome is not None
    kept = [one["rule"] for one in outcome["targets"][0]["findings"]]
    assert kept == [one.rule for one in found.findings]
    return found.findings


@pytest.mark.parametrize("name", TRAITS)
def test_a_trait_of_the_storage_is_found(name: str, tmp_path: Path) -> None:
    truth, words = TRAITS[name]
    mine = [one for one in findings_on(truth, tmp_path) if one.rule == name]
    assert mine
    assert any(words in one.evidence for one in mine), [one.evidence for one in mine]
    assert all(one.source and one.remedy and one.confidence for one in mine)


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_storage_without_a_trait_gives_none_of_them(number: int, tmp_path: Path) -> None:
    found = {one.rule for one in findings_on(PLAIN[number], tmp_path)}
    assert found & set(TRAITS) == set()


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (Truth(thread_iops=100_000, servers=4_000), "4 threads (-t4)"),
        (Truth(thread_iops=100_000, servers=10), "More threads do not help"),
    ],
)
def test_a_full_core_is_told_with_whether_more_threads_help(
    truth: Truth, words: str, tmp_path: Path
) -> None:
    found = [one for one in findings_on(truth, tmp_path) if one.rule == "core-bound"]
    assert len(found) == 1
    assert words in found[0].remedy
