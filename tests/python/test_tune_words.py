"""What a tuning says: ends of ranges, peaks, words that its runs carry, and the time it takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from fabricated import fabricated
from fathom.experiments._run_times import LEAST_RUN_S, expected_run_s
from fathom.experiments.axes import parse_axes
from fathom.experiments.compare.interleaved import TurnsPlan
from fathom.experiments.sweep.plan import plan_sweep
from fathom.experiments.tune._confirm import Confirming
from fathom.experiments.tune._reasons import reasons
from fathom.experiments.tune.experiment import plan_tune, tune
from fathom.experiments.tune.knee_search import Goal, KneeSearch
from fathom.runners.native import stored_figures
from fathom.stats import fit_scalability
from fathom.store import Store
from simulated_device import Load, SimulatedDevice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fathom.experiments.tune.knee_search import Load as SearchedLoad

LOADS = np.array([1, 2, 4, 8, 16, 32, 64, 128], float)


def by_threads(load: Load) -> float:
    """Return a rate that only threads raise, and that depth does not."""
    return 5000.0 * load.threads


def searched(
    shape: Callable[[Load], float], threads: str, depths: str, loads: list[SearchedLoad]
) -> KneeSearch:
    """Return a search that has measured these loads exactly."""
    plan = plan_tune(["-b4K", "-r", "x"], threads, depths)
    search, device = plan.search(), SimulatedDevice(shape)
    for load in loads:
        search.add(load, device.true_figures(Load(4096, *load)))
    return search


def said_of(search: KneeSearch, best: SearchedLoad) -> str:
    """Return why a load is the best."""
    return " ".join(one.text for one in reasons(search, best, None))


def test_defect_8_the_end_of_a_range_is_said_of_each_axis() -> None:
    # It was so: of a best at the end of the threads alone nothing was said.
    everywhere = [(threads, depth) for threads in (1, 2, 4, 8) for depth in (1, 2, 4)]
    search = searched(by_threads, "1..8", "1..4", everywhere)
    assert search.best() == (8, 1)
    said = said_of(search, (8, 1))
    assert "8 is the end of the range of threads, and throughput still rises there" in said
    assert "range of depth" not in said
    flat = searched(lambda _load: 5000.0, "1..8", "1..4", everywhere)
    said = said_of(flat, (8, 4))
    assert "range of threads, where more of it no longer brings more" in said
    assert "range of depth, where more of it no longer brings more" in said


def saturated(load: Load) -> float:
    """Return a rate that saturates at 32 outstanding, however these are divided."""
    return 10_000.0 * min(load.outstanding, 32)


def found_at_the_end(least: float, goal: Goal | None = None) -> KneeSearch:
    """Return a search that ends at a depth of 16, and whose load of 4 x 8 is slower by a little."""
    loads = [(2, 8), (2, 16), (4, 8), (4, 16), (8, 8), (8, 16), (1, 16), (8, 1), (1, 1)]
    search = searched(saturated, "1..8", "1..16", loads)
    search.goal = goal or Goal()
    slower = search.measured[4, 8][0]
    search.measured[4, 8] = [replace(slower, iops=slower.iops * least)]
    return search


def test_throughput_was_said_to_rise_at_the_end_of_a_range_of_a_saturated_target() -> None:
    """Loads with less depth and more outstanding were no faster: it grew and promised better."""
    search = found_at_the_end(0.999)
    said = said_of(search, (2, 16))
    assert "still rises" not in said
    assert "a wider range may have better" not in said
    assert (
        "16 is the end of the range of depth, but not what limits: 4 threads, depth 8 has" in said
    )
    assert search.enough((2, 16), 1) is not None
    # With half the threads its rate is half: threads are not what the depth was.
    assert search.enough((2, 16), 0) is None
    search.best = lambda: (2, 16)  # type: ignore[method-assign]
    assert not search.grow()


def test_depth_that_alone_raises_throughput_still_rises_at_its_end() -> None:
    """More threads bring nothing there, which says nothing of more depth."""
    everywhere = [(threads, depth) for threads in (1, 2, 4) for depth in (1, 2, 4, 8)]
    search = searched(lambda load: 5000.0 * load.depth, "1..4", "1..8", everywhere)
    assert search.best() == (1, 8)
    assert "8 is the end of the range of depth, and throughput still rises" in said_of(
        search, (1, 8)
    )
    assert search.grow()


def test_more_outstanding_that_breaks_the_limit_is_no_reason_for_a_wider_range() -> None:
    search = searched(
        lambda load: 8000.0 * load.outstanding**0.9,
        "1..8",
        "1..16",
        [(2, 8), (2, 16), (4, 8), (4, 16), (8, 8), (1, 16), (8, 1), (1, 1)],
    )
    least_ns, most_ns = (search.measured[load][0].latency_mean_ns for load in ((2, 16), (4, 16)))
    assert least_ns is not None
    assert most_ns is not None
    search.goal = Goal("mean", limit_ns=(least_ns + most_ns) / 2)
    said = said_of(search, (2, 16))
    assert "and 4 threads, depth 16 breaks the mean of" in said
    assert "may have better" not in said


def test_a_peak_of_throughput_that_only_falls_was_at_no_outstanding() -> None:
    """It was said: its peak is at 0 outstanding (1 to 1)."""
    law = fit_scalability([1, 2, 4, 8, 16], [1000, 700, 450, 270, 150])
    search = searched(by_threads, "1,2", "1", [(1, 1), (2, 1)])
    (words,) = [one.text for one in reasons(search, (1, 1), law) if "Scalability" in one.text]
    assert "throughput only falls from 1 outstanding on" in words
    assert "peak" not in words
    # Below the least load nothing was measured.
    law = fit_scalability([4, 8, 16, 32, 64], [1000, 800, 600, 400, 250])
    (words,) = [one.text for one in reasons(search, (1, 1), law) if "Scalability" in one.text]
    assert "its peak is at 4 outstanding or fewer (at most 5)" in words


def test_a_range_grows_where_throughput_still_rises_at_its_end(tmp_path: Path) -> None:
    def shape(load: Load) -> float:
        return 5000.0 * min(load.threads, 8)

    found = {}
    for grow in (False, True):
        with Store(tmp_path / f"{grow}.sqlite") as store:
            plan = plan_tune(["-b4K", "-r", "-o4", "x"], "1..4", "1..4", grow=grow)
            found[grow] = tune(store, SimulatedDevice(shape), plan)
    assert (found[False].threads, found[True].threads) == (4, 8)
    assert {load.threads for load in found[True].loads} == {1, 2, 4, 8, 16}
    said = " ".join(found[False].reasons)
    assert "4 is the end of the range of threads" in said


def test_an_interval_without_an_end_is_not_told() -> None:
    """It was told as "-100.0 to +inf %": a load without enough runs around it."""
    search = searched(by_threads, "1..2", "1..2", [(1, 1), (1, 2)])
    said = said_of(search, (1, 1))
    assert "throughput changes by" in said
    assert "inf" not in said
    assert "how much of that is chance, so few runs do not tell" in said


@pytest.mark.parametrize(
    ("mean", "busiest", "thread", "own", "words"),
    [
        # Another process had the other CPU; the thread of load slept at a limit of I/O.
        (50.0, 100.0, 0.7, 0.3, None),
        (50.0, 100.0, 99.0, 49.5, "a thread of load used 99 % of one CPU"),
        (100.0, 100.0, 100.0, 98.0, "all CPUs are busy (100 %): the machine is the limit"),
        (100.0, 100.0, 7.0, 12.0, "of which the threads of load used 12 %"),
        # What an older version kept does not tell whose it was.
        (50.0, 100.0, None, None, None),
    ],
)
def test_a_full_cpu_counts_by_whose_time_it_was(
    mean: float, busiest: float, thread: float | None, own: float | None, words: str | None
) -> None:
    """Under a limit of I/O it said *Core-bound*, and *more threads would spread the load*."""
    search = searched(by_threads, "1..2", "1..2", [(1, 1), (1, 2)])
    search.measured[1, 1] = [
        replace(
            one,
            cpu_percent=mean,
            busiest_cpu_percent=busiest,
            busiest_thread_percent=thread,
            load_cpu_percent=own,
        )
        for one in search.measured[1, 1]
    ]
    said = [one.text for one in reasons(search, (1, 1), None) if "CPU" in one.text]
    assert len(said) == (words is not None)
    assert words is None or words in said[0]


def test_the_cpu_time_of_a_run_is_that_of_its_threads() -> None:
    figures = stored_figures(fabricated(idle_percent=(95.0, 0.0)))
    assert figures.busiest_cpu_percent == 100
    assert figures.busiest_thread_percent is not None
    assert figures.load_cpu_percent is not None
    assert figures.load_cpu_percent <= figures.busiest_thread_percent < 95


def test_defect_8_a_peak_that_no_point_shows_has_no_number() -> None:
    # It was so: a peak at 9.0e12 outstanding.
    random = np.random.default_rng(2)
    for _ in range(10):
        rates = 1000 * LOADS / (1 + 0.1 * (LOADS - 1)) * np.exp(0.02 * random.standard_normal(8))
        law = fit_scalability(LOADS, rates)
        assert law.is_fitting
        assert not law.has_peak
        search = searched(by_threads, "1,2", "1", [(1, 1), (2, 1)])
        (words,) = [one.text for one in reasons(search, (2, 1), law) if "Scalability" in one.text]
        assert "its peak is not known" in words
        assert "e+" not in words.partition("its peak")[2]


def test_the_interval_of_a_peak_holds_it() -> None:
    random = np.random.default_rng(5)
    truth = 1000 * LOADS / (1 + 0.05 * (LOADS - 1) + 5e-4 * LOADS * (LOADS - 1))
    peak, held = np.sqrt(0.95 / 5e-4), 0
    for _ in range(40):
        law = fit_scalability(LOADS, truth * np.exp(0.02 * random.standard_normal(8)))
        assert law.has_peak
        held += law.peak_low <= peak <= law.peak_high
    assert held >= 36


@pytest.mark.parametrize(
    ("factor", "noise", "word"),
    [
        (1.0, 0.001, "Plateau:"),
        (0.8, 0.001, "Past the peak:"),
        (1.2, 0.001, "Still rising:"),
        (1.0, 0.08, "Plateau, rise or fall, which these runs do not tell:"),
    ],
)
def test_defect_8_a_word_for_the_next_step_is_one_that_the_interval_carries(
    factor: float, noise: float, word: str
) -> None:
    random = np.random.default_rng(1)
    said = [next_step(random, factor, noise) for _ in range(1 if noise < 0.01 else 8)]
    assert sum(one.startswith(word) for one in said) >= 0.6 * len(said)


def next_step(random: np.random.Generator, factor: float, noise: float) -> str:
    """Return what is said of twice the load, beyond which each step changes by a factor."""

    def shape(load: Load) -> float:
        rate = 1000.0 * min(load.depth, 8) * factor ** max(np.log2(load.depth / 8), 0)
        return float(rate * np.exp(noise * random.standard_normal()))

    search = searched(shape, "1", "1..64", [(1, 2**at) for at in range(7)] * 2)
    (found,) = [one for one in reasons(search, (1, 8), None) if "changes by" in one.text]
    assert found.loads == ((1, 16),)
    return found.text


def test_defect_8_a_load_of_a_quarter_is_run_unless_the_search_excludes_it() -> None:
    # It was so: 3 of 418 confirmed knees were 4 times too deep.
    def nearly_flat(load: Load) -> float:
        return 1000.0 * (1 - 0.09 / load.depth)

    random = np.random.default_rng(3)
    search = KneeSearch([1], [1, 2, 4, 8, 16], Goal())
    device = SimulatedDevice(nearly_flat)
    for depth in (1, 2, 4, 8, 16):
        figures = device.run(
            [f"-o{depth}", "-t1", "-b4K", "-d4", "-W0"], label=str(random.random())
        ).figures
        search.add((1, depth), figures)
    confirming = Confirming.of(search, (1, 8))
    assert min(depth for _, depth in confirming.loads) <= 2
    # What is far too slow is not run.
    steep = searched(lambda load: 1000.0 * load.depth, "1", "1..16", [(1, 2**n) for n in range(5)])
    assert min(depth for _, depth in Confirming.of(steep, (1, 16)).loads) >= 8


def test_the_time_foreseen_counts_with_the_shortest_run_that_there_is() -> None:
    # The stop rule asks for 2 s; runs of 0.8 s were foreseen.
    forecast = plan_tune(["x"], "1..8", "1..64").forecast()
    assert forecast.least_s >= forecast.least_runs * LEAST_RUN_S
    assert forecast.seconds >= forecast.runs * LEAST_RUN_S
    assert forecast.least_s < forecast.seconds < forecast.most_s
    axes = plan_sweep(["x"], parse_axes({"threads": "1..8", "depth": "1..64"}))[1]
    assert axes.seconds >= axes.measured_cells * LEAST_RUN_S
    assert expected_run_s(2.8, 0.0, 0) == pytest.approx(2.8)
    assert expected_run_s(2.8, 100.0, 10) == pytest.approx(8.34, abs=0.1)


@pytest.mark.parametrize("deviation", [0.005, 0.02, 0.05])
def test_how_many_pairs_there_will_be_is_told_before_the_pilot_has_ended(deviation: float) -> None:
    plan, held = TurnsPlan(("a",), ("b",)), 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        a, b = 1000 * np.exp(deviation / np.sqrt(2) * random.standard_normal((2, 60)))
        low, high = plan.foreseen_pairs(a[:6], b[:6])
        held += low <= plan.planned_pairs(a[:10], b[:10]) <= high
    assert held >= 48
