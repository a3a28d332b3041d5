"""A fleet of real processes with certificates, for tests.

As root each host has a network namespace of its own, whose link can be cut; else all are on
loopback. The processes are forked, as one that loads Dask takes a second to start.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.fleet.certificates import make_certificates
from forkserver import forkserver
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from multiprocessing.context import ForkServerProcess

_START_S = 60.0
_END_S = 20.0
_CLONE_NEWNET = 0x40000000
# Addresses for measuring (RFC 2544), which no host of a lab has.
_NETS = [f"198.{18 + at // 256}.{at % 256}" for at in range(512)]
_LOOPBACK = "127.0.0.1"
_NETWORKS = itertools.count()


@dataclass
class Running:
    """A process of the fleet, and where its words go."""

    process: ForkServerProcess | Spawned
    log: Path

    def wait_for(self, words: str) -> None:
        """Wait until it has said this."""
        end = time.monotonic() + _START_S
        while words not in self.log.read_text():
            assert self.process.is_alive(), self.log.read_text()
            assert time.monotonic() < end, f"{words!r} was never said: {self.log.read_text()}"
            time.sleep(0.02)

    def send(self, number: int) -> None:
        """Send a signal."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, also if it was stopped."""
        if self.process.is_alive():
            self.send(number)
            self.send(signal.SIGCONT)
        self.process.join(_END_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Spawned:
    """A process that was started and not forked, with the same ways to look at it."""

    def __init__(self, words: Sequence[str], log: Path, more: Mapping[str, str]) -> None:
        """Start it, with these variables beside ours; it writes there."""
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=os.environ | more
            )
        self.pid = self._process.pid

    @property
    def exitcode(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._process.poll()

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()


@dataclass
class Fleet:
    """A fleet that is there: its address, its certificates, its processes, and its links."""

    folder: Path
    address: str
    coordinator: Running
    hosts: dict[str, Running]
    places: dict[str, Place]

    @property
    def tls(self) -> Path:
        """The folder with the certificates."""
        return self.folder / "tls"

    @property
    def outside(self) -> str:
        """An address of this machine that all hosts reach."""
        apart = [one.address for one in self.places.values() if one.space]
        return f"{apart[0].rpartition('.')[0]}.254" if apart else _LOOPBACK

    def join_again(self, name: str) -> None:
        """Start the host of this name once more."""
        self.hosts[name].end(signal.SIGKILL)
        self.hosts[name] = self.join(name)
        self.hosts[name].wait_for("has joined")

    def join(self, name: str) -> Running:
        """Start the host of this name."""
        place = self.places[name]
        own = ["--host", name, "--listen", place.address]
        words = ["fleet", "join", "--tls", str(self.tls), *own, self.address]
        return start(words, self.folder / f"host-{name}", place.space)


@dataclass(frozen=True)
class Place:
    """Where a host is: its address, its network namespace, and the link to it, if it has one."""

    address: str
    space: str | None = None
    link: str | None = None

    def cut(self) -> None:
        """Cut the link."""
        ip("link", "set", str(self.link), "down")

    def mend(self) -> None:
        """Mend the link."""
        ip("link", "set", str(self.link), "up")


def start(words: Sequence[str], log: Path, space: str | None = None) -> Running:
    """Start ``fathom``, in this network namespace if there is one."""
    return forked(_command, log, [*words], space)


def forked(do: Callable[..., None], log: Path, *given: object) -> Running:
    """Do this in a process of its own, which writes there."""
    log.write_text("")
    process = forkserver().Process(target=_logged, args=(do, str(log), given))
    process.start()
    return Running(process, log)


def _logged(do: Callable[..., None], log: str, given: tuple[object, ...]) -> None:
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    do(*given)


def _command(words: list[str], space: str | None) -> None:
    from fathom.cli import main  # noqa: PLC0415 - Only what is forked needs it.

    if space is not None:
        _enter(space)
    sys.argv = ["fathom", *words]
    main()


def _enter(space: str) -> None:
    with Path(f"/run/netns/{space}").open("rb") as opened:
        if ctypes.CDLL(None, use_errno=True).setns(opened.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    with suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def ip(*words: str) -> str:
    """Run ``ip``, and return what it printed."""
    command = [shutil.which("ip") or "ip", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _free_net() -> str:
    """Return a network that no other process of tests has, nor has left behind when it was killed.

    Several may look for one at the same time: each begins at its own.
    """
    in_use, first = ip("-oneline", "-4", "address"), os.getpid() % len(_NETS)
    return next(net for net in _NETS[first:] + _NETS[:first] if f" {net}." not in in_use)


@contextmanager
def _network(names: Sequence[str]) -> Iterator[dict[str, Place]]:
    """Make a bridge, and for each host a namespace with a link to it."""
    # Links go some time after their namespace has: the next network has other names.
    bridge, net = f"fl{os.getpid() % 100_000}n{next(_NETWORKS)}", _free_net()
    places: dict[str, Place] = {}
    with ExitStack() as made:
        ip("link", "add", bridge, "type", "bridge")
        made.callback(ip, "link", "delete", bridge)
        ip("address", "add", f"{net}.254/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for number, name in enumerate(names, 1):
            place = Place(f"{net}.{number}", f"{bridge}{name}", f"{bridge}{name}0")
            space, link = str(place.space), str(place.link)
            ip("netns", "add", space)
            made.callback(ip, "netns", "delete", space)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", link, "master", bridge, "up")
            ip("-n", space, "address", "add", f"{place.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", space, "link", "set", device, "up")
            places[name] = place
        yield places


def _places(names: Sequence[str], made: ExitStack) -> dict[str, Place]:
    """Return where the hosts are: in network namespaces, or all on loopback without root."""
    with ExitStack() as tried, suppress(OSError, subprocess.CalledProcessError):
        found = tried.enter_context(_network(names))
        made.push(tried.pop_all())
        return found
    return dict.fromkeys(names, Place(_LOOPBACK))


@contextmanager
def fleet_of(folder: Path, names: Sequence[str]) -> Iterator[Fleet]:
    """Start a coordinator beside the first host, and hosts of these names, with mutual TLS."""
    tls = folder / "tls"
    make_certificates(tls, names)
    with ExitStack() as made:
        places = _places(names, made)
        first = places[names[0]]
        address = f"{first.address}:{free_port()}"
        words = ["start", "--tls", str(tls), "--host", names[0], "--listen", address]
        coordinator = start(["fleet", *words], folder / "coordinator", first.space)
        fleet = Fleet(folder, address, coordinator, {}, places)
        made.callback(_end_all, fleet)
        coordinator.wait_for("coordinator of version")
        fleet.hosts.update({name: fleet.join(name) for name in names})
        for host in fleet.hosts.values():
            host.wait_for("has joined")
        yield fleet


def _end_all(fleet: Fleet) -> None:
    """End what there is now: a test may have started hosts or the coordinator once more."""
    for one in (*fleet.hosts.values(), fleet.coordinator):
        one.end()


def client_context(tls: Path | None, role: str, name: str) -> ssl.SSLContext:
    """Return the context of a raw client with the certificate of this role; None has none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if tls is not None:
        context.load_cert_chain(tls / f"{role}-{name}.pem", tls / f"{role}-{name}.key")
    return context


def answer(address: str, context: ssl.SSLContext | None, sent: bytes) -> bytes:
    """Return what an end says to a raw client that has sent this; nothing if it refuses it."""
    host, _, port = address.rpartition(":")
    found = b""
    try:
        with ExitStack() as opened:
            stream = opened.enter_context(socket.create_connection((host, int(port)), timeout=1))
            if context is not None:
                stream = opened.enter_context(context.wrap_socket(stream))
            stream.sendall(sent)
            while part := stream.recv(65536):
                found += part
    except OSError:
        # A reset or an alert of TLS; whatever came before it counts.
        return found
    return found
