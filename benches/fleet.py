"""What a fleet costs: coordination by hosts, bytes on the wire, merging, and how alike hosts start.

    unshare -n sh -c "ip link set lo up; benches/fleet.py workers [--most 256]"
    benches/fleet.py merge [--results 1000]
    benches/fleet.py skew [--starts 100] [--hosts 3] [--spins]

``workers`` has a real coordinator, real workers with certificates, all in one process, and a real
client in another; only what measures is simulated, which does no I/O and answers with a result that
was measured before. ``merge`` and ``skew`` simulate nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import multiprocessing
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import fathom
from fathom.fleet import link
from fathom.fleet.address import FleetAddress
from fathom.fleet.certificates import certificate_files, make_certificates
from fathom.fleet.clocks import ClockOffset
from fathom.fleet.comm import Accepts, register
from fathom.fleet.coordinator import coordinator_at
from fathom.fleet.member import Member, _Session, member_of
from fathom.fleet.outcome import HostPart, checked_part, merged
from fathom.fleet.restricted import quiet_logs
from fathom.fleet.runner import FleetRunner

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

LOAD = ["--engine=null", "-c1M", "-b4K", "-r", "-L", "-D100", "-W0", "-d1"]
TARGET = "{host}.dat"
_NET = Path("/proc/net/dev")
_S = 1_000_000_000


class _Simulated:
    """What looks like a process that measures: it answers a line with a line, and does no I/O."""

    pid = os.getpid()
    returncode: int | None = None

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._asked: dict[str, Any] = {}
        self._is_closing = False
        self.stdin = self.stdout = self

    def write(self, line: bytes) -> None:
        asked = json.loads(line)
        do = asked["do"]
        if do == "explain":
            target = {"name": TARGET, "path": TARGET, "size_bytes": 1 << 20, "kind": "file"}
            target |= {"is_written": False, "identity": f"{id(self)}"}
            target["verdict"] = {"is_refused": False}
            self._say(number=asked["number"], explained={"targets": [target]})
        elif do == "open":
            self._asked = asked
            self._say(event={"event": "ready"})
        elif do == "start":
            late_s = (asked["at_unix_ns"] - time.time_ns()) / _S
            asyncio.get_running_loop().call_later(late_s + 1, self._ended, asked["at_unix_ns"])

    def _ended(self, at_ns: int) -> None:
        raw = copy.deepcopy(self._result)
        raw["request"] = json.loads(self._asked["request"])
        raw["profile"] = raw["request"]["profile"]
        raw["time_spans"][0]["began_unix_ns"] = at_ns
        self._say(number=self._asked["number"], result=json.dumps(raw), failures=[])

    def _say(self, **found: object) -> None:
        self._lines.put_nowait(f"{json.dumps(found)}\n".encode())

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True
        self.returncode = 0
        self._lines.put_nowait(None)

    def kill(self) -> None:
        self.close()

    async def wait(self) -> int:
        return 0

    def __aiter__(self) -> _Simulated:
        return self

    async def __anext__(self) -> bytes:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line


def _simulate(result: dict[str, Any]) -> None:
    """Let the workers of this process begin sessions whose measuring process is simulated."""

    async def begin(self: Member, comm: object, session: str, who: str) -> dict[str, object]:
        del comm
        held = _Session(session, who, _Simulated(result))  # type: ignore[arg-type]
        self._session = held
        self._free.clear()
        held.listener = asyncio.create_task(held.listen())
        held.beats = asyncio.create_task(_beat(held))  # type: ignore[attr-defined]
        return {"pid": os.getpid()}

    Member._do_begin = begin  # type: ignore[method-assign] # noqa: SLF001 - What is simulated.


async def _beat(session: _Session) -> None:
    while not session.is_over:
        session.heard_s = time.monotonic()
        await asyncio.sleep(0.5)


class _Hosts:
    """A coordinator and workers on loopback, in one process."""

    def __init__(self, tls: Path, hosts: int) -> None:
        forks = multiprocessing.get_context("fork")
        self._ours, theirs = forks.Pipe()
        self._process = forks.Process(target=self._serve, args=(tls, hosts, theirs))
        self._process.start()
        self.address: str = self._ours.recv()

    def _serve(self, tls: Path, hosts: int, asked: Connection) -> None:
        """Be the hosts, and say when asked how much CPU they took, in seconds."""
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        asked.send(asyncio.run_coroutine_threadsafe(self._begun(tls, hosts), loop).result())
        while asked.recv():
            asked.send(time.process_time())
        asyncio.run_coroutine_threadsafe(self._ended(), loop).result()

    def cpu_s(self) -> float:
        """Return how much CPU they have taken."""
        self._ours.send("cpu")
        return float(self._ours.recv())

    async def _begun(self, tls: Path, hosts: int) -> str:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        self._coordinator = await coordinator_at(
            "127.0.0.1", port, certificate_files(tls, "coordinator", "h0")
        )
        address = f"127.0.0.1:{port}"
        self._members = []
        for number in range(hosts):
            identity = certificate_files(tls, "worker", f"h{number}")
            self._members.append(await member_of(address, identity, f"h{number}", ("127.0.0.1", 0)))
        # All are in one process, whose connections serve both.
        register(
            Accepts(
                incoming=("worker", "client", "coordinator"), outgoing=("worker", "coordinator")
            )
        )
        return address

    async def _ended(self) -> None:
        await asyncio.gather(*(one.close(reason="it ends") for one in self._members))
        await self._coordinator.close(reason="it ends")

    def end(self) -> None:
        """Let them end."""
        self._ours.send("")
        self._process.join()


class Cost(NamedTuple):
    """What a run cost beside its time."""

    hosts: int
    connect_s: float
    wall_s: float
    client_cpu_s: float
    hosts_cpu_s: float
    host_bytes: float


def _wire_bytes() -> int:
    """Return what passed on loopback, with the headers of TCP and IP."""
    (line,) = [one for one in _NET.read_text().splitlines() if one.strip().startswith("lo:")]
    return int(line.split(":")[1].split()[0])


def _measured(folder: Path, hosts: int, runs: int) -> Cost:
    tls = folder / f"tls{hosts}"
    make_certificates(tls, [f"h{number}" for number in range(hosts)])
    there = _Hosts(tls, hosts)
    runner = FleetRunner(None, FleetAddress(there.address, str(tls)))
    began_s = time.monotonic()
    if runner.host_count() != hosts:
        raise SystemExit("a host is missing")
    connect_s = time.monotonic() - began_s
    runner.measure([*LOAD, TARGET])
    found = []
    for _ in range(runs):
        bytes_, cpu_s, began_s = _wire_bytes(), time.process_time(), time.monotonic()
        hosts_cpu_s = there.cpu_s()
        result = runner.measure([*LOAD, TARGET]).result
        if len(result.raw["hosts"]) != hosts:
            raise SystemExit("a host was lost")
        # The load takes a second, which is no cost.
        wall_s = time.monotonic() - began_s - 1
        cpu_s, hosts_cpu_s = time.process_time() - cpu_s, there.cpu_s() - hosts_cpu_s
        found.append((wall_s, cpu_s, hosts_cpu_s, (_wire_bytes() - bytes_) / hosts))
    runner.close()
    there.end()
    return Cost(hosts, connect_s, *(median(column) for column in zip(*found, strict=True)))


def workers(most: int, runs: int) -> None:
    """Print what a run costs from 1 host on, each time twice as many."""
    quiet_logs()
    # All hosts share one process, and its CPU with whatever else the machine does.
    link._ANSWER_S = link.LOST_AFTER_S = 120.0  # type: ignore[attr-defined] # noqa: SLF001
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _simulate(dict(fathom.run([*LOAD, f"{folder}/x.dat"]).raw))
        print("hosts  connect s  coordination s  client CPU s  hosts CPU s  KiB per host")
        hosts = 1
        while hosts <= most:
            one = _measured(folder, hosts, runs)
            print(
                f"{one.hosts:5}  {one.connect_s:9.2f}  {one.wall_s:14.2f}  "
                f"{one.client_cpu_s:12.2f}  {one.hosts_cpu_s:11.2f}  {one.host_bytes / 1024:12.1f}",
                flush=True,
            )
            hosts *= 2


def merge(results: int) -> None:
    """Print what it takes to check so many results, one by one, and to merge them."""
    with tempfile.TemporaryDirectory() as name:
        asked = fathom.parse([*LOAD, f"{name}/x.dat"])
        raw = dict(fathom.run(asked).raw)
    raw["hosts"] = []
    # Each has a text of its own, as it came over the wire.
    texts = [json.dumps(raw | {"host": raw["host"] | {"name": f"{n}"}}) for n in range(results)]
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began_s, cpu_s = time.monotonic(), time.process_time()
    parts = [
        HostPart(f"h{n}", n, "1", "Linux", ClockOffset(0, 1), measured=checked_part(text, asked))
        for n, text in enumerate(texts)
    ]
    checked_s, checked_cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
    began_s, cpu_s = time.monotonic(), time.process_time()
    whole = merged(parts, asked, LOAD)
    wall_s, cpu_s = time.monotonic() - began_s, time.process_time() - cpu_s
    after_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if whole.total.ios != results * fathom.Result.from_json(json.dumps(raw)).total.ios:
        raise SystemExit("the sum is wrong")
    print(
        f"{results} results of {len(json.dumps(raw)) / 1024:.0f} KiB: checked in {checked_s:.2f} s "
        f"({checked_cpu_s:.2f} s of CPU) as they come, merged in {wall_s:.2f} s, "
        f"{cpu_s:.2f} s of CPU, {(after_kib - before_kib) / 1024:.0f} MiB more memory"
    )


def skew(starts: int, hosts: int, *, spins: bool) -> None:
    """Print how much later than the first the last host began, over many starts.

    Hosts of a fleet have CPUs of their own. Here they share those of one machine; so the load
    leaves these free, unless it ``spins``: then the last host waits for the slice of another.
    """
    found_ms = []
    load_of_hosts = LOAD if spins else [*LOAD, "-g1000i"]
    load: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        runner = FleetRunner(None, FleetAddress(f"local:{hosts}"))
        for _ in range(starts):
            load.append(os.getloadavg()[0])
            result = runner.measure([*load_of_hosts, f"{folder}/{TARGET}"]).result
            found_ms.append(max(one["start_skew_ns"] for one in result.raw["hosts"]) / 1e6)
        runner.close()
    ordered = sorted(found_ms)
    within = sum(one <= 1 for one in found_ms)
    print(
        f"{starts} starts of {hosts} hosts: {within} within 1 ms; median {median(ordered):.3f} ms, "
        f"95 of 100 within {ordered[int(0.95 * (starts - 1))]:.3f} ms, most {ordered[-1]:.1f} ms; "
        f"load of the machine {min(load):.1f} to {max(load):.1f} on {os.cpu_count()} CPUs"
    )


def main() -> int:
    """Measure what is named."""
    parser = argparse.ArgumentParser(description="What a fleet costs.")
    parser.add_argument("what", choices=["workers", "merge", "skew"])
    parser.add_argument("--most", type=int, default=256)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--results", type=int, default=1000)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=3)
    parser.add_argument("--spins", action="store_true", help="The load of each host takes a CPU.")
    options = parser.parse_args()
    if options.what == "workers":
        workers(options.most, options.runs)
    elif options.what == "merge":
        merge(options.results)
    else:
        skew(options.starts, options.hosts, spins=options.spins)
    return 0


if __name__ == "__main__":
    sys.exit(main())
