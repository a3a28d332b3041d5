"""Drawn sweeps, tunings and comparisons, and whether their claims are what their runs say.

The runs stand in a dictionary, as they would in the store; every claim is computed again from them.
"""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, cast

from contradictions_drawn import drawn_figures, hold, number_in
from fathom._claims import (
    FORBIDDING,
    WEAKENING,
    Claim,
    Doubt,
    Evidence,
    ToldRun,
    ToldRuns,
    within_sentence,
)
from fathom._p_values import p_text
from fathom.experiments.compare.claims import compare_claims
from fathom.experiments.compare.comparison import RunComparison
from fathom.experiments.sweep.claims import sweep_claims
from fathom.experiments.tune.claims import best_points, tune_claims
from fathom.findings import RULES
from fathom.report.collect._compare import changes_of
from fathom.report.collect._sweep import _tuned, sweep_sentences, tune_sentences
from fathom.stats import compare_means
from fathom.units import counted

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from fathom._claims import Unit
    from fathom.experiments.tune.result import TuningOutcome

__all__ = ["Experiments"]

SOURCES = ("measured", "measured", "measured", "interpolated", "failed", "pending")
DOUBTS = [rule for rule in RULES if rule.name in (*FORBIDDING, *WEAKENING)]
UNITS: dict[str, Unit] = {"iops": "IOPS", "mib_per_s": "MiB/s"}
NAMES = {"mean": "latency_mean_ns", "p99": "latency_p99_ns"}


