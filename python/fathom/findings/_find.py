"""All rules, and applying them."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

from fathom._provenance import memory_bytes
from fathom.findings import (
    _bimodal,
    _burst_credits,
    _cached_by_device,
    _constant_data,
    _core_bound,
    _cpu_contended,
    _cpu_taken_away,
    _cpu_throttled,
    _device_cache,
    _extents_changed,
    _io_limited,
    _no_device_seen,
    _noisy_neighbour,
    _not_enough_outstanding,
    _not_steady,
    _not_the_device,
    _null_data,
    _page_cache,
    _past_the_knee,
    _periodic_stalls,
    _provisioned_limit,
    _raid_penalty,
    _rate_not_reached,
    _stalled,
    _stood_still,
    _too_good,
    _working_set_small,
    _write_through,
)
from fathom.findings._finding import Case, Finding, Noticed, Rule
from fathom.findings._observed import Observed, TargetEvidence, observe, raid_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fathom._result import Result
    from fathom.findings._finding import Confidence

__all__ = ["RULES", "apply", "find"]

# From the surest to the least.
CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")

# What spoils the numbers stands before what they say.
RULES: tuple[Rule, ...] = (
    _not_the_device.RULE,
    _no_device_seen.RULE,
    _io_limited.RULE,
    _provisioned_limit.RULE,
    _burst_credits.RULE,
    _cpu_throttled.RULE,
    _cpu_contended.RULE,
    _stalled.RULE,
    _extents_changed.RULE,
    _page_cache.RULE,
    _null_data.RULE,
    _constant_data.RULE,
    _cached_by_device.RULE,
    _too_good.RULE,
    _core_bound.RULE,
    _cpu_taken_away.RULE,
    _stood_still.RULE,
    _noisy_neighbour.RULE,
    _rate_not_reached.RULE,
    _device_cache.RULE,
    _working_set_small.RULE,
    _write_through.RULE,
    _raid_penalty.RULE,
    _not_steady.RULE,
    _periodic_stalls.RULE,
    _bimodal.RULE,
    _past_the_knee.RULE,
    _not_enough_outstanding.RULE,
)


def find(results: Iterable[Result], run_ids: Iterable[int | None] = ()) -> list[Finding]:
    """Return the findings of results of any targets; those of several targets are left out.

    Of each target a rule gives one finding at most. ``run_ids`` are those of the results.

    Imported results are left out, too: what they were asked for is not known.

    Asks this machine for its memory, and for the array that a target lies on.
    """
    targets: dict[str, list[Observed]] = {}
    for result, run_id in zip(results, chain(run_ids, repeat(None)), strict=False):
        observed = observe(result, run_id)
        if observed is not None:
            path = result.raw["time_spans"][0]["targets"][0]["path"]
            targets.setdefault(path, []).append(observed)
    memory = memory_bytes()
    return [
        finding
        for path, observed_ones in targets.items()
        for finding in apply(TargetEvidence(path, observed_ones, memory, raid_level(path)))
    ]


def apply(evidence: TargetEvidence) -> list[Finding]:
    """Return the findings of one target."""
    pairs = [(rule, [*rule.look(evidence)]) for rule in RULES]
    return [_finding(rule, noticed, evidence) for rule, noticed in pairs if noticed]


def _finding(rule: Rule, noticed: Iterable[Noticed], evidence: TargetEvidence) -> Finding:
    """Return all that a rule noticed as one finding, which tells the worst of it."""
    ordered = sorted(noticed, key=lambda one: (CONFIDENCES.index(one.confidence), -one.weight))
    worst = ordered[0]
    cases: dict[str, dict[int, None]] = {}
    for one in ordered:
        ids = [run.run_id for run in one.runs if run.run_id is not None]
        cases.setdefault(one.evidence, {}).update(dict.fromkeys(ids))
    return Finding(
        rule=rule.name,
        title=rule.title,
        target=evidence.target,
        evidence=worst.evidence,
        remedy=worst.remedy,
        confidence=worst.confidence,
        source=rule.source,
        cases=tuple(Case(words, tuple(ids)) for words, ids in cases.items()),
        run_count=len({id(run) for one in ordered for run in one.runs}),
        judged_count=len(evidence.observed),
    )
