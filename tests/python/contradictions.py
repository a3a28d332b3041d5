"""Drawn but possible sets of results, and whether any sentence contradicts its own table.

    python tests/python/contradictions.py [--count 10000] [--seed 1]

Nothing is measured: figures are drawn, verdicts and comparisons are made of them, and each number
of each sentence is computed again from the figures.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._claims import FORBIDDING, WEAKENING
from fathom._p_values import p_text
from fathom.assess import (
    EFFORTS,
    AssessedCell,
    AssessedTarget,
    TargetCells,
    key_figures,
    plan_cells,
    verdict_of,
)
from fathom.assess._side_by_side import side_by_side
from fathom.experiments._compare import RunComparison
from fathom.findings import RULES, Finding, time_words
from fathom.report._gather_compare import change_sentence, changes_of
from fathom.report._gather_sweep import sweep_sentences, tune_sentences
from fathom.report._material import GridCell, Point
from fathom.runners import Figures
from fathom.stats import compare_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.assess._side_by_side import SideBySide
    from fathom.findings import Confidence
    from fathom.report._material import Source

GIB = 1 << 30
NUMBER = re.compile(r"(?<![\w.,])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\d,.]*\d)")
EFFORT = replace(EFFORTS["quick"], depths=(4, 16, 64))
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


SOURCES: tuple[Source, ...] = ("measured", "measured", "interpolated", "failed", "pending")


class ContradictionError(AssertionError):
    """A sentence says what its figures do not."""


def hold(condition: object, *told: object) -> None:
    """Fail with what was told unless the condition holds."""
    if not condition:
        raise ContradictionError(told)


def drawn_figures(draw: random.Random, block_bytes: int) -> Figures:
    """Return figures of a run, over all that storage does: 1 to 10 million IOPS."""
    iops = 10 ** draw.uniform(0, 7)
    mean_ns = 10 ** draw.uniform(2.5, 10)
    p99_ns = mean_ns * 10 ** draw.uniform(-0.5, 2)
    return Figures(
        iops=iops,
        mib_per_s=iops * block_bytes / (1 << 20),
        relative_half_width=draw.choice((None, draw.uniform(0, 0.4))),
        measured_s=draw.uniform(0.1, 30),
        latency_mean_ns=draw.choice((mean_ns, mean_ns, mean_ns, None)),
        latency_p50_ns=mean_ns,
        latency_p95_ns=p99_ns,
        latency_p99_ns=p99_ns,
        latency_p999_ns=p99_ns,
        cpu_percent=None,
        busiest_cpu_percent=None,
    )


def drawn_target(draw: random.Random, name: str) -> TargetCells:
    """Return a target of which some cells are done; a few end early, or may not write."""
    writes = draw.random() < 0.7
    target = AssessedTarget(
        name=name,
        path=Path(f"/nowhere/{name}"),
        size_bytes=GIB,
        is_scratch=True,
        writes=writes,
        is_direct=draw.random() < 0.8,
    )
    kept, left_out = plan_cells(target, EFFORT)
    ends = draw.choice((0, 1, 2, 5, 1_000, 1_000, 1_000))
    cells = []
    for number, cell in enumerate(kept):
        one = AssessedCell(cell, run_id=number + 1)
        if number >= ends or draw.random() < 0.05:
            one.state = draw.choice(("pending", "failed", "skipped"))
        else:
            knee = str(draw.choice((1, *EFFORT.depths)))
            words = [
                word.replace("{knee}", knee).replace("{sequential_knee}", "4")
                for word in cell.arguments
            ]
            one.arguments = (*words, "-d1", f"/nowhere/{name}")
            one.state = "done"
            block = 512 << 10 if "-b512K" in words else 4096
            one.figures = drawn_figures(draw, block)
        cells.append(one)
    cells += [AssessedCell(cell, state="left_out") for cell in left_out]
    return TargetCells(target, cells)


def drawn_findings(draw: random.Random) -> list[Finding]:
    """Return a few findings of any rules, mostly none."""
    chosen = draw.sample(RULES, draw.choice((0, 0, 0, 1, 2, 4)))
    return [
        Finding(rule.name, rule.title, "x", "It was so.", "Mend it.", draw.choice(CONFIDENCES), "-")
        for rule in chosen
    ]


def number_in(text: str) -> list[float]:
    """Return the numbers of a sentence."""
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


@dataclass
class Judge:
    """Computes the claims of one target again."""

    plan: TargetCells
    findings: Sequence[Finding]

    def __post_init__(self) -> None:
        """Make the verdict."""
        self.figures = self.plan.figures()
        self.verdict = verdict_of(self.plan, self.findings)
        self.claims = {one.key: one for one in self.verdict.claims}
        self.runs = {one.run_id: one for one in self.plan.cells if one.figures is not None}

    def judge(self) -> None:
        """Hold every sentence against the figures."""
        self._evidence()
        self._headline()
        for name in ("saturation", "threads", "latency", "sequential", "backup"):
            if name in self.claims:
                getattr(self, f"_{name}")(self.claims[name].text)
        for one in key_figures(self.plan):
            hold(one.value is None or one.text.split()[0] != "nan", one)
            hold((one.value is None) == (one.text == "not measured"), one)
            hold(one.value is None or one.conditions, one)

    def _evidence(self) -> None:
        for claim in self.verdict.claims:
            hold(not re.search(r"\bnan\b|\binf\b|-\d", claim.text), claim.text)
            for one in claim.evidence:
                known = self.runs[one.run_id].figures
                hold(getattr(known, one.name) == one.value, claim)
                hold(one.unit == {"iops": "IOPS", "mib_per_s": "MiB/s"}.get(one.name, "ns"), one)
                hold(one.depth and one.threads and one.caching, one)

    def _headline(self) -> None:
        words = " ".join([self.verdict.headline, *self.verdict.sentences])
        sure = [one for one in self.findings if one.confidence != "possible"]
        if any(one.rule in FORBIDDING for one in sure):
            hold("suited" not in words and "in the class of" not in words, words)
            return
        if "too little" in self.verdict.headline.lower():
            return
        for one in sure:
            title = one.title[:1].lower() + one.title[1:]
            hold(one.rule not in WEAKENING or title in self.verdict.headline, words)
        missing = sum(one.state in ("pending", "failed") for one in self.plan.cells)
        done = len(self.plan.done())
        rests = f"this rests on {done} of {done + missing} measurements"
        hold((rests in self.verdict.headline) == bool(missing), words)

    def _random_reads(self) -> dict[str, float]:
        keys = ("read-1", "random-", "threads-")
        return {
            key: one.iops
            for key, one in self.figures.items()
            if key.startswith(keys) and not key.endswith("-write")
        }

    def _saturation(self, text: str) -> None:
        most = max(self._random_reads().values())
        hold(f"{most:,.0f} random reads" in text, text, most)
        ended = [
            one.state not in ("pending", "failed")
            for one in self.plan.cells
            if one.cell.key.startswith(("random-", "threads-"))
        ]
        hold(("at most" in text) == all(ended), text)

    def _threads(self, text: str) -> None:
        evidence = self.claims["threads"].evidence
        many, single = evidence[0], evidence[1]
        hold(many.depth == single.depth, text)
        hold(single.threads == 1 < (many.threads or 0), text)
        hold(f"{many.value / single.value:.2f} times" in text, text)
        hold(("do not help" in text) == (many.value / single.value < 1.05), text)
        best = max(v for k, v in self._random_reads().items() if not k.startswith("threads-"))
        told = f"completes {best:,.0f}" in text
        hold(told or best <= 1.05 * single.value, text)

    def _latency(self, text: str) -> None:
        one = self.figures["read-1"]
        hold(time_words(one.latency_mean_ns or 0) in text, text)
        hold(time_words(one.latency_p99_ns or 0) in text, text)

    def _sequential(self, text: str) -> None:
        reads = [
            one.mib_per_s
            for key, one in self.figures.items()
            if key.startswith("sequential-") and not key.endswith("-write")
        ]
        rates = {one.mib_per_s: one.iops for one in self.figures.values()}
        best = max(reads, key=lambda rate: rates[rate])
        hold(f"reads {best:,.0f} MiB/s" in text, text)

    def _backup(self, text: str) -> None:
        rate = self.figures["backup"].mib_per_s
        seconds = (1 << 20) / rate
        told = number_in(text.rpartition("takes")[2])[0]
        expected = seconds / 60 if "minutes" in text else seconds
        hold(abs(told - expected) <= 0.5 + 1e-9 * expected, text, seconds)


def judge_side_by_side(
    plans: Sequence[TargetCells], findings: Sequence[Sequence[Finding]], found: SideBySide
) -> None:
    """Hold the comparison of targets against their figures."""
    names = [one.target.name for one in plans]
    barred = {
        at
        for at, mine in enumerate(findings)
        if any(one.rule in FORBIDDING and one.confidence != "possible" for one in mine)
    }
    wins = [0] * len(names)
    compared = 0
    for figure in found.figures:
        allowed = [v for at, v in enumerate(figure.values) if v and at not in barred]
        hold(not set(figure.best) & barred, figure)
        if not allowed:
            continue
        best = min(allowed) if figure.unit == "ns" else max(allowed)
        for at in figure.best:
            value = figure.values[at] or 0.0
            hold(max(value, best) / min(value, best) < 1.05, figure)
        if sum(value is not None for value in figure.values) > 1:
            compared += 1
            for at in figure.best:
                wins[at] += 1
    for text in (found.headline, *found.sentences, *found.notes):
        hold(not re.search(r"\bnan\b|\binf\b|(?<![\w-])-\d", text), text)
    winner = [name for name in names if found.headline.startswith(f"{name} is the fastest")]
    for name in winner:
        at = names.index(name)
        hold(at not in barred, found.headline)
        hold(wins[at] == max(wins), found.headline, wins)
        hold(("everything" in found.headline) == (wins[at] == compared), found.headline, wins)


def judge_sweep(draw: random.Random) -> None:
    """Hold the sentences of a sweep's and a tuning's report against their cells."""
    grid = []
    for number in range(draw.randint(1, 8)):
        figures = drawn_figures(draw, 4096)
        label = f"depth {number}"
        point = Point(label, 1, number, 4096.0, 0.0, figures.iops, figures.mib_per_s)
        source = draw.choice(SOURCES)
        is_there = source in ("measured", "interpolated")
        grid.append(GridCell({"depth": str(number)}, source, point if is_there else None))
    points = [one.point for one in grid if one.point is not None]
    headline, more = sweep_sentences(grid, points, {})
    if not points:
        hold("No cell" in headline, headline)
        return
    best = max(points, key=lambda one: one.iops)
    hold(best.label in headline, headline)
    told = number_in(headline)[0]
    hold(abs(told - best.iops) <= 0.006 * best.iops + 0.5, headline, best)
    told_sources = [one.source for one in grid]
    for kind in ("measured", "failed"):
        count = told_sources.count(kind)
        hold((f"{count} {kind}" in " ".join(more)) == bool(count), more)


def judge_tune(draw: random.Random) -> None:
    """Hold the headline of a tuning against its outcome."""
    outcome = {
        "threads": draw.choice((None, 1, 8)),
        "depth": draw.choice((1, 32)),
        "is_confirmed": draw.random() < 0.5,
        "reasons": ["It was so."],
    }
    headline, reasons = tune_sentences(outcome)
    hold(("No load" in headline) == (outcome["threads"] is None), headline)
    if outcome["threads"] is not None:
        hold(("no run confirmed" in headline) == (not outcome["is_confirmed"]), headline)
        hold([outcome["threads"], outcome["depth"]] == number_in(headline)[:2], headline)
    hold(reasons == ("It was so.",), reasons)


def judge_compare(draw: random.Random) -> None:
    """Hold the words of a comparison, in the terminal and on the page, against its interval."""
    level, spread = 10 ** draw.uniform(0, 6), draw.choice((0.001, 0.02, 0.3, 1.5))
    factor = draw.choice((1.0, 1.0, 1.02, 0.5, 3.0))
    a, b = (
        [level * by * math.exp(spread * draw.gauss(0, 1)) for _ in range(draw.randint(3, 12))]
        for by in (1.0, factor)
    )
    metric = draw.choice(("iops", "mib_per_s", "mean", "p99"))
    found = RunComparison({metric: compare_means(a, b)}, {}, None, ())
    (change,) = changes_of(found)
    one = found.metrics[metric]
    hold(-1 < one.low <= one.change <= one.high, one)
    rose = one.change > 0
    good = rose == (metric in ("iops", "mib_per_s"))
    word, sentence = found.word(metric), change_sentence(change)
    holds_none = one.low <= 0 <= one.high
    hold(not (holds_none and change.is_different), sentence, one)
    hold(change.is_different == (word in ("better", "worse")), sentence, word)
    hold(sentence.endswith(f"{word}."), sentence, word)
    if change.is_different:
        hold(word == ("better" if good else "worse"), word, one)
        hold(word in sentence, sentence)
    told = number_in(sentence.partition(":")[2].replace("+", ""))
    expected = [100 * one.change, 100 * one.low, 100 * one.high]
    for text, value in zip(told, expected, strict=False):
        # As many digits as half of the interval allows.
        hold(abs(text - value) <= max(0.0501, 50 * (one.high - one.low)), sentence, expected)
    hold("0.0000" not in p_text(one.p_value), one)


def judge_one(draw: random.Random) -> None:
    """Draw a set of results, and judge every sentence that is made of it."""
    count = draw.choice((1, 2, 3))
    plans = [drawn_target(draw, f"target-{'abc'[at]}") for at in range(count)]
    findings = [drawn_findings(draw) for _ in plans]
    for plan, mine in zip(plans, findings, strict=True):
        Judge(plan, mine).judge()
    found = side_by_side(plans, findings)
    hold((found is None) == (count == 1), found)
    if found is not None:
        judge_side_by_side(plans, findings, found)
    judge_sweep(draw)
    judge_tune(draw)
    judge_compare(draw)


def judge_many(count: int, seed: int) -> None:
    """Judge sets that follow from the seed; a contradiction tells the number that shows it."""
    for number in range(count):
        try:
            judge_one(random.Random(f"{seed}:{number}"))  # noqa: S311 - Repeatable.
        except Exception as error:
            error.add_note(f"seed {seed}, set {number}")
            raise


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold drawn results against their sentences.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    judge_many(options.count, options.seed)
    sys.stdout.write(f"{options.count} sets of results, no sentence contradicts its figures\n")
