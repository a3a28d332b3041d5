"""Each verb with ``--fleet`` measures with it, and with nothing else; the fleet is simulated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom import fleet as fleets
from fathom.cli import app
from fathom.cli.views.runs import show_result
from fathom.report import gather
from fathom.report.collect._points import run_of_result
from fathom.report.collect._runs import run_command
from fathom.report.style import drawn
from fathom.store import Store
from reported import column, figures
from simulated_storage import SimulatedStorage, Truth
from test_findings import fleet
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fathom.fleet.address import FleetAddress

HOSTS = 3
LOAD = ["-b8K", "-r", "-o4", "-L", "-W0", "-d1", "x-{host}.dat"]
TARGET = LOAD[-1]


@dataclass
class SimulatedFleet(SimulatedStorage):
    """A fleet whose hosts share nothing: so many times as fast as one."""

    fleet: FleetAddress | None = None
    hosts: int = HOSTS

    def telling(self, _on_event: object) -> SimulatedFleet:
        """Tell nothing."""
        return self

    def host_count(self) -> int:
        """Return how many hosts there are."""
        return HOSTS

    def host_names(self) -> list[str]:
        """Return which hosts there are."""
        return [f"local-{number}" for number in range(1, HOSTS + 1)]

    def of_first(self, hosts: int) -> SimulatedFleet:
        """Let as many hosts measure."""
        self.truths = {"": Truth(servers=16 * hosts)}
        return self

    def explain(self, _load: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Have nothing on any host that could be lost."""
        return {f"host-{number}": {"targets": [], "files": []} for number in range(HOSTS)}

    def close(self) -> None:
        """Have nothing to close."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[SimulatedFleet]:
    found: list[SimulatedFleet] = []

    def fleet(store: Store, address: FleetAddress, *_more: object) -> SimulatedFleet:
        found.append(SimulatedFleet(store, fleet=address))
        return found[-1]

    monkeypatch.setattr(fleets, "FleetRunner", fleet, raising=False)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["repeat", "--pilot", "10", "--most", "10", *LOAD],
        ["sweep", "--block", "4K,8K", "--duration", "1s", TARGET],
        ["tune", "--threads", "1..2", "--depth", "1..4", "-b8K", "-r", TARGET],
        ["compare", "--run", "-o1", "-o8", "--pilot", "7", "--most", "7", *LOAD],
        ["assess", "--time", "10s", "--size", "64M", "."],
        ["scale", "-o64", *LOAD],
    ],
    ids=lambda words: words[0],
)
def test_a_verb_measures_with_the_fleet_and_nothing_else(
    made: list[SimulatedFleet], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    verb, *rest = words
    fleet = ["--fleet", "local:3", "--overlap", "--store=s.sqlite"]
    done = CliRunner().invoke(app, [verb, *fleet, *rest])
    assert done.exit_code == 0, done.output
    *looks, used = made
    # What looks at the loads before anything is measured is the same fleet, and measures nothing.
    assert all(one.fleet == used.fleet and not one.asked for one in looks)
    assert len(looks) <= 1
    assert used.fleet is not None
    assert used.fleet.runner_name() == "fleet:local:3?overlap=yes"
    with Store("s.sqlite") as store:
        (experiment,) = store.experiments.list()
        assert len(store.runs.list()) == len(used.asked) > 1
        assert store.experiments.get(experiment.id).plan["runner"] == used.fleet.runner_name()
    # Each host has a place of its own, which it puts into the name.
    assert all("{host}" in one["path"] or "{index}" in one["path"] for one in used.asked)
    # What is gone on with later is measured with the same fleet, or not at all.
    other = CliRunner().invoke(app, [verb, "--resume", "e1", "--store=s.sqlite", "--fleet=local:2"])
    assert other.exit_code == 3
    assert "is measured with the fleet at local:3" in " ".join(other.output.split())
    assert not [*tmp_path.glob("fathom-assess-*")]


class GrownFleet(SimulatedFleet):
    """A fleet that a fourth host has joined."""

    kept: tuple[str, ...] = ()

    def host_count(self) -> int:
        """Return how many hosts there are, if no others are wanted."""
        return len(self.kept) or HOSTS + 1

    def keep_hosts(self, names: Sequence[str]) -> None:
        """Keep to these hosts."""
        self.kept = tuple(names)


@pytest.mark.usefixtures("made")
def test_an_assessment_was_not_gone_on_with_once_other_hosts_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was to be begun again, however much of it was measured."""
    monkeypatch.chdir(tmp_path)
    line = ["assess", "--fleet", "local:3", "--store=s.sqlite"]
    done = CliRunner().invoke(app, [*line, "--time", "10s", "--size", "64M", "."])
    assert done.exit_code == 0, done.output
    with Store("s.sqlite") as store:
        store.runs.delete([one.id for one in store.runs.list()])
        first, *steps = store.experiments.get(1).steps
        for step in steps:
            store.experiments.set_step(step.id, "failed", "host 'h1' was lost")
        store.runs.save(fleet(9e3, 8e3, 7e3), ["-b4K", "x"], experiment_id=1, step_id=first.id)
        store.experiments.finish(1, "failed")

    found: list[GrownFleet] = []

    def grown(store: Store, address: FleetAddress, *_more: object) -> GrownFleet:
        found.append(GrownFleet(store, fleet=address))
        return found[-1]

    monkeypatch.setattr(fleets, "FleetRunner", grown)
    done = CliRunner().invoke(app, [*line, "--resume", "e1"])
    assert done.exit_code == 0, done.output
    assert found[-1].kept == ("h0", "h1", "h2")
    assert len(found[-1].asked) == len(steps)


