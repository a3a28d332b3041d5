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
import traceback
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from contradictions_captions import Captions
from contradictions_drawn import drawn_figures, hold, number_in
from contradictions_experiments import Experiments
from contradictions_repeat import Noticing, Repeats
from contradictions_stored import StoredOnes
from fathom._claims import FORBIDDING, WEAKENING, within_sentence
from fathom.experiments.assess import (
    EFFORTS,
    AssessedCell,
    AssessedTarget,
    TargetCells,
    key_figures,
    plan_cells,
    verdict_of,
)
from fathom.experiments.assess.claim_maker import conditions_of, parameters_of
from fathom.experiments.assess.side_by_side import side_by_side
from fathom.findings import RULES, Finding
from fathom.units import time_words
from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from fathom.experiments.assess import Cell
    from fathom.experiments.assess.key_figure import KeyFigure
    from fathom.experiments.assess.side_by_side import ComparedFigure, SideBySide
    from fathom.findings import Confidence

GIB = 1 << 30
EFFORT = replace(EFFORTS["quick"], depths=(4, 16, 64))
STORED = 0.05
"""The share of sets that go through a store, a comparison and a page, which takes longest."""
FAMILIES = {
    "random_reads": ("read-1", "random-", "threads-"),
    "sequential_read": ("sequential-", "backup"),
}
"""The cells of which the best counts where all of them were measured."""
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


def target_of(name: str, *, writes: bool, is_direct: bool) -> AssessedTarget:
    """Return a target of a GiB."""
    path = Path(f"/nowhere/{name}")
    return AssessedTarget(name, path, GIB, is_scratch=True, writes=writes, is_direct=is_direct)


@cache
def planned(*, writes: bool, is_direct: bool) -> tuple[list[Cell], list[Cell]]:
    """Return the cells of such a target, and those left out; workloads are read once."""
    return plan_cells(target_of("any", writes=writes, is_direct=is_direct), EFFORT)


