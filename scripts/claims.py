"""What the lab claims of its intervals and verdicts, against simulated noise of storage.

    scripts/claims.py simulate [--claim NAME] [--share 1.0]
    scripts/claims.py render

`simulate` writes docs/claims.json, with the seeds fixed; `render` puts it as tables into
docs/statistics.md. Each claim is a function that returns, for one experiment with noise of one
kind, "right", "wrong" or "cannot tell"; CLAIMS is the list, to which others are added. A claim
holds where it is wrong in at most as many experiments as its limit says.
"""

from __future__ import annotations

import argparse
import json
import math
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from fathom.experiments._figures import ComparedFigures, SideFigures, compare_figures
from fathom.experiments._gate import parse_condition, verdict
from fathom.stats import Histograms, compare_means, runs_mean, runs_percentile
from fathom.stats._histogram import from_values
from scipy.signal import lfilter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int], FloatArray]
    Outcome = Literal["right", "wrong", "cannot tell"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs/claims.json"
PAGE = ROOT / "docs/statistics.md"
BEGIN, END = "<!-- claims: begin, by make statistics -->", "<!-- claims: end -->"
SLOW_SHARE = 0.3
RUNS = (3, 5, 8, 10, 20, 30)
# Of some 350 cells, one is three deviations of its share off by chance.
_CHANCE = 3.0


@dataclass(frozen=True)
class Noise:
    """Relative deviations of runs in the order of time, and their mean in the long run.

    A noise without a level of its own (a drift, an approach) has the mean over the runs; only
    ``cannot tell`` is right of a mean that is none, but an interval that holds it is not wrong.
    """

    name: str
    draw: Draw
    mean: float | None = 0.0


def memory(coefficient: float) -> Draw:
    """Return AR(1) noise of 2 %."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        fresh = random.standard_normal(count + 100)
        found = lfilter([1.0], [1.0, -coefficient], fresh)[100:]
        return np.asarray(0.02 * math.sqrt(1 - coefficient**2) * found)

    return draw


def lognormal(random: np.random.Generator, count: int) -> FloatArray:
    """Return what is skewed to the fast side."""
    return np.asarray(np.exp(random.standard_normal(count)) * 0.1)


def two_states(random: np.random.Generator, count: int) -> FloatArray:
    """Return runs of which three in ten are 30 % slower."""
    slow = random.random(count) < SLOW_SHARE
    return np.asarray(-0.3 * slow + 0.01 * random.standard_normal(count))


def stalls(every_s: float) -> Draw:
    """Return runs of 3 s in which storage stands still for 0.2 s every so often."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        phase = random.random(count) * every_s
        hits = np.floor((3.0 - phase) / every_s) + 1
        return np.asarray(-0.2 / 3 * np.maximum(hits, 0) + 0.005 * random.standard_normal(count))

    return draw


def course(shape: Callable[[FloatArray], FloatArray]) -> Draw:
    """Return runs that follow a course over their time from 0 to 1, with noise of 1 %."""

    def draw(random: np.random.Generator, count: int) -> FloatArray:
        at = (np.arange(count) + 0.5) / count
        return np.asarray(shape(at) + 0.01 * random.standard_normal(count))

    return draw


def sawtooth(random: np.random.Generator, count: int) -> FloatArray:
    """Return runs that fall by a tenth over 6 runs, and recover."""
    at = (np.arange(count) + random.integers(6)) % 6
    return np.asarray(0.1 * (2.5 - at) / 6 + 0.01 * random.standard_normal(count))


def cliff(share: float) -> Draw:
    """Return runs that fall by 30 % when so much of their time is over."""
    return course(lambda at: np.where(at < share, 0.0, -0.3))


NOISES = (
    Noise("independent", lambda random, count: 0.02 * random.standard_normal(count)),
    Noise("lognormal", lognormal, 0.1 * math.exp(0.5)),
    Noise("memory 0.3", memory(0.3)),
    Noise("memory 0.7", memory(0.7)),
    Noise("memory 0.9", memory(0.9)),
    Noise("two states", two_states, -0.09),
    Noise("stalls every 0.5 s", stalls(0.5), -0.4),
    Noise("stalls every 2 s", stalls(2.0), -0.1),
    Noise("stalls every 10 s", stalls(10.0), -0.02),
    Noise("drift", course(lambda at: 0.1 * at), None),
    Noise("cliff at 30 %", cliff(0.3), None),
    Noise("cliff at 70 %", cliff(0.7), None),
    Noise("cliff at 95 %", cliff(0.95), None),
    Noise("sawtooth", sawtooth),
    Noise("approach", course(lambda at: 0.5 * np.exp(-4 * at)), None),
)


@dataclass(frozen=True)
class Claim:
    """One sentence of the docs, and how to try it.

    Attributes
    ----------
    name, words
        For programs, and for the reader.
    limit
        The greatest share of experiments in which it may be wrong.
    tried
        One experiment with a noise and so many runs.
    runs, experiments
        With how many runs, and how often for each.
    note
        What the output says beside it, where the limit cannot be kept.

    """

    name: str
    words: str
    limit: float
    tried: Callable[[Noise, int, np.random.Generator], Outcome]
    runs: Sequence[int] = RUNS
    experiments: int = 400
    note: str = ""


def _covers(low: float | None, high: float | None, truth: float) -> Outcome:
    if low is None or high is None:
        return "cannot tell"
    return "right" if low <= truth <= high else "wrong"


def mean_of_runs(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try the interval of ``fathom repeat``."""
    values = 1 + noise.draw(random, runs)
    found = runs_mean(1000 * values)
    # A cliff or a drift that is told as such would be right; the mean over the runs is no claim.
    truth = 1 + noise.mean if noise.mean is not None else _course_mean(noise, runs)
    return _covers(found.low, found.high, 1000 * truth)


@cache
def _course_mean(noise: Noise, runs: int) -> float:
    still = np.random.default_rng(0)
    return 1 + float(np.mean([noise.draw(still, runs).mean() for _ in range(1000)]))


def percentile_of_runs(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try the interval of the 99th percentile of all I/Os; levels of runs have the noise."""
    levels = 1e5 * np.exp(-noise.draw(random, runs))
    latencies = levels[:, None] * random.lognormal(0, 0.3, (runs, 1000))
    found = runs_percentile(Histograms([from_values(one) for one in latencies]), 0.99)
    truth = _true_percentile(noise, runs)
    low = None if found.low is None else found.low * (1 - 1 / 1024)
    high = None if found.high is None else found.high * (1 + 1 / 1024)
    return _covers(low, high, truth)


_KNOWN: dict[tuple[str, int], float] = {}


def _true_percentile(noise: Noise, runs: int) -> float:
    """Return the percentile of all I/Os that there could be; over the runs, if it has no level."""
    key = noise.name, runs if noise.mean is None else 0
    if key not in _KNOWN:
        random = np.random.default_rng(1)
        length = runs if noise.mean is None else 1000
        draws = [noise.draw(random, length) for _ in range(200_000 // length)]
        levels = np.exp(-np.concatenate(draws))
        pooled = levels * random.lognormal(0, 0.3, levels.size)
        _KNOWN[key] = 1e5 * float(np.quantile(pooled, 0.99))
    return _KNOWN[key]


def equals_one_after_the_other(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether ``fathom compare`` finds a difference between A and what follows it."""
    values = 1000 * (1 + noise.draw(random, 2 * runs))
    sides = (SideFigures({"iops": [*one]}, None) for one in (values[:runs], values[runs:]))
    found = compare_figures(*sides).metrics["iops"]
    if found.is_different:
        return "wrong"
    return "right" if found.can_tell and found.is_equal(0.03) else "cannot tell"


def _drawn(
    noise: Noise, runs: int, random: np.random.Generator, change: float
) -> tuple[FloatArray, FloatArray]:
    values = (1 + noise.draw(random, 2 * runs)).reshape(runs, 2)
    order = random.permuted(np.tile([0, 1], (runs, 1)), axis=1)
    a, b = np.take_along_axis(values, order, axis=1).T
    return 1000 * a, 1000 * (1 + change) * b


def equals_in_turns(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether ``fathom compare --run`` finds a difference between equals."""
    a, b = _drawn(noise, runs, random, 0.0)
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    if found.is_different:
        return "wrong"
    return "right" if found.can_tell and found.is_equal(0.03) else "cannot tell"


def _gated(noise: Noise, runs: int, random: np.random.Generator, change: float) -> str:
    a, b = _drawn(noise, runs, random, change)
    found = compare_means([*a], [*b], in_turns=True, is_drawn=True)
    figures = ComparedFigures({"iops": found}, {}, None)
    return verdict(parse_condition("iops<-3%"), figures, 1).decision


def gate_within_its_limit(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether the gate fails though the change is within its limit."""
    decision = _gated(noise, runs, random, -0.025)
    return "wrong" if decision == "fails" else "right" if decision == "passes" else "cannot tell"


def gate_at_twice_its_limit(noise: Noise, runs: int, random: np.random.Generator) -> Outcome:
    """Try whether the gate passes though the change is twice its limit."""
    decision = _gated(noise, runs, random, -0.06)
    return "wrong" if decision == "passes" else "right" if decision == "fails" else "cannot tell"


CLAIMS = (
    Claim(
        "mean",
        "The interval of the mean of runs holds it",
        0.07,
        mean_of_runs,
        note="So few runs often do not show memory",
    ),
    Claim(
        "percentile",
        "The interval of the 99th percentile of runs of 1,000 I/Os holds it",
        0.07,
        percentile_of_runs,
        runs=(3, 5, 10, 30),
        experiments=100,
        note="So few runs often do not show memory",
    ),
    Claim(
        "one after the other",
        "`compare`: A and then B, which are equal, do not differ",
        0.05,
        equals_one_after_the_other,
        experiments=300,
        note="what changed between them is not told apart",
    ),
    Claim("in turns", "`compare --run`: equals in turns do not differ", 0.05, equals_in_turns),
    Claim(
        "gate within",
        "`--fail-if 'iops<-3%'` does not fail at -2.5 %",
        0.05,
        gate_within_its_limit,
        runs=(10,),
        experiments=2000,
    ),
    Claim(
        "gate beyond",
        "`--fail-if 'iops<-3%'` does not pass at -6 %",
        0.05,
        gate_at_twice_its_limit,
        runs=(10,),
        experiments=2000,
    ),
)


def simulated(claim: Claim, noise: Noise, runs: int, experiments: int) -> dict[str, int]:
    """Return how often a claim was right and wrong; the rest is cannot tell."""
    seed = zlib.crc32(f"{claim.name}/{noise.name}/{runs}".encode())
    random = np.random.default_rng(seed)
    found = Counter(claim.tried(noise, runs, random) for _ in range(experiments))
    return {"experiments": experiments, "right": found["right"], "wrong": found["wrong"]}


def is_within(claim: Claim, cell: dict[str, int]) -> bool:
    """Whether a claim is wrong no more often than it may be, and chance moves it."""
    count = cell["experiments"]
    chance = _CHANCE * math.sqrt(claim.limit * (1 - claim.limit) / count)
    return cell["wrong"] / count <= claim.limit + chance


def rendered(results: dict[str, dict[str, dict[str, dict[str, int]]]]) -> str:
    """Return the tables of what was simulated."""
    parts = []
    for claim in CLAIMS:
        cells = results[claim.name]
        heads = [f"{runs} runs" for runs in claim.runs]
        parts += [
            f"{claim.words}: wrong in at most {100 * claim.limit:g} %.",
            "",
            f"| Noise | {' | '.join(heads)} |",
            f"|---|{'---|' * len(heads)}",
        ]
        for noise in NOISES:
            row = [_cell(claim, cells[noise.name][str(runs)]) for runs in claim.runs]
            parts.append(f"| {noise.name} | {' | '.join(row)} |")
        parts.append("")
    return "\n".join(parts)


def _cell(claim: Claim, cell: dict[str, int]) -> str:
    count, right, wrong = cell["experiments"], cell["right"], cell["wrong"]
    told = right + wrong
    if not told:
        return "cannot tell"
    share = f"{100 * wrong / count:.1f} % wrong"
    known = f"{100 * told / count:.0f} % told"
    mark = "" if is_within(claim, cell) else " (!)"
    return f"{share}, {known}{mark}"


def page(text: str, tables: str) -> str:
    """Return the page with the tables in their place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"


def main() -> None:
    """Simulate, or render."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("simulate", "render"))
    parser.add_argument("--claim", action="append", help="only this one; others stay as they were")
    parser.add_argument("--share", type=float, default=1.0, help="of the experiments")
    asked = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if asked.what == "simulate":
        for claim in CLAIMS:
            if asked.claim and claim.name not in asked.claim:
                continue
            count = max(round(asked.share * claim.experiments), 1)
            results[claim.name] = {
                noise.name: {str(runs): simulated(claim, noise, runs, count) for runs in claim.runs}
                for noise in NOISES
            }
            outside = [
                f"{name} {runs}"
                for name, row in results[claim.name].items()
                for runs, cell in row.items()
                if not is_within(claim, cell)
            ]
            print(f"{claim.name}: outside {', '.join(outside) or 'nowhere'}", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(PAGE.read_text(), rendered(results)))


if __name__ == "__main__":
    main()
