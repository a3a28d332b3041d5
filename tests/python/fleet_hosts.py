"""A fleet of real processes with certificates, for tests: a coordinator and hosts on loopback."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, NamedTuple

from commands import COMMAND
from fathom.fleet.certificates import make_certificates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_START_S = 60.0


class Running(NamedTuple):
    """A process of the fleet, and where its words go."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, words: str) -> None:
        """Wait until it has said this."""
        end = time.monotonic() + _START_S
        while words not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, f"{words!r} was never said: {self.log.read_text()}"
            time.sleep(0.05)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it, also if it was stopped."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Fleet(NamedTuple):
    """A fleet that is there: its address, its certificates, and its processes."""

    address: str
    tls: Path
    coordinator: Running
    hosts: dict[str, Running]


def start(words: Sequence[str | Path], log: Path, inside: Sequence[str] = ()) -> Running:
    """Start ``fathom fleet``, in a network namespace if ``inside`` enters one."""
    out: IO[bytes]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*inside, *COMMAND, "fleet", *map(str, words)],
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    return Running(process, log)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def fleet_of(folder: Path, names: Sequence[str]) -> Iterator[Fleet]:
    """Start a coordinator and hosts of these names on loopback, with mutual TLS."""
    tls = folder / "tls"
    make_certificates(tls, names)
    address = f"127.0.0.1:{free_port()}"
    started = start(
        ["start", "--tls", tls, "--host", names[0], "--listen", address], folder / "coordinator"
    )
    hosts: dict[str, Running] = {}
    try:
        started.wait_for("coordinator of version")
        for name in names:
            hosts[name] = join(folder, tls, address, name)
        for host in hosts.values():
            host.wait_for("has joined")
        yield Fleet(address, tls, started, hosts)
    finally:
        for one in (*hosts.values(), started):
            one.end()


def join(folder: Path, tls: Path, address: str, name: str) -> Running:
    words = ["join", "--tls", tls, "--host", name, "--listen", "127.0.0.1", address]
    return start(words, folder / f"host-{name}")


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