def drawn_target(draw: random.Random, name: str) -> TargetCells:
    """Return a target of which some cells are done; a few end early, or may not write."""
    target = target_of(name, writes=draw.random() < 0.7, is_direct=draw.random() < 0.8)
    kept, left_out = planned(writes=target.writes, is_direct=target.is_direct)
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
            if one.value is not None:
                self._key_figure(one, one.value)

    def _key_figure(self, one: KeyFigure, value: float) -> None:
        """Hold the words of a figure against its value, and that against the run that it names."""
        figures = self.figures[one.cell_key or ""]
        name = {"ns": "latency_mean_ns", "ios_per_s": "iops", "mib_per_s": "mib_per_s"}[one.unit]
        hold(getattr(figures, name) == value, one)
        hold(self.runs[one.run_id].figures is figures, one)
        if one.unit == "ns":
            hold(one.text == time_words(value), one)
            return
        hold(one.text.endswith(" IOPS" if one.unit == "ios_per_s" else " MiB/s"), one)
        (told,) = number_in(one.text)
        hold(abs(told - value) <= max(0.5 * (value >= 9.5), 0.05 * value), one)

    def _evidence(self) -> None:
        for claim in self.verdict.claims:
            hold(not re.search(r"\bnan\b|\binf\b|-\d|\de[-+]\d", claim.text), claim.text)
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
            title = within_sentence(one.title)
            hold(one.rule not in WEAKENING or title in self.verdict.headline, words)
        missing = sum(one.state in ("pending", "failed") for one in self.plan.cells)
        done = len(self.plan.done())
        rests = f"this rests on {done} of {done + missing} measurements"
        hold((rests in self.verdict.headline) == bool(missing), words)

    def _random_reads(self) -> dict[str, float]:
        keys = ("read-1", "random-", "threads-", "again")
        return {
            key: one.iops
            for key, one in self.figures.items()
            if key.startswith(keys) and not key.endswith("-write")
        }

    def _saturation(self, text: str) -> None:
        most = max(self._random_reads().values())
        hold(f" {told_rate(most)} random reads" in text, text, most)
        ended = [
            one.state not in ("pending", "failed")
            for one in self.plan.cells
            if one.cell.key.startswith(("random-", "threads-")) and not one.cell.writes
        ]
        hold(("at most" in text) == all(ended), text)

    def _threads(self, text: str) -> None:
        evidence = self.claims["threads"].evidence
        many, single = evidence[0], evidence[1]
        hold(many.depth == single.depth, text)
        hold(single.threads == 1 < (many.threads or 0), text)
        gain = many.value / single.value
        twice = [self.figures[key].iops for key in ("read-1", "again") if key in self.figures]
        scatter = max(twice) / min(twice) if len(twice) > 1 else 1.0
        is_within = scatter >= 1.25 and 1 / scatter < gain < scatter
        hold(("at different times" in text) == is_within, text, twice)
        if is_within:
            rates = f"{told_rate(many.value)} against {told_rate(single.value)} IOPS"
            hold(rates in text, text)
            hold(all(f" {told_rate(one)} " in text for one in twice), text, twice)
            hold(" times as" not in text and "complete" not in text, text)
            return
        hold(f"{gain:.2f} times" in text, text)
        hold(("do not help" in text) == (many.value / single.value < 1.05), text)
        depths = {k: v for k, v in self._random_reads().items() if k != "again"}
        best = max(v for k, v in depths.items() if not k.startswith("threads-"))
        told = f"completes {told_rate(best)}" in text
        hold(told or best <= 1.05 * single.value, text)

    def _latency(self, text: str) -> None:
        one = self.figures["read-1"]
        hold(time_words(one.latency_mean_ns or 0) in text, text)
        hold(time_words(one.latency_p99_ns or 0) in text, text)

    def _sequential(self, text: str) -> None:
        reads = [
            one.mib_per_s
            for key, one in self.figures.items()
            if key == "backup" or (key.startswith("sequential-") and not key.endswith("-write"))
        ]
        hold(f"reads {told_rate(max(reads))} MiB/s" in text, text, max(reads))

    def _backup(self, text: str) -> None:
        rate = self.figures["backup"].mib_per_s
        seconds = (1 << 20) / rate
        told = number_in(text.rpartition("takes")[2])[0]
        units = {"minutes": 60, "hours": 3600, "days": 86400}
        unit_s = next((size for name, size in units.items() if f" {name}" in text), 1)
        expected = seconds / unit_s
        # A number below 10 has two digits.
        within = 0.5 if unit_s <= units["minutes"] or expected >= 9.95 else 0.05
        hold(abs(told - expected) <= within + 1e-9 * expected, text, seconds)
        # The greatest unit of which there are two.
        hold(unit_s == units["days"] or seconds < 2 * 86400, text, seconds)


