"""A host that leaves a fleet between two runs of an experiment, or before it is resumed."""

from __future__ import annotations

import signal
import time
from contextlib import closing
from typing import TYPE_CHECKING

import fathom
import pytest
from commands import command
from fathom.fleet.address import FleetAddress
from fathom.fleet.certificates import make_certificates
from fathom.fleet.runner import FleetRunner
from fathom.fleet.showing import shown_hosts
from fathom.store import Store
from fleet_hosts import Fleet, fleet_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fathom.fleet.address import HostLoss

LOAD = ["-c1M", "-b4K", "-r", "-L", "-g4096", "-W0", "-d1", "--engine=null"]
_WAIT_S = 60.0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_of(tmp_path_factory.mktemp("fleet"), ["a", "b", "c"]) as found:
        yield found


def _address(fleet: Fleet, loss: HostLoss = "stop") -> FleetAddress:
    return FleetAddress(fleet.address, str(fleet.tls), on_host_loss=loss)


def _leave(fleet: Fleet, name: str) -> None:
    """End a host, and wait until its coordinator knows."""
    fleet.hosts[name].end(signal.SIGKILL)
    end = time.monotonic() + _WAIT_S
    while name in [one.name for one in shown_hosts(_address(fleet))]:
        assert time.monotonic() < end
        time.sleep(0.1)


def _lose(runner: FleetRunner) -> None:
    """Have the session see that a host is gone, as one that is lost in a run."""
    runner._shared.session().hosts[1].lose("it was killed")


def test_the_sum_of_two_hosts_was_shown_beside_that_of_three_without_a_word(
    fleet: Fleet, tmp_path: Path
) -> None:
    words = [*LOAD, f"{tmp_path}/{{host}}.dat"]
    with closing(FleetRunner(None, _address(fleet))) as runner:
        assert len(runner.measure(words).result.raw["hosts"]) == 3
        _leave(fleet, "b")
        _lose(runner)
        with pytest.raises(fathom.FathomError, match=r"host 'b' has measured before.*is a, c"):
            runner.measure(words)
        fleet.join_again("b")
        again = runner.measure(words).result.raw["hosts"]
        assert [(one["name"], one["lost"]) for one in again] == [(name, None) for name in "abc"]


def test_runs_that_go_on_without_a_host_did_not_say_so_after_the_first(
    fleet: Fleet, tmp_path: Path
) -> None:
    words = [*LOAD, f"{tmp_path}/{{index}}.dat"]
    with closing(FleetRunner(None, _address(fleet, "continue"))) as runner:
        assert len(runner.measure(words).result.raw["hosts"]) == 3
        _leave(fleet, "b")
        _lose(runner)
        done = runner.measure(words)
        assert done.error is None
        hosts = done.result.raw["hosts"]
        assert [one["lost"] for one in hosts] == [None, "it is not in the fleet any more", None]
        # Each host keeps its place, and with it its target.
        assert [one["index"] for one in hosts] == [0, 1, 2]
        fleet.join_again("b")
        assert not any(one["lost"] for one in runner.measure(words).result.raw["hosts"])


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("sweep", ["--depth", "1..2", "--warm-up", "0"]),
        ("scale", ["-W0"]),
    ],
)
def test_an_experiment_of_three_hosts_went_on_with_others(
    fleet: Fleet, tmp_path: Path, verb: str, more: list[str]
) -> None:
    own: list[str | Path] = [
        "--fleet",
        fleet.address,
        "--tls",
        fleet.tls,
        f"--store={tmp_path}/s.sqlite",
    ]
    load = ["--duration", "1s", "-c1M", "-b4K", "-r", "-g4096", "--engine=null"]
    done = command(verb, *own, *more, *load, f"{tmp_path}/{{host}}.dat")
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "s.sqlite") as store:
        step = store.experiments.get(1).steps[-1]
        store.experiments.set_step(step.id, "failed", "the power failed")
        store.experiments.finish(1, "failed")
        store.runs.delete([store.runs.list()[0].id])
        before = len(store.runs.list())
    _leave(fleet, "b")
    try:
        done = command(verb, *own, "--resume", "e1")
        assert done.returncode == 1
        assert "host 'b' has measured before" in " ".join((done.stdout + done.stderr).split())
        with Store(tmp_path / "s.sqlite") as store:
            assert len(store.runs.list()) == before
    finally:
        fleet.join_again("b")
    done = command(verb, *own, "--resume", "e1")
    assert done.returncode == 0, done.stderr


def test_a_client_of_another_authority_was_told_to_start_a_coordinator(
    fleet: Fleet, tmp_path: Path
) -> None:
    make_certificates(tmp_path / "other", ["a"])
    with pytest.raises(fathom.FathomError) as refused:
        shown_hosts(FleetAddress(fleet.address, str(tmp_path / "other")))
    assert str(refused.value).endswith(
        "both need certificates of one authority (fathom fleet certificates)"
    )
    assert "fathom fleet start" not in str(refused.value)
