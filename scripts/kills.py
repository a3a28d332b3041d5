"""Kill commands at random moments, and see that nothing is lost and the next command works.

    scripts/kills.py [--count 200] [--seed 1] [--only sweep]

Each scenario has a folder with files of a user's own, a command, and the command that follows. The
command is killed (SIGKILL, with all that it started) at a moment drawn over its whole life. Then
the user's files must be as they were, result files whole, the store sound and no finished run lost;
the next command must end well and leave nothing behind that nobody requested.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
FATHOM = [sys.executable, "-m", "fathom"]
USERS_OWN = {"letter.txt": b"Dear all,\n" * 1000, "photo.jpg": b"\xff\xd8\xff\xe0" + bytes(5000)}
LONGEST_S = 120


@dataclass(frozen=True)
class Scenario:
    """A command that is killed, what is made before it, and what follows it."""

    name: str
    command: Sequence[str]
    following: Sequence[str]
    before: Sequence[Sequence[str]] = ()
    # Files that must be whole at any time, if they are there, and what tells that.
    whole: dict[str, Callable[[bytes], bool]] = field(default_factory=dict)
    # What the commands are asked to leave; the store and its helpers always may.
    leaves: frozenset[str] = frozenset()


def is_json(content: bytes) -> bool:
    """Tell whether this is JSON."""
    try:
        json.loads(content)
    except ValueError:
        return False
    return True


def is_page(content: bytes) -> bool:
    """Tell whether this is a whole page, with the digest of all of it behind it."""
    page, _, digest = content.rpartition(b"\n<!-- ")
    told = hashlib.sha256(page).hexdigest()
    return page.rstrip().endswith(b"</html>") and digest.endswith(f"{told} -->\n".encode())


def scenarios(
    diskspd: str, *, brief: bool = False, around: Sequence[str] = FATHOM
) -> list[Scenario]:
    """Return all of them; brief ones measure for a moment only.

    ``around`` is the ``fathom`` that makes what is there before, and follows.
    """
    second = ["-d1", "-W0", *(["--stop-ios=2000"] if brief else [])]
    light = ["-b4K", "-r", "-o4", "-L"]
    make = [diskspd, "-c16M", *second, "-b4K", "t.dat"]
    mine = frozenset({"t.dat"})
    cells = ["--depth", "1,2"] if brief else ["--block", "4K,8K", "--depth", "1..4"]
    sweep = ["sweep", *cells, "--longest", "1"]
    repeat = ["repeat", "--pilot", "3", "--most", "4", *second, *light, "t.dat"]
    size = "8M" if brief else "96M"
    fill = ["prepare", "fill", "--size", size, "--compress", "2"]
    return [
        Scenario("create", [diskspd, "-c256M", *second, "t.dat"], make, leaves=mine),
        Scenario(
            "result",
            [diskspd, *second, "-w50", "--json=r.json", *light, "t.dat"],
            [diskspd, *second, "--json=r.json", *light, "t.dat"],
            [make, [diskspd, *second, "--json=r.json", *light, "t.dat"]],
            {"r.json": is_json},
            mine | {"r.json"},
        ),
        Scenario(
            "verify",
            [diskspd, "--verify", "--verify-journal=t.j", *second, "-w50", *light, "t.dat"],
            ["sh", "-c", f"[ ! -e t.j ] || {diskspd} --verify-only=t.j && rm -f t.j"],
            [make],
            leaves=mine,
        ),
        Scenario(
            "run",
            [*FATHOM, "run", *second, "-w50", *light, "t.dat"],
            [*around, "run", *second, *light, "t.dat"],
            [make],
            leaves=mine,
        ),
        Scenario(
            "sweep",
            [*FATHOM, *sweep, "t.dat"],
            [*around, "sweep", "--resume", "last"],
            [make] if brief else [make, [*around, *sweep, "--label", "before", "t.dat"]],
            leaves=mine,
        ),
        Scenario(
            "repeat",
            [*FATHOM, *repeat],
            [*around, "repeat", "--resume", "last"],
            [make, [*around, *repeat]],
            leaves=mine,
        ),
        Scenario(
            "assess",
            [*FATHOM, "assess", "--seconds", "10", "--size-mib", "64", "."],
            [*around, "assess", "--seconds", "10", "--size-mib", "64", "."],
        ),
        Scenario(
            "fill",
            [*FATHOM, *fill, "t.dat"],
            [*around, *fill, "t.dat"],
            leaves=mine,
        ),
        Scenario(
            "report",
            [*FATHOM, "report", "-o", "r.html"],
            [*around, "report", "-o", "r.html"],
            [make, [*around, *repeat], [*around, "report", "-o", "r.html"]],
            {"r.html": is_page},
            mine | {"r.html"},
        ),
        Scenario(
            "import",
            [*FATHOM, "import", "--again", "old.txt"],
            [*around, "import", "--again", "old.txt"],
            [["sh", "-c", f"{diskspd} -c16M {shlex.join(second)} -L t.dat > old.txt"]],
            leaves=mine | {"old.txt"},
        ),
    ]


class Fault(Exception):  # noqa: N818 - It is what was found, not an error of this program.
    """Something was lost, or does not work any more."""


def started(command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own."""
    store = {"FATHOM_STORE": str(folder / "store.sqlite"), "XDG_CACHE_HOME": str(folder / "cache")}
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(  # noqa: S603
            command,
            cwd=folder,
            env={**os.environ, **store},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def must_end(command: Sequence[str], folder: Path) -> float:
    """Run a command to its end; return how long it took, in seconds."""
    began = time.monotonic()
    code = started(command, folder).wait(timeout=LONGEST_S)
    if code:
        told = (folder / "output").read_text(errors="replace")[-1500:]
        raise Fault(f"{' '.join(command[-8:])}: exit code {code}: {told}")
    return time.monotonic() - began


def finished_runs(folder: Path) -> int:
    """Return how many runs the store holds, which must be sound."""
    path = folder / "store.sqlite"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as store, store:
        sound = store.execute("PRAGMA integrity_check").fetchone()[0]
        if sound != "ok":
            raise Fault(f"the store is not sound: {sound}")
        tables = store.execute("SELECT name FROM sqlite_master WHERE name = 'runs'").fetchall()
        return int(store.execute("SELECT count(*) FROM runs").fetchone()[0]) if tables else 0


def check_files(scenario: Scenario, folder: Path) -> None:
    """See that the user's files are as they were, and results whole."""
    for name, content in USERS_OWN.items():
        found = (folder / name).read_bytes()
        if hashlib.sha256(found).digest() != hashlib.sha256(content).digest():
            raise Fault(f"{name} has changed")
    for name, is_whole in scenario.whole.items():
        if not is_whole((folder / name).read_bytes()):
            raise Fault(f"{name} is neither the old one nor the new one")


def check_rest(scenario: Scenario, folder: Path) -> None:
    """See that nothing is left that nobody requested."""
    ours = {"output", "cache", "store.sqlite", "store.sqlite-wal", "store.sqlite-shm"}
    left = {path.name for path in folder.iterdir()} - set(USERS_OWN) - ours - scenario.leaves
    if left:
        raise Fault(f"left behind: {', '.join(sorted(left))}")


def made(scenario: Scenario, folder: Path) -> None:
    """Make what is there before."""
    for name, content in USERS_OWN.items():
        (folder / name).write_bytes(content)
    for command in scenario.before:
        must_end(command, folder)


def kill_once(scenario: Scenario, template: Path, after_s: float) -> bool:
    """Kill the command after so many seconds, and check; tell whether it still ran."""
    with tempfile.TemporaryDirectory(dir=template.parent) as name:
        folder = Path(name) / "work"
        shutil.copytree(template, folder)
        before = finished_runs(folder)
        process = started(scenario.command, folder)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=after_s)
        was_running = process.poll() is None
        if was_running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        check_files(scenario, folder)
        if finished_runs(folder) < before:
            raise Fault("a finished run is lost")
        follow(scenario, folder)
        check_files(scenario, folder)
        check_rest(scenario, folder)
        return was_running