def told_rate(value: float) -> str:
    """Return a rate as sentences have it: whole, and with two digits where it is below 10."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def half_width_of(plan: TargetCells, key: str | None) -> float | None:
    """Return how well a run of the comparison is known; None if not, or not at all."""
    figures = plan.figures().get(key or "")
    half = None if figures is None else figures.relative_half_width
    return half if half is not None and half < 1 else None


def apart_of(plans: Sequence[TargetCells]) -> float:
    """Return how far the first load came apart, for two runs, as a logarithm."""
    pairs = [(one["read-1"].iops, one["again"].iops) for one in (plan.figures() for plan in plans)
             if {"read-1", "again"} <= {*one}]  # fmt: skip
    if not pairs:
        return 0.0
    squares = sum(math.log(a / b) ** 2 / 2 for a, b in pairs)
    return float(stdtrit(len(pairs), 0.975)) * math.sqrt(2 * squares / len(pairs))


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
    # Nothing was measured on these.
    absent = {at for at, plan in enumerate(plans) if not plan.figures()}
    hold(
        all((name in found.headline) for at, name in enumerate(names) if at in absent),
        found.headline,
    )
    barred |= absent
    apart = apart_of([one for at, one in enumerate(plans) if at not in barred])
    for figure in found.figures:
        judge_one_load(plans, figure, is_partial="is partial" in found.headline)
        allowed = [v for at, v in enumerate(figure.values) if v and at not in barred]
        hold(not set(figure.best) & barred, figure)
        if not allowed:
            continue
        best = min(allowed) if figure.unit == "ns" else max(allowed)
        halves = [half_width_of(*one) for one in zip(plans, figure.cell_keys, strict=True)]
        yardstick = halves[figure.values.index(best)]
        for at, value in enumerate(figure.values):
            if not value or at in barred:
                continue
            factor = max(value, best) / min(value, best)
            between = figure.factor_intervals[at]
            own = halves[at]
            if len(allowed) == 1:
                # Nobody else could have been better.
                hold(between is None and not figure.best, figure)
                continue
            if at == figure.factors.index(1.0) or own is None or yardstick is None:
                hold(between is None, figure)
                hold(at in figure.best, figure)
                continue
            wide = math.hypot(-math.log1p(-own), -math.log1p(-yardstick), apart)
            hold((between is None) == (wide > math.log(100)), figure, wide)
            # What no interval shows is not shown.
            hold((at in figure.best) == (between is None or between[0] < 1.05), figure)
            if between:
                hold(math.isclose(between[1] / factor, math.exp(wide), rel_tol=1e-6), figure)
                hold(math.isclose(between[0] * between[1], factor**2, rel_tol=1e-6), figure)
    pattern = r"\(([\d.,]+) (?:times as long|% of the best), ([\d.,]+) to ([\d.,]*\d)"
    for told in re.findall(pattern, " ".join(found.sentences)):
        value, low, high = (float(one.replace(",", "")) for one in told)
        hold(low <= value <= high, found.sentences)
    for text in (found.headline, *found.sentences, *found.notes):
        hold(not re.search(r"\bnan\b|\binf\b|(?<![\w-])-\d|\de[-+]\d", text), text)
    judge_headline(found, names, barred)
    judge_conditions(found, plans)


def judge_one_load(
    plans: Sequence[TargetCells], figure: ComparedFigure, *, is_partial: bool
) -> None:
    """Hold the values of a row against their runs, and of a partial comparison the loads."""
    units = {"ns": "latency_mean_ns", "ios_per_s": "iops", "mib_per_s": "mib_per_s"}
    loads = set()
    measured = [plan for plan in plans if plan.figures()]
    for plan, value, key in zip(plans, figure.values, figure.cell_keys, strict=True):
        if value is None:
            continue
        hold(getattr(plan.figures()[key or ""], units[figure.unit]) == value, figure)
        (cell,) = [one for one in plan.cells if one.cell.key == key]
        loads.add(tuple(one for one in cell.arguments if one[:2] in ("-t", "-o", "-b", "-w", "-r")))
    is_cut = any(
        one.state in ("pending", "failed")
        for plan in measured
        for one in plan.cells
        if one.cell.key.startswith(FAMILIES.get(figure.name, ("nothing",)))
        and (figure.name == "random_writes" or not one.cell.writes)
    )
    if len(measured) == 1:
        return
    hold(not is_cut or is_partial, figure)
    hold(not is_cut or len(loads) <= 1, figure, loads)
    hold(not is_cut or "at most" not in figure.label, figure)


def judge_conditions(found: SideBySide, plans: Sequence[TargetCells]) -> None:
    """Hold the depths at which figures of a knee were measured against those of their runs."""
    for one in found.figures:
        if one.name not in ("random_reads", "random_writes"):
            continue
        for plan, value, key in zip(plans, one.values, one.cell_keys, strict=True):
            if value is None:
                continue
            (told,) = [text for text in found.sentences if text.startswith(f"{one.label}, meas")]
            part = next(part for part in told.split("; ") if plan.target.name in part)
            (cell,) = [cell for cell in plan.cells if cell.cell.key == key]
            hold(f"{conditions_of(parameters_of(cell))}" in part, told, one)


def judge_headline(found: SideBySide, names: Sequence[str], barred: Collection[int]) -> None:
    """Hold who is called the fastest against the marks of the table."""
    allowed = [at for at in range(len(names)) if at not in barred]
    known = [one for one in found.figures if all(one.values[at] is not None for at in allowed)]
    known = [one for one in known if sum(value is not None for value in one.values) > 1]
    wins = [sum(at in one.best for one in known) for at in range(len(names))]
    alone = [sum(one.best == [at] for one in known) for at in range(len(names))]
    for name in re.findall(r"; of (\S+)'s ", found.headline):
        hold(any(one.factors[names.index(name)] is None for one in found.figures), found.headline)
    words = found.headline.rpartition("measurements). ")[2]
    words = words.partition(" Nothing was measured on")[0].partition("; of ")[0]
    some = [one for one in found.figures if any(one.values[at] is not None for at in allowed)]
    is_unknown = all(not any(one.factor_intervals) for one in known)
    named = words.startswith((*(f"{one} " for one in names), "None is shown"))
    hold(not named or not is_unknown, words)
    told = [int(one) for one in re.findall(r"(?<![\w.-])\d+(?!\d| %|\w)", words)]
    for at, name in enumerate(names):
        if words.startswith((f"{name} is the fastest", f"{name} leads")):
            hold(at not in barred, words)
            hold(wins[at] == max(wins) and wins.count(wins[at]) == 1, words, wins)
            hold(("leads" in words) == (wins[at] != alone[at]), words, wins, alone)
            is_all = alone[at] == len(known)
            # What one of them lacks was measured, too.
            hold(("everything" in words) == (is_all and len(some) == len(known)), words, alone)
            hold(("all" in words) == (len(some) != len(known)) or len(allowed) == 2, words, alone)
            expected = [wins[at], len(known), *([alone[at]] if "leads" in words else [])]
            expected = [len(known)][: len(known) > 1] if is_all else expected
            hold(told == ([] if "everything" in words else expected), words, wins, alone)
    if words.startswith("None is"):
        leading = [at for at, name in enumerate(names) if name in words]
        hold(leading == [at for at, one in enumerate(wins) if one == max(wins)], words, wins)
        hold(told == [max(wins), len(known)], words, wins)


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
    Captions(draw).judge()
    experiments = Experiments(draw)
    experiments.judge_sweep()
    experiments.judge_tune()
    experiments.judge_compare()
    Repeats(draw).judge()
    Noticing(draw).judge()
    if draw.random() < STORED:
        StoredOnes(draw).judge()


def judge_many(count: int, seed: int) -> None:
    """Judge sets that follow from the seed; a contradiction tells the number that shows it."""
    for number in range(count):
        try:
            judge_one(random.Random(f"{seed}:{number}"))  # noqa: S311 - Repeatable.
        except Exception as error:
            error.add_note(f"seed {seed}, set {number}")
            raise


def contradictions(count: int, seed: int) -> Iterator[str]:
    """Judge all sets, and give each contradiction with where it was found."""
    for number in range(count):
        try:
            judge_one(random.Random(f"{seed}:{number}"))  # noqa: S311 - Repeatable.
        except Exception as error:  # noqa: BLE001 - Whatever it is, it has a seed.
            at = traceback.extract_tb(error.__traceback__)[-2:]
            places = " < ".join(f"{one.name}:{one.lineno}" for one in reversed(at))
            yield f"seed {seed}, set {number}: {type(error).__name__} in {places}: {error}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Hold drawn results against their sentences.")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = 0
    for line in contradictions(options.count, options.seed):
        found += 1
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{options.count} sets of results, {found or 'no'} contradictions\n")
    sys.exit(int(bool(found)))
