"""How often `fathom compare` finds a difference between equals, on real storage.

    scripts/false_alarms.py record RUNS.gz [--seconds 120] -- DISKSPD ARGUMENTS
    scripts/false_alarms.py judge RUNS.gz ... [--pairs 600]

`record` makes one short run after the other with the same arguments; end them by a count, such as
--stop-ios=12000 for a tenth of a second. `judge` draws A and B from them as the lab would make
them: "repeat" takes as many runs as `fathom repeat` would for A, and then for B; "interleaved"
takes one run for each side by turns. All are of one kind, so that whatever differs is a false
alarm. Then it makes B 3 % slower and counts how often that is found.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fathom
import numpy as np
from fathom.experiments.compare._figures import SideFigures, compare_figures
from fathom.experiments.compare.saved import DEFAULT_METRICS
from fathom.experiments.repeat import RepeatPolicy
from fathom.metrics import higher_is_better
from fathom.stats import planned_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Run = dict[str, Any]

LEVEL = 0.05
POLICY = RepeatPolicy()
TURNS = 12
SLOWDOWN = 0.03
QUANTILES = {"p99": 0.99, "p999": 0.999}


def main() -> None:
    """Record, or judge."""
    parser = argparse.ArgumentParser(description="False alarms of fathom compare.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--seconds", type=float, default=120)
    recording.add_argument("arguments", nargs="+")
    judging = verbs.add_parser("judge")
    judging.add_argument("files", type=Path, nargs="+")
    judging.add_argument("--pairs", type=int, default=600)
    options = parser.parse_args()
    if options.verb == "record":
        print(f"{record(options.file, options.seconds, options.arguments)} runs")
        return
    for file in options.files:
        judge(file, options.pairs)


def record(file: Path, seconds: float, arguments: Sequence[str]) -> int:
    """Run until the time is over; return the number of runs."""
    end, count = time.monotonic() + seconds, 0
    with gzip.open(file, "wt", compresslevel=3) as lines:
        while time.monotonic() < end:
            lines.write(json.dumps(figures(fathom.run(arguments))) + "\n")
            count += 1
    return count


def figures(result: fathom.Result) -> Run:
    """Return what is compared of a run."""
    total = result.total
    if total.latency is None:
        raise SystemExit("latencies are needed: add -L")
    return {
        "iops": total.iops,
        "mib_per_s": total.mib_per_s,
        "mean": total.latency.mean_ns,
        **{name: total.latency.quantile_ns(one) for name, one in QUANTILES.items()},
        "buckets": dict(total.latency.buckets),
    }


def read(file: Path) -> list[Run]:
    """Return the runs of a file."""
    with gzip.open(file, "rt") as lines:
        runs = [json.loads(line) for line in lines]
    for run in runs:
        run["buckets"] = {int(lower): count for lower, count in run["buckets"].items()}
    return runs


def judge(file: Path, pairs: int) -> None:
    """Print how often equals differ, and how often a slowdown is found."""
    runs = read(file)
    print(f"{file.name}: {len(runs)} runs, IOPS {spread(runs)}")
    for order in ("repeat", "interleaved"):
        alarms: dict[str, list[bool]] = defaultdict(list)
        places = []
        for place, a, b in drawn(runs, order, pairs):
            places.append(place)
            for name, value in alarms_of(a, b, in_turns=order == "interleaved").items():
                alarms[name].append(value)
        shown = {name: share(values, places) for name, values in alarms.items()}
        print(f"  {order}, {len(places)} pairs")
        for name, words in shown.items():
            print(f"    {name:32} {words}")


def spread(runs: Sequence[Run]) -> str:
    """Say how much the rates differ, and how much neighbours resemble each other."""
    logs = np.log([run["iops"] for run in runs])
    alike = np.corrcoef(logs[1:], logs[:-1])[0, 1]
    return f"deviation {100 * logs.std():.1f} %, neighbours {alike:.2f}"


def drawn(runs: list[Run], order: str, pairs: int) -> Iterator[tuple[int, list[Run], list[Run]]]:
    """Return for each pair the stretch of time that it is of, A, and B."""
    length = 2 * (POLICY.most if order == "repeat" else TURNS)
    if len(runs) <= length:
        raise SystemExit(f"more than {length} runs are needed")
    for begin in range(0, len(runs) - length, max(1, (len(runs) - length) // pairs)):
        window = runs[begin : begin + length]
        if order == "interleaved":
            yield begin // length, window[::2], window[1::2]
            continue
        a = window[: effort(window)]
        rest = window[len(a) :]
        yield begin // length, a, rest[: effort(rest)]


def effort(runs: Sequence[Run]) -> int:
    """Return how many runs `fathom repeat` would make."""
    pilot = [run[POLICY.metric] for run in runs[: POLICY.pilot]]
    count = planned_count(pilot, relative_half_width=POLICY.relative_half_width)
    return min(count, POLICY.most)


def alarms_of(a: list[Run], b: list[Run], *, in_turns: bool) -> dict[str, bool]:
    """Return what differs of two sides, by name."""
    pilot = None if in_turns else POLICY.pilot
    sides = side(a, pilot), side(b, pilot)
    whole = compare_figures(*sides, in_turns=in_turns)
    found = {f"{name} alone": one.p_value < LEVEL for name, one in whole.metrics.items()}
    if whole.latency is None or whole.latency.family_p_value is None:
        raise SystemExit("the runs have no latencies")
    in_table = [one.is_different for one in whole.metrics.values()]
    found["anything in the table"] = any(in_table) or whole.latency.family_p_value < LEVEL
    found["--fail-if iops<-0% or p99>+0%"] = any(
        one.is_different and (one.change < 0) == higher_is_better(name)
        for name, one in fail_if(sides, in_turns=in_turns).items()
    )
    slower = side(b, pilot, 1 - SLOWDOWN)
    single = compare_figures(
        only(sides[0], ["iops"]), only(slower, ["iops"]), in_turns=in_turns, with_latency=False
    )
    found["(3 % slower is found)"] = single.metrics["iops"].is_different
    return found


def fail_if(sides: tuple[SideFigures, SideFigures], *, in_turns: bool) -> dict[str, Any]:
    """Compare the figures of two conditions, which are a family of their own."""
    a, b = (only(one, ["iops", "p99"]) for one in sides)
    return dict(compare_figures(a, b, in_turns=in_turns, with_latency=False).metrics)


def only(one: SideFigures, names: Sequence[str]) -> SideFigures:
    """Return a side with these figures only."""
    return SideFigures({name: one.values[name] for name in names}, None, one.pilot)


def side(runs: Sequence[Run], pilot: int | None, speed: float = 1.0) -> SideFigures:
    """Return runs at so many times their speed."""
    values = {
        name: [run[name] * (speed if higher_is_better(name) else 1 / speed) for run in runs]
        for name in DEFAULT_METRICS
    }
    return SideFigures(values, [run["buckets"] for run in runs], pilot)


def share(values: Sequence[bool], places: Sequence[int]) -> str:
    """Return the share of true ones with its 95 % interval.

    Pairs of one stretch of time share runs, so that the stretches are what is independent (ratio
    of sums over clusters: Cochran, Sampling Techniques, 1977, 6.3).
    """
    sums, sizes = Counter[int](), Counter[int](places)
    for value, place in zip(values, places, strict=True):
        sums[place] += value
    mean = float(np.mean(values))
    residuals = [sums[place] - mean * size for place, size in sizes.items()]
    error = float(np.sqrt(np.square(residuals).sum() * len(sizes) / max(len(sizes) - 1, 1)))
    half = 1.96 * error / len(values)
    return f"{100 * mean:5.1f} % +- {100 * half:.1f}"


if __name__ == "__main__":
    main()