def test_a_report_names_the_slowest_host_and_shows_what_further_ones_bring(tmp_path: Path) -> None:
    import altair as alt  # noqa: PLC0415 - Slow to import, and only here.

    with Store(tmp_path / "s.sqlite") as store:
        experiment_id = store.experiments.begin("scale", "scale", {})
        for rates in ([9e3], [9e3, 8e3], [9e3, 8e3, 3e3]):
            store.runs.save(fleet(*rates), ["-b4K"], experiment_id=experiment_id)
        material = gather(store, [f"e{experiment_id}"])
    found = figures(material)
    assert column(found["hosts"], "Host") == ["h0", "h1", "h2"]
    assert column(found["hosts"], "Note") == ["", "", "the slowest"]
    assert column(found["hosts-together"], "Hosts") == [1, 2, 3]
    shares = column(found["hosts-together"], "Of linear")
    assert shares == pytest.approx([100, 100 * 17 / 18, 100 * 20 / 27], rel=0.01)
    for name in ("hosts", "hosts-together"):
        alt.Chart.from_dict(drawn(found[name].spec, "light", 700), validate=True)


def test_hosts_that_did_the_same_were_each_the_slowest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that Ctrl-C ended in its warm-up had nothing but slowest hosts."""
    for rates, slowest in (((9e3, 9e3), 0), ((9e3, 8e3), 1)):
        show_result(fleet(*rates))
        assert capsys.readouterr().out.count("the slowest") == slowest
        with Store(tmp_path / f"{slowest}.sqlite") as store:
            store.runs.save(fleet(*rates), ["-b4K"])
            found = figures(gather(store, ["1"]))
        assert column(found["hosts"], "Note").count("the slowest") == slowest


def test_a_run_of_a_fleet_is_made_again_by_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    raw: dict[str, Any] = dict(fathom.run("-c1M -b4K -d1 -W0 --stop-ios=1 x.dat").raw)
    host = {"version": "1", "kernel": "Linux", "clock_offset_ns": 0, "clock_uncertainty_ns": 0}
    with Store("s.sqlite") as store:
        store.runs.save(fathom.Result.from_data(raw), ["-d1", "x.dat"])
        hosts = [host | {"name": name, "index": place} for place, name in enumerate("ab")]
        store.runs.save(fathom.Result.from_data(raw | {"hosts": hosts}), ["-d1", "x-{host}.dat"])

    def refused(*words: str) -> str:
        done = CliRunner().invoke(app, ["run", "--store=s.sqlite", *words])
        assert done.exit_code == 3, done.output
        return " ".join(done.output.split())

    assert "was measured by a fleet of 2: name the fleet, such as --fleet local:2" in refused("@2")
    assert "was measured by one host: leave out --fleet" in refused("--fleet", "local:2", "@1")
    for word in ("--explain", "--live", "-Rp"):
        refused("--fleet", "local:2", word, "-d1", "-c1M", "new-{host}.dat")
    assert not [*tmp_path.glob("new-*")]


def test_the_command_to_repeat_a_run_of_a_fleet_was_that_of_one_host() -> None:
    arguments = ["-d1", "x-{host}.dat"]
    for names, words in (
        (["local-1", "local-2"], "--fleet local:2"),
        (["a", "b"], "--fleet COORDINATOR:PORT --tls FOLDER --hosts a,b"),
    ):
        raw = dict(fleet(9e3, 9e3).raw)
        hosts = [one | {"name": name} for one, name in zip(raw["hosts"], names, strict=True)]
        run = run_of_result(fathom.Result.from_data(raw | {"hosts": hosts}), "")
        told = run_command(replace(run, arguments=tuple(arguments)))
        assert told == f"fathom run {words} -d1 'x-{{host}}.dat'"
        kept = run_command(replace(run, arguments=(), run_id=7))
        assert kept == f"fathom run {words} @7"
