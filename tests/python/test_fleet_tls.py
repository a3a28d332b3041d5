"""A fleet with certificates: who gets an answer, and what becomes of what is killed or stands."""

from __future__ import annotations

import os
import pickle
import signal
import ssl
import struct
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import fathom
import msgpack
import pytest
from commands import command
from fathom.fleet.address import FleetAddress
from fathom.fleet.certificates import certificate_files, make_certificates
from fathom.fleet.runner import FleetRunner
from fathom.fleet.showing import shown_hosts
from fleet_hosts import Fleet, answer, client_context, fleet_of, join

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOAD = ["-c1M", "-b4K", "-r", "-L", "-W0", "-d2", "--engine=null"]
LONG = [*LOAD[:-2], "-d600", "--engine=null"]
_HANDSHAKE = {"compression": None, "python": [3, 11], "pickle-protocol": 4}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_of(tmp_path_factory.mktemp("fleet"), ["a", "b"]) as found:
        yield found


def _address(fleet: Fleet, **more: Any) -> FleetAddress:
    return FleetAddress(fleet.address, str(fleet.tls), **more)


def _message(sent: object, *more: bytes) -> bytes:
    """Return a message as Dask frames it."""
    frames = [msgpack.dumps(sent), *more]
    prelude = struct.pack(f"Q{len(frames)}Q", len(frames), *map(len, frames))
    whole = prelude + b"".join(frames)
    return struct.pack("Q", len(whole)) + whole


def _asked(sent: dict[str, Any], *more: bytes) -> bytes:
    """Return a whole conversation: the handshake, and what is asked for."""
    return _message(_HANDSHAKE) + _message({**sent, "close": True}, *more)


def _ends(fleet: Fleet) -> dict[str, str]:
    """Return the addresses of the coordinator and of a host."""
    host = shown_hosts(_address(fleet))[0]
    return {"coordinator": fleet.address, "worker": host.address}


def test_hosts_are_known_by_their_certificates(fleet: Fleet) -> None:
    shown = shown_hosts(_address(fleet))
    assert [one.name for one in shown] == ["a", "b"]
    assert {one.state for one in shown} == {"free"}
    assert {one.version for one in shown} == {fathom.version()}
    done = command("fleet", "show", fleet.address, "--tls", fleet.tls)
    assert done.returncode == 0, done.stderr
    assert "2 hosts" in done.stdout


def test_a_fleet_with_certificates_measures(fleet: Fleet, tmp_path: Path) -> None:
    runner = FleetRunner(None, _address(fleet, hosts=("b", "a")))
    result = runner.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).result
    assert [one["name"] for one in result.raw["hosts"]] == ["b", "a"]
    # While a session has the hosts, nobody else measures there, and everybody may look.
    assert all("used by" in one.state for one in shown_hosts(_address(fleet)))
    with pytest.raises(fathom.FathomError, match=r"host '[ab]' is used by"):
        FleetRunner(None, _address(fleet)).measure([*LOAD, f"{tmp_path}/x"])
    runner.close()
    assert {one.state for one in shown_hosts(_address(fleet))} == {"free"}


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
    code = (
        "import sys, datetime as dt; from pathlib import Path; from fathom.fleet import "
        "certificates as c; c._EARLIER = dt.timedelta(days=30); "
        "c.make_certificates(Path(sys.argv[1]), ['a'], 1)"
    )
    folder.mkdir()
    for name in ("ca.pem", "ca.key"):
        (folder / name).write_bytes((tls / name).read_bytes())
    # `days` count from now, so the clock of the one that makes it stands in the past.
    code = code.replace("c._EARLIER", "real = c.dt; c.dt = type('T', (), dict(UTC=real.UTC, "
                        "timedelta=real.timedelta, datetime=type('D', (), dict(now=staticmethod("
                        "lambda tz: real.datetime.now(tz) - real.timedelta(days=9)))))); c._EARLIER")  # fmt: skip
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


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

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.path),))


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
    assert len(shown_hosts(_address(fleet))) == 2


def test_a_host_does_not_take_the_name_of_another(fleet: Fleet) -> None:
    context = client_context(fleet.tls, "worker", "b")
    sent = {"op": "register-worker", "reply": True, "name": "a", "address": "tls://127.0.0.1:1"}
    answer(fleet.address, context, _asked(sent))
    assert [one.name for one in shown_hosts(_address(fleet))] == ["a", "b"]


def test_a_host_of_another_version_is_refused_with_both_named(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.fleet.session.version", lambda: "9.9.9")
    words = rf"'a' has version {fathom.version()}.*and this is version 9\.9\.9"
    with pytest.raises(fathom.FathomError, match=words):
        FleetRunner(None, _address(fleet)).measure([*LOAD, "x.dat"])


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
    for wrong in ("", "a b", "../x", "-x"):
        with pytest.raises(fathom.InvalidRequestError):
            make_certificates(tmp_path / "tls", [wrong])


def _client(fleet: Fleet, tmp_path: Path) -> subprocess.Popen[str]:
    """Start a client in a process of its own; it says so once the load has begun."""
    code = (
        "import sys; from fathom.fleet.runner import FleetRunner; "
        "from fathom.fleet.address import FleetAddress; "
        "r = FleetRunner(None, FleetAddress(sys.argv[1], sys.argv[2]), "
        "on_event=lambda name, _: print(name, flush=True)); "
        "r.measure(sys.argv[3:])"
    )
    words = [fleet.address, str(fleet.tls), *LONG, f"{tmp_path}/{{host}}.dat"]
    client = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    assert any("live" in line for line in client.stdout)
    return client


def test_without_its_client_no_load_goes_on(fleet: Fleet, tmp_path: Path) -> None:
    client = _client(fleet, tmp_path)
    client.kill()
    client.communicate()
    end = time.monotonic() + 60
    while any(one.state != "free" for one in shown_hosts(_address(fleet))):
        assert time.monotonic() < end
        time.sleep(0.5)
    runner = FleetRunner(None, _address(fleet))
    assert runner.measure([*LOAD, f"{tmp_path}/{{host}}.dat"]).error is None
    runner.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_is_gone_or_stands_is_seen(fleet: Fleet, tmp_path: Path, number: int) -> None:
    sent: list[float] = []

    def on_event(name: str, _fields: dict[str, Any]) -> None:
        if name == "live" and not sent:
            sent.append(time.monotonic())
            fleet.hosts["b"].process.send_signal(number)

    runner = FleetRunner(None, _address(fleet), on_event=on_event)
    told = runner.measure([*LONG, f"{tmp_path}/{{host}}.dat"])
    assert "host 'b' was lost: it has not answered for" in str(told.failure)
    assert told.result.total.ios > 0
    assert not told.result.time_spans[0].complete
    runner.close()
    fleet.hosts["b"].end(signal.SIGKILL)
    fleet.hosts["b"] = join(tmp_path, fleet.tls, fleet.address, "b")
    fleet.hosts["b"].wait_for("has joined")
    assert [one.name for one in shown_hosts(_address(fleet))] == ["a", "b"]
