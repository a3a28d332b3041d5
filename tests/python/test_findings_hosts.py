"""What findings say of runs of several hosts, and of runs that resemble them."""

from __future__ import annotations

import json

import pytest
from fabricated import fabricated
from fathom import Result
from fathom._claims import MARKS
from fathom.findings import find
from fathom.findings.causes import EXPLAINED
from test_findings import fleet, warned


def rules(*results: Result) -> set[str]:
    return {one.rule for one in find(results)}


def test_a_sum_of_more_hosts_is_not_the_same_load() -> None:
    """Hosts that scaled without loss were told of somebody else who was busy."""
    assert "noisy-neighbour" not in rules(fleet(9e3), fleet(9e3, 9e3))
    assert "noisy-neighbour" in rules(fleet(9e3, 9e3), fleet(4e3, 4e3))
    lost = fleet(9e3, 9e3, 9e3, lost="it has not answered for 4.0 s")
    assert "noisy-neighbour" not in rules(fleet(9e3, 9e3, 9e3), lost)


def test_one_host_more_of_sixteen_need_not_bring_a_tenth() -> None:
    """16 hosts and 17 that scaled without loss had a shared limit."""
    assert "shared-limit" not in rules(fleet(*[9e3] * 16), fleet(*[9e3] * 17))
    assert "shared-limit" in rules(fleet(*[9e3] * 16), fleet(*[8.47e3] * 17))


@pytest.mark.parametrize("kind", ["io_limited", "not_the_device", "page_cache", "suspended"])
def test_what_each_host_has_for_itself_is_no_limit_that_they_share(kind: str) -> None:
    few, many = fleet(9e3), fleet(4.6e3, 4.6e3)
    assert "shared-limit" in rules(few, many)
    assert "shared-limit" not in rules(warned(few, kind), warned(many, kind))


def test_cpus_that_hosts_may_share_are_named_beside_the_server() -> None:
    full = [warned(one, "core_saturated") for one in (fleet(9e3), fleet(4.6e3, 4.6e3))]
    (found,) = [one for one in find(full) if one.rule == "shared-limit"]
    assert "or the CPUs, if hosts share them" in found.remedy


def test_a_slow_host_of_a_disturbed_run_is_measured_again_first() -> None:
    (found,) = [one for one in find([fleet(5e3, 9e3, 9e3)]) if one.rule == "slow-host"]
    assert found.remedy.startswith("Compare its path")
    disturbed = warned(fleet(5e3, 9e3, 9e3), "suspended")
    (found,) = [one for one in find([disturbed]) if one.rule == "slow-host"]
    assert found.remedy.startswith("Remove what the other findings name")


def test_a_fleet_has_no_cores_of_which_none_was_idle() -> None:
    """It was said that "0 of 0 cores were at least half idle"."""
    raw = json.loads(json.dumps(warned(fleet(9e3, 9e3), "core_saturated").raw))
    raw["time_spans"][0]["cpu"] = []
    (found,) = [
        one for one in find([Result.from_json(json.dumps(raw))]) if one.rule == "core-bound"
    ]
    assert found.evidence.endswith("outstanding: So.")
    assert found.remedy == "Mend it."


@pytest.mark.parametrize("kind", sorted(EXPLAINED))
def test_each_cause_speaks_against_what_is_concluded_from_its_run(kind: str) -> None:
    """Connections that were lost, and data that the network lost, spoke against no comparison."""
    assert rules(warned(fabricated(), kind)) & MARKS.keys()


def with_targets_of_each_host(result: Result, paths: list[str]) -> Result:
    """Return it as it is merged: with what each host calls the one target that was requested."""
    raw = json.loads(json.dumps(result.raw))
    (target,) = raw["time_spans"][0]["targets"]
    raw["time_spans"][0]["targets"] = [target | {"path": path} for path in paths]
    return Result.from_json(json.dumps(raw))


def test_a_target_that_each_host_has_was_judged_as_several() -> None:
    """Only what speaks against figures was found of fleets, and under 'a.dat and a.dat'."""
    for names in (["nbd://server/a"] * 2, ["a-h0.dat", "a-h1.dat"]):
        few = with_targets_of_each_host(fleet(9e3), names[:1])
        many = with_targets_of_each_host(fleet(4.6e3, 4.6e3), names)
        (found,) = [one for one in find([few, many]) if one.rule == "shared-limit"]
        assert found.target == names[0]
        slow = with_targets_of_each_host(fleet(5e3, 9e3, 9e3), [*names, names[1]])
        assert "slow-host" in rules(slow)
