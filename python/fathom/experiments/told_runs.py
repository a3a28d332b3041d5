"""What speaks against runs of an experiment, each looked at by itself, and that they agree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fathom._asked import asked_load
from fathom._claims import MARKS, Doubt, ToldRun, ToldRuns
from fathom._time_spans import by_time_span
from fathom.errors import FathomError
from fathom.findings.observed import TargetEvidence, observe
from fathom.findings.rules.resized import RULE as RESIZED
from fathom.findings.rules.resized import of_another_size, size_found, sizes_told
from fathom.findings.search import apply
from fathom.runners import OWN_TOOL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fathom.result import Result
    from fathom.store import Store

__all__ = ["MOST_RUNS", "told_run", "told_runs"]

MOST_RUNS = 400
"""Reading more whole runs would take longer than anybody waits for the end of an experiment."""


def told_runs(
    store: Store, run_ids: Iterable[int | None], *, every_time_span: bool = False
) -> ToldRuns:
    """Look at saved runs; at no more than the first 400, so those that count stand first.

    Of runs with several time spans it is the first, of which figures are, unless every one counts.
    """
    found: dict[int, ToldRun] = {}
    sizes: dict[str, dict[int, int]] = {}
    for run_id in dict.fromkeys(one for one in run_ids if one is not None):
        if len(found) >= MOST_RUNS:
            break
        try:
            stored = store.runs.get(run_id)
        except FathomError:
            # What cannot be read any more is reported where the run itself is shown.
            continue
        if stored.imported is None:
            found[run_id] = told_run(stored.result, run_id, every_time_span=every_time_span)
            if (size := size_found(stored.result)) is not None:
                spans = stored.result.raw["request"]["profile"]["time_spans"]
                sizes.setdefault(spans[0]["targets"][0]["path"], {})[run_id] = size
    return ToldRuns(found | _resized(found, sizes))


def _resized(
    found: Mapping[int, ToldRun], sizes: Mapping[str, Mapping[int, int]]
) -> dict[int, ToldRun]:
    """Return the runs which found a target in another size than most, with that doubt."""
    return {
        run_id: replace(
            found[run_id],
            doubts=(
                *found[run_id].doubts,
                Doubt(RESIZED.name, RESIZED.title, "certain", sizes_told(target, by_run)),
            ),
        )
        for target, by_run in sizes.items()
        for run_id in of_another_size(by_run)
    }


def told_run(
    result: Result, run_id: int | None = None, *, every_time_span: bool = False
) -> ToldRun:
    """Return how a run was asked, and which findings it gives that speak against its figures."""
    load = asked_load(result.raw["request"])
    asked = result.raw["request"]["profile"]["time_spans"][0]["targets"][0]
    through = asked["write_through"] and asked["write_percent"]
    return ToldRun(
        threads=load.threads,
        depth=load.depth,
        caching=f"{asked['caching']}, write-through" if through else str(asked["caching"]),
        doubts=tuple(
            dict.fromkeys(
                doubt
                for span in by_time_span(result)[: None if every_time_span else 1]
                for doubt in _doubts(span, run_id)
            )
        ),
        time_spans=len(result.raw["request"]["profile"]["time_spans"]),
    )


def _doubts(result: Result, run_id: int | None) -> tuple[Doubt, ...]:
    observed = observe(result, run_id, several=True)
    if observed is None or result.raw["tool"]["name"] != OWN_TOOL:
        return ()
    found = apply(TargetEvidence("", [observed]))
    return tuple(
        Doubt(one.rule, one.title, one.confidence, one.evidence)
        for one in found
        if one.rule in MARKS
    )
