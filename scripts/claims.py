"""What the lab claims of its intervals and verdicts, against simulated noise of storage.

    scripts/claims.py simulate [--claim NAME] [--share 1.0]
    scripts/claims.py render

`simulate` writes docs/claims.json, with the seeds fixed; `render` puts it as tables into
docs/statistics.md. Each claim is a function that returns, for one experiment with noise of one
kind, "right", "wrong" or "cannot tell"; CLAIMS is the list, to which others are added. A claim
holds where it is wrong in at most as many experiments as its limit says, or where the output says
beside it why it may not (``note``).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import claims_costs
import claims_lab
import claims_runs
from claims_lab import RUNS_OF_DEVICE
from claims_noises import NOISES, Noise, intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Outcome = Literal["right", "wrong", "cannot tell"]
    Cells = dict[str, dict[str, dict[str, int]]]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs/claims.json"
PAGE = ROOT / "docs/statistics.md"
BEGIN, END = "<!-- claims: begin, by make statistics -->", "<!-- claims: end -->"
COSTS = "<!-- costs: begin, by make statistics -->", "<!-- costs: end -->"
TUNINGS = "<!-- tunings: begin, by make statistics -->", "<!-- tunings: end -->"
RUNS = (3, 5, 8, 10, 20, 30)
# Of some 350 cells, one is three deviations of its share off by chance.
_CHANCE = 3.0
LEAST_HELD, MOST_HELD = 0.93, 0.97
"""What 95 % are to be, of the intervals that are reported."""


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
        One experiment with a noise and so many runs; it may have several outcomes.
    runs, experiments
        With how many runs, and how often for each.
    note
        What the output says beside it, of what the claim takes for granted.
    more, wider
        How the note goes on, with such figures; and what is said of intervals that hold too often.
    unseen
        Noises that a claim with this note cannot see, so that they are outside of its limit.
    is_interval
        Told are intervals, of which 93 to 97 % are to hold; of tests all experiments count.
    unit
        What ``runs`` counts.
    told, none
        How the table calls what was told, and that nothing was.

    """

    name: str
    words: str
    limit: float
    tried: Callable[[Noise, int, np.random.Generator], Outcome | list[Outcome]]
    runs: Sequence[int] = RUNS
    experiments: int = 1000
    note: str = ""
    more: str = ""
    wider: str = ""
    unseen: Sequence[str] = ()
    is_interval: bool = False
    unit: str = "runs"
    told: str = "told"
    none: str = "cannot tell"


def inferred_cells(noise: Noise, _cells: int, random: np.random.Generator) -> list[Outcome]:
    """Try the intervals of the cells that a sweep does not measure; the noise is a quarter."""
    mean = noise.mean
    if mean is None:
        mean = claims_runs.course_mean(noise, RUNS_OF_DEVICE) - 1
    return claims_lab.inferred_cells(
        lambda random, count: noise.draw(random, count) / 4, mean / 4, random
    )


def confirmed_knee(noise: Noise, _loads: int, random: np.random.Generator) -> list[Outcome]:
    """Try whether a knee that ``fathom tune`` confirms is the device's, to within one step."""
    return claims_lab.confirmed_knee(lambda random, count: noise.draw(random, count) / 4, random)


def known_mean(noise: Noise, seconds: int, random: np.random.Generator) -> Outcome:
    """Try the interval by which ``--stop-confidence`` ends a run of at most so many seconds."""
    return claims_lab.known_mean(*intervals(noise, 100 * seconds, random))


