"""Judging runs of the store by the limits of a gate.

A figure of one run is judged as it is. Of ten runs and more the interval of their mean decides, at
the confidence of the gate, which all limits share (Bonferroni); where the runs carry no interval,
and of fewer runs, all of them have to agree. Runs of several loads, as those of a sweep, are judged
load by load, and the worst decides. A change is judged as ``fathom compare`` judges it.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from fathom.errors import InvalidRequestError
from fathom.experiments.compare.claims import change_words
from fathom.experiments.compare.gate import NAME_APART
from fathom.experiments.compare.saved import compare_runs, pilot_of
from fathom.experiments.told_runs import told_runs
from fathom.findings.finding import numbers_words
from fathom.gates.gate import ChangeLimit, NoWorse
from fathom.gates.judged import Check, JudgedGate, worst
from fathom.gates.loads import loads_words, runs_by_load
from fathom.limits import judge_limits
from fathom.metrics import quantile_of, run_buckets, run_value
from fathom.stats import Histograms, runs_mean, runs_percentile
from fathom.stats.noise import LEAST_RUNS
from fathom.store import NotFoundError
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom._claims import Doubt, ToldRuns
    from fathom.experiments.compare.comparison import RunComparison
    from fathom.experiments.compare.gate import Verdict
    from fathom.gates.gate import Gate
    from fathom.limits import Decision, Limit
    from fathom.stats import Comparison, RunsEstimate
    from fathom.store import Store, StoredRun

__all__ = ["judge_gate", "judge_outcome"]

_BY_OUTCOME: dict[str, Decision] = {"equal": "kept", "better": "kept", "worse": "broken"}


def judge_gate(store: Store, gate: Gate, reference: str) -> JudgedGate:
    """Judge runs: ``12``, ``e7``, ``12,13`` or a baseline's name.

    Raises
    ------
    NotFoundError
        If the runs or those of the baseline are not there.
    InvalidRequestError
        If the runs have another load than the baseline, unless the gate lets that be.
    FathomError
        As ``compare_runs``.

    """
    run_ids = tuple(store.baselines.run_ids(reference))
    if not run_ids:
        raise NotFoundError(f"{reference} has no runs to judge")
    found: dict[str, Check] = {}
    if gate.absolute:
        found = _of_figures(store, gate, [store.runs.get(one) for one in run_ids])
    notes: list[str] = []
    baseline_ids: tuple[int, ...] = ()
    # Of several time spans, the worst is what a limit judges.
    told = told_runs(store, run_ids, every_time_span=True)
    if gate.relative and gate.baseline is not None:
        baseline_ids = tuple(store.baselines.run_ids(gate.baseline))
        compared = _compared(store, gate, reference)
        baseline = _told_baseline(store, baseline_ids, compared)
        found |= _of_device(judge_outcome(gate, compared), gate, compared, (baseline, told))
        notes += [*compared.differences, *compared.notes]
        notes += [f"Baseline: {one.words}." for one in _speaking(baseline)]
    notes += [f"{one.title} ({one.confidence})." for one in _speaking(told)]
    checks = tuple(found[str(one)] for one in gate.rules)
    unique = tuple(dict.fromkeys(notes))
    return JudgedGate(gate.name, run_ids, gate.baseline, baseline_ids, checks, unique)


def _compared(store: Store, gate: Gate, reference: str) -> RunComparison:
    found = compare_runs(
        store,
        gate.baseline or "",
        reference,
        metrics=[*dict.fromkeys(one.metric for one in gate.relative)],
        confidence=gate.confidence,
        conditions=[one.condition for one in gate.relative if isinstance(one, ChangeLimit)],
    )
    if not found.is_of_one_load and not gate.any_load:
        words = " ".join(found.differences)
        raise InvalidRequestError(
            f"{gate.about}{words} Judge runs of the same load, or add --any-load (in fathom.toml "
            "any_load = true)"
        )
    return found


def _told_baseline(store: Store, run_ids: Sequence[int], compared: RunComparison) -> ToldRuns:
    """Return those runs of the baseline that were compared."""
    rests = {one.run_id for claim in compared.claims for one in claim.evidence}
    return told_runs(store, [one for one in run_ids if one in rests])


def _speaking(told: ToldRuns) -> list[Doubt]:
    """Return what speaks against runs, what forbids a judgement first."""
    return [one for forbids in (True, False) for one in told.doubts(told.by_id, forbids=forbids)]


def _of_device(
    checks: Mapping[str, Check],
    gate: Gate,
    compared: RunComparison,
    sides: tuple[ToldRuns, ToldRuns],
) -> dict[str, Check]:
    """Return checks of changes, without their verdict where one side alone is no device's.

    What forbids a judgement of both alike, such as memory that answered both, does not keep them
    from being compared.
    """
    found = [one.doubts(one.by_id, forbids=True) for one in sides]
    rules = [{one.rule for one in doubts} for doubts in found]
    if rules[0] == rules[1]:
        return {**checks}
    names = ("the baseline", "the runs")
    why = "; ".join(
        f"the numbers of {name} are not a device's: {', '.join(one.words for one in doubts)}"
        for name, doubts in zip(names, found, strict=True)
        if doubts
    )
    return {
        limit: _without_verdict(one, gate, compared, why) if one.metric in compared.metrics else one
        for limit, one in checks.items()
    }


def _without_verdict(check: Check, gate: Gate, compared: RunComparison, why: str) -> Check:
    change = change_words(compared, check.metric).removeprefix("B against A, ")
    words = f"{check.limit}: cannot tell: against {gate.baseline}, {change}; {why}"
    return replace(check, decision="cannot tell", words=words, outcome="cannot tell")


def judge_outcome(gate: Gate, compared: RunComparison) -> dict[str, Check]:
    """Return a check for each limit on a change, by its text."""
    verdicts = {one.condition: one for one in compared.verdicts}
    # Both kinds of limits at once are two families, each of which may fail by half of the chance.
    share = 2 if any(isinstance(one, NoWorse) for one in gate.relative) else 1
    return {
        str(one): (
            _no_worse(one, gate, compared)
            if isinstance(one, NoWorse)
            else _of_change(one, gate, compared, verdicts[str(one.condition)], share)
        )
        for one in gate.relative
    }


def _no_worse(rule: NoWorse, gate: Gate, compared: RunComparison) -> Check:
    if rule.metric not in compared.metrics:
        return _unknown(rule.metric, rule.metric, compared.missing[rule.metric])
    outcome = compared.word(rule.metric)
    return _change_check(
        str(rule), rule.metric, _BY_OUTCOME.get(outcome, "cannot tell"), gate, compared
    )


def _of_change(
    rule: ChangeLimit, gate: Gate, compared: RunComparison, verdict: Verdict, share: int
) -> Check:
    if rule.metric not in compared.metrics:
        why = verdict.why_not or compared.missing.get(rule.metric) or ", ".join(verdict.doubts)
        return _unknown(str(rule), rule.metric, why)
    level = (1 - gate.confidence) / share
    decision: Decision = "cannot tell"
    if verdict.p_value is not None and verdict.p_value < level:
        decision = "broken"
    elif verdict.decision == "passes":
        decision = "kept"
    return _change_check(str(rule), rule.metric, decision, gate, compared)


def _change_check(
    limit: str, metric: str, decision: Decision, gate: Gate, compared: RunComparison
) -> Check:
    one = compared.metrics[metric]
    outcome = compared.word(metric)
    change = change_words(compared, metric).removeprefix("B against A, ")
    why = f"; {', '.join(one.doubts)}" if decision == "cannot tell" and one.doubts else ""
    if decision == "cannot tell":
        why += f"; {_advice(one)}"
    return Check(
        limit,
        decision,
        f"{limit}: {decision}: against {gate.baseline}, {change}: {outcome}{why}",
        metric,
        measured=one.b_mean,
        change=one.change,
        change_low=one.low,
        change_high=one.high,
        outcome=outcome,
        mean=_geometric_words(metric, one.b_runs),
    )


def _advice(one: Comparison) -> str:
    """Return what to do where nothing can be told of a change."""
    if any(NAME_APART in doubt for doubt in one.doubts):
        # However many more are measured, the shared ones keep both from being two samples.
        return "judge runs that are not the baseline's, or name another baseline"
    return f"{counted(one.b_runs, 'run')} against {one.a_runs}: measure more, best interleaved"


def _geometric_words(metric: str, runs: int) -> str:
    """Return which mean ``compare`` has of so many runs: a change is a ratio."""
    if runs == 1:
        return ""
    return (
        _mean_words(metric, runs)
        if quantile_of(metric) is not None
        else f"geometric mean of {runs} runs"
    )


def _mean_words(metric: str, runs: int) -> str:
    """Return which mean of so many runs a figure is: of a percentile that of all their I/Os."""
    return f"all I/Os of {runs} runs" if quantile_of(metric) is not None else f"mean of {runs} runs"


def _unknown(limit: str, metric: str, why: str) -> Check:
    words = f"{limit}: cannot tell: {why}"
    return Check(limit, "cannot tell", words, metric, outcome="cannot tell")


def _of_figures(store: Store, gate: Gate, runs: Sequence[StoredRun]) -> dict[str, Check]:
    """Return a check for each limit on a figure, by its text; of several loads, the worst."""
    groups = runs_by_load(runs)
    # A run alone has no interval, and no pilot decides on it: its experiment need not be read.
    pilots = [pilot_of(store, group) if len(group) > 1 else None for group in groups]
    # Each limit may be broken falsely in each group.
    confidence = 1 - (1 - gate.confidence) / (len(gate.absolute) * len(groups))
    return {
        str(limit): _worst_of(
            limit,
            groups,
            [
                _of_figure(limit, group, confidence, pilot)
                for group, pilot in zip(groups, pilots, strict=True)
            ],
        )
        for limit in gate.absolute
    }


def _worst_of(
    limit: Limit, groups: Sequence[Sequence[StoredRun]], checks: Sequence[Check]
) -> Check:
    """Return the check of that load which keeps a limit worst; a mean of several hides it."""
    if len(checks) == 1:
        return checks[0]
    decision = worst(one.decision for one in checks)
    is_most = limit.sign.startswith("<")

    def badness(at: int) -> float:
        measured = checks[at].measured
        if measured is None:
            return inf
        return measured if is_most else -measured

    which = max((at for at, one in enumerate(checks) if one.decision == decision), key=badness)
    found, loads = checks[which], loads_words(groups)
    numbers = numbers_words([run.summary.id for run in groups[which]])
    mean = ", ".join(filter(None, (found.mean, f"worst of {loads}")))
    words = f"{found.words}; of {loads} this is the worst: {numbers}"
    return replace(found, words=words, mean=mean)


def _of_figure(
    limit: Limit, runs: Sequence[StoredRun], confidence: float, pilot: int | None
) -> Check:
    judged = [_of_run(limit, run) for run in runs]
    unknown = [
        (run, one) for run, one in zip(runs, judged, strict=True) if one.decision == "cannot tell"
    ]
    if unknown:
        run, first = unknown[0]
        why = first.words.removeprefix(f"{limit}: cannot tell: ")
        words = f"{limit}: cannot tell: run {run.summary.id}: {why}"
        return Check(str(limit), "cannot tell", words, limit.metric)
    if len(judged) == 1:
        return judged[0]
    values = [one.measured or 0.0 for one in judged]
    found = _estimate(limit, runs, values, confidence, pilot)
    if len(values) >= LEAST_RUNS and found.can_tell:
        check = _by_interval(limit, found)
    else:
        check = _by_all(limit, judged, values, found.mean)
    spans = _span_words(runs)
    if not spans:
        return check
    return replace(
        check, words=f"{check.words}; each is the {spans}", mean=f"{check.mean}, {spans}"
    )


def _span_words(runs: Sequence[StoredRun]) -> str:
    """Say that a figure is that of the worst time span, where runs have several."""
    counts = [len(run.result.time_spans) for run in runs if run.imported is None]
    most = max(counts, default=1)
    return f"worst of {most} time spans" if most > 1 else ""


def _of_run(limit: Limit, run: StoredRun) -> Check:
    """Return what one run says; of an imported one, what its source tells."""
    if run.summary.outcome != "complete":
        # What it measured until then may look well: a pass would hide that it failed.
        words = f"{limit}: cannot tell: {_end_words(run)}"
        return Check(str(limit), "cannot tell", words, limit.metric)
    if run.imported is None:
        (found,) = judge_limits(run.result, [limit])
        mean = _span_words([run])
        return Check(
            str(limit), found.decision, found.words, limit.metric, found.measured, mean=mean
        )
    value = run_value(run.summary, limit.metric)
    if value is None:
        words = f"{limit}: cannot tell: the source of run {run.summary.id} does not tell it"
        return Check(str(limit), "cannot tell", words, limit.metric)
    decision: Decision = "kept" if limit.is_kept_by(value) else "broken"
    words = f"{limit}: {decision}: {limit.words(value)} measured; the limit is {limit.bound}"
    return Check(str(limit), decision, words, limit.metric, value)


def _end_words(run: StoredRun) -> str:
    """Return how a run ended that is not complete."""
    if run.summary.outcome == "interrupted":
        return "the run did not come to its end"
    why = (run.summary.failure or "").rstrip(".")
    return f"the run failed: {why}" if why else "the run failed"


def _estimate(
    limit: Limit,
    runs: Sequence[StoredRun],
    values: Sequence[float],
    confidence: float,
    pilot: int | None,
) -> RunsEstimate:
    quantile = quantile_of(limit.metric)
    if quantile is not None:
        found = [run_buckets(run.result, limit.metric) for run in runs if run.imported is None]
        buckets = [one for one in found if one]
        if len(buckets) == len(runs):
            return runs_percentile(Histograms(buckets), quantile, confidence=confidence)
    return runs_mean(values, confidence=confidence, pilot=pilot)


def _by_interval(limit: Limit, found: RunsEstimate) -> Check:
    low, high = found.low or 0.0, found.high or 0.0
    both = {limit.is_kept_by(low), limit.is_kept_by(high)}
    decision: Decision = "cannot tell"
    if len(both) == 1:
        decision = "kept" if True in both else "broken"
    words = (
        f"{limit}: {decision}: {limit.words(found.mean)} is {_is_of(limit, found.runs)} "
        f"({limit.words(low)} to {limit.words(high)}); the limit is {limit.bound}"
    )
    mean = _mean_words(limit.metric, found.runs)
    return Check(str(limit), decision, words, limit.metric, found.mean, low, high, mean=mean)


def _is_of(limit: Limit, runs: int) -> str:
    words = _mean_words(limit.metric, runs)
    return f"that of {words}" if quantile_of(limit.metric) is not None else f"the {words}"


def _by_all(
    limit: Limit, judged: Sequence[Check], values: Sequence[float], measured: float
) -> Check:
    kept = sum(one.decision == "kept" for one in judged)
    decision: Decision = "cannot tell"
    if kept in (0, len(judged)):
        decision = "kept" if kept else "broken"
    words = (
        f"{limit}: {decision}: {kept} of {len(judged)} runs keep it, with "
        f"{limit.words(min(values))} to {limit.words(max(values))}; the limit is {limit.bound}"
    )
    mean = _mean_words(limit.metric, len(values))
    return Check(str(limit), decision, words, limit.metric, measured, mean=mean)
