"""What a fleet decides without any host: addresses, clocks, ranges, and whose results it takes."""

from __future__ import annotations

import copy
import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import fathom
import pytest
from fathom import InvalidRequestError, RefusedError, Result
from fathom._permission import Permission
from fathom.fleet import identity
from fathom.fleet.address import FleetAddress, host_and_port, in_brackets, listening_place
from fathom.fleet.certificates import certificate_files, make_certificates
from fathom.fleet.clocks import ClockOffset, best_offset
from fathom.fleet.outcome import HostPart, checked_part, merged
from fathom.fleet.placing import (
    Sharing,
    fixed_time,
    host_requests,
    refuse_two_writers,
    sharings,
    split,
)
from fathom.fleet.roles import Peer, peer_of, role_refusal
from fathom.fleet.running import FleetRun, Job
from fathom.hosts import overlap_ns, overlap_sentence

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fathom.fleet.address import HostLoss
    from fathom.request import Request

_LOAD = "--engine=null -c1M -b4K -r -w30 -t2 -L -D100 -W0 -d1"
_SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "place"),
    [("a", ("a", 0)), ("a:9000", ("a", 9000)), (":9000", ("", 9000)), ("[::1]", ("[::1]", 0)),
     ("[::1]:9000", ("[::1]", 9000)), ("a:99999", None), ("a:zz", None), ("[::1", None),
     (":", None), ("::1", None)],
)  # fmt: skip
def test_where_a_host_listens_was_no_address_of_ipv6_and_a_wrong_port_was_any(
    text: str, place: tuple[str, int] | None
) -> None:
    if place is not None:
        assert listening_place(text) == place
        return
    with pytest.raises(InvalidRequestError, match=r"^--listen .*write the name or address"):
        listening_place(text)


def test_a_host_with_an_underscore_was_named_with_a_colon_and_could_never_join(
    tmp_path: Path,
) -> None:
    hosts = ["my_host", "fe80::1", "::1", "a.lab"]
    make_certificates(tmp_path / "tls", hosts)
    for host in hosts:
        assert certificate_files(tmp_path / "tls", "worker", host).host() == host
        # Without --listen, a coordinator listens at its name.
        assert host_and_port(in_brackets(host)) == (in_brackets(host), 8786)
    with pytest.raises(InvalidRequestError, match=r"say which with --host$"):
        certificate_files(tmp_path / "tls", "worker")


@pytest.mark.parametrize(
    "fleet",
    [
        FleetAddress("local:3"),
        FleetAddress("a.lab:8786", "/etc/fathom tls", ("a", "b"), overlap=True),
        FleetAddress("[::1]:9", "x", on_host_loss="continue"),
    ],
)
def test_a_fleet_is_one_word_of_a_plan_and_back(fleet: FleetAddress) -> None:
    assert FleetAddress.from_runner(fleet.runner_name()) == fleet


def test_options_name_a_fleet_as_it_was_named_where_a_store_does_not_lead_there_alone() -> None:
    fleet = FleetAddress("a:1", "my tls", ("x", "y"), overlap=True, on_host_loss="continue")
    asked = ["--fleet", "a:1", "--tls", "my tls", "--hosts", "x,y", "--overlap"]
    assert fleet.words() == [*asked, "--on-host-loss=continue"]
    assert FleetAddress("a:1", "tls").words() == ["--fleet", "a:1", "--tls", "tls"]
    assert FleetAddress("local:2").words() == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (("local:0",), "write local:2"),
        (("local:9999",), "64 at most"),
        (("local:2", "tls"), "has no certificates"),
        (("a:8786",), r"--tls DIR"),
        (("a:99999", "tls"), "not the address of a fleet"),
        (("tcp://a:1", "tls"), "not the address of a fleet"),
        (("a", "tls", ("b", "b")), "named twice"),
        (("a", "tls", (), False, "ignore"), "stop or continue"),
    ],
)
def test_a_wrong_address_is_told_before_anything_is_opened(
    wrong: tuple[Any, ...], words: str
) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        FleetAddress(*wrong)


def test_a_coordinator_without_a_port_has_the_usual_one() -> None:
    assert host_and_port("a") == ("a", 8786)
    assert host_and_port("[fe80::1]") == ("[fe80::1]", 8786)