def follow(scenario: Scenario, folder: Path) -> None:
    """Run what follows; where nothing had begun there is nothing to resume, and it says so."""
    try:
        must_end(scenario.following, folder)
    except Fault as fault:
        told = str(fault)
        words = ("to resume", "to go on with", "there is no store")
        if "--resume" not in scenario.following or not any(word in told for word in words):
            raise
        must_end(scenario.command, folder)


def kill_often(
    scenario: Scenario, count: int, draw: random.Random, work: Path
) -> tuple[list[str], int]:
    """Kill the scenario's command so many times; return what was wrong, and how often it ran."""
    template = work / scenario.name
    template.mkdir()
    made(scenario, template)
    whole = work / f"{scenario.name}-whole"
    shutil.copytree(template, whole)
    life_s = must_end(scenario.command, whole)
    shutil.rmtree(whole)
    faults, running = [], 0
    for number in range(count):
        # One in each part of its life, so that none is left out.
        after_s = life_s * (number + draw.random()) / count
        try:
            running += kill_once(scenario, template, after_s)
        except (Fault, subprocess.TimeoutExpired) as fault:
            faults.append(f"{scenario.name}, killed after {after_s:.2f} of {life_s:.2f} s: {fault}")
    shutil.rmtree(template)
    print(
        f"{scenario.name:<8}{count:>4} kills over {life_s:5.1f} s, {running} while it ran",
        flush=True,
    )
    return faults, running


def main() -> int:
    """Kill all scenarios' commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="kills in all (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one scenario")
    parser.add_argument("--diskspd", default=str(ROOT / "target" / "release" / "diskspd"))
    asked = parser.parse_args()
    chosen = [one for one in scenarios(asked.diskspd) if asked.only in (None, one.name)]
    if not chosen or not Path(asked.diskspd).exists():
        parser.error("no such scenario, or no diskspd: run `make build`")
    draw = random.Random(asked.seed)  # noqa: S311 - Moments, no secrets.
    faults: list[str] = []
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as folder:
        for number, scenario in enumerate(chosen):
            share = asked.count // len(chosen) + (number < asked.count % len(chosen))
            faults += kill_often(scenario, share, draw, Path(folder))[0]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{asked.count} kills, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
