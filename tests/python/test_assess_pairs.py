"""Sentences of a verdict that compare two runs: nothing else than the load differs between them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fathom.experiments.assess import EFFORTS, assess
from fathom.findings.causes import OTHERS_ANSWERED
from fathom.store import Store
from simulated_storage import SimulatedStorage, Truth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from fathom.experiments.assess import TargetAssessment

MIB = 1 << 20
QUICK = replace(EFFORTS["quick"], size_bytes=64 * MIB)
CLEAN = Truth(servers=16, read_us=100.0, cached_us=5.0, thread_iops=50_000.0)
# One of each group of causes; test_findings_causes.py has all.
KINDS = ("not_the_device", "cpu_contended", "io_limited", "stalled", "io_errors")
Asked = dict[str, "Any"]


@pytest.fixture(autouse=True)
def _four_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def assessed(
    folder: Path, truth_of: Callable[[Asked, int], Truth], effort: object = QUICK
) -> TargetAssessment:
    """Assess a folder on storage whose truth may differ from load to load, and from run to run."""
    own = folder / "own"
    own.mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = SimulatedStorage(store, size_bytes=QUICK.size_bytes)

        def before(number: int) -> None:
            runner.truths = {"": truth_of(runner.asked[-1], number)}

        runner.before_run = before
        return assess(store, runner, [str(own)], effort).targets[0]  # type: ignore[arg-type]


def sentence(one: TargetAssessment, key: str) -> str:
    return next(claim.text for claim in one.verdict.claims if claim.key == key)


def is_random_read(asked: Asked, threads: int) -> bool:
    return (
        asked["block_bytes"] == 4096
        and not asked["write_percent"]
        and asked["threads"] == threads
        and asked["caching"] == "unbuffered"
        and not asked["limit_bytes"]
    )


def with_cause(kind: str) -> Truth:
    return replace(CLEAN, doubts=((kind, "It was so."),))


def test_undisturbed_runs_are_compared(tmp_path: Path) -> None:
    one = assessed(tmp_path, lambda _asked, _number: CLEAN)
    assert "4 threads complete" in sentence(one, "threads")
    assert "5.0 times as fast" in sentence(one, "caches")
    assert "at most" in sentence(one, "saturation")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 4])
def test_threads_are_not_blamed_for_what_another_cause_explains(
    kind: str, threads: int, tmp_path: Path
) -> None:
    """*More threads do not help: 0.33 times*: a limit had been set between the two runs."""

    def truth(asked: Asked, _number: int) -> Truth:
        mine = is_random_read(asked, threads) or (threads > 1 and asked["threads"] > 1)
        return with_cause(kind) if mine else CLEAN

    words = sentence(assessed(tmp_path, truth), "threads")
    assert words.startswith("Whether more threads help is not known: "), words
    assert words.endswith(" in one of the runs.")
    assert "do not help" not in words


def test_a_pair_that_tells_something_is_taken(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        return with_cause("cpu_contended") if is_random_read(asked, 4) else CLEAN

    assert "2 threads complete" in sentence(assessed(tmp_path, truth), "threads")


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_cache_is_compared_with_the_device_alone(kind: str, tmp_path: Path) -> None:
    """On zram and tmpfs it was read 1.5 and 1.9 times as fast as memory: noise."""

    def truth(asked: Asked, _number: int) -> Truth:
        part = 0 < asked["limit_bytes"] < QUICK.size_bytes and asked["caching"] == "unbuffered"
        return with_cause(kind) if part else CLEAN

    words = sentence(assessed(tmp_path, truth), "caches")
    assert "times as fast" not in words
    assert ("past it, too" in words) is (kind in OTHERS_ANSWERED)


def test_the_page_cache_is_compared_over_the_same_range(tmp_path: Path) -> None:
    """The run over the whole file took its part, and what the file holds there is another thing."""
    truth = replace(CLEAN, cache_bytes=QUICK.size_bytes // 2, cached_us=10.0)
    words = sentence(assessed(tmp_path, lambda _asked, _number: truth), "caches")
    assert words.startswith("Through the system's own memory (page cache) reads were not faster")


def test_a_difference_within_what_one_load_differs_is_not_told(tmp_path: Path) -> None:
    """The first load gave 390,671 IOPS at the beginning, and 594,114 at the end."""

    def truth(asked: Asked, number: int) -> Truth:
        if asked["caching"] != "unbuffered":
            return replace(CLEAN, cached_us=80.0)
        return CLEAN if number > 1 else replace(CLEAN, read_us=180.0)

    one = assessed(tmp_path, truth)
    assert "gave 5,5" in sentence(one, "caches")
    assert "at different times" in sentence(one, "caches")
    # Four times as much is more than that.
    assert "at most" in sentence(one, "saturation")


def test_the_knee_and_the_end_of_a_saturation_are_of_undisturbed_runs(tmp_path: Path) -> None:
    """Runs that waited for a CPU ended the saturation: *It completes at most* their rate."""
    effort = replace(EFFORTS["default"], size_bytes=64 * MIB)
    fast = Truth(servers=64, read_us=100.0)

    def truth(asked: Asked, _number: int) -> Truth:
        if is_random_read(asked, 1) and asked["outstanding"] in {4, 8}:
            return replace(fast, servers=2, doubts=(("cpu_contended", "It was so."),))
        return fast

    one = assessed(tmp_path, truth, effort)
    assert one.plan.knee("random") == 64
    states = {cell.cell.key: cell.state for cell in one.plan.cells}
    assert states["random-64"] == "done"
    words = sentence(one, "saturation")
    assert "at most" not in words
    assert "other processes took the CPUs in 2 of " in words


def test_durable_writes_are_not_set_beside_disturbed_ones(tmp_path: Path) -> None:
    def truth(asked: Asked, _number: int) -> Truth:
        alone = asked["outstanding"] == 1 and asked["write_percent"] == 100
        disturbed = alone and not asked["write_through"]
        return with_cause("cpu_contended") if disturbed else CLEAN

    assert sentence(assessed(tmp_path, truth), "durable").endswith(
        "which cannot be compared: other processes took the CPUs in one of the runs."
    )
