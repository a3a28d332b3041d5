"""Run the engine again and again in one process, with ever new settings, and check its books.

    scripts/soak.py [--seconds 300] [--seed 1]

Each run draws its options by the seed. After each one bytes, I/Os, latencies and interval series
must agree for each thread, target and direction; at the end the process must hold no more files,
threads or memory than after its first runs. The first fault ends the soak with the arguments that
show it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first runs fill what is kept for later ones: allocator arenas, the interpreter's caches.
WARM_UP_RUNS = 100
MEMORY_SLACK_KIB = 24 << 10
FILE_MIB = 16


class Fault(Exception):  # noqa: N818 - It is what a soak looks for, and no error of the soak.
    """Something that must not be."""


def main() -> int:
    """Soak, and tell how it ended."""
    parser = argparse.ArgumentParser(description="Run the engine again and again.")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # What is doubtful about a drawn request is no fault.
    warnings.simplefilter("ignore", UserWarning)
    Path("target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="soak.", dir="target") as folder:
        try:
            print(soak(Path(folder), options.seconds, random.Random(options.seed)))  # noqa: S311
        except Fault as fault:
            print(f"fault (--seed {options.seed}): {fault}", file=sys.stderr)
            return 1
    return 0


def soak(folder: Path, seconds: int, draw: random.Random) -> str:
    """Run until the time is over; return a summary."""
    end = time.monotonic() + seconds
    runs = ios = 0
    first: dict[str, int] = {}
    while time.monotonic() < end or runs <= WARM_UP_RUNS:
        args = arguments(folder, draw)
        ios += run_once(args)
        runs += 1
        if runs == WARM_UP_RUNS:
            first = holdings()
    last = holdings()
    for name, slack in (("files", 0), ("threads", 0), ("memory_kib", MEMORY_SLACK_KIB)):
        if last[name] > first[name] + slack:
            raise Fault(f"{name} grew from {first[name]} to {last[name]} in {runs} runs")
    return (
        f"{runs} runs, {ios} I/Os, no fault; after {WARM_UP_RUNS} runs {first}, at the end {last}"
    )


def arguments(folder: Path, draw: random.Random) -> list[str]:
    """Draw the options of one run; all of them are valid."""
    threads = draw.randint(1, 8)
    outstanding = draw.choice([1, 2, 7, 32])
    args = [
        f"-c{FILE_MIB}M",
        f"-b{draw.choice([512, 4096, 8192, 65536])}",
        f"-t{threads}",
        f"-o{outstanding}",
        f"-w{draw.choice([0, 30, 100])}",
        "-d1",
        "-W0",
        f"-z{draw.randrange(1 << 32)}",
        draw.choice(["-L", "-L", "-n"]),
        draw.choice(["-D100", "-D1000", "-n"]),
        draw.choice(["-r", "-rs50", "-si", "-s"]),
        draw.choice(["-Sb", "-Sbw", "-Sm", "-Sb"]),
    ]
    if draw.random() < 1 / 3:
        args.append(f"-g{draw.choice([100, 5000])}i")
    if draw.random() < 1 / 4 and "-Sm" not in args:
        args.append(f"--engine={draw.choice(['uring', 'sync', 'null'])}")
    targets = draw.randint(1, 3)
    return [*args, *(str(folder / f"target{number}.dat") for number in range(targets))]


def run_once(args: list[str]) -> int:
    """Run, check the books, and return the number of I/Os."""
    words = " ".join(args)
    try:
        result = fathom.run(args)
    except fathom.FathomError as error:
        raise Fault(f"{words}: {error}") from error
    for message in disagreements(result):
        raise Fault(f"{words}: {message}")
    return result.total.ios


def disagreements(result: fathom.Result) -> Iterator[str]:
    """Tell which sums do not agree."""
    span = result.time_spans[0]
    block_bytes = result.raw["profile"]["time_spans"][0]["targets"][0]["block_bytes"]
    if not span.complete:
        yield "the time span is not complete"
    if span.total.ios == 0:
        yield "no I/O was completed"
    for thread in result.raw["time_spans"][0]["threads"]:
        for target in thread["targets"]:
            for name in ("read", "write"):
                place = f"thread {thread['index']}, target {target['target']}, {name}"
                for message in disagreements_of(target[name], block_bytes):
                    yield f"{place}: {message}"


def disagreements_of(direction: dict[str, Any], block_bytes: int) -> Iterator[str]:
    """Tell which sums of one direction of a thread on a target do not agree."""
    ios = direction["ios"]
    if direction["errors"]:
        yield f"{direction['errors']} I/Os failed"
    if direction["bytes"] != ios * block_bytes:
        yield f"{ios} I/Os of {block_bytes} bytes transferred {direction['bytes']} bytes"
    for clock in ("latency", "response"):
        histogram = direction[clock]
        if histogram and not ios == histogram["count"] == sum(histogram["bucket_counts"]):
            yield f"{ios} I/Os, but {histogram['count']} in the histogram ({clock})"
    cells = direction["series"]["cells"]
    if cells and ios != sum(cell["ios"] for cell in cells):
        yield f"{ios} I/Os, but {sum(cell['ios'] for cell in cells)} in the interval series"


def holdings() -> dict[str, int]:
    """Return what this process holds: open files, threads, memory."""
    status = Path("/proc/self/status").read_text()
    return {
        "files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - Names are enough.
        "threads": int(status.split("Threads:")[1].split()[0]),
        "memory_kib": int(status.split("VmRSS:")[1].split()[0]),
    }


if __name__ == "__main__":
    sys.exit(main())
