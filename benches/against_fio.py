"""The same load by us and by fio, interleaved, to see whether both see the same device.

    benches/against_fio.py [--diskspd target/release/diskspd] [--pairs 7] [--seconds 2]

Both use io_uring, so that what differs is the tool and not the way to the kernel. The places are a
file in `--folder`, a loop device over a file there with direct I/O, files on ext4, XFS and Btrfs on
such a device, and `/dev/zram0`. A pair is two runs, the second tool first in each second pair.
Printed is the median of the ratios, ours by fio's, with the range of the middle half, and the
noise: fio against itself in the next pair.

The last column says how long the device itself took on average (``/sys/dev/block/*/stat``) while
each of both ran, ours first, and what each tool's mean has beyond that: where both means beyond the
device differ, it is the tools that differ. A RAM disk keeps no such time.

fio keeps latencies in buckets of 1/64 of their height and names the upper end of a bucket, so its
percentiles are up to 1.6 % above those of the same I/Os here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from places import ZRAM, reset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SIZE = 1 << 30
FILE_BYTES = 256 << 20
MAKERS = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}


@dataclass(frozen=True)
class Load:
    """A load in words of both tools."""

    name: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


LOADS = (
    Load("4K random reads, depth 1", ("-b4K", "-r", "-o1"), ("--rw=randread", "--iodepth=1")),
    Load("4K random reads, depth 32", ("-b4K", "-r", "-o32"), ("--rw=randread", "--iodepth=32")),
    Load(
        "64K sequential reads, depth 8",
        ("-b64K", "-s", "-o8"),
        ("--rw=read", "--bs=64k", "--iodepth=8"),
    ),
    Load(
        "4K random writes, depth 4",
        ("-b4K", "-r", "-o4", "-w100", "-Zr", "--overwrite"),
        ("--rw=randwrite", "--iodepth=4"),
    ),
)
FIGURES = ("iops", "mean", "p50", "p95", "p99", "p999")
# Of the fields of a device's stat: completed, and milliseconds that they took.
_STAT = {"read": (0, 3), "write": (4, 7)}


def ours(binary: Path, load: Load, target: str, seconds: int) -> dict[str, float]:
    """Run it and return its figures, latencies in microseconds."""
    size = f"-f{FILE_BYTES}"
    words = [
        str(binary),
        *load.ours,
        size,
        "-Su",
        "-L",
        "--engine=uring",
        "-W0",
        f"-d{seconds}",
        "-Rjson",
    ]
    if target.startswith("/dev/") and "-w100" in load.ours:
        words.append(f"--allow-write={target}:{SIZE}")
    told = _json([*words, target])
    span = told["time_spans"][0]
    rows = [row for thread in span["threads"] for row in thread["targets"]]
    kind = "write" if "-w100" in load.ours else "read"
    latencies = rows[0][kind]["latency"]
    ios = sum(row[kind]["ios"] for row in rows)
    found = {"iops": ios * 1e9 / span["measured_ns"]}
    found["mean"] = latencies["sum_ns"] / latencies["count"] / 1e3
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    return found | {name: _quantile(latencies, share) / 1e3 for name, share in shares.items()}


def _quantile(histogram: dict[str, Any], share: float) -> float:
    rank, seen = share * histogram["count"], 0
    for lower_ns, count in zip(
        histogram["bucket_lower_ns"], histogram["bucket_counts"], strict=True
    ):
        seen += count
        if seen >= rank:
            return float(lower_ns)
    return float(histogram["max_ns"])


def theirs(load: Load, target: str, seconds: int) -> dict[str, float]:
    """Have fio run it, from submission to completion as we count."""
    words = ["fio", "--name=x", f"--filename={target}", "--ioengine=io_uring", "--direct=1"]
    words += ["--bs=4k", *load.theirs, f"--size={FILE_BYTES}", "--norandommap", "--randrepeat=0"]
    words += ["--time_based", f"--runtime={seconds}", "--lat_percentiles=1", "--clat_percentiles=0"]
    words += ["--percentile_list=50:95:99:99.9", "--output-format=json"]
    job = _json(words)["jobs"][0]["write" if "--rw=randwrite" in load.theirs else "read"]
    latency = job["lat_ns"]
    found = {"iops": float(job["iops"]), "mean": latency["mean"] / 1e3}
    names = {"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p999": "99.900000"}
    return found | {name: latency["percentile"][key] / 1e3 for name, key in names.items()}


def _json(words: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - Named above.
    if done.returncode:
        raise SystemExit(f"{words[0]} failed: {done.stderr}")
    whole: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return whole


def device_of(target: str) -> Path:
    """Return the counters of the device that a target is, or lies on."""
    found = Path(target).stat()
    number = found.st_rdev or found.st_dev
    if not os.major(number):
        # A file system of many devices has a number of its own.
        source = run("findmnt", "--noheadings", "--output=SOURCE", f"--target={target}")
        number = Path(source).stat().st_rdev
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")


def on_device(load: Load, device: Path, tool: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Have a tool run, and add how long the device took for each of its I/Os, in microseconds."""
    places = _STAT["write" if "-w100" in load.ours else "read"]

    def counted() -> tuple[int, int]:
        fields = device.read_text().split()
        return int(fields[places[0]]), int(fields[places[1]])

    before = counted()
    found = tool()
    ios, took_ms = (now - then for now, then in zip(counted(), before, strict=True))
    return found | {"device": took_ms * 1e3 / ios if ios else 0.0}


