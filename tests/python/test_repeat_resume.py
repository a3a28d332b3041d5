"""A repetition that is killed goes on where it was, and its targets may be preconditioned first."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from fathom import InvalidRequestError
from fathom.experiments.repeat import RepeatPolicy, begin_repeat, repeat, resume_repeat
from fathom.runners import measure as _measure
from fathom.store import Store
from our_data import our_data
from prepare_worker import MIB, SMALL_PIECES, Killed, command
from support import begun
from test_repeat import Device

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import fathom

LOAD = ("-b4K", "-r", "-w0", "-d1", "-W0", "--stop-ios=50", "-L")


class Mortal(Device):
    """Is killed in the middle of a run."""

    def __init__(self, dies_at: int) -> None:
        """Be killed in this run."""
        super().__init__(0.03)
        self.dies_at = dies_at

    def run(self, _arguments: Sequence[str], **_more: object) -> fathom.Result:
        """Return the next result."""
        if self.runs + 1 == self.dies_at:
            self.dies_at = 0
            raise Killed
        return super().run(_arguments, **_more)


@pytest.mark.parametrize("dies_at", [1, 6, 11, 13])
def test_a_killed_repetition_makes_the_runs_that_it_would_have_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: int
) -> None:
    policy = RepeatPolicy(most=150)
    with Store(tmp_path / "store.sqlite") as store:
        whole = Device(0.03)
        monkeypatch.setattr(_measure, "run_kept", whole.run)
        once = repeat(store, ["x"], policy)
        assert whole.runs >= 13
        device = Mortal(dies_at)
        monkeypatch.setattr(_measure, "run_kept", device.run)
        experiment = begin_repeat(store, ["x"], policy, label="night")
        with pytest.raises(Killed):
            resume_repeat(store, experiment)
        assert store.experiments.get(experiment).state == "running"
        assert len(store.runs.list(experiment_id=experiment)) == dies_at - 1
        told: list[tuple[int, int | None]] = []
        found = resume_repeat(store, experiment, on_run=lambda *one: told.append(one))
        assert told[0][0] == dies_at
        assert device.runs == whole.runs == len(found.run_ids)
        assert found.metrics["iops"].estimate == once.metrics["iops"].estimate
        assert found.is_precise
        state = store.experiments.get(experiment)
        assert (state.state, state.run_count) == ("complete", whole.runs)
        assert {run.label for run in store.runs.list(experiment_id=experiment)} == {"night"}
        with pytest.raises(InvalidRequestError, match="is complete"):
            resume_repeat(store, experiment)
        other = store.experiments.begin("sweep", "other", {})
        with pytest.raises(InvalidRequestError, match="no repetition"):
            resume_repeat(store, other)


def kill_at(line: str, *args: str) -> None:
    """Begin ``fathom``, and kill it once its error output has a line with these words."""
    with begun(SMALL_PIECES, line, *args) as process:
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_kill_9_in_the_middle_of_repeating_and_the_command_completes_it(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(our_data(MIB))
    kill_at("run 2 of", "repeat", "--pilot", "20", "--most", "20", *LOAD, str(path))
    with Store(os.environ["FATHOM_STORE"]) as store:
        before = {run.id for run in store.runs.list()}
        assert 2 <= len(before) < 20
    resumed = command("repeat", "--resume", "last")
    assert resumed.returncode == 0, resumed.stderr
    assert "run 1 of" not in resumed.stderr
    with Store(os.environ["FATHOM_STORE"]) as store:
        (experiment,) = store.experiments.list(verb="repeat")
        runs = {run.id for run in store.runs.list()}
        assert (experiment.state, len(runs), before <= runs) == ("complete", 20, True)
    assert command("repeat", "--resume", "last").returncode == 3


def test_kill_9_in_the_middle_of_preconditioning_and_both_are_completed(tmp_path: Path) -> None:
    path, size = tmp_path / "x.dat", 8 * MIB
    assert command("prepare", "fill", str(path), "--size", "8M").returncode == 0
    args = ("--precondition", "wipc", "--yes", "--pilot", "2", "--most", "2", *LOAD, str(path))
    kill_at("writing: ", "repeat", *args)
    with Store(os.environ["FATHOM_STORE"]) as store:
        (wipc, *_) = store.experiments.list(verb="prepare")
        states = [step.state for step in store.experiments.get(wipc.id).steps]
        assert (wipc.plan["kind"], wipc.state) == ("wipc", "running")
        assert 0 < states.count("done") < len(states)
    resumed = command("repeat", "--resume", "last")
    assert resumed.returncode == 0, resumed.stderr
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert {one.state for one in store.experiments.list()} == {"complete"}
        written = sum(run.columns["bytes"] for run in store.runs.list(experiment_id=wipc.id))
        # The piece in which it was killed may have been saved, but not yet noted as done.
        assert written - 2 * size in (0, MIB)
        (experiment,) = store.experiments.list(verb="repeat")
        assert experiment.run_count == 2


def test_what_cannot_be_preconditioned_is_refused_before_anything_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    for args, words in (
        (("--precondition", "wipc", "-c1M", *LOAD, str(path)), "leave out -c"),
        (("--precondition", "wdpc", *LOAD, str(path)), "no such file"),
        (("--precondition", "purge", *LOAD, str(path)), "none, wipc or wdpc"),
        (("--resume", "last", *LOAD, str(path)), "one of both"),
    ):
        done = command("repeat", *args)
        assert (done.returncode, words in done.stderr) == (3, True), done.stderr
    assert not path.exists()
    with Store(os.environ["FATHOM_STORE"]) as store:
        assert store.experiments.list() == []


def test_rounds_before_a_repetition_are_an_experiment_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_bytes(our_data(MIB))
    args = ("--precondition", "wdpc", "--pilot", "2", "--most", "2", *LOAD, str(path))
    done = command("repeat", *args)
    assert done.returncode == 0, done.stderr
    with Store(os.environ["FATHOM_STORE"]) as store:
        (rounds,) = store.experiments.list(verb="prepare")
        (experiment,) = store.experiments.list(verb="repeat")
        assert (rounds.plan["kind"], rounds.plan["for_experiment"]) == ("wdpc", experiment.id)
        assert 5 <= rounds.run_count <= 25
        assert experiment.run_count == 2
