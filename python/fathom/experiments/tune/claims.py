"""What a tuning says, as claims: the terminal, the page and JSON show these and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from fathom._claims import Claim, ToldRuns
from fathom._tails import tails_words
from fathom.experiments.ending import ended_words
from fathom.experiments.told_runs import told_runs
from fathom.units import counted, ms_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom._claims import Doubt, Evidence, Unit
    from fathom.experiments.tune.result import KneeRangeOutcome, PointOutcome, Tuning, TuningOutcome
    from fathom.store import Store

__all__ = ["best_points", "confirming_points", "told_tuning", "tune_claims"]


def told_tuning(store: Store, found: Tuning) -> Tuning:
    """Return a tuning with what it says, and with the marks of its runs."""
    plain = cast("TuningOutcome", found.as_dict())
    first = [one["run_id"] for one in best_points(plain)]
    told = told_runs(store, [*first, *(one.run_id for one in found.points)])
    points = [
        replace(one, findings=told.by_id[one.run_id].rules)
        if one.run_id is not None and one.run_id in told.by_id
        else one
        for one in found.points
    ]
    return replace(found, points=points, claims=tune_claims(plain, told), doubts=told.legend())


def best_points(outcome: TuningOutcome) -> list[PointOutcome]:
    """Return the runs that the figures of the best load are of.

    Those that confirmed it, as often as they were asked; of a load that none confirmed, all.
    """
    load = outcome.get("threads"), outcome.get("depth")
    mine = [
        one
        for one in outcome.get("points", ())
        if (one["threads"], one["depth"]) == load and one.get("figures")
    ]
    found = outcome.get("confirmation")
    if found is None or found.get("iops") is None or (found["threads"], found["depth"]) != load:
        return mine
    rounds = [one for one in mine if one["role"] != "search"]
    return rounds[-found["rounds"] :]


def confirming_points(outcome: TuningOutcome) -> list[PointOutcome]:
    """Return the runs of the last confirmation: of its load, and of what that is compared with."""
    found = outcome.get("confirmation")
    if not found or not found["rounds"]:
        return []
    runs = [one for one in outcome.get("points", ()) if one["role"] != "search"]
    load = found["threads"], found["depth"]
    mine = [at for at, one in enumerate(runs) if (one["threads"], one["depth"]) == load]
    measured = [at for at in mine if runs[at].get("figures")][-found["rounds"] :]
    if not measured:
        return []
    # The first round of a confirmation begins with its load, of which a run may have failed.
    first = mine.index(measured[0])
    while first and _is_to_confirm_and_failed(runs[mine[first - 1]]):
        first -= 1
    return [one for one in runs[mine[first] :] if one.get("figures")]


def _is_to_confirm_and_failed(point: PointOutcome) -> bool:
    return point["role"] == "confirm" and not point.get("figures")


def tune_claims(outcome: TuningOutcome, told: ToldRuns) -> list[Claim]:
    """Return the claims of a tuning's outcome, the headline first."""
    evidence = _evidence_of(best_points(outcome), outcome, told)
    claims = [_headline(outcome, told, evidence)]
    if outcome.get("threads") is not None:
        rests = _evidence_of(confirming_points(outcome), outcome, told) or evidence
        claims.append(told.claim("confirmation", _confirmation_words(outcome), rests))
    where = outcome.get("knee_range")
    if where:
        claims.append(_range_claim(outcome, where, told, evidence))
    claims += _reasons(outcome, told, evidence)
    count = len(best_points(outcome))
    if outcome.get("threads") is not None and count > 1:
        # It stands once, for the headline and for what the page has of this load.
        words = f"The figures of the best load are the geometric mean of {count} runs."
        claims.append(Claim("means", words))
    known = [figures for one in outcome.get("points", ()) if (figures := one.get("figures"))]
    few = tails_words([one.get("latency_ios") for one in known], of="run")
    return [*claims, Claim("tails", few)] if few else claims


def _headline(outcome: TuningOutcome, told: ToldRuns, evidence: Sequence[Evidence]) -> Claim:
    threads, depth = outcome.get("threads"), outcome.get("depth")
    if outcome.get("ended_by"):
        words = ended_words("tune", f"{outcome['ended_by']}", outcome.get("experiment_id"))
        return Claim("headline", f"Which load is the best is not known. {words}")
    if threads is None:
        return Claim("headline", "No load will do.")
    load = f"{counted(threads, 'thread')}, depth {depth} (-t{threads} -o{depth})"
    iops, latency_ns = outcome.get("iops"), outcome.get("latency_ns")
    if iops is None or latency_ns is None:
        return told.headline(f"Best: {load}", f"By them the best load: {load}", evidence)
    figures = f"{iops:,.0f} IOPS, {_metric(outcome)} {_millis(latency_ns)}"
    judged = f"Best: {load}: {figures}"
    return told.headline(judged, f"By them the best load: {load}: {figures}", evidence)


