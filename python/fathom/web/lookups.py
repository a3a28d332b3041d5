"""What pages and API show of the store, in one place for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom._load_words import load_words
from fathom.findings import find
from fathom.web.models import ExperimentOut, FindingOut, RunOut, SeriesOut, TrendOut
from fathom.web.models import LevelOut as _Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import Experiment, RunSummary, Store
    from fathom.trends import Trend

__all__ = [
    "MOST_SERIES",
    "experiment_out",
    "findings",
    "run_out",
    "series",
    "trend_out",
]

_FINDING_RUNS = 25
MOST_SERIES = 200


def run_out(run: RunSummary) -> RunOut:
    """Return a run as the API gives it."""
    columns = run.columns
    return RunOut(
        id=run.id,
        label=run.label,
        outcome=run.outcome,
        failure=run.failure,
        experiment_id=run.experiment_id,
        started_at_unix_s=run.started_at_unix_s,
        target=columns["target_path"],
        host=columns["host_name"],
        block_bytes=columns["block_bytes"],
        thread_count=columns["thread_count"],
        outstanding_per_thread=columns["outstanding_per_thread"],
        write_percent=columns["write_percent"],
        random_percent=columns["random_percent"],
        load=load_words(columns),
        iops=columns["total_iops"],
        mib_per_s=columns["total_mib_per_s"],
        latency_ns_mean=columns["total_latency_mean_ns"],
        latency_ns_p50=columns["total_latency_p50_ns"],
        latency_ns_p99=columns["total_latency_p99_ns"],
        latency_ns_p999=columns["total_latency_p999_ns"],
        warnings=columns["warning_count"],
    )


def experiment_out(one: Experiment) -> ExperimentOut:
    """Return an experiment as the API gives it."""
    return ExperimentOut(
        id=one.id,
        verb=one.verb,
        name=one.name,
        state=one.state,
        failure=one.failure,
        started_at_unix_s=one.started_at_unix_s,
        ended_at_unix_s=one.ended_at_unix_s,
        runs=one.run_count,
        is_abandoned=one.is_abandoned,
    )


def findings(store: Store, run_ids: Sequence[int] = ()) -> list[FindingOut]:
    """Return the findings of runs; without any, of the newest complete ones."""
    ids = [*run_ids]
    if not ids:
        newest = store.runs.list(limit=_FINDING_RUNS)
        ids = [one.id for one in newest if one.outcome == "complete"]
    whole = [store.runs.get(one) for one in ids]
    own = [one for one in whole if one.imported is None]
    found = find([one.result for one in own], [one.summary.id for one in own], several=True)
    return [
        FindingOut(
            rule=one.rule,
            title=one.title,
            target=one.target,
            evidence=one.evidence,
            remedy=one.remedy,
            confidence=one.confidence,
            run_ids=sorted({run for case in one.cases for run in case.run_ids}),
        )
        for one in found
    ]


def series(store: Store) -> list[SeriesOut]:
    """Return the series with the newest runs."""
    found = store.runs.newest_of_each_series(limit=MOST_SERIES)
    return [SeriesOut(newest=run_out(run), runs=count) for run, count in found]


def trend_out(found: Trend) -> TrendOut:
    """Return a trend as the API gives it."""
    levels = [
        _Level(
            first=one.first,
            last=one.last,
            mean=one.mean,
            change=one.change,
            low=one.low,
            high=one.high,
            outcome=one.outcome,
        )
        for one in found.levels
    ]
    return TrendOut(
        metric=found.metric,
        outcome=found.outcome,
        run_ids=[one.id for one in found.runs],
        values=[*found.values],
        levels=levels,
        claims=[one.text for one in found.claims],
        left_out=found.left_out,
    )