@dataclass
class Experiments:
    """Draws experiments whose runs are known, and judges what is said of them."""

    draw: random.Random
    figures: dict[int, dict[str, Any]] = field(default_factory=dict)
    told: dict[int, ToldRun] = field(default_factory=dict)

    def run(self, threads: int, depth: int) -> int:
        """Return the number of a drawn run."""
        run_id = len(self.figures) + 1
        self.figures[run_id] = asdict(drawn_figures(self.draw, 4096))
        self.told[run_id] = ToldRun(threads, depth, "unbuffered", self._doubts())
        return run_id

    def _doubts(self) -> tuple[Doubt, ...]:
        chosen = self.draw.sample(DOUBTS, self.draw.choice((0, 0, 0, 0, 1, 2)))
        sure = ("certain", "likely", "possible")
        return tuple(Doubt(one.name, one.title, self.draw.choice(sure)) for one in chosen)

    def judge_claims(self, claims: Sequence[Claim]) -> None:
        """Hold what is true of every claim: its evidence is the run's, and doubts stand in it."""
        for claim in claims:
            hold(not re.search(r"\bnan\b|\binf\b|\bNone\b|\de[-+]\d", claim.text), claim.text)
            ids = {one.run_id for one in claim.evidence}
            for one in claim.evidence:
                run = self.told[one.run_id or 0]
                hold(self.figures[one.run_id or 0][one.name] == one.value, claim)
                hold(one.unit == UNITS.get(one.name, "ns"), claim)
                hold((one.threads, one.depth) == (run.threads, run.depth), claim)
            rules = {
                doubt.rule: doubt
                for run_id in ids
                for doubt in self.told[run_id or 0].doubts
                if doubt.confidence != "possible" or doubt.rule == "constant-data"
            }
            hold(set(claim.forbidden_by) == rules.keys() & set(FORBIDDING), claim)
            hold(set(claim.weakened_by) == rules.keys() & set(WEAKENING), claim)
        headline = claims[0]
        titles = {rule.name: within_sentence(rule.title) for rule in DOUBTS}
        for rule in headline.forbidden_by or headline.weakened_by:
            hold(titles[rule] in headline.text, headline)
        hold(("No verdict" in headline.text) == bool(headline.forbidden_by), headline)
        hold(("; but " in headline.text) <= bool(headline.weakened_by), headline)

    def judge_sweep(self) -> None:
        """Hold the claims of a sweep against its cells."""
        outcome: Any = {"cells": [self._cell(at) for at in range(self.draw.randint(1, 8))]}
        claims = sweep_claims(outcome, ToldRuns(self.told))
        self.judge_claims(claims)
        texts = {one.key: one.text for one in claims}
        stored = {"claims": [asdict(one) for one in claims]}
        hold(sweep_sentences(stored) == (claims[0].text, tuple(one.text for one in claims[1:])))
        known = [one for one in outcome["cells"] if one["iops"] is not None]
        if not known:
            hold("No cell" in texts["headline"], texts)
            return
        best = max(known, key=lambda one: one["iops"])
        hold(f"{best['iops']:,.0f} IOPS (depth {best['parameters']['depth']}" in texts["headline"])
        hold(("interpolated)" in texts["headline"]) == (best["source"] == "interpolated"), texts)
        widest = max(known, key=lambda one: one["mib_per_s"])
        hold(f"{widest['mib_per_s']:,.2f} MiB/s" in texts["throughput"], texts)
        sources = [one["source"] for one in outcome["cells"]]
        for kind in set(SOURCES):
            count = sources.count(kind)
            hold((f"{count} {kind}" in texts["cells"]) == bool(count), texts)

    def _cell(self, depth: int) -> dict[str, Any]:
        source = self.draw.choice(SOURCES)
        run_id = self.run(1, depth) if source == "measured" else None
        figures = None if run_id is None else self.figures[run_id]
        if source == "interpolated":
            figures = asdict(drawn_figures(self.draw, 4096))
        return {
            "parameters": {"depth": str(depth)},
            "source": source,
            "run_id": run_id,
            "iops": figures and figures["iops"],
            "mib_per_s": figures and figures["mib_per_s"],
        }

    def judge_tune(self) -> None:
        """Hold the claims of a tuning, and the figures of its report, against its runs."""
        outcome: Any = self._tuned()
        claims = tune_claims(outcome, ToldRuns(self.told))
        self.judge_claims(claims)
        stored = outcome | {"claims": [asdict(one) for one in claims]}
        headline, rest = tune_sentences(stored)
        hold(headline == claims[0].text, headline)
        hold("It was so." in rest, rest)
        if outcome["threads"] is None:
            hold(headline == "No load will do.", headline)
            return
        threads, depth = outcome["threads"], outcome["depth"]
        best_runs: list[Any] = [*best_points(cast("TuningOutcome", outcome))]
        rates = [one["figures"]["iops"] for one in best_runs]
        mean = math.exp(sum(map(math.log, rates)) / len(rates))
        hold(f"{mean:,.0f} IOPS" in headline, headline, mean)
        hold(f"{counted(threads, 'thread')}, depth {depth} " in headline, headline)
        hold(("NOT confirmed" in rest[0]) == (not outcome["is_confirmed"]), rest)
        points = {
            (one.threads, one.depth): one
            for _, one in _tuned(outcome, {"block_bytes": 4096, "write_percent": 0})
        }
        # The page's table and the headline have the same figure.
        hold(points[threads, depth].iops == outcome["iops"], headline)
        measured = [one for one in outcome["points"] if one["figures"]]
        hold(points.keys() == {(one["threads"], one["depth"]) for one in measured}, points)

    def _tuned(self) -> dict[str, Any]:
        loads = [(t, d) for t in (1, 2) for d in (1, 4, 16)]
        points = [self._point(load, "search") for load in loads if self.draw.random() < 0.8]
        measured = [one for one in points if one["figures"]]
        goal = {"metric": self.draw.choice(("mean", "p99")), "share": 0.03, "limit_ns": None}
        if not measured or self.draw.random() < 0.1:
            nothing = dict.fromkeys(("threads", "depth", "iops", "latency_ns", "confirmation"))
            return nothing | {"points": points, "reasons": ["It was so."], "goal": goal}
        best = self.draw.choice(measured)
        load = best["threads"], best["depth"]
        rounds = self.draw.choice((0, 3, 5))
        points += [self._point(load, "confirm", fails=False) for _ in range(rounds)]
        outcome = {
            "threads": load[0],
            "depth": load[1],
            "goal": goal,
            "points": points,
            "confirmation": None,
            "is_confirmed": False,
            "reasons": ["It was so."],
        }
        outcome |= {"iops": None, "latency_ns": 1.0}
        if rounds:
            supported = self.draw.random() < 0.5
            outcome["is_confirmed"] = supported
            outcome["confirmation"] = {
                "threads": load[0],
                "depth": load[1],
                "iops": 1.0,
                "rounds": rounds,
                "is_supported": supported,
                "evidence": ["it was found again"],
            }
        best_runs: list[Any] = [*best_points(cast("TuningOutcome", outcome))]
        rates = [one["figures"]["iops"] for one in best_runs]
        outcome["iops"] = math.exp(sum(map(math.log, rates)) / len(rates))
        outcome["latency_ns"] = best["figures"]["latency_p99_ns"]
        return outcome

    def _point(self, load: tuple[int, int], role: str, *, fails: bool = True) -> dict[str, Any]:
        failed = fails and self.draw.random() < 0.1
        run_id = None if failed else self.run(*load)
        return {
            "threads": load[0],
            "depth": load[1],
            "role": role,
            "run_id": run_id,
            "figures": None if run_id is None else self.figures[run_id],
        }

    def judge_compare(self) -> None:
        """Hold the claims of a comparison, in the terminal and on the page, against its runs."""
        metric = self.draw.choice(("iops", "mib_per_s", "mean", "p99"))
        name = NAMES.get(metric, metric)
        sides = self._sides(name)
        a, b = ([self.figures[one][name] for one in side] for side in sides)
        found = RunComparison({metric: compare_means(a, b)}, {}, None, ())
        unit = UNITS.get(name, "ns")
        evidence = tuple(
            Evidence(one, name, self.figures[one][name], unit, 1, 1, "unbuffered")
            for side in sides
            for one in side
        )
        told_a, told_b = (ToldRuns({one: self.told[one] for one in side}) for side in sides)
        claims = compare_claims(found, told_a, told_b, {metric: evidence})
        self._judge_compared(found, metric, claims, evidence)

    def _sides(self, name: str) -> list[list[int]]:
        level, spread = 10 ** self.draw.uniform(0, 6), self.draw.choice((0.001, 0.02, 0.3, 1.5))
        factor = self.draw.choice((1.0, 1.0, 1.02, 0.5, 3.0))
        sides = []
        for by in (1.0, factor):
            ids = [self.run(1, 1) for _ in range(self.draw.randint(3, 12))]
            doubts = self._doubts()
            for one in ids:
                noise = math.exp(spread * self.draw.gauss(0, 1))
                self.figures[one][name] = level * by * noise
                self.told[one] = ToldRun(1, 1, "unbuffered", doubts)
            sides.append(ids)
        return sides

    def _judge_compared(
        self,
        found: RunComparison,
        metric: str,
        claims: Sequence[Claim],
        evidence: Sequence[Evidence],
    ) -> None:
        one, word = found.metrics[metric], found.word(metric)
        headline, change = claims[0], claims[1]
        hold(change.key == f"change-{metric}", change)
        hold(-1 < one.low <= one.change <= one.high, one)
        hold(change.evidence == headline.evidence == tuple(evidence), change)
        forbidden = bool(headline.forbidden_by)
        hold(headline.text.startswith("No comparison of devices") == forbidden, headline)
        hold((f": {word}" in headline.text) == (not forbidden), headline, word)
        hold(change.text.endswith(f": {word}.") == (not forbidden), change, word)
        if not forbidden:
            hold(("; but " in headline.text) == bool(headline.weakened_by), headline)
        holds_none = one.low <= 0 <= one.high
        is_different = word in ("better", "worse")
        hold(not (holds_none and is_different), change, one)
        if is_different:
            hold((word == "better") == ((one.change > 0) == (metric in UNITS)), word, one)
        (shown,) = changes_of(found)
        hold((shown.verdict, shown.is_different) == (word, is_different), shown)
        self._judge_numbers(change.text, one)
        hold("0.0000" not in p_text(one.p_value), one)

    @staticmethod
    def _judge_numbers(text: str, one: Any) -> None:  # noqa: ANN401 - A comparison.
        """Hold the numbers of a change against the comparison: as many digits as are known.

        An end that is 100 times as much or as little is not told, unless zero is beyond it.
        """
        told = number_in(text.partition(":")[2].replace("+", ""))
        ratio = 1 + one.change
        expected = [100 * one.change]
        expected += [100 * one.low] * (one.low > 0 or 100 * (1 + one.low) >= ratio)
        expected += [100 * one.high] * (one.high < 0 or 1 + one.high <= 100 * ratio)
        hold(len(told) == len(expected), text)
        for number, value in zip(told, expected, strict=True):
            hold(abs(number - value) <= max(0.0501, 50 * (one.high - one.low)), text, expected)
            hold(abs(number - value) <= max(0.501, 0.0501 * abs(value)), text, expected)
