"""What is said of a few runs does not contradict itself, and one of anything has no plural."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from fabricated import fabricated
from fathom.cli.commands.repeat import _row, _sentences
from fathom.experiments.repeat import RepeatPolicy, Repetition, summarise
from fathom.report.collect.gather import ReportError, gather
from fathom.runners.saving import save_run
from fathom.stats.steadiness import find_steadiness
from fathom.store import Store
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def repeated(rates: Sequence[float]) -> Repetition:
    """Return a repetition with these rates."""
    with Store(os.environ["FATHOM_STORE"]) as store:
        ids = [save_run(store, fabricated(rates=one), ["-b4K", "x.dat"]) for one in rates]
        runs = [store.runs.get(one).summary for one in ids]
    metrics, steady = summarise(runs)
    return Repetition(1, ids, metrics, steady, is_precise=False, failure=None)


def test_few_runs_are_not_called_unsteady_and_free_of_drift() -> None:
    """Of 2 runs it said *not reached*, *2 rounds tell nothing* and *drift: none*."""
    found = repeated([1000.0, 1010.0])
    said = " ".join(_sentences(found, RepeatPolicy()))
    assert "Steady state" not in said
    assert "2 rounds tell nothing, it takes 5" in said
    assert _row("iops", found.metrics["iops"])[-1] == "-"
    enough = repeated([1000.0, 1010.0] * 5)
    said = " ".join(_sentences(enough, RepeatPolicy()))
    assert "Steady state by the SNIA rules, a run being a round: reached in round 5" in said
    assert _row("iops", enough.metrics["iops"])[-1] == "none"


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 threads"), (1, "1 thread"), (2, "2 threads"), (1200, "1200 threads")],
)
def test_one_of_anything_has_no_plural(count: int, words: str) -> None:
    assert counted(count, "thread") == words


def test_one_round_tells_nothing() -> None:
    assert find_steadiness([5.0]).reason == "1 round tells nothing, it takes 5"


def test_a_file_that_is_called_like_an_experiment_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said *e4 cannot be read: it is no text*."""
    monkeypatch.chdir(tmp_path)
    for name in ("e1", "e2", "base"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    with Store(os.environ["FATHOM_STORE"]) as store:
        experiment_id = store.experiments.begin("run", "x", {})
        save_run(store, fabricated(), ["-b4K", "x.dat"], experiment_id=experiment_id, label="of it")
        store.experiments.finish(experiment_id, "complete")
        store.baselines.set("base", f"e{experiment_id}")
        for reference in (f"e{experiment_id}", "base"):
            assert gather(store, [reference]).runs
        for reference in (f"./e{experiment_id}", "e2"):
            with pytest.raises(ReportError, match="it is no text"):
                gather(store, [reference])
