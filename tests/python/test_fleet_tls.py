"""A fleet with certificates: who gets an answer, and what becomes of what is killed or stands."""

from __future__ import annotations

import datetime as dt
import gc
import os
import pickle
import re
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import msgpack
import pytest
from commands import COMMAND, command
from fathom.findings import find
from fathom.findings.causes import HOST_IN_THE_WAY, STALLED
from fathom.fleet.address import FleetAddress
from fathom.fleet.certificates import certificate_files, make_certificates
from fathom.fleet.runner import FleetRunner
from fathom.fleet.showing import shown_hosts
from fathom.store import Store
from fleet_hosts import (
    Fleet,
    Running,
    Spawned,
    answer,
    answers,
    client_context,
    fleet_of,
    forked,
)
from ports import free_port
from support import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAMES = ["a", "b", "c", "d", "e"]
# Each host does a thousand I/Os a second: that is no load for this machine.
LOAD = ["-c1M", "-b4K", "-r", "-L", "-g4096", "-W0", "-d1", "--engine=null"]
LONG = [*LOAD[:-2], "-d600", "--engine=null"]
# How right a skew is, and in how many starts at most that is to be seen.
_RIGHT_NS, _WRONG_NS, _STARTS = 200_000, 100_000_000, 12
_NOBODY = 65534
_HANDSHAKE = {"compression": None, "python": [3, 11], "pickle-protocol": 4}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_of(tmp_path_factory.mktemp("fleet"), NAMES) as found:
        yield found


def _address(fleet: Fleet, hosts: tuple[str, ...] = ()) -> FleetAddress:
    return FleetAddress(fleet.address, str(fleet.tls), hosts)


def _message(sent: object, *more: bytes) -> bytes:
    """Return a message as Dask frames it."""
    frames = [msgpack.dumps(sent), *more]
    prelude = struct.pack(f"Q{len(frames)}Q", len(frames), *map(len, frames))
    whole = prelude + b"".join(frames)
    return struct.pack("Q", len(whole)) + whole


def _asked(sent: dict[str, Any], *more: bytes) -> bytes:
    """Return a whole conversation: the handshake, and what is requested."""
    return _message(_HANDSHAKE) + _message({**sent, "close": True}, *more)


def _ends(fleet: Fleet) -> dict[str, str]:
    """Return the addresses of the coordinator and of a host."""
    host = shown_hosts(_address(fleet))[0]
    return {"coordinator": fleet.address, "worker": host.address}


def test_hosts_are_known_by_their_certificates(fleet: Fleet) -> None:
    shown = shown_hosts(_address(fleet))
    assert [one.name for one in shown] == NAMES
    assert {one.state for one in shown} == {"free"}
    assert {one.version for one in shown} == {fathom.version()}
    done = command("fleet", "show", fleet.address, "--tls", fleet.tls)
    assert done.returncode == 0, done.stderr
    assert "5 hosts" in done.stdout


def test_a_fleet_with_certificates_measures(fleet: Fleet, tmp_path: Path) -> None:
    with closing(FleetRunner(None, _address(fleet, hosts=("c", "b", "a")))) as runner:
        result = runner.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).result
        hosts = result.raw["hosts"]
        assert [one["name"] for one in hosts] == ["c", "b", "a"]
        assert len(result.raw["parts"]) == 3
        # Hosts of one machine have one clock, so that the true offset is known: it is nothing.
        assert all(abs(one["clock_offset_ns"]) <= one["clock_uncertainty_ns"] for one in hosts)
        assert min(one["start_skew_ns"] for one in hosts) == 0
        assert result.total.ios == sum(
            row["read"]["ios"]
            for thread in result.raw["time_spans"][0]["threads"]
            for row in thread["targets"]
        )
        # While a session has the hosts, nobody else measures there, and everybody may look.
        shown = shown_hosts(_address(fleet))
        assert [one.name for one in shown if "used by" in one.state] == [*"abc"]
        with (
            closing(FleetRunner(None, _address(fleet))) as other,
            pytest.raises(fathom.FathomError, match=r"host '[abc]' is used by"),
        ):
            other.measure([*LOAD, f"{tmp_path}/x"])
        assert [one.state for one in shown_hosts(_address(fleet))][3:] == ["free", "free"]
    assert {one.state for one in shown_hosts(_address(fleet))} == {"free"}