def run(*words: str) -> str:
    """Run a command and return what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


@contextmanager
def on_disk(folder: Path) -> Iterator[str]:
    """Give a file of random data in a folder."""
    with TemporaryDirectory(dir=folder) as place:
        yield filled(f"{place}/x.dat")


@contextmanager
def on_loop(folder: Path) -> Iterator[str]:
    """Give a loop device over a file, past the page cache."""
    with TemporaryDirectory(dir=folder) as place:
        file = filled(f"{place}/image", SIZE)
        device = run("losetup", "--find", "--show", "--direct-io=on", file)
        try:
            yield device
        finally:
            run("losetup", "-d", device)


@contextmanager
def on_file_system(folder: Path, kind: str) -> Iterator[str]:
    """Give a file of random data on a file system of this kind, on such a device."""
    with on_loop(folder) as device, TemporaryDirectory() as place:
        run(*MAKERS[kind], device)
        run("mount", device, place)
        try:
            yield filled(f"{place}/x.dat")
        finally:
            run("umount", place)


@contextmanager
def on_zram() -> Iterator[str]:
    """Give the RAM disk, which gets a size, and loses it again."""
    state = Path("/sys/block") / ZRAM
    if (state / "disksize").read_text().strip() != "0":
        raise SystemExit(f"/dev/{ZRAM} is in use: reset it first")
    (state / "disksize").write_text(str(SIZE))
    try:
        yield filled(f"/dev/{ZRAM}")
    finally:
        reset(state / "reset")


def filled(path: str, size: int = FILE_BYTES) -> str:
    """Fill it with data that nothing can make smaller."""
    with Path(path).open("wb") as file:
        file.writelines(os.urandom(4 << 20) for _ in range(0, size, 4 << 20))
        os.fsync(file.fileno())
    return path


def compared(binary: Path, target: str, options: argparse.Namespace) -> Iterator[list[str]]:
    """Give a row for each load: its name, and for each figure ratio, range and noise."""
    device = device_of(target)
    for load in LOADS:
        pairs = []
        for number in range(options.pairs):
            both = [
                partial(ours, binary, load, target, options.seconds),
                partial(theirs, load, target, options.seconds),
            ]
            first = number % 2
            order = (first, 1 - first)
            found = {one: on_device(load, device, both[one]) for one in order}
            pairs.append((found[0], found[1]))
        yield [load.name, *(cell(pairs, figure) for figure in FIGURES), beyond(pairs)]


def cell(pairs: list[tuple[dict[str, float], dict[str, float]]], figure: str) -> str:
    """Return the median of the ratios with the middle half, and fio's own noise."""
    ratios = [mine[figure] / other[figure] for mine, other in pairs]
    fios = [other[figure] for _mine, other in pairs]
    noise = median(abs(one / two - 1) for one, two in pairwise(fios))
    low, _middle, high = quantiles(ratios, n=4)
    return f"{median(ratios):.3f} ({low:.2f} to {high:.2f}; {noise:.1%})"


def beyond(pairs: list[tuple[dict[str, float], dict[str, float]]]) -> str:
    """Return the device's mean under both tools, and by how much each tool's mean is longer."""
    sides = [*zip(*pairs, strict=True)]
    devices = [median(one["device"] for one in side) for side in sides]
    more = [median(one["mean"] - one["device"] for one in side) for side in sides]
    if not min(devices):
        return "not known"
    told = " and ".join(f"{one:.1f}" for one in devices)
    return f"{told}; {' and '.join(f'{one:+.1f}' for one in more)} µs"


def main() -> int:
    """Print a table of Markdown for each place."""
    parser = argparse.ArgumentParser(description="The same loads by us and by fio, interleaved.")
    parser.add_argument("--diskspd", type=Path, default=Path("target/release/diskspd"))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("target"), help="on the disk to use")
    parser.add_argument("--place", action="append", help="only these places")
    options = parser.parse_args()
    folder = options.folder
    places: dict[str, Callable[[], AbstractContextManager[str]]] = {
        "disk": partial(on_disk, folder),
        "loop": partial(on_loop, folder),
        **{kind: partial(on_file_system, folder, kind) for kind in MAKERS},
        "zram": on_zram,
    }
    for name in options.place or places:
        with places[name]() as target:
            table(name, target, options)
    return 0


def table(name: str, target: str, options: argparse.Namespace) -> None:
    """Print what was found in a place."""
    print(f"\n{name}, load of the machine {os.getloadavg()[0]:.1f}\n")
    heads = (*FIGURES, "the device; and beyond")
    print(f"| load | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for row in compared(options.diskspd, target, options):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
