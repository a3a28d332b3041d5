"""How long `fathom` takes until it has said something, beside a Python that does nothing.

    benches/start.py [--turns 15] [--runs 1000] [--strict]

The commands and ``python -c pass`` take turns; the least of each counts, as whatever else the
machine does only adds to it. Judged is CPU time, which is what a machine with nothing else to do
takes: each has one thread. ``--strict`` ends with 1 if a limit is broken.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import fathom
from fathom.cli.verbs import VERBS
from fathom.store import Store

CODE = "from fathom.__main__ import main; main()"
MOST_HELP_MS, MOST_LIST_MS = 150, 250


def filled(file: Path, runs: int) -> None:
    """Make a store with one run on nothing, many times."""
    scratch = file.with_name("scratch.dat")
    arguments = ["-c64K", "-b4K", "-r", "-d1", "-W0", "-L", "--stop-ios=100", str(scratch)]
    result = fathom.run(arguments)
    with Store(file) as store:
        for number in range(runs):
            store.runs.save(result, arguments, label=f"run {number}")


class Cost(NamedTuple):
    """What one command took, in milliseconds: CPU time, and what a clock on the wall shows."""

    cpu_ms: float
    wall_ms: float


def _once(words: list[str]) -> Cost:
    def used_s() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, began = used_s(), perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return Cost((used_s() - before) * 1000, (perf_counter() - began) * 1000)


def least(commands: dict[str, list[str]], turns: int) -> dict[str, Cost]:
    """Return the least cost of each command, interleaved."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(turns):
        for name, words in commands.items():
            costs[name].append(_once(words))
    return {
        name: Cost(min(one.cpu_ms for one in each), min(one.wall_ms for one in each))
        for name, each in costs.items()
    }


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--strict", action="store_true")
    asked = parser.parse_args()
    python, ours = sys.executable, [sys.executable, "-c", CODE]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.sqlite"
        filled(file, asked.runs)
        commands = {"python -c pass": [python, "-c", "pass"], "fathom --help": [*ours, "--help"]}
        commands |= {f"fathom {verb} --help": [*ours, verb, "--help"] for verb in VERBS}
        listed = f"fathom list ({asked.runs:,} runs)"
        commands[listed] = [*ours, "list", "--store", str(file)]
        costs = least(commands, asked.turns)
    bare = costs.pop("python -c pass")
    print(
        f"`python -c pass`: {bare.cpu_ms:.0f} ms of CPU time, {bare.wall_ms:.0f} ms on the wall\n"
    )
    print("| command | CPU ms | limit | kept | times `python -c pass` | wall ms |")
    print("|---|---:|---:|---|---:|---:|")
    broken = False
    for name, cost in costs.items():
        most = MOST_LIST_MS if name == listed else MOST_HELP_MS
        kept = "yes" if cost.cpu_ms <= most else "no"
        broken |= kept == "no"
        ratio = cost.cpu_ms / bare.cpu_ms
        print(
            f"| `{name}` | {cost.cpu_ms:.0f} | {most} | {kept} | {ratio:.1f} | {cost.wall_ms:.0f} |"
        )
    return int(broken and asked.strict)


if __name__ == "__main__":
    sys.exit(main())