_VERBS = {
    "sweep": ("--depth=1,2", "--duration=1s", "--warm-up=0"),
    "tune": ("--depth=1..2", "--threads=1", "--longest=1s"),
    "repeat": ("--pilot=2", "--most=2", "-d1", "-W0"),
    "compare": ("--pilot=2", "--most=2", "--run", "-o1", "-o2", "-d1", "-W0"),
}


@pytest.mark.parametrize("verb", _VERBS)
def test_each_verb_measures_on_three_hosts_with_certificates(
    fleet: Fleet, tmp_path: Path, verb: str
) -> None:
    path = tmp_path / "store.sqlite"
    own = ["--fleet", fleet.address, "--tls", str(fleet.tls), "--hosts", "a,b,c"]
    load = ["-c1M", "-b4K", "-r", "-L", "-g4096", "--engine=null", f"{tmp_path}/{{host}}.dat"]
    done = command(verb, *own, f"--store={path}", *_VERBS[verb], *load)
    assert done.returncode == 0, done.stderr
    with Store(path) as store:
        runs = store.runs.list()
        assert len(runs) >= 2
        for run in runs:
            raw = store.runs.get(run.id).result.raw
            assert [one["name"] for one in raw["hosts"]] == [*"abc"]
            counted = [one["read"]["ios"] for one in _rows(raw)]
            assert len(counted) == 3
            assert min(counted) > 0
    assert {one.state for one in shown_hosts(_address(fleet))} == {"free"}


