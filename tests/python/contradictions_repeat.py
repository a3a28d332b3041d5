"""Drawn repetitions and findings, and whether their sentences are what their runs say."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from contradictions_drawn import hold, number_in
from fabricated import fabricated, latencies_ns
from fathom.experiments.noise_words import estimate_sentences, shown_figure
from fathom.experiments.repeat import TRACKED, summarise
from fathom.findings.observed import TargetEvidence, observe
from fathom.findings.search import apply
from fathom.metrics import metric_column
from fathom.report.collect._runs import _repeat_numbers, _repeat_sentences

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from fathom.experiments.repeat import MetricSummary
    from fathom.findings import Finding

__all__ = ["Noticing", "Repeats"]

COLUMNS = [metric_column(one) for one in TRACKED]
GIB = 1 << 30
NO_NUMBER = re.compile(r"\bnan\b|\binf\b|\bNone\b|(?<![\w-])-\d|\de[-+]\d|\b1 I/Os\b")


@dataclass
class Repeats:
    """Draws repetitions of a run, and judges what is said of them."""

    draw: random.Random

    def judge(self) -> None:
        """Hold what a repetition says, on the terminal and on the page, against its runs."""
        rows = self._rows()
        runs: list[Any] = [
            SimpleNamespace(id=at + 1, run_id=at + 1, columns=row) for at, row in enumerate(rows)
        ]
        metrics, steady = summarise(runs, pilot=self.draw.choice((None, min(10, len(runs)))))
        sentences = estimate_sentences({name: one.estimate for name, one in metrics.items()})
        outcome: dict[str, Any] = {
            "metrics": {name: asdict(one) for name, one in metrics.items()},
            "is_steady": None if steady is None else steady.is_steady,
            "sentences": sentences,
        }
        for name, one in metrics.items():
            self._judge_metric(name, one, [float(row[metric_column(name)] or 0) for row in rows])
        first, more = _repeat_sentences(outcome, runs)
        for text in (first, *more):
            # A rate may fall, by more than nothing.
            hold(not NO_NUMBER.search(re.sub(r"\bby -(?!0(?:\.0)? %)", "", text)), text)
        self._judge_page(first, more, outcome, [float(row["total_iops"] or 0) for row in rows])
        for number in _repeat_numbers(outcome["metrics"], len(runs)):
            hold((number.value is None) == number.text.startswith("not "), number)
        hold(not any(" us" in text for text in more), more)

    def _rows(self) -> list[dict[str, float | None]]:
        """Return the figures of runs: calm, noisy, drifting, or with a step or a stall."""
        count, level = self.draw.randint(2, 30), 10 ** self.draw.uniform(0, 6)
        spread = self.draw.choice((0.0, 0.001, 0.02, 0.3, 1.5))
        drift, step = self.draw.choice((0, 0, 0.01)), self.draw.choice((1, 1, 1, 0.5))
        has_latency = self.draw.random() < 0.8
        rows: list[dict[str, float | None]] = []
        for at in range(count):
            factor = math.exp(spread * self.draw.gauss(0, 1) + drift * at)
            iops = level * factor * (step if at > count / 2 else 1)
            mean_ns = 1e9 / iops
            latencies = (mean_ns, 3 * mean_ns, 9 * mean_ns) if has_latency else (None,) * 3
            rows.append(dict(zip(COLUMNS, (iops, iops / 256, *latencies), strict=True)))
        return rows

    @staticmethod
    def _judge_metric(name: str, one: MetricSummary, values: Sequence[float]) -> None:
        estimate, mean = one.estimate, fmean(values)
        hold(math.isclose(estimate.mean, mean, rel_tol=1e-9), name, estimate, mean)
        hold((estimate.low is None) == (estimate.high is None), estimate)
        if estimate.low is not None and estimate.high is not None:
            hold(estimate.low <= mean * (1 + 1e-9), estimate)
            hold(mean <= estimate.high * (1 + 1e-9), estimate)
            hold(estimate.low >= 0, name, estimate)
        hold(math.isclose(one.coefficient_of_variation, stdev(values) / mean, abs_tol=1e-9), one)
        for text in shown_figure(name, estimate):
            hold(not NO_NUMBER.search(text), text)

    @staticmethod
    def _judge_page(
        first: str, more: Sequence[str], outcome: Mapping[str, Any], rates: Sequence[float]
    ) -> None:
        found = outcome["metrics"]["iops"]
        low, high = found["estimate"]["low"], found["estimate"]["high"]
        hold(first.startswith(f"{len(rates)} runs gave "), first)
        told = number_in(first.partition("gave ")[2])
        mean = fmean(rates)
        half = (high - low) / 2 if low is not None else 0.5 * mean
        hold(abs(told[0] - mean) <= max(half, 0.005 * mean, 0.5), first, mean, half)
        hold(("no interval" in first) == (low is None), first)
        if low is not None:
            share = max(100 * half / mean, 0.01)
            hold(math.isclose(told[1], share, rel_tol=0.06, abs_tol=1e-9), first)
        varied = number_in(more[0])[0]
        hold(abs(varied - 100 * stdev(rates) / mean) <= 0.0501, more[0])
        far = [one["index"] + 1 for one in found["outliers"]]
        words = [text for text in more if text.startswith("Far from the others")]
        hold([number_in(text) for text in words] == ([far] if far else []), words, far)


@dataclass
class Noticing:
    """Draws the runs of one target, and judges the evidence of what was found in them."""

    draw: random.Random

    def judge(self) -> None:
        """Hold every finding against the runs that it names."""
        results = [self._result() for _ in range(self.draw.randint(1, 5))]
        seen = [observe(result, at + 1) for at, result in enumerate(results)]
        known = [one for one in seen if one is not None]
        if not known:
            return
        memory = self.draw.choice((0, GIB, 256 * GIB))
        rates = [one.result.total.iops for one in known]
        for finding in apply(TargetEvidence("made-up.dat", known, memory, None)):
            self._judge(finding, len(known), rates)

    def _result(self) -> Any:  # noqa: ANN401 - A result.
        level = 10 ** self.draw.uniform(1, 6)
        outstanding = self.draw.choice((1, 4, 32))
        count = self.draw.choice((1, 50, 50))
        rates = [level * math.exp(0.1 * self.draw.gauss(0, 1)) for _ in range(count)]
        return fabricated(
            rates=rates if count > 1 else rates[0],
            latency_ns=latencies_ns(1e6 * outstanding / level, count=100),
            idle_percent=(self.draw.uniform(0, 100), self.draw.uniform(0, 100)),
            depth=outstanding,
            threads=self.draw.choice((1, 1, 4)),
            block_bytes=self.draw.choice((4096, 524288)),
            write=self.draw.choice((0, 0, 100)),
            caching=self.draw.choice(("unbuffered", "buffered")),
            size=self.draw.choice((GIB, 64 * GIB)),
        )

    @staticmethod
    def _judge(finding: Finding, count: int, rates: Sequence[float]) -> None:
        hold(finding.judged_count == count, finding)
        hold(finding.run_count <= count, finding)
        named = {run for case in finding.cases for run in case.run_ids}
        hold(named <= set(range(1, count + 1)), finding)
        hold(len(named) == finding.run_count, finding)
        hold(finding.cases[0].evidence == finding.evidence, finding)
        for text in (*(case.evidence for case in finding.cases), finding.remedy):
            hold(not NO_NUMBER.search(text), text)
            for told in re.findall(r"([\d,]+(?:\.\d+)?) IOPS", text):
                # No rate lies beyond what the runs, or their intervals, had.
                value = float(told.replace(",", ""))
                hold(0 <= value <= 2 * max(rates), text, rates)
            for told in re.findall(r"(-?[\d.]+) %", text):
                hold(float(told) >= 0, text)