def test_the_true_offset_is_within_the_uncertainty_however_slow_each_way_is() -> None:
    draw = random.Random(7)  # noqa: S311 - No secret.
    for _ in range(1000):
        true_ns = draw.randrange(-(10**12), 10**12)
        found = []
        for _ in range(5):
            there, back = draw.randrange(10**6), draw.randrange(10**6)
            found.append(ClockOffset.of_round_trip(0, there + true_ns, there + back))
        best = best_offset(found)
        assert abs(best.offset_ns - true_ns) <= best.uncertainty_ns + 1
        assert best.here_ns(best.there_ns(5)) == 5


def test_a_clock_that_was_stepped_is_told_from_one_that_was_seen_less_well() -> None:
    before = ClockOffset(0, 200)
    assert before.moved_ns(ClockOffset(300, 200)) == 0
    assert before.moved_ns(ClockOffset(50_000, 200)) == 50_000


def test_names_and_places_of_hosts_stand_in_targets() -> None:
    request = fathom.parse("-b4K -z5 -d1 /mnt/{host}/{index}.dat")
    found = host_requests(request, ["a", "fe80::1"])
    paths = [one.profile.time_spans[0].targets[0].path for one in found]
    assert paths == ["/mnt/a/0.dat", "/mnt/fe80__1/1.dat"]
    assert [one.profile.time_spans[0].random_seed for one in found] == [5, 6]


def _shared(path: str, hosts: int, size: int, writers: tuple[int, ...] = ()) -> Sharing:
    return Sharing("file", dict.fromkeys(range(hosts), path), writers, path, size)


def test_ranges_of_hosts_never_overlap_and_lie_within_what_was_asked_for() -> None:
    draw = random.Random(11)  # noqa: S311 - No secret.
    for _ in range(300):
        block = 4096 << draw.randrange(5)
        hosts, base = draw.randrange(1, 9), draw.randrange(4) * block
        size = base + block * draw.randrange(hosts, 4000) + draw.randrange(block)
        request = fathom.parse(f"-b{block} -B{base} -d1 x.dat")
        found = split(dict.fromkeys(range(hosts), request), [_shared("x.dat", hosts, size)])
        targets = [found[place].profile.time_spans[0].targets[0] for place in range(hosts)]
        ends = [base, *(one.limit_bytes for one in targets)]
        assert [one.base_bytes for one in targets] == ends[:-1]
        lengths = {one.limit_bytes - one.base_bytes for one in targets}
        assert len(lengths) == 1
        assert min(lengths) >= block
        assert min(lengths) % block == 0
        assert ends[-1] <= size


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("-b64K -d1 x.dat", "too few to give each of them one block of 65536 bytes"),
        ("-b4K -r -rdabs10/4K:90/4K -d1 x.dat", "ranges are given in bytes"),
    ],
)
def test_what_cannot_be_split_is_refused(load: str, words: str) -> None:
    request = fathom.parse(load)
    with pytest.raises(InvalidRequestError, match=words):
        split({0: request, 1: request}, [_shared("x.dat", 2, 100_000)])


def _told(identity: str, *, writes: bool, kind: str = "file") -> dict[str, Any]:
    target = {"name": "x", "path": "/x", "size_bytes": 9, "kind": kind, "is_written": writes}
    return {"targets": [{**target, "identity": identity}]}


def test_two_hosts_never_write_one_device() -> None:
    disk = _told("disk naa.5", writes=True, kind="block_device")
    read = _told("disk naa.5", writes=False, kind="block_device")
    machines = ["1", "2"]
    for other in (disk, read):
        with pytest.raises(RefusedError, match="'a' and 'b' mean one block device, /x"):
            refuse_two_writers(sharings({0: disk, 1: other}), ["a", "b"], machines)
    refuse_two_writers(sharings({0: read, 1: read}), ["a", "b"], machines)
    assert sharings({0: disk, 1: _told("disk naa.6", writes=True)}) == []