def _rows(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [row for one in raw["time_spans"][0]["threads"] for row in one["targets"]]


def test_an_assessment_by_three_hosts_says_that_its_rates_are_theirs_together(
    fleet: Fleet, tmp_path: Path
) -> None:
    own = ["--fleet", fleet.address, "--tls", str(fleet.tls), "--hosts", "a,b,c"]
    store = f"--store={tmp_path}/store.sqlite"
    # What is there is only read, which takes half of the time that a scratch file takes.
    (tmp_path / "x.dat").write_bytes(os.urandom(4 << 20))
    done = command("assess", *own, store, "--time=10s", tmp_path / "x.dat")
    assert done.returncode == 0, done.stderr
    assert "Rates are those of 3 hosts together" in done.stdout
    assert "one at a time on each of 3 hosts" in " ".join(done.stdout.split())


def _wakes(process: int) -> int:
    """Return how often the threads of a process have waited for something."""
    found = Path(f"/proc/{process}/task").glob("*/status")
    lines = (line for one in found for line in one.read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def test_who_has_nothing_to_do_hardly_wakes(fleet: Fleet) -> None:
    # Dask's own monitors wake a host a hundred times a second, which another load there would feel.
    processes = [fleet.hosts["a"].process.pid or 0, fleet.coordinator.process.pid or 0]
    before = [_wakes(one) for one in processes]
    time.sleep(2)
    wakes = [_wakes(one) - was for one, was in zip(processes, before, strict=True)]
    assert max(wakes) < 40, wakes


@pytest.mark.parametrize("end", ["coordinator", "worker"])
def test_strangers_get_no_answer(fleet: Fleet, tmp_path: Path, end: str) -> None:
    address = _ends(fleet)[end]
    identity = _asked({"op": "identity", "reply": True})
    ours = answer(address, client_context(fleet.tls, "client", "a"), identity)
    assert b"workers" in ours or b"Member" in ours
    rogue, expired = tmp_path / "rogue", tmp_path / "expired"
    make_certificates(rogue, ["a"])
    _expire(fleet.tls, expired)
    strangers = {
        "no certificate": client_context(None, "", ""),
        "another authority": client_context(rogue, "client", "a"),
        "expired": client_context(expired, "client", "a"),
        "plain TCP": None,
    }
    for name, context in strangers.items():
        assert answer(address, context, identity) == b"", name
    old = client_context(fleet.tls, "client", "a")
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert answer(address, old, identity) == b""


def _expire(tls: Path, folder: Path) -> None:
    """Make a client's certificate of the same authority that is valid no more."""
    folder.mkdir()
    for name in ("ca.pem", "ca.key"):
        (folder / name).write_bytes((tls / name).read_bytes())
    past = dt.datetime.now(tz=dt.UTC) - dt.timedelta(days=9)
    make_certificates(folder, ["a"], 1, at=past)


def test_each_role_is_taken_where_it_belongs_alone(fleet: Fleet) -> None:
    ends = _ends(fleet)
    identity = _asked({"op": "identity", "reply": True})
    asks = {
        ("worker", "worker"): False,
        ("worker", "client"): True,
        ("worker", "coordinator"): True,
        ("coordinator", "worker"): True,
        ("coordinator", "coordinator"): False,
    }
    for (end, role), is_taken in asks.items():
        context = client_context(fleet.tls, role, "b")
        assert bool(answer(ends[end], context, identity)) is is_taken, (end, role)


class _Boom:
    """What runs a command where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (str(self.path),))


# A Python in a home that is closed to others stays where it is, and that home becomes another one.
_OPEN_PYTHON = f"""set -e
prefix=$1
shift
case $prefix in /root/*)
    mkdir "$0"
    mount --bind "$prefix" "$0"
    mount -t tmpfs -o mode=755 fathom /root
    mkdir -p "$prefix"
    mount --bind "$0" "$prefix"
esac
user="--reuid={_NOBODY} --regid={_NOBODY} --clear-groups"
exec setpriv $user --inh-caps=-all --bounding-set=-all "$@"
"""


@contextmanager
def _without_privileges(fleet: Fleet, name: str) -> Iterator[Path]:
    """Let a host join as an account that may do nothing, and give a folder of that account."""
    fleet.hosts[name].end()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        shutil.copytree(fleet.tls, folder / "tls", ignore=_all_but(f"worker-{name}.", "ca.pem"))
        for one in (folder, *folder.rglob("*")):
            os.chown(one, _NOBODY, _NOBODY)
        place = fleet.places[name]
        words = [
            *(shutil.which("ip") or "ip", "netns", "exec", str(place.space), "sh", "-c"),
            *(_OPEN_PYTHON, folder / "python", sys.base_prefix, *COMMAND, "fleet", "join"),
            *("--tls", folder / "tls", "--host", name, "--listen", place.address, fleet.address),
        ]
        log = fleet.folder / f"host-{name}"
        started = Spawned([*map(str, words)], log, {"HOME": home, "PYTHONUNBUFFERED": "1"})
        fleet.hosts[name] = Running(started, log)
        try:
            fleet.hosts[name].wait_for("has joined")
            yield folder
        finally:
            fleet.join_again(name)


def _all_but(*kept: str) -> Callable[[str, list[str]], list[str]]:
    return lambda _folder, names: [one for one in names if not one.startswith(kept)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to have less")
def test_a_host_without_privileges_measures_what_its_account_may_open(
    fleet: Fleet, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.dat"
    secret.write_bytes(os.urandom(1 << 20))
    with (
        _without_privileges(fleet, "c") as own,
        closing(FleetRunner(None, _address(fleet, hosts=("a", "c")))) as runner,
    ):
        found = runner.measure([*LOAD[:-1], f"{own}/{{host}}.dat"]).result
        assert [one["name"] for one in found.raw["hosts"]] == ["a", "c"]
        assert min(one["read"]["ios"] for one in _rows(found.raw)) > 0
        assert (own / "c.dat").stat().st_uid == _NOBODY
        with pytest.raises(fathom.FathomError, match=r"host 'c': .*Permission denied"):
            runner.measure([*LOAD[1:-1], str(secret)])


@pytest.mark.parametrize("end", ["coordinator", "worker"])
def test_nobody_sends_functions_not_even_a_client(fleet: Fleet, tmp_path: Path, end: str) -> None:
    address = _ends(fleet)[end]
    context = client_context(fleet.tls, "client", "a")
    boom = pickle.dumps(_Boom(tmp_path / "boom"))
    # Dask's own ways to run something, and a pickle in a message that is read before it is refused.
    for name in ("run", "run_function", "broadcast", "actor_execute", "register-client"):
        answer(address, context, _asked({"op": name, "function": boom, "reply": True}))
    header = msgpack.dumps({"pickled-obj": boom, "num-sub-frames": 0})
    answer(address, context, _asked({"op": "identity", "x": {"__Pickled__": 1}}, header))
    enum = {"__Enum__": 1, "__module__": "os", "__name__": "path", "name": "sep"}
    answer(address, context, _asked({"op": "identity", "x": enum}))
    answer(address, context, struct.pack("Q", 1 << 62))
    assert not (tmp_path / "boom").exists()
    # And whoever belongs to it still gets an answer.
    assert b"identity" not in answer(address, context, _asked({"op": "identity"}))
    assert len(shown_hosts(_address(fleet))) == len(NAMES)


def test_a_host_does_not_take_the_name_of_another(fleet: Fleet) -> None:
    context = client_context(fleet.tls, "worker", "b")
    sent = {"op": "register-worker", "reply": True, "name": "a", "address": "tls://127.0.0.1:1"}
    answer(fleet.address, context, _asked(sent))
    assert [one.name for one in shown_hosts(_address(fleet))] == NAMES


def test_a_host_of_another_version_is_refused_with_both_named(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.fleet.session.version", lambda: "9.9.9")
    words = rf"'a' has version {fathom.version()}.*and this is version 9\.9\.9"
    with (
        closing(FleetRunner(None, _address(fleet))) as runner,
        pytest.raises(fathom.FathomError, match=words),
    ):
        runner.measure([*LOAD, "x.dat"])


def test_certificates_took_the_place_of_somebodys_files(tmp_path: Path) -> None:
    """No file is replaced but certificates of a fleet for the same host, and their keys."""
    tls, theirs = tmp_path / "tls", "precious"
    make_certificates(tls, ["a"])
    for name in ("worker-b.key", "client-b.pem", "ca.pem"):
        file = tls / name
        if name == "ca.pem":
            file.rename(tmp_path / name)
        before = {one.name: one.read_bytes() for one in tls.iterdir()}
        file.write_text(theirs)
        with pytest.raises(fathom.FathomError, match=name if name != "ca.pem" else "authority"):
            make_certificates(tls, ["c", "b"])
        assert file.read_text() == theirs
        file.unlink()
        assert {one.name: one.read_bytes() for one in tls.iterdir()} == before
    # An authority's key that is kept elsewhere, or alone, had another one made in its place.
    kept = (tls / "ca.key").read_bytes()
    with pytest.raises(fathom.FathomError, match=r"ca.key is there without ca.pem"):
        make_certificates(tls, ["b"])
    assert (tls / "ca.key").read_bytes() == kept
    (tmp_path / "ca.pem").rename(tls / "ca.pem")
    # What is ours is made again, and is its owner's alone whatever its mode was.
    (old := tls / "worker-a.key").chmod(0o644)
    before_key = old.read_bytes()
    make_certificates(tls, ["a"])
    assert old.read_bytes() != before_key
    assert old.stat().st_mode & 0o777 == 0o600
    assert certificate_files(tls, "worker", "a").key == old


def test_certificates_are_kept_from_others_and_hosts_are_added_to_them(tmp_path: Path) -> None:
    first = make_certificates(tmp_path / "tls", ["a", "10.0.0.7"])
    keys = [one for one in first if one.suffix == ".key"]
    assert len(keys) == 7
    assert {one.stat().st_mode & 0o777 for one in keys} == {0o600}
    authority = (tmp_path / "tls/ca.pem").read_bytes()
    make_certificates(tmp_path / "tls", ["b"])
    assert (tmp_path / "tls/ca.pem").read_bytes() == authority
    assert certificate_files(tmp_path / "tls", "worker", "b").key.exists()
    with pytest.raises(fathom.InvalidRequestError, match="several hosts"):
        certificate_files(tmp_path / "tls", "worker")
    # A key that others may read is as good as theirs.
    key = certificate_files(tmp_path / "tls", "client", "a").key
    key.chmod(0o640)
    with pytest.raises(fathom.FathomError, match=r"client-a\.key may be read by others: chmod 600"):
        certificate_files(tmp_path / "tls", "client", "a")
    key.chmod(0o600)
    key.with_suffix(".pem").write_text("nonsense")
    with pytest.raises(
        fathom.FathomError, match=r"ca.pem, client-a.pem, client-a.key in .* are no"
    ):
        certificate_files(tmp_path / "tls", "client", "a")
    for wrong in ("", "a b", "../x", "-x"):
        with pytest.raises(fathom.InvalidRequestError):
            make_certificates(tmp_path / "tls", [wrong])


@contextmanager
def _recorded(address: str) -> Iterator[tuple[str, bytearray]]:
    """Yield an address that leads there for one connection, and what was sent to it."""
    sent = bytearray()
    host, _, port = address.rpartition(":")

    def lead() -> None:
        near, _ = listener.accept()
        with near, socket.create_connection((host, int(port))) as far:
            while ready := select.select([near, far], [], [], 5)[0]:
                for one in ready:
                    part = one.recv(65536)
                    if not part:
                        return
                    (far if one is near else near).sendall(part)
                    sent.extend(part if one is near else b"")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        leading = threading.Thread(target=lead)
        leading.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}", sent
        leading.join()


def test_what_a_client_has_sent_does_nothing_when_it_is_sent_again(fleet: Fleet) -> None:
    where = _ends(fleet)["worker"]
    context = client_context(fleet.tls, "client", "a")

    def state() -> str:
        return shown_hosts(_address(fleet))[0].state

    with _recorded(where) as (through, sent):
        answer(through, context, _asked({"op": "fathom_begin", "session": "s", "who": "ada"}))
    assert state().startswith("used by ada")
    answer(where, context, _asked({"op": "fathom_end", "session": "s"}))
    assert state() == "free"
    assert len(sent) > 1000
    answer(where, None, bytes(sent))
    assert state() == "free"


_SLOW = "4M"


@contextmanager
def _slow_server(place: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the address of a device that is slow, and where its server says when it read."""
    if shutil.which("nbdkit") is None:
        pytest.skip("there is no nbdkit")
    port, log = free_port(), folder / "server"
    words = ["nbdkit", "--foreground", "--exit-with-parent", "--ipaddr", place, "--port", f"{port}"]
    words += ["--filter=log", "--filter=rate", "memory", "16M", f"logfile={log}"]
    words += [f"rate={_SLOW}", "burstiness=0.1", f"rate-file={folder}/rate"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL) as server:
        try:
            while not answers(place, port):
                assert server.poll() is None
                time.sleep(0.01)
            yield f"nbd://{place}:{port}", log
        finally:
            server.terminate()


_READ = re.compile(r"^(\S+ \S+) connection=(\d+) Read id=", re.MULTILINE)


def _skews_of_server(log: Path, began_ns: int) -> list[int]:
    """Return how much later than the first each connection began to read in the load."""
    first: dict[str, int] = {}
    for when, connection in _READ.findall(log.read_text()):
        at = dt.datetime.strptime(when, "%Y-%m-%d %H:%M:%S.%f").astimezone()
        at_ns = round(at.timestamp() * 1e6) * 1000
        # What opens a target reads a little of it, long before.
        if at_ns > began_ns - 100_000_000:
            first.setdefault(connection, at_ns)
    return sorted(one - min(first.values()) for one in first.values())


def test_three_hosts_on_one_server_begin_as_it_sees_them_begin_and_it_is_the_limit(
    fleet: Fleet, tmp_path: Path
) -> None:
    with (
        closing(FleetRunner(None, _address(fleet, hosts=("a", "b", "c")))) as runner,
        _slow_server(fleet.outside, tmp_path) as (target, log),
    ):
        load = ["-b4K", "-r", "-o2", "-L", "-W0", "-d1", target]
        results = undisturbed(
            lambda: [runner.of_first(hosts).measure(load).result for hosts in (1, 2, 3)],
            HOST_IN_THE_WAY | STALLED,
        )
        # What is there is read before it is written, which would take its time.
        (tmp_path / "rate").write_text("4G")
        with pytest.raises(fathom.RefusedError, match="mean one block device"):
            runner.measure(["-w100", *load])
        (tmp_path / "rate").write_text(_SLOW)
        (told,) = [one for one in find(results, [1, 2, 3]) if one.rule == "shared-limit"]
        assert f"The server that the hosts share, {target}," in told.remedy
        # A busy server writes down late what it read; the best of some starts tells.
        apart_ns = {1: _WRONG_NS, 2: _WRONG_NS}
        for _ in range(_STARTS):
            log.write_text("")
            result = runner.measure(load).result
            skews = sorted(one["start_skew_ns"] for one in result.raw["hosts"])
            seen = _skews_of_server(log, result.raw["time_spans"][0]["began_unix_ns"])
            assert len(seen) == len(skews) == 3
            apart_ns = {k: min(one, abs(skews[k] - seen[k])) for k, one in apart_ns.items()}
            if max(apart_ns.values()) < _RIGHT_NS:
                break
        apart = max(apart_ns.values())
        assert apart < _WRONG_NS, (skews, seen)
        if apart >= _RIGHT_NS:
            pytest.skip(f"others use the CPUs: the server's clock is {apart / 1e6:.1f} ms away")


def _measure(address: str, tls: str, arguments: list[str]) -> None:
    """Be a client that measures with the first host, and says what happens."""
    fleet = FleetAddress(address, tls, ("a",))
    told = FleetRunner(None, fleet, on_event=lambda name, _: print(name, flush=True))  # noqa: T201
    told.measure(arguments)


def _lose(fleet: Fleet) -> list[str]:
    """Kill the worker of "c", stop that of "d", cut the link to "e" if it has one; return whom."""
    fleet.hosts["c"].send(signal.SIGKILL)
    fleet.hosts["d"].send(signal.SIGSTOP)
    if fleet.places["e"].link is None:
        return ["c", "d"]
    fleet.places["e"].cut()
    return ["c", "d", "e"]


def _back(fleet: Fleet, lost: list[str]) -> None:
    fleet.join_again("c")
    fleet.hosts["d"].send(signal.SIGCONT)
    if "e" in lost:
        fleet.places["e"].mend()


def test_a_host_whose_measuring_process_is_gone_is_let_go_at_once(
    fleet: Fleet, tmp_path: Path
) -> None:
    # Its own client was told that it is used, by that client, until the lease was over.
    words = [*LOAD[:-2], "-d2", "--engine=null", f"{tmp_path}/{{host}}.dat"]
    killed: list[int] = []

    def on_event(name: str, _fields: dict[str, Any]) -> None:
        if name == "live" and not killed:
            killed.append(runner.measuring_pids()["b"])
            os.kill(killed[0], signal.SIGKILL)

    address = FleetAddress(fleet.address, str(fleet.tls), ("a", "b"), on_host_loss="continue")
    runner = FleetRunner(None, address, on_event=on_event)
    with closing(runner):
        lost = [one["lost"] for one in runner.measure(words).result.raw["hosts"]]
        assert lost[0] is None
        assert "its measuring process ended" in lost[1]
        again = runner.measure(words).result.raw["hosts"]
        assert [one["lost"] for one in again] == [None, None]
    assert {one.state for one in shown_hosts(_address(fleet))} == {"free"}


# Tornado lets go of a connection to a host that is cut off while TLS begins, and does not close it.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
def test_what_is_killed_stopped_or_cut_off_is_seen_and_nothing_is_held_up(
    fleet: Fleet, tmp_path: Path
) -> None:
    # Two clients at once, each with hosts of its own: one is killed, the other loses hosts.
    words = [*LONG, f"{tmp_path}/{{host}}.dat"]
    client = forked(_measure, tmp_path / "client", fleet.address, str(fleet.tls), words)
    client.wait_for("live")
    lost: list[str] = []

    def on_event(name: str, _fields: dict[str, Any]) -> None:
        if name == "live" and not lost:
            client.send(signal.SIGKILL)
            lost.extend(_lose(fleet))

    runner = FleetRunner(None, _address(fleet, ("b", "c", "d", "e")), on_event=on_event)
    try:
        told = runner.measure(words)
    finally:
        _back(fleet, lost)
        client.end(signal.SIGKILL)
        runner.close()
    assert "it has not answered for" in str(told.failure)
    assert [f"host '{name}' was lost" in str(told.failure) for name in lost] == [True] * len(lost)
    assert {one["name"] for one in told.result.raw["hosts"] if one["lost"]} == {*lost}
    assert told.result.total.ios > 0
    assert not told.result.time_spans[0].complete
    # Whatever nobody drives any longer ends by its lease; then all measure again.
    end = time.monotonic() + 60
    while any(one.state != "free" for one in shown_hosts(_address(fleet))):
        assert time.monotonic() < end
        time.sleep(0.2)
    with closing(FleetRunner(None, _address(fleet))) as again:
        assert again.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).error is None
    gc.collect()
