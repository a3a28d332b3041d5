"""Drawn odd but possible runs in a store, and whether compare and reports say what they are.

No I/O in the measured time, one run alone, no variance at all, latencies of minutes, a quota,
several targets, a list of block sizes, plain calls, write-through: each is saved as a run, and each
number that is said of it is computed again from what the store has.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contradictions_drawn import hold, number_in
from fabricated import fabricated, latencies_ns
from fathom import Result
from fathom._claims import FORBIDDING, MARKS, WEAKENING
from fathom.errors import FathomError
from fathom.experiments.compare.saved import compare_runs
from fathom.experiments.told_runs import told_run
from fathom.report import gather, markdown
from fathom.report.collect._runs import NOT_THE_DEVICES, OTHERS_LEFT_OUT
from fathom.runners.native import stored_figures
from fathom.store import Store

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from fathom.experiments.compare.comparison import RunComparison
    from fathom.report.material import Material

__all__ = ["StoredOnes"]

NONSENSE = re.compile(
    r"\bnan\b|\binf\b|\bNone\b|\b1 I/Os\b|\de[-+]\d"
    r"|(?<![\w-])-\d[\d.,]* (?:IOPS|MiB/s|ms|µs|us)"
)
WARNINGS = (
    ("not_the_device", "Memory and no device answered: it lies on tmpfs, which lies in memory."),
    ("not_the_device", "Of 834,436 reads (3.2 GiB), 7 (28 KiB) reached vda."),
    ("device_unseen", "No device can be seen beneath it: it lies on fuse, served by a process."),
    ("server_answered", "No device can be seen beneath it: it lies on nfs4."),
    ("io_limited", "The group allows 300 reads per second of vda, and 308 were measured."),
    ("cpu_throttled", "A quota stopped it in 41 of 50 periods, for 7.87 s in all."),
    ("cpu_contended", "Other processes used 1.04 of 2 CPUs."),
    ("stalled", "A thread waited 1.52 s for one I/O."),
    ("constant_data", "64 of 64 places repeat one pattern."),
    ("allocating_writes", "20.0 % of the 1 GiB that are written have no blocks of their own yet."),
    ("compressible_data", "LZ4 makes the data of 64 places 4.0 times shorter."),
)


@dataclass
class StoredOnes:
    """Draws runs, saves them, and judges what is said of them."""

    draw: random.Random
    results: dict[int, Result] = field(default_factory=dict)

    def judge(self) -> None:
        """Hold a comparison and a report of drawn runs against them."""
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
            sides = [self._side(store), self._side(store)]
            self._judge_figures()
            self._judge_compared(store, sides)
            for ids in (sides[0], [*sides[0], *sides[1]]):
                self._judge_report(gather(store, [",".join(map(str, ids))]), ids)

    def _side(self, store: Store) -> list[int]:
        kind = self.draw.choice(("calm", "calm", "noisy", "same", "nothing", "slow", "few"))
        level, ids = 10 ** self.draw.uniform(0.5, 6), []
        load = self._load()
        warned = self.draw.sample(WARNINGS, self.draw.choice((0, 0, 0, 1, 2)))
        for _ in range(self.draw.choice((1, 2, 3, 8))):
            result = self._result(kind, level, load, warned)
            run_id = store.runs.save(result, ["-r", "made-up.dat"])
            self.results[run_id] = result
            ids.append(run_id)
        return ids

    def _load(self) -> dict[str, Any]:
        return {
            "depth": self.draw.choice((1, 4, 128)),
            "threads": self.draw.choice((1, 1, 4)),
            "block_bytes": self.draw.choice((512, 4096, 1 << 20)),
            "write": self.draw.choice((0, 0, 30, 100)),
            "random": self.draw.choice((100, 100, 0, 40)),
            "caching": self.draw.choice(("unbuffered", "cached")),
            "write_through": self.draw.random() < 0.3,
            "rate": self.draw.choice((None, None, None, {"iops": 100})),
        }

    def _result(
        self, kind: str, level: float, load: dict[str, Any], warned: Sequence[tuple[str, str]]
    ) -> Result:
        spread = {"noisy": 0.8, "calm": 0.02}.get(kind, 0.0)
        rate = 0.0 if kind == "nothing" else level * math.exp(spread * self.draw.gauss(0, 1))
        if kind in ("slow", "few"):
            # One I/O in seconds: hardly any completes.
            rate = self.draw.choice((0.2, 0.4, 3.0))
        mean_us = 1e6 * load["depth"] * load["threads"] / max(rate, 0.01)
        fresh = fabricated(
            rates=rate,
            latency_ns=latencies_ns(mean_us, 0.0 if kind == "same" else 0.5, count=50),
            idle_percent=(self.draw.uniform(0, 100), self.draw.choice((0.0, 100.0))),
            warnings=warned if self.draw.random() < 0.7 else (),
            **load,
        )
        raw = json.loads(json.dumps(dict(fresh.raw)))
        self._make_odd(raw)
        if kind == "nothing":
            raw["time_spans"][0]["outcome"] = "no_io"
        elif self.draw.random() < 0.1:
            raw["time_spans"][0]["outcome"] = "interrupted"
        return Result.from_json(json.dumps(raw))

    def _make_odd(self, raw: dict[str, Any]) -> None:
        """Give it several targets, a list of block sizes, plain calls, or no latency."""
        span = raw["time_spans"][0]
        asked = raw["request"]["profile"]["time_spans"][0]["targets"]
        if self.draw.random() < 0.3:
            span["threads"][0]["backend"]["name"] = "sync"
        if self.draw.random() < 0.2:
            asked.append(json.loads(json.dumps(asked[0])) | {"path": "other.dat"})
            span["targets"].append(span["targets"][0] | {"path": "other.dat"})
            (mine,) = span["threads"][0]["targets"]
            span["threads"][0]["targets"].append(json.loads(json.dumps(mine)) | {"target": 1})
        if self.draw.random() < 0.2:
            raw["request"]["options"]["block_mix"] = [
                {"block_bytes": 4096, "percent": 60.0},
                {"block_bytes": 65536, "percent": 40.0},
            ]
        if self.draw.random() < 0.2:
            for target in span["threads"][0]["targets"]:
                for way in ("read", "write"):
                    target[way]["latency"] = None

    def _judge_figures(self) -> None:
        """Hold the figures of a run against its counts and its time."""
        for result in self.results.values():
            figures, span = stored_figures(result), result.raw["time_spans"][0]
            ios = sum(
                target[way]["ios"]
                for thread in span["threads"]
                for target in thread["targets"]
                for way in ("read", "write")
            )
            hold(math.isclose(figures.iops, ios / (span["measured_ns"] / 1e9)), figures, ios)
            for name, value in asdict(figures).items():
                hold(value is None or value >= 0, name, value)
                hold(value is None or not math.isnan(value), name, value)
                if name.startswith("latency") and name.endswith("_ns"):
                    hold(value is None or (math.isfinite(value) and ios), name, value, ios)

    def _judge_compared(self, store: Store, sides: Sequence[Sequence[int]]) -> None:
        try:
            found = compare_runs(store, *(",".join(map(str, side)) for side in sides))
        except FathomError as refused:
            # There is nothing to compare: no complete run, or no I/O.
            hold(str(refused) and not NONSENSE.search(str(refused)), refused)
            return
        for name, one in found.metrics.items():
            hold(all(map(math.isfinite, (one.change, one.low, one.high))), name, one)
            hold(-1 <= one.low <= one.change <= one.high, name, one)
            hold(0 <= one.p_value <= 1, name, one)
        rules = {rule for ids in sides for rule in self._rules(ids)}
        for claim in found.claims:
            hold(not NONSENSE.search(claim.text), claim.text)
            hold(set(claim.forbidden_by) <= rules & set(FORBIDDING), claim, rules)
            hold(set(claim.weakened_by) <= rules & set(WEAKENING), claim, rules)
            for basis in claim.evidence:
                row = store.runs.get(basis.run_id or 0).summary.columns
                hold(math.isclose(float(row[basis.name]), basis.value), claim)
        self._judge_words(found)

    @staticmethod
    def _judge_words(found: RunComparison) -> None:
        for words in (*found.differences, *found.notes, *found.missing.values()):
            hold(not NONSENSE.search(words), words)
            hold("device_" not in words and "_milli" not in words, words)

    def _rules(self, ids: Sequence[int]) -> set[str]:
        return {rule for one in ids for rule in told_run(self.results[one], one).rules}

    def _judge_report(self, material: Material, ids: Sequence[int]) -> None:
        (side,) = material.sides
        text = markdown(material)
        hold(
            not NONSENSE.search(text), [line for line in text.split("\n") if NONSENSE.search(line)]
        )
        for run in side.runs:
            hold(set(run.marks) == self._rules([run.run_id or 0]) & MARKS.keys(), run.label)
        barred = [one for one in ids if self._rules([one]) & set(FORBIDDING)]
        hold(side.verdict is not None, side)
        if side.verdict is None:
            return
        self._judge_sentences([side.verdict.headline, *side.verdict.sentences], ids, barred)
        own = [one for one in ids if one not in barred] or ids
        most = max(self.results[one].total.iops for one in own)
        (tile,) = [one for one in side.numbers if one.label in ("IOPS", "Most IOPS")]
        hold(math.isclose(tile.value or 0, most), tile, most)
        if len(ids) > 1:
            named = NOT_THE_DEVICES if len(barred) == len(ids) else OTHERS_LEFT_OUT
            hold(tile.conditions == (named if barred else ""), tile, barred)

    def _judge_sentences(
        self, told: Sequence[str], ids: Sequence[int], barred: Sequence[int]
    ) -> None:
        hold(len(told) == len(ids), told)
        for words, run_id in zip(told, ids, strict=True):
            doubts = [one for one in told_run(self.results[run_id]).doubts if one.is_sure]
            sure = [one for one in doubts if one.rule in FORBIDDING]
            hold(words.startswith("No verdict on a device") == bool(sure), words, barred)
            for one in sure:
                hold(one.words in words, words, one)
            rate = re.search(r"([\d,.]+) IOPS", words)
            iops = self.results[run_id].total.iops
            hold(("no I/O" in words) == (not iops) == (rate is None), words)
            is_complete = all(one.complete for one in self.results[run_id].time_spans)
            hold(("not to its end" in words) == (not is_complete and bool(iops)), words)
            hold(not re.search(r"\de[-+]\d", words), words)
            if rate is not None:
                # As many digits as are shown.
                (shown,) = number_in(rate[1])
                hold(abs(shown - iops) <= max(0.5, 0.005 * iops), words, iops)