@pytest.mark.parametrize(
    "address", [r"\\localhost\s\f", r"\\127.0.0.1\s\f", r"\\?\UNC\localhost\s\f"]
)
def test_the_share_of_each_host_itself_was_one_file_of_all(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each host has a server of its own there, and measured a part of its file only."""
    found = []
    for machine in ("1", "2"):
        monkeypatch.setattr(identity, "machine_id", lambda machine=machine: machine)
        explained = {"targets": [{"path": address, "kind": "network"}]}
        monkeypatch.setattr(identity, "explain", lambda *_, told=explained, **__: told)
        asked = fathom.parse(["-d1", "x.dat"]).to_json()
        told = identity.explained_targets(asked, overwrite=False, allow_write=[])
        found.append(told["targets"][0]["identity"])
    assert found[0] != found[1]


def test_a_file_that_is_written_is_shared_between_machines_and_not_within_one() -> None:
    shared = sharings({0: _told("nfs s:/x 7", writes=True), 1: _told("nfs s:/x 7", writes=True)})
    refuse_two_writers(shared, ["a", "b"], ["1", "2"])
    with pytest.raises(RefusedError, match="are on one machine"):
        refuse_two_writers(shared, ["a", "b"], ["1", "1"])


def test_all_hosts_measure_for_the_same_time() -> None:
    with pytest.raises(InvalidRequestError, match="give a duration"):
        fixed_time(fathom.parse("--stop-ios=100 -d9 x.dat"))
    (span,) = fixed_time(fathom.parse("--stop-confidence=95:2 -d9 x.dat")).profile.time_spans
    assert span.stop.confidence is None
    assert (span.duration_s, span.interval_series) == (9, True)


def test_a_role_stands_in_a_certificate_of_ours_alone() -> None:
    def named(**names: str) -> dict[str, object]:
        return {"subject": tuple(((name, value),) for name, value in names.items())}

    ours = {"organizationName": "Fathom fleet", "commonName": "a"}
    peer = peer_of(named(**ours, organizationalUnitName="worker"))
    assert peer == Peer("worker", "a")
    assert role_refusal(peer, ("worker", "client")) is None
    assert "a worker's, and a client's is needed" in str(role_refusal(peer, ("client",)))
    assert peer_of(named(**ours, organizationalUnitName="king")) is None
    assert peer_of(named(organizationalUnitName="worker", commonName="a")) is None
    assert "names no role" in str(role_refusal(peer_of(None), ("client",)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Request, dict[str, Any]]]:
    folder: Path = tmp_path_factory.mktemp("parts")
    asked = host_requests(fathom.parse(f"{_LOAD} {folder}/{{host}}.dat"), ["a", "b"])
    with ThreadPoolExecutor() as both:
        return [(one.request, dict(one.raw)) for one in both.map(fathom.run, asked)]


def _part(
    name: str,
    index: int,
    run: tuple[Request, dict[str, Any]],
    clock: ClockOffset,
    **span: int,
) -> HostPart:
    """Return a host whose time span has these fields in place of what was measured."""
    asked, raw = copy.deepcopy(run)
    raw["time_spans"][0] |= span
    measured = checked_part(json.dumps(raw), asked)
    return HostPart(name, index, "1", "Linux 6", clock, measured=measured, asked=asked)


def test_a_fleet_has_one_clock_and_each_host_its_skew(
    runs: list[tuple[Request, dict[str, Any]]],
) -> None:
    began_ns = 5_000 * _SECOND
    ahead = ClockOffset(3_600 * _SECOND, 1_000)
    late_ns = ahead.there_ns(began_ns + 700_000)
    parts = [
        _part("a", 0, runs[0], ClockOffset(0, 500), began_unix_ns=began_ns),
        _part("b", 1, runs[1], ahead, began_unix_ns=late_ns),
    ]
    lost = HostPart("c", 2, "1", "Linux 6", ClockOffset(0, 0), lost="no answer for 4.0 s")
    asked = fathom.parse(f"{_LOAD} {{host}}.dat")
    whole = merged([*parts, lost], asked, ["-d1", "{host}.dat"])
    assert [one["start_skew_ns"] for one in whole.raw["hosts"]] == [0, 700_000, None]
    assert [one["lost"] for one in whole.raw["hosts"]] == [None, None, "no answer for 4.0 s"]
    assert [part["host"]["name"] for part in whole.raw["parts"]] == ["a", "b"]
    assert whole.request == asked
    assert whole.total.ios == sum(
        Result.from_json(json.dumps(run)).total.ios for _asked, run in runs
    )
    assert whole.time_spans[0].cpu_percent


@pytest.mark.parametrize("loss", ["stop", "continue"])
def test_a_lost_host_whose_part_came_home_made_a_short_run_a_whole_one(
    runs: list[tuple[Request, dict[str, Any]]], loss: HostLoss
) -> None:
    """The run ended at half of its time with exit code 0, and no host was named."""
    asked, raw = copy.deepcopy(runs[0])
    job = Job(asked, Permission(), FleetAddress("local:2", on_host_loss=loss))
    run = FleetRun(job, [], {0: asked})
    lost = HostPart("a", 0, "1", "Linux 6", ClockOffset(0, 0), lost="it has ended", asked=asked)

    def home() -> HostPart:
        return run._measured(lost, {"result": json.dumps(raw), "failures": []})

    assert (home().lost, home().measured is not None) == (None, True)
    raw["time_spans"][0]["outcome"] = "interrupted"
    # The others went on without it, and what it has is too short to be added to theirs.
    assert (home().lost, home().measured) == ("it has ended", None)
    run._stopped = "host a was lost: it has ended"
    assert (home().lost, home().measured is not None) == ("it has ended", True)


def _apart(runs: list[tuple[Request, dict[str, Any]]], late_ns: int, shorter_ns: int = 0) -> Result:
    """Return the result of two hosts of which the second began late, and measured for less."""
    first = {"began_unix_ns": 7 * _SECOND, "measured_ns": _SECOND}
    second = {"began_unix_ns": 7 * _SECOND + late_ns, "measured_ns": _SECOND - shorter_ns}
    parts = [
        _part("a", 0, runs[0], ClockOffset(0, 1), **first),
        _part("b", 1, runs[1], ClockOffset(0, 1), **second),
    ]
    return merged(parts, fathom.parse(f"{_LOAD} {{host}}.dat"), ["-d1", "{host}.dat"])


def test_what_hosts_measured_without_each_other_is_told(
    runs: list[tuple[Request, dict[str, Any]]],
) -> None:
    # Each is alone for a time: the first at the beginning, and the second at the end.
    whole = _apart(runs, 80_000_000, shorter_ns=30_000_000)
    assert overlap_ns(whole) == _SECOND - 80_000_000
    assert [one["outside_overlap_ns"] for one in whole.raw["hosts"]] == [80_000_000, 50_000_000]
    told = "All 2 hosts measured together for 0.920 s. Host a did so for 0.080 s more"
    assert str(overlap_sentence(whole)).startswith(told)
    near = overlap_sentence(_apart(runs, 5_000_000))
    assert near == "All 2 hosts measured together for 0.995 s."
    with pytest.raises(fathom.FathomError, match=r"'b' began 0\.600 s later than the first"):
        _apart(runs, 600_000_000)


def _twice_the_ios(raw: dict[str, Any]) -> None:
    raw["time_spans"][0]["threads"][0]["targets"][0]["read"]["bytes"] *= 1000


def _of_another_load(raw: dict[str, Any]) -> None:
    raw["request"]["profile"]["time_spans"][0]["duration_s"] = 3


def _for_a_century(raw: dict[str, Any]) -> None:
    raw["time_spans"][0]["measured_ns"] = 10**18


def _without_threads(raw: dict[str, Any]) -> None:
    raw["time_spans"][0]["threads"] = 7


def _more_latencies(raw: dict[str, Any]) -> None:
    raw["time_spans"][0]["threads"][0]["targets"][0]["read"]["ios"] = 1


def _of_a_target_that_is_not_there(raw: dict[str, Any]) -> None:
    raw["time_spans"][0]["threads"][0]["targets"][0]["target"] = 9


def _without_a_tool(raw: dict[str, Any]) -> None:
    # What only the engine's own reading tells: the whole could not be merged.
    del raw["tool"]


def _twice(raw: dict[str, Any]) -> None:
    raw["time_spans"] *= 2


@pytest.mark.parametrize(
    "lie",
    [
        _twice_the_ios,
        _of_another_load,
        _for_a_century,
        _without_threads,
        _more_latencies,
        _of_a_target_that_is_not_there,
        _without_a_tool,
        _twice,
        dict.clear,
    ],
)
def test_a_host_that_lies_is_not_believed(
    runs: list[tuple[Request, dict[str, Any]]], lie: Callable[[dict[str, Any]], None]
) -> None:
    asked, raw = copy.deepcopy(runs[0])
    assert checked_part(json.dumps(raw), asked).began_unix_ns
    lie(raw)
    with pytest.raises(fathom.FathomError):
        checked_part(json.dumps(raw), asked)


@pytest.mark.parametrize("text", ["a..b:8786", f"{'a' * 80}:8786", "[:::]:8786", "a:"])
def test_who_joined_a_fleet_at_no_address_waited_for_ever(text: str) -> None:
    """Its coordinator was said to give no answer; ``fathom lun`` had refused such a host."""
    with pytest.raises(InvalidRequestError, match="not the address of a fleet"):
        host_and_port(text)
    with pytest.raises(InvalidRequestError, match=r"--listen"):
        listening_place(text)


@pytest.mark.parametrize("text", ["a:0", "[::1]:0"])
def test_a_fleet_at_port_0_was_waited_for(text: str) -> None:
    """It stands for any free port where somebody listens, and nobody can connect to it."""
    with pytest.raises(InvalidRequestError, match="not the address of a fleet"):
        host_and_port(text)
    assert listening_place(text)[1] == 0