def _reasons(outcome: TuningOutcome, told: ToldRuns, evidence: Sequence[Evidence]) -> list[Claim]:
    """Return why the load is the best; what an older version kept names no further loads."""
    texts = outcome.get("reasons", [])
    loads = outcome.get("reason_loads") or [()] * len(texts)
    return [
        _reason(text, told, evidence, _evidence_of(_points_at(outcome, named), outcome, told))
        for text, named in zip(texts, loads, strict=True)
    ]


def _range_claim(
    outcome: TuningOutcome, where: KneeRangeOutcome, told: ToldRuns, evidence: Sequence[Evidence]
) -> Claim:
    """Return between what the knee lies: by the noise of all that was confirmed, and by its ends.

    What speaks against runs besides those of the headline stands in it.
    """
    ends = [
        (where["low_threads"], where["low_depth"]),
        (where["high_threads"], where["high_depth"]),
    ]
    points = [*confirming_points(outcome), *_points_at(outcome, ends)]
    more = [one for one in _evidence_of(points, outcome, told) if one not in evidence]
    known, found = (_doubts(told, one) for one in (evidence, more))
    but = "; ".join(one.words for one in dict.fromkeys(found) if one not in known)
    words = _range_words(outcome, where)
    words = f"{words} Among the runs behind this: {but}." if but else words
    return told.claim("knee-range", words, dict.fromkeys([*evidence, *more]))


def _points_at(outcome: TuningOutcome, loads: Iterable[Sequence[int]]) -> list[PointOutcome]:
    """Return the runs of these loads that did not fail, without those of the best."""
    wanted = {(one[0], one[1]) for one in loads} - {(outcome.get("threads"), outcome.get("depth"))}
    return [
        one
        for one in outcome.get("points", ())
        if (one["threads"], one["depth"]) in wanted and one.get("figures")
    ]


def _reason(
    text: str, told: ToldRuns, evidence: Sequence[Evidence], more: Sequence[Evidence]
) -> Claim:
    """Return a reason; what speaks against runs besides those of the headline stands in it."""
    known, found = (_doubts(told, one) for one in (evidence, more))
    but = "; ".join(one.words for one in found if one not in known)
    words = f"{text.removesuffix('.')}; but among these runs: {but}." if but else text
    return told.claim("reason", words, [*evidence, *more])


def _doubts(told: ToldRuns, evidence: Iterable[Evidence]) -> list[Doubt]:
    ids = [one.run_id for one in evidence]
    return [*told.doubts(ids, forbids=True), *told.doubts(ids, forbids=False)]


def _metric(outcome: TuningOutcome) -> str:
    return outcome["goal"]["metric"] if "goal" in outcome else "mean"


def _millis(time_ns: float) -> str:
    return f"{ms_words(time_ns)} ms"


def _evidence_of(
    points: Iterable[PointOutcome], outcome: TuningOutcome, told: ToldRuns
) -> list[Evidence]:
    name = f"latency_{_metric(outcome)}_ns"
    found = []
    for one in points:
        figures: Mapping[str, float | None] = one["figures"] or {}
        units: dict[str, Unit] = {"iops": "IOPS", name: "ns"}
        for figure, unit in units.items():
            value = figures.get(figure)
            if value is not None:
                found.append(told.evidence(one.get("run_id"), figure, value, unit))
    return found


def _confirmation_words(outcome: TuningOutcome) -> str:
    found = outcome.get("confirmation")
    if not found:
        return "NOT confirmed: no run of its own could be made."
    evidence = "; ".join(found["evidence"])
    load = found["threads"], found["depth"]
    if load != (outcome.get("threads"), outcome.get("depth")):
        # Confirming runs become points of the search, which then may find another load.
        return (
            f"NOT confirmed: the runs to confirm were of {counted(load[0], 'thread')}, depth "
            f"{load[1]}, which the search had found before: {evidence}."
        )
    return f"{'Confirmed' if found['is_supported'] else 'NOT confirmed'}: {evidence}."


def _range_words(outcome: TuningOutcome, where: KneeRangeOutcome) -> str:
    found = outcome.get("confirmation")
    noise = (found and found.get("noise")) or 0.0
    words = (
        f"Warning: this machine is noisier (+/- {100 * noise:.0f} %) than the "
        f"{100 * outcome['goal']['share']:g} % that defines the knee"
    )
    low_threads, low_depth = where["low_threads"], where["low_depth"]
    high_threads, high_depth = where["high_threads"], where["high_depth"]
    if (low_threads, low_depth) == (high_threads, high_depth):
        return f"{words}; with a share that is wider or narrower by that, it is the same load."
    return (
        f"{words}: it lies between {counted(low_threads, 'thread')}, depth {low_depth} "
        f"({low_threads * low_depth} outstanding) and {counted(high_threads, 'thread')}, depth "
        f"{high_depth} "
        f"({high_threads * high_depth}). Quieten the machine (diskspd --doctor says how), or let "
        "runs take longer (--longest, --precision)."
    )
