"""What each further host brings: the strategy of "scale", without hosts, store or device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from fabricated import fabricated
from fathom import FathomError, RunInterrupted, Store
from fathom.cli import main
from fathom.cli.commands import scale as command
from fathom.experiments.scale import Scaling, counts_up_to, resume_scale, scaling, sentences
from fathom.experiments.scale import scale as measure_scale
from fathom.experiments.session import Observation, Step, answered
from fathom.runners import Figures, RunOutcome, stored_figures
from test_findings import fleet, warned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fathom import Result
    from fathom.experiments.progress import Progress
    from fathom.fleet.runner import FleetRunner


def _figures(iops: float) -> Figures:
    return Figures(iops, iops / 256, None, 1.0, None, None, None, None, None, None, None)


def _told(rates: dict[int, float]) -> tuple[list[int], list[float | None], str]:
    """Return the hosts that were used, the shares of linear, and what is said of them."""
    used: list[int] = []

    def answer(step: Step) -> Observation:
        hosts = used[-1]
        assert step.parameters == {"hosts": hosts}
        return Observation(_figures(rates[hosts]) if hosts in rates else None, failure="lost")

    points = answered(scaling([*range(1, 5)], ["-b4K", "x.dat"], used.append), answer)
    shares = [one.linear_share for one in points]
    return used, shares, " ".join(sentences(Scaling(1, tuple(points), None)))


def test_all_counts_up_to_eight_are_tried_and_then_each_is_twice_the_last() -> None:
    assert counts_up_to(3) == [1, 2, 3]
    assert counts_up_to(40) == [*range(1, 9), 16, 32, 40]


def test_hosts_that_share_nothing_are_linear() -> None:
    used, shares, words = _told({hosts: 1000.0 * hosts for hosts in range(1, 5)})
    assert used == [1, 2, 3, 4]
    assert shares == pytest.approx([1.0] * 4)
    assert words == "4 hosts do 100 % of linear."


def test_a_shared_limit_is_named_where_the_sum_stays() -> None:
    _used, shares, words = _told({1: 1000.0, 2: 1900.0, 3: 1910.0, 4: 1905.0})
    assert shares[-1] == pytest.approx(1905 / 4000)
    assert "From 2 to 3 hosts the sum stays" in words


def test_nothing_is_concluded_from_a_run_that_was_disturbed() -> None:
    """A run whose hosts were suspended did less, and the server was named as the limit."""
    held_up = warned(fabricated(), "suspended")

    def answer(step: Step) -> Observation:
        assert step.parameters is not None
        hosts = int(str(step.parameters["hosts"]))
        rate = {1: 1000.0, 2: 1010.0, 3: 2700.0, 4: 3600.0}[hosts]
        return Observation(_figures(rate), result=held_up if hosts == 2 else fabricated())

    points = answered(scaling([*range(1, 5)], ["-b4K", "x.dat"], lambda _hosts: None), answer)
    first, second = sentences(Scaling(1, tuple(points), None))
    assert first == "4 hosts do 90 % of linear."
    why = "the measuring process was suspended"
    assert second == f"The run with 2 hosts was disturbed ({why}): measure it again."


def _said(rates: dict[int, float], results: dict[int, Result]) -> list[str]:
    """Return what is said of rates by hosts, and of the results that some of them have."""

    def answer(step: Step) -> Observation:
        assert step.parameters is not None
        hosts = int(str(step.parameters["hosts"]))
        figures = _figures(rates[hosts]) if hosts in rates else None
        return Observation(figures, result=results.get(hosts), failure="lost")

    counts = range(1, max(rates) + 1)
    points = answered(scaling(counts, ["-b4K", "x.dat"], lambda _hosts: None), answer)
    return [*sentences(Scaling(1, tuple(points), None))]


def test_a_host_that_was_lost_is_no_limit_of_the_server() -> None:
    lost = {3: fleet(1e3, 1e3, 1e3, lost="it has not answered for 4.0 s")}
    assert _said({1: 1000.0, 2: 2000.0, 3: 2000.0}, lost) == [
        "2 hosts do 100 % of linear.",
        "The run with 3 hosts was disturbed (a host was lost): measure it again.",
    ]


def test_a_first_run_that_was_disturbed_is_no_measure_of_linear() -> None:
    """It was said that 3 hosts do 200 % of linear."""
    held_up = {1: warned(fabricated(), "suspended")}
    assert _said({1: 500.0, 2: 2000.0, 3: 3000.0}, held_up) == [
        "The run with 1 host was disturbed (the measuring process was suspended): measure it again."
    ]


def test_a_limit_on_each_host_is_none_of_what_they_share() -> None:
    limited = {hosts: warned(fabricated(), "io_limited") for hosts in (1, 2)}
    (told,) = _said({1: 300.0, 2: 300.0}, limited)
    assert told.startswith("From 1 to 2 hosts the sum stays, which says nothing of what they share")
    assert told.endswith(": a limit of I/O was reached.")
    assert _said({1: 300.0, 2: 600.0}, limited) == ["2 hosts do 100 % of linear."]


def test_a_rate_that_was_asked_for_was_the_limit_of_what_hosts_share() -> None:
    """--rate=9000 gave 9,000 IOPS from 1 host and from 2: no server was at its limit."""
    paced = {hosts: fabricated(rate={"iops": 4500}) for hosts in (1, 2)}
    (told,) = _said({1: 9000.0, 2: 9000.0}, paced)
    assert told == (
        "From 1 to 2 hosts the sum stays, which says nothing of what they share: "
        "the load keeps to a schedule of its own."
    )
    assert _said({1: 300.0, 2: 600.0}, paced) == ["2 hosts do 100 % of linear."]


def test_without_a_run_of_one_host_no_share_of_linear_is_given() -> None:
    """It was said that 4 hosts do 0 % of linear."""
    assert _said({2: 2000.0, 3: 3000.0, 4: 4000.0}, {}) == [
        "Without a run with 1 host, no share of linear can be given."
    ]


def test_a_sum_that_falls_does_not_stay_and_one_that_grows_later_has_no_limit() -> None:
    assert _said({1: 1000.0, 2: 500.0}, {}) == [
        "From 1 to 2 hosts the sum falls to 50 %: what they share is at its limit."
    ]
    assert _said({1: 1000.0, 2: 1010.0, 3: 2700.0, 4: 3600.0}, {}) == ["4 hosts do 90 % of linear."]


def test_a_run_that_failed_has_no_share_and_the_others_go_on() -> None:
    used, shares, words = _told({1: 1000.0, 3: 2700.0, 4: 3600.0})
    assert used == [1, 2, 3, 4]
    assert shares[1] is None
    assert words == "4 hosts do 90 % of linear."


class _FourHosts:
    """A fleet whose runs take 10 seconds, until one fails and then one is interrupted."""

    fleet = SimpleNamespace(runner_name=lambda: "fleet:local:4")

    def __init__(self, store: Store, *ends: BaseException) -> None:
        self.store, self.ends, self.hosts = store, list(ends), 0
        self.told: list[Progress] = []
        self.time_s = 0.0

    def host_count(self) -> int:
        return 4

    def host_names(self) -> list[str]:
        return ["a", "b", "c", "d"]

    def keep_hosts(self, names: list[str]) -> None:
        assert names == self.host_names()

    def of_first(self, hosts: int) -> _FourHosts:
        self.hosts = hosts
        return self

    def run(self, arguments: Sequence[str], **kept: Any) -> RunOutcome:  # noqa: ANN401 - As given.
        self.time_s += 10.0
        if self.hosts > 1 and self.ends:
            raise self.ends.pop(0)
        result = fabricated(rates=1000.0 * self.hosts)
        run_id = self.store.runs.save(result, arguments, **kept)
        return RunOutcome(run_id, stored_figures(result), None, result)


def test_a_scale_that_went_on_left_steps_that_never_ended_and_told_too_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its steps were noted again, and runs of before counted as if they had taken no time."""
    with Store(tmp_path / "store.sqlite") as store:
        fleet = _FourHosts(store, FathomError("lost"), RunInterrupted(fabricated()))
        monkeypatch.setattr("fathom.experiments.scale.time.monotonic", lambda: fleet.time_s)
        given = cast("FleetRunner", fleet)
        with pytest.raises(RunInterrupted):
            measure_scale(store, given, ["-b4K", "{host}.dat"], on_progress=fleet.told.append)
        begun = store.experiments.get(1)
        assert [one.state for one in begun.steps] == ["done", "failed", "pending"]
        fleet.told.clear()
        found = resume_scale(store, 1, given, on_progress=fleet.told.append)
        ended = store.experiments.get(1)
    assert [one.remaining_s for one in fleet.told] == [20.0, 10.0, 0.0]
    assert [one.iops for one in found.points] == pytest.approx([1e3, 2e3, 3e3, 4e3])
    steps = [(one.label, one.state, one.failure) for one in ended.steps]
    assert steps == [("1 host", "done", None), *((f"{n} hosts", "done", None) for n in (2, 3, 4))]


def test_a_scale_that_failed_did_not_say_how_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Scaling(7, (), "there is no room left to write")
    monkeypatch.setattr(command, "_usable_fleet", lambda *_given: None)
    monkeypatch.setattr("fathom.tools.fleet_runner", lambda *_given: None)
    monkeypatch.setattr(command, "_begun", lambda *_given, **_more: found)
    monkeypatch.setattr("sys.argv", ["fathom", "scale", "--fleet", "local:2", "-b4K", "x.dat"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert "no room left to write; go on then with: fathom scale --resume e7\n" in told
