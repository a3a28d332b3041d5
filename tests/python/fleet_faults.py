"""Break fleets for real, again and again, and see that nothing is lost, held up, or runs on.

    tests/python/fleet_faults.py [--rounds 20] [--seed 1] [--only link]

Three hosts with certificates measure, each in a network namespace; so root is needed. In each
round a fault happens at a drawn moment: a worker or its measuring process is killed, a link is cut,
a host stops, its clock is set, the client or the coordinator is killed, or the store is full. Then
it must be told in words within 5 s, what was measured must be in the store, no host may hold a
target open 10 s later, and the next command must use the same hosts and targets. A clock is set by
libfaketime (Debian: faketime), since a time namespace has no clock of the wall; without it that
fault is left out.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands import COMMAND
from fathom.fleet.address import FleetAddress
from fathom.fleet.runner import FleetRunner
from fathom.fleet.showing import shown_hosts
from fathom.store import Store
from fleet_hosts import Fleet, Running, Spawned, fleet_of, forked, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

HOSTS = ["a", "b", "c"]
BROKEN = "b"
# Few I/Os, so that what is seen late is not the fault of a busy CPU.
LOAD = ["-c16M", "-b4K", "-r", "-w30", "-g500i", "-L", "-W0"]
# As the design has them; a busy machine of few CPUs is not the fault of a fleet.
SEEN_S, QUIET_S, SLACK_S = 5.0, 10.0, 3.0
_NEVER_S = 60.0
_STEP_S = 7
# Each process reads so often what its clock is to show.
_CLOCK_READ_S = 1
_FULL_BYTES = 3 << 20
_EARLY = 0.2


class Fault(Exception):  # noqa: N818 - It is what is looked for, and no error of this.
    """Something that must not be."""


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def drive(address: str, tls: str, store: str, folder: str, words: list[str]) -> None:
    """Be a client: measure, and say what happens and when, a line of JSON each."""
    os.chdir(folder)
    # Who hangs says where.
    faulthandler.register(signal.SIGUSR1, all_threads=True)

    def say(**told: object) -> None:
        _say(json.dumps({"at_s": time.monotonic()} | told))

    def on_event(name: str, fields: dict[str, Any]) -> None:
        say(event=name, host=fields.get("host"), why=fields.get("why"))

    try:
        with Store(store) as opened:
            # By name: one that is lost before it could be found is missed, and not left out.
            fleet = FleetAddress(address, tls, tuple(HOSTS))
            with closing(FleetRunner(opened, fleet, on_event=on_event)) as runner:
                found = runner.measure(words, show=lambda _result: say(shown=True))
                say(ended=True, run_id=found.run_id, failure=found.failure)
    except Exception as error:  # noqa: BLE001 - Whatever it is, it is shown.
        say(ended=True, run_id=None, failure=f"{type(error).__name__}: {error}")


@dataclass
class Round:
    """One fault in a fleet."""

    fleet: Fleet
    folder: Path
    draw: random.Random
    store: Path
    client: Running | None = None
    undo: ExitStack = field(default_factory=ExitStack)

    def running(self) -> Running:
        """Return the client."""
        assert self.client is not None
        return self.client

    def target(self, name: str) -> Path:
        """Return the target of a host."""
        return self.folder / f"{name}.dat"

    def begin(self, seconds: int) -> None:
        """Start a client."""
        words = [*LOAD, f"-d{seconds}", f"{self.folder}/{{host}}.dat"]
        log = self.folder / "client"
        given = (self.fleet.address, str(self.fleet.tls), str(self.store), str(self.folder), words)
        self.client = forked(drive, log, *given)

    def said(self) -> list[dict[str, Any]]:
        """Return what the client has said."""
        lines = self.running().log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]

    def users(self) -> set[int]:
        """Return what holds a target open; a process that is stopped does nothing with it."""
        found = set()
        for opened in Path("/proc").glob("[0-9]*/fd/*"):
            with suppress(OSError):
                target = opened.readlink()
                if target.is_relative_to(self.folder) and target.suffix == ".dat":
                    state = (opened.parents[1] / "stat").read_text().rpartition(")")[2].split()[0]
                    if state != "T":
                        found.add(int(opened.parts[2]))
        return found

    def measuring(self, name: str) -> int:
        """Return the measuring process of a host, which its worker has started; 0 if none."""
        worker = self.fleet.hosts[name].process.pid
        children = Path(f"/proc/{worker}/task/{worker}/children")
        found = [
            int(one)
            for path in children.parent.parent.glob("*/children")
            for one in path.read_text().split()
        ]
        for one in found:
            with suppress(OSError):
                if b"fathom.fleet.measuring" in Path(f"/proc/{one}/cmdline").read_bytes():
                    return one
        return 0


def _worker(now: Round) -> None:
    now.fleet.hosts[BROKEN].send(signal.SIGKILL)
    now.undo.callback(now.fleet.join_again, BROKEN)


def _process(now: Round) -> None:
    # Early, it may not have begun yet.
    _until(lambda: now.measuring(BROKEN) > 0, time.monotonic(), "there is no measuring process")
    os.kill(now.measuring(BROKEN), signal.SIGKILL)


def _link(now: Round) -> None:
    now.fleet.places[BROKEN].cut()
    now.undo.callback(now.fleet.places[BROKEN].mend)


def _stall(now: Round) -> None:
    pids = [now.measuring(BROKEN), now.fleet.hosts[BROKEN].process.pid]
    for pid in filter(None, pids):
        os.kill(pid, signal.SIGSTOP)
        now.undo.callback(_continue, pid)


def _continue(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _client(now: Round) -> None:
    now.running().send(signal.SIGKILL)


def _coordinator(now: Round) -> None:
    now.fleet.coordinator.send(signal.SIGKILL)
    now.undo.callback(_coordinator_again, now)


def _coordinator_again(now: Round) -> None:
    fleet = now.fleet
    fleet.coordinator.end(signal.SIGKILL)
    own = ["--tls", str(fleet.tls), "--host", HOSTS[0], "--listen", fleet.address]
    log, space = fleet.folder / "coordinator", fleet.places[HOSTS[0]].space
    fleet.coordinator = start(["fleet", "start", *own], log, space)
    fleet.coordinator.wait_for("coordinator of version")


def _full(now: Round) -> None:
    ballast = now.store.parent / "ballast"
    with suppress(OSError), ballast.open("wb") as opened:
        opened.write(bytes(_FULL_BYTES))
    with suppress(OSError), ballast.open("ab", buffering=0) as opened:
        while True:
            opened.write(bytes(512))
    now.undo.callback(ballast.unlink)


def _clock(now: Round) -> None:
    step_s = now.draw.choice([-_STEP_S, _STEP_S])
    (now.fleet.folder / "clock").write_text(f"{step_s:+d}")


@dataclass(frozen=True)
class Kind:
    """A fault: what does it, and what must be known of it.

    Attributes
    ----------
    words
        What the client must say; nothing if it goes on, or is no more.
    ends
        Whether it ends the run; else the run ends by itself.
    keeps
        Whether the store has what was measured.

    """

    do: Callable[[Round], None]
    words: str = ""
    ends: bool = True
    keeps: bool = True
    seconds: int = 600


FAULTS = {
    "worker": Kind(_worker, "host 'b' was lost"),
    "process": Kind(_process, "host 'b' was lost"),
    "link": Kind(_link, "host 'b' was lost"),
    "stall": Kind(_stall, "host 'b' was lost"),
    "client": Kind(_client, keeps=False),
    "coordinator": Kind(_coordinator, ends=False, seconds=3),
    "store": Kind(_full, "is kept in", ends=False, keeps=False, seconds=3),
    "clock": Kind(_clock, ends=False, seconds=4),
}


def broken(now: Round, kind: Kind) -> dict[str, float]:
    """Let a fault happen in a run, and return how long everything took.

    Raises
    ------
    Fault
        If something is not as it must be.

    """
    with now.undo:
        now.begin(kind.seconds)
        early = kind.ends and now.draw.random() < _EARLY
        if early:
            time.sleep(now.draw.uniform(0.0, 1.0))
        else:
            now.running().wait_for('"live"')
            time.sleep(now.draw.uniform(0.0, 0.5))
        kind.do(now)
        at_s = time.monotonic()
        took = {} if kind.do is _client else _told(now, kind, at_s, early=early)
        _until(lambda: not now.users(), at_s, "a target is still open")
        took["quiet"] = time.monotonic() - at_s
        if kind.ends and took["quiet"] > QUIET_S + SLACK_S:
            raise Fault(f"a host held a target for {took['quiet']:.1f} s")
    mended_s = time.monotonic()
    address = FleetAddress(now.fleet.address, str(now.fleet.tls))
    _until(lambda: _all_free(address), mended_s, "a host is not free")
    took["free"] = time.monotonic() - mended_s
    if kind.do is _clock:
        _clock_was_seen(now)
    now.running().end(signal.SIGKILL)
    _next_works(now)
    return took


def _told(now: Round, kind: Kind, at_s: float, *, early: bool) -> dict[str, float]:
    """Wait until the client has said how its run ended, and judge that."""
    try:
        _until(lambda: any("ended" in one for one in now.said()), at_s, "the client says nothing")
    except Fault:
        now.running().send(signal.SIGUSR1)
        time.sleep(1)
        raise
    last = now.said()[-1]
    failure = str(last["failure"] or "")
    if kind.words not in failure and not early:
        raise Fault(f"{kind.words!r} was not said: {failure!r}")
    if early and not failure:
        raise Fault("a run that lost a host failed not")
    if not kind.words and failure:
        raise Fault(f"the run failed: {failure}")
    if kind.keeps and not early:
        with Store(str(now.store)) as store:
            kept = store.runs.get(int(last["run_id"])).result
        if not kept.total.ios or len(kept.raw["hosts"]) != len(HOSTS):
            raise Fault("what was measured is not in the store")
    lost = [one for one in now.said() if one.get("event") == "host_lost"]
    wanted = [BROKEN] * bool(kind.words.startswith("host"))
    if [one["host"] for one in lost] != wanted and not early:
        raise Fault(f"these hosts were lost: {lost}")
    took = {"ended": float(last["at_s"]) - at_s}
    if lost:
        took["seen"] = float(lost[0]["at_s"]) - at_s
        if took["seen"] > SEEN_S + SLACK_S:
            raise Fault(f"it was seen after {took['seen']:.1f} s")
    return took


def _until(is_so: Callable[[], bool], since_s: float, what: str) -> None:
    while not is_so():
        if time.monotonic() - since_s > _NEVER_S:
            raise Fault(what)
        time.sleep(0.05)


def _all_free(address: FleetAddress) -> bool:
    with suppress(Exception):
        shown = shown_hosts(address)
        return [one.state for one in shown] == ["free"] * len(HOSTS)
    return False


def _clock_was_seen(now: Round) -> None:
    with Store(str(now.store)) as store:
        hosts = store.runs.get(int(now.said()[-1]["run_id"])).result.raw["hosts"]
    moved_s = {one["name"]: abs(one["clock_moved_ns"]) / 1e9 for one in hosts}
    if abs(moved_s[BROKEN] - _STEP_S) > 1 or max(moved_s["a"], moved_s["c"]) > 1:
        raise Fault(f"the clock moved by {_STEP_S} s, and {moved_s} was found")


def _next_works(now: Round) -> None:
    words = [*LOAD, "-d1", f"{now.folder}/{{host}}.dat"]
    own = ["--fleet", now.fleet.address, "--tls", str(now.fleet.tls), f"--store={now.store}"]
    done = start(["run", *own, *words], now.folder / "next")
    done.process.join(_NEVER_S)
    if done.process.exitcode != 0:
        raise Fault(f"the next command fails: {done.log.read_text()[-600:]}")


def clock_library() -> Path | None:
    """Return what sets the clock of a process; None if it is not installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def _with_clock(fleet: Fleet) -> None:
    """Start the host that is broken once more, with a clock that a file sets."""
    library = clock_library()
    clock = fleet.folder / "clock"
    clock.write_text("+0")
    more = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        # It would read the file for each look at a clock, of which a load makes many.
        "FAKETIME_CACHE_DURATION": f"{_CLOCK_READ_S}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
        "PYTHONUNBUFFERED": "1",
    }
    place = fleet.places[BROKEN]
    words = [
        shutil.which("ip") or "ip", "netns", "exec", str(place.space), *COMMAND, "fleet", "join",
        "--tls", str(fleet.tls), "--host", BROKEN, "--listen", place.address, fleet.address,
    ]  # fmt: skip
    fleet.hosts[BROKEN].end()
    log = fleet.folder / f"host-{BROKEN}"
    process = Spawned(words, log, more)
    fleet.hosts[BROKEN] = Running(process, log)
    fleet.hosts[BROKEN].wait_for("has joined")


