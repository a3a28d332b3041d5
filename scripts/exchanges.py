"""Exchange names of a test file and of a database during runs, and see that the database stays.

    scripts/exchanges.py [--exchanges 10000] [--seed 1] [--only files]

Each scenario has a file of ours and one of somebody else under two names that are exchanged in one
step (renameat2 with RENAME_EXCHANGE) again and again while runs write, truncate and create. Runs
may fail or be refused; the other file may not be changed, cut, removed or touched.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
RENAME_EXCHANGE = 2
AT_FDCWD = -100
BYTES = 1 << 20
LONGEST_S = 60
LIBC = ctypes.CDLL(None, use_errno=True)


def exchange(one: bytes, other: bytes) -> bool:
    """Exchange two names in one step; tell whether both were there."""
    return bool(LIBC.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0)


def database(bytes_: int) -> bytes:
    """Return what a database of somebody's could hold."""
    return b"SQLite format 3\0" + random.Random(bytes_).randbytes(bytes_ - 16)  # noqa: S311


@dataclass(frozen=True)
class Place:
    """The target of the runs, the file of somebody's, and the names that are exchanged."""

    target: Path
    theirs: Path
    names: tuple[Path, Path]


def files(folder: Path) -> Place:
    """Exchange the files themselves."""
    target, theirs = folder / "t.dat", folder / "db"
    target.write_bytes(bytes(BYTES))
    theirs.write_bytes(database(BYTES))
    return Place(target, theirs, (target, theirs))


def links(folder: Path) -> Place:
    """Exchange the symbolic links that lead to them."""
    ours, theirs = folder / "ours", folder / "db"
    ours.write_bytes(bytes(BYTES))
    theirs.write_bytes(database(BYTES))
    names = folder / "t.dat", folder / "other"
    names[0].symlink_to(ours)
    names[1].symlink_to(theirs)
    return Place(names[0], theirs, names)


def parents(folder: Path) -> Place:
    """Exchange the directories that they lie in."""
    names = folder / "one", folder / "other"
    for name in names:
        name.mkdir()
    target, theirs = names[0] / "t.dat", names[1] / "t.dat"
    target.write_bytes(bytes(BYTES))
    theirs.write_bytes(database(BYTES))
    return Place(target, theirs, names)


SCENARIOS: dict[str, Callable[[Path], Place]] = {
    "files": files,
    "links": links,
    "parents": parents,
}
WAYS = (
    ["-w100"],
    ["-w100", "-Su"],
    ["-w100", "-Sm"],
    ["-w50", "--engine=sync", "-t2"],
    ["-w100", "--engine=aio", "-Sh"],
    ["-w100", f"-c{BYTES}"],
    ["-w100", f"-c{BYTES // 2}"],
    ["-w0", "-c64K"],
    ["-w100", "--trim=50"],
    ["-w100", "-c64K", "--remove-created"],
)


class Exchanger:
    """A thread that exchanges two names until it is told to end, and what it saw."""

    def __init__(self, names: tuple[Path, Path], seed: int) -> None:
        """Begin at once; each place is held for a drawn moment."""
        self.count = 0
        self._over = threading.Event()
        self._names = tuple(os.fsencode(name) for name in names)
        self._drawn = random.Random(seed)  # noqa: S311
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.is_set():
            self.count += exchange(*self._names)
            time.sleep(self._drawn.choice([0.0002, 0.001, 0.005, 0.02]))

    def end(self) -> int:
        """End it and return how many exchanges were made."""
        self._over.set()
        self._thread.join()
        return self.count


@dataclass
class Outcome:
    """What the runs of one scenario came to."""

    exchanges: int = 0
    runs: int = 0
    written: int = 0
    changed: int = 0

    def __str__(self) -> str:
        """Tell it as one line."""
        return (
            f"{self.exchanges} exchanges, {self.runs} runs, {self.written} wrote to their own"
            f" file, {self.changed} times a byte of the other changed"
        )


def state(descriptor: int) -> tuple[bytes, int, int]:
    """Return all that must stay of a file."""
    found = os.fstat(descriptor)
    return os.pread(descriptor, 2 * BYTES, 0), found.st_mtime_ns, found.st_nlink


def hunt(diskspd: str, name: str, exchanges: int, seed: int) -> Outcome:
    """Run a scenario until there were so many exchanges."""
    outcome, drawn = Outcome(), random.Random(seed)  # noqa: S311
    while outcome.exchanges < exchanges:
        with tempfile.TemporaryDirectory(prefix="exchanges-") as made:
            place = SCENARIOS[name](Path(made))
            descriptor = os.open(place.theirs, os.O_RDONLY)
            before = state(descriptor)
            exchanger = Exchanger(place.names, drawn.getrandbits(32))
            for way in drawn.sample(WAYS, 4):
                command = [diskspd, *way, "-W0", "-d1", "--stop-ios=64", "-b4K", str(place.target)]
                done = subprocess.run(  # noqa: S603
                    command, capture_output=True, timeout=LONGEST_S, check=False
                )
                outcome.runs += 1
                outcome.written += done.returncode == 0
            outcome.exchanges += exchanger.end()
            outcome.changed += state(descriptor) != before
            os.close(descriptor)
    return outcome


def main() -> int:
    """Hunt in all scenarios and tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--exchanges", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SCENARIOS)
    parser.add_argument("--diskspd", default=str(ROOT / "target/release/diskspd"))
    asked = parser.parse_args()
    names = [asked.only] if asked.only else list(SCENARIOS)
    changed = 0
    for name in names:
        outcome = hunt(asked.diskspd, name, asked.exchanges // len(names) + 1, asked.seed)
        changed += outcome.changed
        sys.stdout.write(f"{name}: {outcome}\n")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
