"""Run the engine again and again in one process, with ever new settings, and check its statistics.

    scripts/soak.py [--seconds 300] [--seed 1]

Each run draws its options by the seed. After each one bytes, I/Os, latencies and interval series
must agree for each thread, target and direction; at the end the process must hold no more files,
threads or memory than after its first runs. The first fault ends the soak with the arguments that
show it.

In some runs a target is cut short or deleted at a drawn moment of the measured time. Reads behind
the new end are then short, or fail where the file is mapped, the drawn ``--on-error`` decides
whether the run goes on, and all that was counted must still agree.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom

if TYPE_CHECKING:
    from collections.abc import Iterator

# The first runs fill what is kept for later ones: allocator arenas, the interpreter's caches.
WARM_UP_RUNS = 100
MEMORY_SLACK_KIB = 24 << 10
FILE_MIB = 16
HARMED = 0.2
# So many that at least one of them must have been seen.
HARMED_MOST_UNSEEN = 20


class Fault(Exception):  # noqa: N818 - It is what a soak looks for, and no error of the soak.
    """Something that must not be."""


@dataclass(frozen=True)
class Harm:
    """What befalls a target within a run: it is cut to so many bytes, or deleted."""

    path: Path
    after_s: float
    length_bytes: int | None

    def happen(self) -> None:
        """Do it; a target that is just made again is not there for a moment."""
        with suppress(FileNotFoundError):
            if self.length_bytes is None:
                self.path.unlink()
            else:
                os.truncate(self.path, self.length_bytes)


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
    seen: Counter[str] = Counter()
    first: dict[str, int] = {}
    while time.monotonic() < end or runs <= WARM_UP_RUNS:
        args = arguments(folder, draw)
        harm = drawn_harm(args, draw)
        ios += run_once(args, harm, seen)
        runs += 1
        if runs == WARM_UP_RUNS:
            first = holdings()
    last = holdings()
    for _ in range(100):
        # A thread that has told its end takes a moment to go.
        if last["threads"] <= first["threads"]:
            break
        time.sleep(0.01)
        last = holdings()
    for name, slack in (("files", 0), ("threads", 0), ("memory_kib", MEMORY_SLACK_KIB)):
        if last[name] > first[name] + slack:
            raise Fault(f"{name} grew from {first[name]} to {last[name]} in {runs} runs")
    if seen["files cut"] > HARMED_MOST_UNSEEN and not (seen["short"] and seen["failed"]):
        raise Fault(f"files were cut, but not both short and failed I/Os seen: {dict(seen)}")
    return (
        f"{runs} runs, {ios} I/Os, no fault; after {WARM_UP_RUNS} runs {first}, at the end {last}; "
        f"{dict(seen)}"
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


def drawn_harm(args: list[str], draw: random.Random) -> Harm | None:
    """Draw what befalls a target, mostly nothing, and add the policy for errors."""
    if draw.random() >= HARMED:
        return None
    args.insert(0, f"--on-error={draw.choice(['stop', 'continue', 'count=1', 'count=100'])}")
    path = Path(draw.choice([one for one in args if not one.startswith("-")]))
    length = draw.choice([None, 0, draw.randrange(FILE_MIB << 20), draw.randrange(FILE_MIB << 20)])
    return Harm(path, draw.uniform(0, 0.9), length)


def run_once(args: list[str], harm: Harm | None, seen: Counter[str]) -> int:
    """Run, check the statistics, and return the number of I/Os."""
    words = " ".join(args) if harm is None else f"{' '.join(args)} ({harm})"
    timer = None if harm is None else threading.Timer(harm.after_s, harm.happen)

    def begin(name: str, fields: dict[str, Any]) -> None:
        if timer is not None and (name, fields.get("phase")) == ("phase_started", "measured"):
            timer.start()

    try:
        result = fathom.run(args, check=harm is None, on_event=begin)
    except fathom.FathomError as error:
        raise Fault(f"{words}: {error}") from error
    for message in disagreements(result, is_harmed=harm is not None):
        raise Fault(f"{words}: {message}")
    if timer is not None and harm is not None:
        timer.join()
        harm.path.unlink(missing_ok=True)
        seen["files deleted" if harm.length_bytes is None else "files cut"] += 1
        seen["short"] += sum(one["short_ios"] for one in directions(result))
        seen["failed"] += result.total.errors
    return result.total.ios


def directions(result: fathom.Result) -> Iterator[dict[str, Any]]:
    """Return reads and writes of each thread and target."""
    for thread in result.raw["time_spans"][0]["threads"]:
        for target in thread["targets"]:
            yield from (target["read"], target["write"])


def disagreements(result: fathom.Result, *, is_harmed: bool) -> Iterator[str]:
    """Tell which sums do not agree."""
    span = result.time_spans[0]
    block_bytes = result.raw["request"]["profile"]["time_spans"][0]["targets"][0]["block_bytes"]
    errors = sum(one["errors"] for one in directions(result))
    short = sum(one["short_ios"] for one in directions(result))
    if (errors or short) and not is_harmed:
        yield f"{errors} I/Os failed, and {short} were short"
    if errors != span.total.errors:
        yield f"{errors} I/Os failed, but {span.total.errors} in all"
    if not span.complete and not errors:
        yield "the time span is not complete"
    if span.total.ios == 0 and not is_harmed:
        yield "no I/O was completed"
    for thread in result.raw["time_spans"][0]["threads"]:
        for target in thread["targets"]:
            for name in ("read", "write"):
                place = f"thread {thread['index']}, target {target['target']}, {name}"
                for message in disagreements_of(target[name], block_bytes):
                    yield f"{place}: {message}"


def disagreements_of(direction: dict[str, Any], block_bytes: int) -> Iterator[str]:
    """Tell which sums of one direction of a thread on a target do not agree."""
    ios, short = direction["ios"], direction["short_ios"]
    missing = ios * block_bytes - direction["bytes"]
    # A short one lacks a byte at least, and all of them at most.
    if not short <= missing <= short * block_bytes:
        yield (
            f"{ios} I/Os of {block_bytes} bytes, {short} of them short, transferred "
            f"{direction['bytes']} bytes"
        )
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
