"""Tuning that is killed loses no finished run, and goes on where it was."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from fathom import InvalidRequestError
from fathom.experiments.tune.experiment import plan_tune, resume_tune, tune
from fathom.store import Store
from our_data import our_data
from simulated_device import SHAPES, SimulatedDevice
from store_worker import CONTEXT
from tune_worker import begin_or_resume_tune

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 10
MOST_RUNS = 2
LATEST_KILL_S = 0.03
SIZE_BYTES = 1 << 20


def killed_after(runs: int, seconds: float, store_path: str, target: str) -> list[int]:
    """Let a process tune for so many runs and so long, kill it, and return the runs it told."""
    mine, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=begin_or_resume_tune, args=(store_path, target, theirs))
    process.start()
    theirs.close()
    told = []
    try:
        told += [mine.recv() for _ in range(runs + 1)]
        time.sleep(seconds)
        process.kill()
        while True:
            told.append(mine.recv())
    except EOFError:
        process.join()
        return [one for one in told if one != "ready"]


def test_tuning_killed_at_random_moments_loses_no_run_and_is_completed(tmp_path: Path) -> None:
    moments = random.Random(9)  # noqa: S311 - No secret.
    address, target = str(tmp_path / "store.sqlite"), tmp_path / "x.dat"
    target.write_bytes(our_data(SIZE_BYTES))
    told: list[int] = []
    for _ in range(KILLS):
        count, seconds = moments.randint(0, MOST_RUNS), moments.uniform(0, LATEST_KILL_S)
        told += killed_after(count, seconds, address, str(target))
        with Store(address) as store:
            assert set(told) <= {run.id for run in store.runs.list()}
            (listed,) = store.experiments.list(verb="tune")
            if listed.state == "complete":
                break
    if listed.state != "complete":
        begin_or_resume_tune(address, str(target), None)
    with Store(address) as store:
        (listed,) = store.experiments.list(verb="tune")
        experiment = store.experiments.get(listed.id)
        runs = store.runs.list()
        assert (experiment.state, listed.run_count) == ("complete", len(runs))
        assert {step.state for step in experiment.steps} == {"done"}
        # Nothing was measured again that had been, and nothing that was measured is left out.
        assert Counter(run.step_id for run in runs) == {step.id: 1 for step in experiment.steps}
        assert experiment.outcome is not None
        points = experiment.outcome["points"]
        assert sorted(point["run_id"] for point in points) == sorted(run.id for run in runs)
        assert set(told) <= {point["run_id"] for point in points}


def test_only_what_has_something_left_to_do_is_resumed(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        plan = plan_tune(["-b4K", "-r", "x"], "1..2", "1..4")
        found = tune(store, SimulatedDevice(SHAPES["saturation"]), plan)
        with pytest.raises(InvalidRequestError, match="complete"):
            resume_tune(store, found.experiment_id, SimulatedDevice(SHAPES["saturation"]))
        other = store.experiments.begin("sweep", "", {})
        with pytest.raises(InvalidRequestError, match="a sweep, no tune"):
            resume_tune(store, other, SimulatedDevice(SHAPES["saturation"]))
