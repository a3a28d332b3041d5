"""A sweep that is killed loses no finished run, and goes on where it was."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fathom import InvalidRequestError, RunInterrupted
from fathom.experiments.axes import parse_axes
from fathom.experiments.sweep.experiment import resume_sweep, sweep
from fathom.experiments.sweep.plan import SweepPlan, plan_sweep
from fathom.runners import NativeRunner, RunOutcome
from fathom.store import Store
from our_data import our_data
from store_worker import CONTEXT, RESULT
from sweep_worker import CELLS, begin_or_resume

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KILLS = 20
# So that all moments are met: opening the store, resuming, measuring, saving.
MOST_RUNS = 2
LATEST_KILL_S = 0.03
SIZE_BYTES = 1 << 20


def killed_after(runs: int, seconds: float, store_path: str, target: str) -> list[int]:
    """Let a process sweep for so many runs and so long, kill it, and return the runs it told."""
    mine, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=begin_or_resume, args=(store_path, target, theirs))
    process.start()
    theirs.close()
    told = [mine.recv() for _ in range(runs + 1)]
    time.sleep(seconds)
    process.kill()
    process.join()
    try:
        while True:
            told.append(mine.recv())
    except EOFError:
        return [one for one in told if one != "ready"]


def test_a_sweep_killed_at_random_moments_loses_no_run_and_is_completed(tmp_path: Path) -> None:
    moments = random.Random(7)  # noqa: S311 - No secret.
    address, target = str(tmp_path / "store.sqlite"), tmp_path / "x.dat"
    target.write_bytes(our_data(SIZE_BYTES))
    told: list[int] = []
    for _ in range(KILLS):
        count, seconds = moments.randint(0, MOST_RUNS), moments.uniform(0, LATEST_KILL_S)
        told += killed_after(count, seconds, address, str(target))
        with Store(address) as store:
            assert set(told) <= {run.id for run in store.runs.list()}
    with Store(address) as store:
        before = {run.id for run in store.runs.list()}
        assert 0 < len(before) < CELLS
    begin_or_resume(address, str(target), None)
    with Store(address) as store:
        (listed,) = store.experiments.list(verb="sweep")
        experiment = store.experiments.get(listed.id)
        runs = store.runs.list()
        assert experiment.state == "complete"
        assert {step.state for step in experiment.steps} == {"done"}
        assert before <= {run.id for run in runs}
        # No cell was measured again that had been: a run and its step are saved together.
        assert Counter(run.step_id for run in runs) == {step.id: 1 for step in experiment.steps}
        assert experiment.outcome is not None
        cells = experiment.outcome["cells"]
        assert len(cells) == CELLS
        assert {cell["run_id"] for cell in cells} == {run.id for run in runs}
    with closing(sqlite3.connect(address)) as raw:
        check = raw.execute("PRAGMA integrity_check").fetchall()
    assert check == [("ok",)]


def test_a_sweep_that_was_interrupted_is_noted_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(our_data(SIZE_BYTES))
    plan, _ = plan_sweep(["-r", str(target)], parse_axes({"depth": "1..4"}), duration_s=1)
    regular = NativeRunner.run
    runs = 0

    def interrupted_late(
        runner: NativeRunner, arguments: Sequence[str], **more: object
    ) -> RunOutcome:
        nonlocal runs
        runs += 1
        if runs == 2:
            raise RunInterrupted(RESULT)
        return regular(runner, arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(NativeRunner, "run", interrupted_late)
    with Store(tmp_path / "store.sqlite") as store:
        with pytest.raises(RunInterrupted):
            sweep(store, NativeRunner(store), plan)
        (experiment,) = store.experiments.list(verb="sweep")
        assert (experiment.state, experiment.run_count) == ("interrupted", 1)
        found = resume_sweep(store, experiment.id, NativeRunner(store))
        assert found.count("measured") == 3
        assert runs == 4


class FailingRunner(NativeRunner):
    """Fails at these depths, and counts what is requested."""

    def __init__(self, store: Store, fails: set[str]) -> None:
        """Save into this store."""
        super().__init__(store)
        self._fails = fails
        self.asked: list[Sequence[str]] = []

    def run(self, arguments: Sequence[str], **more: object) -> RunOutcome:
        """Run, or fail."""
        self.asked.append(arguments)
        if self._fails & set(arguments):
            return RunOutcome(None, None, "the device said no")
        return super().run(arguments, **more)  # type: ignore[arg-type]


def test_what_failed_in_a_sweep_that_ended_is_tried_again_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(our_data(SIZE_BYTES))
    axes = parse_axes({"block": "4K..256K", "depth": "1..64"})
    arguments = ("-L", "-r", "--stop-ios=50", str(target))
    # Runs of 50 I/Os differ by orders of magnitude on a busy machine, and what the surface says of
    # its own error grows with that: only a tolerance beyond all of it leaves cells out for certain.
    plan = SweepPlan(arguments, axes, mode="fixed", duration_s=1, tolerance=1e30)
    with Store(tmp_path / "store.sqlite") as store:
        found = sweep(store, FailingRunner(store, {"-o1", "-o2"}), plan)
        failed = found.count("failed")
        assert failed > 1
        assert found.count("interpolated") > 0
        runner = FailingRunner(store, {"-o2"})
        again = resume_sweep(store, found.experiment_id, runner)
        assert len(runner.asked) == failed
        assert 0 < again.count("failed") < failed
        assert again.count("interpolated") == found.count("interpolated")
        assert (again.checked, again.within) == (found.checked, found.within)
        kept = store.experiments.get(found.experiment_id)
        assert kept.state == "complete"
        assert kept.failure == f"{again.count('failed')} cells failed"
        last = resume_sweep(store, found.experiment_id, FailingRunner(store, set()))
        assert last.count("failed") == 0
        assert store.experiments.get(found.experiment_id).failure is None
        with pytest.raises(InvalidRequestError, match="no cell failed"):
            resume_sweep(store, found.experiment_id, FailingRunner(store, set()))


def test_a_sweep_went_on_with_another_file_of_the_same_name(tmp_path: Path) -> None:
    target = tmp_path / "x.dat"
    target.write_bytes(our_data(SIZE_BYTES))
    arguments = ("-L", "-r", "--stop-ios=50", str(target))
    plan = SweepPlan(arguments, parse_axes({"depth": "1,2"}), mode="fixed", duration_s=1)
    with Store(tmp_path / "store.sqlite") as store:
        found = sweep(store, FailingRunner(store, {"-o2"}), plan)
        target.write_bytes(our_data(2 * SIZE_BYTES))
        with pytest.raises(
            InvalidRequestError, match=r"had 1,048,576 bytes when e1 .* 2,097,152 now"
        ):
            resume_sweep(store, found.experiment_id, NativeRunner(store))
        assert store.experiments.get(found.experiment_id).state == "complete"
        target.write_bytes(our_data(SIZE_BYTES))
        assert resume_sweep(store, found.experiment_id, NativeRunner(store)).count("failed") == 0
