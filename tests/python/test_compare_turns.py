"""A and B interleaved: drift is no difference, and what is there is found."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fathom import InvalidRequestError, RunFailedError
from fathom.cli import main
from fathom.experiments.compare._figures import compare_figures
from fathom.experiments.compare.interleaved import (
    TurnsPlan,
    compare_interleaved,
    compared_interleaved,
    resume_interleaved,
)
from fathom.experiments.compare.saved import compare_runs
from fathom.experiments.repeat import RepeatPolicy
from fathom.runners import NativeRunner
from fathom.runners import measure as _measure
from fathom.stats import compare_means, planned_count
from fathom.store import Store
from prepare_worker import Killed
from simulated import experiments, many, troubled
from test_repeat import result_with
from test_stats_compare import NOISES, figures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import fathom
    from fathom.experiments.progress import Progress
    from fathom.stats import Comparison

# Twice the 5 % in which equals may differ would be found in 97 of 100 tests, with two deviations of
# chance on top; without these, 8 % in 98 of 100.
SEEDS = many(400)
PLAN = TurnsPlan(("-o8", "x"), ("-o16", "x"), seed=1)
MOST = PLAN.most


Rows = np.ndarray


@cache
def drawn_orders(seed: int) -> np.ndarray:
    """Return which pairs begin with B."""
    plan = TurnsPlan(("x",), ("x",), seed=seed)
    return np.array([plan.order(pair) == ("b", "a") for pair in range(MOST)], int)


def chosen(series: np.ndarray, seed: int, factor: float = 1.0) -> tuple[Rows, Rows, int]:
    """Return the runs of A and of B that the verb would make of rows in the order of time.

    The first column is the rate; B is so many times faster.
    """
    plan = TurnsPlan(("x",), ("x",), seed=seed)
    firsts = drawn_orders(seed)
    places = np.arange(0, 2 * MOST, 2)
    a, b = series[places + firsts], series[places + 1 - firsts]
    b[:, 0] *= factor
    pairs = plan.planned_pairs(a[:, 0], b[:, 0])
    return a[:pairs], b[:pairs], plan.pilot


def alone(series: np.ndarray, seed: int) -> bool:
    """Whether the rate differs."""
    a, b, pilot = chosen(series[:, None], seed)
    one = compare_means([*a[:, 0]], [*b[:, 0]], a_pilot=pilot, in_turns=True, is_drawn=True)
    return one.is_different


def whole(rows: np.ndarray, seed: int, factor: float = 1.0) -> Mapping[str, Comparison]:
    """Compare a rate and what goes with it, as one family."""
    *sides, pilot = chosen(rows, seed, factor)
    of_a, of_b = (replace(figures_of(side), pilot=pilot) for side in sides)
    return compare_figures(of_a, of_b, in_turns=True, is_drawn=True).metrics


def with_tails(random: np.random.Generator, rates: np.ndarray) -> np.ndarray:
    """Return rows of rates and of two figures with noise of their own."""
    return np.column_stack([rates, *np.exp(0.05 * random.standard_normal((2, len(rates))))])


def drifts(random: np.random.Generator, count: int) -> np.ndarray:
    """Return a drift of 10 % over two repetitions, in waves and steps at times by chance."""
    at = np.linspace(0, 1, count)
    wave = 0.05 * np.sin(2 * np.pi * (random.uniform(0.3, 1.5) * at + random.uniform()))
    step = 0.05 * random.standard_normal() * (at > random.uniform(0.1, 0.9))
    return np.asarray(np.exp(wave + step))


def test_drift_that_fools_consecutive_repetitions_does_not_fool_turns() -> None:
    policy, alarms, fooled = RepeatPolicy(), 0, 0
    for seed in range(SEEDS):
        random = np.random.default_rng([21, seed])
        series = troubled(random, 0.5, (2 * MOST,), 0.01) * drifts(random, 2 * MOST)
        alarms += alone(series, seed)
        wanted = planned_count(
            series[: policy.pilot], relative_half_width=policy.relative_half_width
        )
        count = min(wanted, policy.most)
        a, b = series[:count], series[count : 2 * count]
        pilot = policy.pilot
        fooled += compare_means([*a], [*b], a_pilot=pilot, b_pilot=pilot).is_different
    assert alarms / SEEDS <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SEEDS)
    assert fooled >= 0.1 * SEEDS


def test_interleaved_no_figure_of_many_differs_falsely_in_95_percent_of_the_comparisons() -> None:
    count, alarms = many(200), 0
    for seed in range(count):
        random = np.random.default_rng([24, seed])
        series = troubled(random, 0.5, (2 * MOST,), 0.01) * drifts(random, 2 * MOST)
        found = whole(with_tails(random, series), seed)
        alarms += any(one.is_different for one in found.values())
    assert alarms / count <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / count)


@pytest.mark.parametrize("coefficient", [0.0, 0.3, 0.7, 0.9])
def test_equals_interleaved_seldom_differ_however_much_neighbours_resemble_each_other(
    coefficient: float,
) -> None:
    random = np.random.default_rng([22, int(10 * coefficient)])
    series = troubled(random, coefficient, (SEEDS, 2 * MOST), 0.02)
    alarms = [alone(one, seed) for seed, one in enumerate(series)]
    assert np.mean(alarms) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SEEDS)


@pytest.mark.parametrize("noise", NOISES)
def test_a_slowdown_of_3_percent_is_found_interleaved_at_the_default_effort(
    noise: tuple[float, float, float],
) -> None:
    count, found = many(100), 0
    random = np.random.default_rng([23, int(sum(noise) * 1_000)])
    series = experiments(random, (count, 2 * MOST, 10), noise).mean(axis=-1)
    for seed, one in enumerate(series):
        rows = with_tails(random, one * drifts(random, 2 * MOST))
        rate = whole(rows, seed, 0.97)["iops"]
        found += rate.is_different and rate.change < 0
    assert found >= 0.90 * count


class Machine:
    """Stands for the engine: it slows down with every run, and ``-o16`` changes what it does."""

    def __init__(
        self, factor: float = 1.0, noise: float = 0.004, at: Callable[[int], None] | None = None
    ) -> None:
        """Let B be so many times faster; ``at`` is called with the number of each run."""
        self.sides: list[str] = []
        self._factor, self._noise = factor, noise
        self._random = np.random.default_rng(5)
        self._at = at

    def run(self, arguments: Sequence[str], **_more: object) -> fathom.Result:
        """Return the next result."""
        if self._at is not None:
            self._at(len(self.sides) + 1)
        self.sides.append("b" if "-o16" in arguments else "a")
        speed = np.exp(self._noise * self._random.standard_normal() - 0.004 * len(self.sides))
        if self.sides[-1] == "b":
            speed *= self._factor
        return result_with(float(speed), outstanding=16 if self.sides[-1] == "b" else 8)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """Return a store in a file; what is tested here does not depend on its kind."""
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def machine(monkeypatch: pytest.MonkeyPatch, **traits: Any) -> Machine:  # noqa: ANN401 - Of it.
    """Put a machine in the place of the engine."""
    made = Machine(**traits)
    monkeypatch.setattr(_measure, "run_kept", made.run)
    return made


def test_pairs_that_say_nothing_at_all_end_in_no_error(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interval began at -100 %, which has no logarithm.
    machine(monkeypatch, noise=0.5)
    plan = replace(PLAN, pilot=2, most=2, confidence=0.9999)
    found = compare_interleaved(kept, NativeRunner(kept), plan)
    assert found.comparison is not None
    change = found.comparison.metrics["iops"]
    assert (change.low, change.is_different, found.is_precise) == (-1.0, False, False)


def test_one_command_runs_both_by_turns_and_keeps_one_experiment(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine(monkeypatch, factor=0.97)
    told: list[Progress] = []
    found = compare_interleaved(
        kept, NativeRunner(kept), PLAN, label="night", on_progress=told.append
    )
    pairs = [made.sides[at : at + 2] for at in range(0, len(made.sides), 2)]
    assert all(sorted(one) == ["a", "b"] for one in pairs)
    # Chance draws which comes first.
    assert {one[0] for one in pairs} == {"a", "b"}
    assert found.is_precise
    assert found.comparison is not None
    change = found.comparison.metrics["iops"]
    assert (change.in_turns, change.is_different) == (True, True)
    assert change.low < -0.03 < change.high
    assert found.comparison.differences == ["The load differs: depth is 8 in A and 16 in B."]
    experiment = kept.experiments.get(found.experiment_id)
    assert (experiment.verb, experiment.state, experiment.name) == ("compare", "complete", "night")
    assert experiment.run_count == len(made.sides) == 2 * len(found.a_run_ids)
    assert [step.parameters["side"] for step in experiment.steps] == made.sides
    assert experiment.outcome is not None
    assert experiment.outcome["metrics"]["iops"]["change"] == change.change
    assert told[-1].done == told[-1].expected == len(made.sides)
    # Later it is compared again, and never taken for one side.
    again = compared_interleaved(kept, found.experiment_id)
    assert again == found
    with pytest.raises(InvalidRequestError, match="an A and a B already"):
        compare_runs(kept, f"e{found.experiment_id}", "1")


def test_what_is_asked_decides_how_many_runs_there_are(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine(monkeypatch, noise=0.0005)
    compare_interleaved(kept, NativeRunner(kept), PLAN)
    calm = len(made.sides)
    assert calm == 2 * PLAN.pilot
    made = machine(monkeypatch, noise=0.02)
    plan = TurnsPlan(PLAN.a, PLAN.b, pilot=4, most=7, seed=1)
    found = compare_interleaved(kept, NativeRunner(kept), plan)
    assert (len(made.sides), found.is_precise) == (14, False)
    # The 99th percentile of all these runs is the same: its condition takes no more than the pilot.
    made = machine(monkeypatch, noise=0.02)
    plan = TurnsPlan(PLAN.a, PLAN.b, conditions=("p99>+5%",), pilot=4, most=7, seed=1)
    found = compare_interleaved(kept, NativeRunner(kept), plan)
    assert (len(made.sides), found.is_precise) == (8, True)


@pytest.mark.parametrize("dies_at", [1, 2, 7, 8, 21, 22])
def test_a_killed_comparison_goes_on_with_whole_pairs(
    kept: Store, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    def die(number: int) -> None:
        if number == dies_at:
            raise Killed

    plan = TurnsPlan(PLAN.a, PLAN.b, relative_half_width=0.004, pilot=10, most=14, seed=1)
    first = machine(monkeypatch, at=die)
    with pytest.raises(Killed):
        compare_interleaved(kept, NativeRunner(kept), plan)
    # A process that is killed says nothing.
    kept.experiments.finish(1, "running")
    before = {run.id for run in kept.runs.list()}
    second = machine(monkeypatch)
    found = resume_interleaved(kept, 1, NativeRunner(kept))
    used = {*found.a_run_ids, *found.b_run_ids}
    # Half a pair has lost its neighbour; whole pairs are not run again.
    whole = len(first.sides) // 2 * 2
    assert len(before & used) == whole
    assert len(used) == whole + len(second.sides) == 28
    assert found.comparison is not None
    assert found.comparison.metrics["iops"].a_runs == 14
    with pytest.raises(InvalidRequestError, match="is complete"):
        resume_interleaved(kept, 1, NativeRunner(kept))


def test_a_failure_ends_it_and_whole_pairs_are_compared(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> None:
        if number == 8:
            raise RunFailedError("the disk is gone", result_with(1))

    machine(monkeypatch, at=fail)
    found = compare_interleaved(kept, NativeRunner(kept), PLAN)
    assert found.failure is not None
    assert found.failure.endswith("the disk is gone")
    assert (len(found.a_run_ids), found.comparison is not None) == (3, True)
    assert kept.experiments.get(found.experiment_id).state == "failed"


def test_a_plan_that_makes_no_sense_is_refused() -> None:
    for wrong in ({"pilot": 1}, {"most": 5}, {"confidence": 95.0}, {"relative_half_width": 0.0}):
        with pytest.raises(ValueError, match=r"pilot|precision|confidence"):
            TurnsPlan(("x",), ("x",), **wrong)
    with pytest.raises(ValueError, match="no metric"):
        TurnsPlan(("x",), ("x",), metrics=("p98",))


def test_the_command_measures_interleaved_and_its_exit_code_tells_a_slowdown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # The loads are simulated, and their targets looked at first.
    monkeypatch.chdir(tmp_path)
    for name in ("x.dat", "a.dat", "b.dat"):
        with Path(name).open("wb") as file:
            file.truncate(1 << 20)

    def compare(*args: str) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["fathom", "compare", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return ended.value.code or 0, shown.out, shown.err

    made = machine(monkeypatch, factor=0.9)
    common = ("-b4K", "-r", "-L", "x.dat")
    code, out, err = compare("--run", "-o8", "-o16", *common, "--fail-if", "iops<-5%")
    assert (code, "iops changed by -" in err) == (5, True)
    assert "worse" in out
    assert "Saved as experiment e1" in out
    assert len(made.sides) == 20
    with Store(os.environ["FATHOM_STORE"]) as store:
        plan = store.experiments.get(1).plan
        assert (plan["a"], plan["b"]) == (
            ["-b4K", "-r", "-L", "-o8", "x.dat"],
            ["-b4K", "-r", "-L", "-o16", "x.dat"],
        )
    assert compare("e1", "--fail-if", "iops<-15%")[0] == 0
    assert compare("e1", "--fail-if", "iops<-5%")[0] == 5
    whole = json.loads(compare("e1", "--json")[1])
    assert whole["metrics"]["iops"]["a_runs"] == len(whole["a_run_ids"]) == 10
    # Two targets with one load, and a workload with two targets.
    machine(monkeypatch)
    assert compare("--run", "a.dat", "b.dat", "-b4K", "-r", "-w0")[0] == 0
    sizes = ("--pilot", "2", "--most", "2")
    assert compare("--run", "sql-log a.dat", "sql-log b.dat", "-d1", *sizes)[0] == 0
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert store.experiments.get(2).plan["b"] == ["-b4K", "-r", "-w0", "b.dat"]
        assert store.experiments.get(3).plan["b"][-1] == "b.dat"
        assert "-d1" in store.experiments.get(3).plan["b"]
    for args, words in (
        (("--run", "-o8", "-o16", "-b4K"), "target"),
        (("--run", "-o8", "-o16", "--resume", "last", *common), "give one"),
        (("--run", "-o8", "-o16", "--pilot", "1", *common), "pilot"),
        (("--resume", "last"), "no compare to go on with"),
        (("e1", "e2", "e3"), "name A and B"),
        (("e1", "--fail-fi=x"), "no option --fail-fi"),
        (("golden",), "alone has nothing"),
        (("e99",), "e99"),
    ):
        code, _, err = compare(*args)
        assert (code, words in err) == (3, True), (args, err)
