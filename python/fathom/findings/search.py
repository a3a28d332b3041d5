"""All rules, and applying them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Literal

from fathom._claims import CONFIDENCES, MARKS
from fathom._provenance import memory_bytes
from fathom._time_spans import by_time_span
from fathom.findings._weights import UNKNOWN
from fathom.findings.finding import Case, Finding, Noticed, Rule
from fathom.findings.observed import Observed, TargetEvidence, observe, raid_level, unanswered
from fathom.findings.rules import collected
from fathom.units import first_listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fathom.result import Result

__all__ = ["RULES", "apply", "find"]


RULES: tuple[Rule, ...] = collected()


def find(
    results: Iterable[Result],
    run_ids: Iterable[int | None] = (),
    *,
    rules: Sequence[Rule] = RULES,
    target: str | None = None,
    several: bool = False,
) -> list[Finding]:
    """Return the findings of results of any targets; those of several targets are left out.

    With ``several`` these are judged, too, under the names of all: only by what speaks against
    their figures, as no storage can be told from several together.

    Of each target a rule gives one finding at most. ``run_ids`` are those of the results. ``rules``
    are Fathom's, or those of your own: ``(*RULES, mine)``.

    Where all are of one ``target`` of this name, its paths do not count: a scratch file that was
    made again has another one.

    Imported results are left out, too: what was requested of them is not known.

    Asks this machine for its memory, and for the array that a target lies on.
    """
    targets: dict[str, tuple[list[Observed], list[Observed]]] = {}
    paths: dict[str, list[str]] = {}
    runs = zip(results, chain(run_ids, repeat(None)), strict=False)
    spans = (_looked_at(result, run_id, several=several) for result, run_id in runs)
    for one in chain.from_iterable(spans):
        used = [str(found["path"]) for found in one.result.raw["time_spans"][0]["targets"]]
        # Of several hosts, each has its own of what was requested once.
        used = used[: one.load.targets]
        name = first_listed(used) if target is None else target
        targets.setdefault(name, ([], []))[0 if one.result.total.ios else 1].append(one)
        paths[name] = used
    memory = memory_bytes()
    found = []
    for name, (judged, unjudged) in targets.items():
        is_one = len(paths[name]) == 1
        raid = raid_level(paths[name][0]) if is_one else None
        kept = rules if is_one else [rule for rule in rules if rule.name in MARKS]
        found += apply(TargetEvidence(name, judged, memory, raid, unjudged), kept)
    return found


def _looked_at(result: Result, run_id: int | None, *, several: bool) -> Iterator[Observed]:
    """Return each time span of a result that can be judged: its load is not that of the others."""
    spans = by_time_span(result)
    for number, span in enumerate(spans, start=1):
        observed = observe(span, run_id, several=several) or unanswered(span, run_id)
        if observed is not None and len(spans) > 1:
            yield replace(observed, time_span=number, whole=result)
        elif observed is not None:
            yield observed


def apply(evidence: TargetEvidence, rules: Sequence[Rule] = RULES) -> list[Finding]:
    """Return the findings of one target."""
    found = []
    for rule in rules:
        shown = evidence.without(rule.explained_by)
        noticed = [*rule.look(shown)]
        if noticed:
            found.append(_finding(rule, noticed, shown))
    return found


def _title(rule: Rule, noticed: Sequence[Noticed]) -> str:
    """Return what all that was noticed is, if it is the same; else what the rule calls it."""
    titles = {one.title or rule.title for one in noticed}
    return titles.pop() if len(titles) == 1 else rule.title


def _finding(rule: Rule, noticed: Iterable[Noticed], evidence: TargetEvidence) -> Finding:
    """Return all that a rule noticed as one finding, which tells the surest and worst."""
    ordered = sorted(noticed, key=lambda one: (CONFIDENCES.index(one.confidence), -one.weight))
    worst = ordered[0]
    cases: dict[str, dict[int, None]] = {}
    for one in ordered:
        ids = [run.run_id for run in one.runs if run.run_id is not None]
        cases.setdefault(_evidence(one), {}).update(dict.fromkeys(ids))
    return Finding(
        rule=rule.name,
        title=_title(rule, ordered),
        target=evidence.target,
        evidence=_evidence(worst),
        remedy=worst.remedy,
        confidence=worst.confidence,
        source=rule.source,
        cases=tuple(Case(words, tuple(ids)) for words, ids in cases.items()),
        run_count=len({run.run_key for one in ordered for run in one.runs}),
        judged_count=evidence.judged_count,
        left_out_count=evidence.left_out_count,
        shown=_shown(ordered) if len(cases) > 1 else "",
    )


def _evidence(noticed: Noticed) -> str:
    """Return the evidence, with the time span of which it is, where its run has several."""
    spans = {run.time_span for run in noticed.runs}
    number = spans.pop() if len(spans) == 1 else None
    return noticed.evidence if number is None else f"Time span {number}: {noticed.evidence}"


def _shown(ordered: Sequence[Noticed]) -> Literal["", "worst", "surest"]:
    """Return what the first of several is; nothing if it is like the others, or nobody knows."""
    if len({one.confidence for one in ordered}) > 1:
        return "surest"
    weights = {one.weight for one in ordered}
    return "worst" if len(weights) > 1 and UNKNOWN not in weights else ""