_RESEMBLANCE = "So few runs often do not show memory"
_SEEN = "of less than 0.63 from run to run, skewness, nor what comes in fewer than 26 % of them"
_WIDER = "The intervals hold at 95 % or more"
_BETWEEN = "what changed between them cannot be distinguished"
CLAIMS = (
    Claim(
        "mean",
        "`repeat`: the interval of the mean of runs holds it",
        0.07,
        claims_runs.mean_of_runs,
        experiments=800,
        note=_RESEMBLANCE,
        more=_SEEN,
        wider=_WIDER,
        is_interval=True,
    ),
    Claim(
        "percentile",
        "`repeat`: the interval of the 99th percentile of runs of 1,000 I/Os holds it",
        0.07,
        claims_runs.percentile_of_runs,
        runs=(3, 5, 10, 20, 30),
        experiments=150,
        note=_RESEMBLANCE,
        more=_SEEN,
        wider=_WIDER,
        is_interval=True,
    ),
    Claim(
        "stop",
        "`--stop-confidence`: the interval of a run of at most so many seconds, if it ends it",
        0.07,
        known_mean,
        runs=(3, 10, 30),
        experiments=300,
        note="What happens less often than every",
        more="0.7 s may not have been seen",
        wider="but for that, the interval holds at 95 % or more",
        unseen=("stalls every 10 s",),
        is_interval=True,
        unit="s",
        told="ended by it",
        none="never ended by it",
    ),
    Claim(
        "one after the other",
        "`compare`: A and then B, which are equal, differ",
        0.05,
        claims_runs.equals_one_after_the_other,
        experiments=400,
        note=_BETWEEN,
    ),
    Claim(
        "interleaved",
        "`compare --run`: interleaved equals differ",
        0.05,
        claims_runs.equals_interleaved,
    ),
    Claim(
        "power, one after the other",
        "`compare`: 5 % less in B, behind A, is called equal or better by the table",
        0.05,
        claims_runs.slowdown_one_after_the_other,
        runs=(10, 20, 30),
        experiments=60,
        told="called worse",
        note=_BETWEEN,
    ),
    Claim(
        "power, interleaved",
        "`compare --run`: 5 % less in B, interleaved, is called equal or better",
        0.05,
        claims_runs.slowdown_interleaved,
        runs=(5, 10, 20, 30),
        experiments=400,
        told="called worse",
    ),
    Claim(
        "gate within",
        "`--fail-if 'iops<-3%'` fails at -2.5 %",
        0.05,
        claims_runs.gate_within_its_limit,
        runs=(10,),
        experiments=2000,
        unit="pairs",
    ),
    Claim(
        "gate beyond",
        "`--fail-if 'iops<-3%'` passes at -6 %",
        0.05,
        claims_runs.gate_at_twice_its_limit,
        runs=(10,),
        experiments=2000,
        unit="pairs",
    ),
    Claim(
        "sweep",
        "`sweep`: the interval of a cell that is not measured holds it (a quarter of the noise)",
        0.05,
        inferred_cells,
        runs=(49,),
        experiments=6,
        note="of those that are interpolated at most",
        more="… % lie beyond it (95 %)",
        wider="their rates are known as far as +/- % says, at 95 % or more",
        is_interval=True,
        unit="cells",
        told="inferred",
        none="all measured",
    ),
    Claim(
        "tune",
        "`tune`: a confirmed knee is over one step from the true one (a quarter of the noise)",
        0.05,
        confirmed_knee,
        runs=(48,),
        experiments=6,
        unit="loads",
        told="confirmed",
        none="none confirmed",
    ),
)


def simulated(claim: Claim, noise: Noise, runs: int, experiments: int) -> dict[str, int]:
    """Return how often a claim was right and wrong; the rest is cannot tell."""
    seed = zlib.crc32(f"{claim.name}/{noise.name}/{runs}".encode())
    random = np.random.default_rng(seed)
    found: Counter[Outcome] = Counter()
    for _ in range(experiments):
        tried = claim.tried(noise, runs, random)
        found.update([tried] if isinstance(tried, str) else tried)
    return {"experiments": found.total(), "right": found["right"], "wrong": found["wrong"]}


def is_within(claim: Claim, cell: Mapping[str, int]) -> bool:
    """Whether a claim is wrong no more often than it may be, and chance moves it."""
    count = cell["experiments"]
    chance = _CHANCE * math.sqrt(claim.limit * (1 - claim.limit) / count)
    return cell["wrong"] / count <= claim.limit + chance


def mark(claim: Claim, cell: Mapping[str, int]) -> str:
    """Return the mark of a cell beyond its limit, whose reason stands below the table."""
    told = cell["right"] + cell["wrong"]
    if not told:
        return ""
    if claim.is_interval:
        held = cell["right"] / told
        return " ¹" if held < LEAST_HELD else " ²" if held > MOST_HELD else ""
    return " ¹" if cell["wrong"] > claim.limit * cell["experiments"] else ""


