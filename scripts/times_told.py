#!/usr/bin/env python3
"""Measure how near the time that a verb tells at its start is to the time that it takes.

    scripts/times_told.py FOLDER [TARGET...] [--only VERB] [--json FILE]

Ten small cases of each verb that measures, on a file in the folder and on what else is named (it
is only read). Told is what ``--dry-run`` says, taken is what the clock says from start to end, with
the file made and the store written. A line of progress that says 0:00 before the end is a fault.
The exit code is 1 if fewer than nine of ten cases of a verb are within a quarter.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

FATHOM = str(Path(sys.executable).with_name("fathom"))
SHARE = 0.25
LOADS = (
    "-b4K -r -Su",
    "-b4K -r -Sh -o4",
    "-b16K -r -Su -o2",
    "-b64K -Su",
    "-b8K -r -Su -t2",
)
VERBS = {
    "tune": ("tune --threads 1..2 --depth 1..4 --longest 1s", "tune --threads 1 --depth 1..8"),
    "compare": (
        "compare --pilot 5 --most 5 --run -o1 -o8 -d1 -W0",
        "compare --pilot 4 --most 6 --run -o2 -o4 -d1 -W0",
    ),
    "assess": ("assess --time 10s --size 64M",),
    "sweep": (
        "sweep --depth 1..4 --block 4K,16K --longest 1s",
        "sweep --depth 1,4 --threads 1,2 --duration 1s --warm-up 1s",
    ),
    "repeat": ("repeat --pilot 5 --most 5 -d1 -W0", "repeat --pilot 4 --most 6 -d1 -W1"),
}


@dataclass(frozen=True)
class Case:
    """One command, what it told, and what it took."""

    verb: str
    words: str
    least_s: float
    told_s: float
    most_s: float
    taken_s: float
    stood: int
    """Lines of progress that said 0:00 before the last one."""

    @property
    def is_near(self) -> bool:
        """Whether the time told is within a quarter; with a range, whether one of it is."""
        low, high = (1 - SHARE) * self.least_s, (1 + SHARE) * self.most_s
        by_range = self.verb in ("compare", "repeat") and low <= self.taken_s <= high
        return by_range or abs(self.told_s - self.taken_s) <= SHARE * self.taken_s


def main() -> int:
    """Run all cases, and print the table."""
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        targets = [str(Path(folder) / "told.dat"), *options.targets]
        Path(targets[0]).touch()
        cases = [
            _case(verb, words, folder)
            for verb in VERBS
            if options.only in (None, verb)
            for words in _commands(verb, targets, folder, options.count)
        ]
    for one in cases:
        sys.stdout.write(f"{_row(one)}\n")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in cases], indent=1))
    return int(not all(_holds(verb, cases) for verb in VERBS))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Hold the times that are reported against the clock."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--only", choices=VERBS)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _commands(verb: str, targets: Sequence[str], folder: str, count: int) -> list[str]:
    """Return commands with loads and targets interleaved; a made file has 64 MiB."""
    forms, loads, places = cycle(VERBS[verb]), cycle(LOADS), cycle(targets)
    found = []
    for _ in range(count):
        form, load, target = next(forms), next(loads), next(places)
        if verb == "assess":
            found.append(f"{form} {folder if target == targets[0] else target}")
            continue
        load = re.sub(r" -[ot]\d", "", load) if verb != "repeat" else load
        load = re.sub(r"-b\d+K ", "", load) if "--block" in form else load
        size = "-c64M " if target == targets[0] else ""
        found.append(f"{form} {load} {size}{target}")
    return found


def _case(verb: str, words: str, folder: str) -> Case:
    verb, *rest = words.split()
    store = ["--store", str(Path(folder) / "told.sqlite")]
    told = json.loads(_fathom(verb, "--dry-run", "--json", *store, *rest).stdout)
    started = time.monotonic()
    done = _fathom(verb, *store, *rest)
    taken_s = time.monotonic() - started
    left = re.findall(r"(\d\S*) left", done.stderr)
    case = Case(
        verb,
        words,
        told["least_s"],
        told.get("seconds", told["most_s"]),
        told["most_s"],
        taken_s,
        sum(one == "0:00" for one in left[:-1]),
    )
    sys.stderr.write(f"{_row(case)}\n")
    return case


def _fathom(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run((FATHOM, *words), check=False, capture_output=True, text=True)  # noqa: S603 - Ours.
    if done.returncode not in (0, 7):
        raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
    return done


def _row(one: Case) -> str:
    sign = "near" if one.is_near and not one.stood else "OFF"
    told = f"{one.told_s:.1f} s ({one.least_s:.1f} to {one.most_s:.1f})"
    return f"| {one.verb} | {told} | {one.taken_s:.1f} s | {sign} | `{one.words}` |"


def _holds(verb: str, cases: Sequence[Case]) -> bool:
    own = [one for one in cases if one.verb == verb]
    near = sum(one.is_near for one in own)
    if own:
        sys.stdout.write(f"{verb}: {near} of {len(own)} within {SHARE:.0%}\n")
    return near >= 0.9 * len(own) and not sum(one.stood for one in own)


if __name__ == "__main__":
    sys.exit(main())