def _store(name: str, folder: Path, made: ExitStack) -> Path:
    """Return where the store is: for the fault of a full one, on a small file system."""
    small = folder / "small"
    small.mkdir()
    if name == "store":
        options = ["-t", "tmpfs", "-o", f"size={_FULL_BYTES}", "fathom"]
        subprocess.run(["mount", *options, str(small)], check=True)  # noqa: S607
        made.callback(subprocess.run, ["umount", str(small)], check=False)
    return small / "store.sqlite"


def rounds(fleet: Fleet, names: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Let each fault happen so many times, and yield what came of it; then what all took.

    Raises
    ------
    Fault
        If something is not as it must be.

    """
    took: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name in names:
        if name == "clock":
            _with_clock(fleet)
        for number in range(count):
            draw = random.Random(f"{seed} {name} {number}")  # noqa: S311
            with ExitStack() as made:
                place = tempfile.TemporaryDirectory(prefix="faults.", dir=_in_memory())
                folder = Path(made.enter_context(place))
                now = Round(fleet, folder, draw, _store(name, folder, made))
                try:
                    found = broken(now, FAULTS[name])
                except Fault as fault:
                    log = now.running().log.read_text()[-6000:]
                    raise Fault(f"{name}, round {number}: {fault}\n{log}") from fault
            if name == "clock":
                (fleet.folder / "clock").write_text("+0")
                # Until then the host and the process that measures there may have different clocks.
                time.sleep(_CLOCK_READ_S + 0.5)
            for what, seconds in found.items():
                took[name][what].append(seconds)
            yield f"{name} {number + 1}: " + _words({k: [v] for k, v in found.items()})
        if name == "clock":
            fleet.join_again(BROKEN)
    for name, all_of_it in took.items():
        yield f"{name}: {count} times, the longest: {_words(all_of_it)}"


def _in_memory() -> str | None:
    """Return a folder in memory, where there is one: how slow a disk is, is no fault of a fleet."""
    place = Path("/dev/shm")  # noqa: S108 - In it, a folder of our own is made.
    return str(place) if place.is_dir() else None


def _words(found: dict[str, list[float]]) -> str:
    said = {
        "seen": "seen after {:.1f} s",
        "ended": "ended after {:.1f} s",
        "quiet": "quiet after {:.1f} s",
        "free": "free {:.1f} s after it was mended",
    }
    return ", ".join(said[what].format(max(found[what])) for what in said if what in found)


def main() -> int:
    """Break fleets, and tell how it ended."""
    parser = argparse.ArgumentParser(description="Break fleets for real.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[*FAULTS], action="append")
    options = parser.parse_args()
    if os.geteuid():
        _say("skipped: network namespaces need root")
        return 0
    names = options.only or [*FAULTS]
    if "clock" in names and clock_library() is None:
        _say("clock: left out, as libfaketime is not installed (Debian: faketime)")
        names = [one for one in names if one != "clock"]
    with tempfile.TemporaryDirectory(prefix="faults.") as folder:
        try:
            with fleet_of(Path(folder), HOSTS) as fleet:
                for line in rounds(fleet, names, options.rounds, options.seed):
                    _say(line)
        except Fault as fault:
            _say(f"fault (--seed {options.seed}): {fault}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
