"""What many who look at a run cost it: the same load with and without viewers, interleaved.

    python benches/viewers.py --viewers 50 --pairs 10 --load "-c64M -b4K -r -o1 -Su"

One server of `fathom serve` starts all runs; each viewer is a stream of events as a browser opens
it, all in one process of their own. The quotient of a pair is its IOPS with viewers by those
without; the median of the quotients is printed, and how many events a viewer got in a run. Where
runs differ by more than what is looked for, ``--within`` lets the viewers come and go in one long
run instead, and compares neighbouring stretches of it.
"""

from __future__ import annotations

import argparse
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python"))

from fathom.metrics import interval_series
from fathom.store import Store
from served import Server, served, started, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

_STRETCH_S = 3
# Reads what comes for so many sockets until its input ends, then prints how many events came.
_VIEWERS = """
import selectors, socket, sys
host, port, token, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
found, events = selectors.DefaultSelector(), 0
for _ in range(count):
    one = socket.create_connection((host, port))
    head = ["GET /api/v1/live HTTP/1.1", f"Host: {host}:{port}", f"Authorization: Bearer {token}"]
    one.sendall("\\r\\n".join([*head, "", ""]).encode())
    found.register(one, selectors.EVENT_READ)
found.register(sys.stdin, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in found.select():
        if key.fileobj is sys.stdin:
            print(events)
            sys.exit()
        read = key.fileobj.recv(65536)
        if not read:
            found.unregister(key.fileobj)
        events += read.count(b"event: second")
"""


@contextmanager
def viewers(server: Server, count: int, told: list[int]) -> Iterator[None]:
    """Let so many look; how many events came to all of them is appended to ``told``."""
    if count == 0:
        yield
        return
    host = urlparse(server.base).hostname or socket.gethostname()
    words = [sys.executable, "-c", _VIEWERS, host, str(server.port), server.token, str(count)]
    with subprocess.Popen(  # noqa: S603 - A list of arguments, without a shell.
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None  # noqa: S101 - It is a pipe.
        assert process.stdout is not None  # noqa: S101 - It is a pipe.
        process.stdout.readline()
        yield
        process.stdin.close()
        told.append(int(process.stdout.readline()))


def iops(program: httpx.Client, load: list[str], target: str) -> float:
    """Measure once, and return the I/Os per second."""
    name = started(program, {}, *load, "--", target)

    def run_ids() -> list[int]:
        found: list[int] = program.get(f"/api/v1/processes/{name}").json()["run_ids"]
        return found

    # Who asks all the time would be a viewer, too.
    time.sleep(4)
    wait_for(lambda: len(run_ids()), 1)
    return float(program.get(f"/api/v1/runs/{run_ids()[0]}").json()["iops"])


def stretches(
    server: Server, program: httpx.Client, load: list[str], target: str, asked: argparse.Namespace
) -> list[float]:
    """Measure once, with viewers in each second stretch, and return the quotients of neighbours."""
    seconds = _STRETCH_S * 2 * asked.pairs
    name = started(program, {}, *load, f"-d{seconds}", "-W1", "-D1000", "--", target)

    def known() -> dict[str, object]:
        found: dict[str, object] = program.get(f"/api/v1/processes/{name}").json()
        return found

    wait_for(lambda: known()["phase"] == "measured")
    began_s, told = time.time(), list[int]()
    for stretch in range(2 * asked.pairs):
        with viewers(server, asked.viewers if stretch % 2 else 0, told):
            time.sleep(max(began_s + _STRETCH_S * (stretch + 1) - time.time(), 0))
    wait_for(lambda: len(known()["run_ids"]), 1)  # type: ignore[arg-type]
    with Store(server.folder / "store.sqlite", make=False) as store:
        rates = interval_series(store.runs.get(1).result, "iops")
    if rates is None:
        raise SystemExit("the run has no series")
    # The second in which they came or went belongs to nobody.
    means = [
        statistics.mean(rates[at + 1 : at + _STRETCH_S])
        for at in range(0, len(rates) - _STRETCH_S + 1, _STRETCH_S)
    ]
    # Each with viewers lies between two without.
    middles = range(1, len(means) - 1, 2)
    return [means[at] / ((means[at - 1] + means[at + 1]) / 2) for at in middles]


def main() -> None:
    """Measure pairs, and print each and the median."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--target", help="what is read; otherwise a file that is made")
    parser.add_argument("--within", action="store_true", help="come and go in one long run")
    parser.add_argument("--load", default="-c64M -b4K -r -o1 -Su")
    asked = parser.parse_args()
    load = shlex.split(asked.load)
    quotients: list[float] = []
    told: list[int] = []
    with (
        tempfile.TemporaryDirectory() as name,
        served(Path(name)) as server,
        server.program() as program,
    ):
        target = asked.target or f"{name}/x.dat"
        if asked.within:
            quotients = stretches(server, program, load, target, asked)
            print(" ".join(f"{one:.4f}" for one in quotients))
        for pair in range(0 if asked.within else asked.pairs):
            rates = {}
            for count in (0, asked.viewers) if pair % 2 == 0 else (asked.viewers, 0):
                with viewers(server, count, told):
                    rates[count] = iops(program, [*load, "-d3", "-W1"], target)
            without, beside = rates[0], rates[asked.viewers]
            quotients.append(beside / without)
            print(f"{without:,.0f} {beside:,.0f} {quotients[-1]:.4f}", flush=True)
    low, middle, high = statistics.quantiles(quotients, n=4)
    print(f"median {middle:.4f} ({low:.4f} to {high:.4f}), {len(quotients)} pairs")
    if told:
        print(f"{statistics.mean(told) / asked.viewers:.1f} events a viewer and run")


if __name__ == "__main__":
    main()