def rendered(results: Mapping[str, Any]) -> str:
    """Return the tables of what was simulated."""
    parts = []
    for claim in CLAIMS:
        if claim.name not in results:
            continue
        cells = results[claim.name]
        heads = [f"{runs} {claim.unit}" for runs in claim.runs]
        aim = (
            "93 to 97 % of those told" if claim.is_interval else f"at most {100 * claim.limit:g} %"
        )
        parts += [
            f"{claim.words}: {aim}. {claim.experiments:,} experiments for each cell.",
            "",
            f"| Noise | {' | '.join(heads)} |",
            f"|---|{'---|' * len(heads)}",
        ]
        marks = set()
        for noise in NOISES:
            row = [cells[noise.name][str(runs)] for runs in claim.runs]
            marks |= {mark(claim, one) for one in row}
            words = " | ".join(_cell(claim, one) for one in row)
            parts.append(f"| {noise.name} | {words} |")
        parts += ["", *_footnotes(claim, marks)]
    return "\n".join(parts)


def _footnotes(claim: Claim, marks: set[str]) -> list[str]:
    found = []
    if " ¹" in marks:
        by_chance = (
            "Within three deviations of chance of a share of 5 %, which is the test's level."
        )
        said = f"{claim.note} {claim.more}".strip()
        found += [f"¹ The output says: “{said}”." if said else f"¹ {by_chance}", ""]
    if " ²" in marks:
        said = f" The output says: “{claim.wider} …”." if claim.wider else ""
        found += [f"² It is wider than it had to be, or too few were told to know.{said}", ""]
    return found


def _cell(claim: Claim, cell: Mapping[str, int]) -> str:
    count, right, wrong = cell["experiments"], cell["right"], cell["wrong"]
    told = right + wrong
    if not told:
        return claim.none
    share = f"{100 * wrong / count:.1f} %"
    if claim.is_interval:
        share = f"{100 * right / told:.1f} % hold"
    reached = right if claim.told == "called worse" else told
    return f"{share}, {100 * reached / count:.0f} % {claim.told}{mark(claim, cell)}"


def page(text: str, tables: str, marks: tuple[str, str] = (BEGIN, END)) -> str:
    """Return the page with the tables in their place."""
    before, _, rest = text.partition(marks[0])
    _, _, after = rest.partition(marks[1])
    return f"{before}{marks[0]}\n\n{tables}\n{marks[1]}{after}"


def whole_page(text: str, stored: Mapping[str, Any]) -> str:
    """Return the page with all tables."""
    text = page(text, rendered(stored))
    text = page(text, claims_costs.rendered_costs(stored.get("costs", {})), COSTS)
    return page(text, claims_costs.rendered_tunings(stored.get("tunings", {})), TUNINGS)


def _simulate(results: dict[str, Cells], claim: Claim, share: float) -> None:
    count = max(round(share * claim.experiments), 1)
    results[claim.name] = {
        noise.name: {str(runs): simulated(claim, noise, runs, count) for runs in claim.runs}
        for noise in NOISES
    }
    outside = [
        f"{name} {runs}"
        for name, row in results[claim.name].items()
        for runs, cell in row.items()
        if name not in claim.unseen and not is_within(claim, cell)
    ]
    print(f"{claim.name}: outside {', '.join(outside) or 'nowhere'}", flush=True)


def main() -> None:
    """Simulate, or render."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("simulate", "render"))
    parser.add_argument(
        "--claim", action="append", help="only this one, costs or tunings; others stay"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the experiments")
    asked = parser.parse_args()
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if asked.what == "simulate":
        for claim in CLAIMS:
            if not asked.claim or claim.name in asked.claim:
                _simulate(stored, claim, asked.share)
        for name, timed in {"costs": claims_costs.costs, "tunings": claims_costs.tunings}.items():
            if not asked.claim or name in asked.claim:
                stored[name] = timed()
        names = [*(one.name for one in CLAIMS), "costs", "tunings"]
        stored = {name: stored[name] for name in names if name in stored}
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(whole_page(PAGE.read_text(), stored))


if __name__ == "__main__":
    main()
