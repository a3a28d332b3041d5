"""How well means are known is said of those that are not, and not promised where it cannot be."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from commands import command
from fathom import Result
from fathom.experiments.assess import EFFORTS, assess
from fathom.store import Store
from simulated_storage import SimulatedStorage

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.runners import RunOutcome

QUICK = replace(EFFORTS["quick"], size_bytes=64 << 20)
CONFIDENCE = {
    "level_percent": 95.0,
    "iops_mean": 10_000.0,
    "iops_low": 9_900.0,
    "iops_high": 10_100.0,
    "precision_percent": 1.0,
    "precision_percent_limit": 3.0,
    "effective_samples": 99.0,
    "transient_intervals": 0,
    "transient_ns": 0,
    "transient_iops": 0.0,
}


class Ended(SimulatedStorage):
    """Storage whose first runs end by the rule, the next with an interval, others without."""

    known, wide = 0, 0

    def run(self, *arguments: object, **more: object) -> RunOutcome:
        """Run, and end as it is said."""
        outcome = super().run(*arguments, **more)  # type: ignore[arg-type]
        number = len(self.asked)
        assert outcome.result is not None
        raw = json.loads(json.dumps(outcome.result.raw))
        has_interval = number <= self.known + self.wide
        raw["time_spans"][0]["stop"] = {
            "cause": "confidence" if number <= self.known else "duration",
            "interval_ns": 10_000_000,
            "intervals": 99,
            "steady": None,
            "confidence": CONFIDENCE if has_interval else None,
            "awaited": {"kind": "seconds", "seen": 0.99, "needed": 2.0},
        }
        return replace(outcome, result=Result.from_json(json.dumps(raw)))


def sentences(folder: Path, known: int, wide: int) -> list[str]:
    own = folder / "own"
    own.mkdir()
    with Store(os.environ["FATHOM_STORE"]) as store:
        runner = Ended(store, size_bytes=QUICK.size_bytes)
        runner.known, runner.wide = known, wide
        found = assess(store, runner, [str(own)], QUICK).targets[0]
    (total,) = {len(found.plan.done())}
    assert total > 15
    return [one for one in found.verdict.sentences if one.startswith("The mean is known")]


@pytest.mark.parametrize(
    ("known", "wide", "words"),
    [
        (0, 0, "in no measurement: all ended with their time, "),
        (0, 2, "in no measurement: all ended with their time, "),
        (3, 2, "in 3 of "),
        (999, 0, None),
    ],
)
def test_the_verdict_says_how_many_means_are_known(
    known: int, wide: int, words: str | None, tmp_path: Path
) -> None:
    """None of the runs of 1 s knew its mean, as promised to 3 %, and no word told of it."""
    told = sentences(tmp_path, known, wide)
    if words is None:
        assert told == []
        return
    (one,) = told
    assert f"known to within 3 % {words}" in one
    assert one.endswith("of them too soon for any interval.")


def test_a_dry_run_promises_no_mean_that_no_run_can_know(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    own = tmp_path / "own"
    for time, measured, is_known in (("10s", 1, False), ("120s", 3, True)):
        done = command("assess", "--time", time, "--size", "64M", "--dry-run", own)
        shown = " ".join(done.stdout.split())
        assert done.returncode == 0, done.stderr
        assert ("Each ends once its mean is known to 2 %" in shown) is is_known, shown
        assert ("too short for its mean to be known to 2 %" in shown) is not is_known
        line = command("assess", "--time", time, "--size", "64M", "--dry-run", "--json", own)
        told = json.loads(line.stdout)
        assert (told["measured_s"] >= measured, told["precision_percent"]) == (True, 2)
