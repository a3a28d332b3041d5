"""Runs, repetitions and result files as sides of a report."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fathom import findings
from fathom._claims import ToldRuns, doubts_of
from fathom._tails import few_words
from fathom.experiments.repeat_claims import KnownRate, rate_sentence
from fathom.experiments.session import one_reason
from fathom.experiments.steady_words import is_steady_words, steady_words
from fathom.experiments.told_runs import told_run
from fathom.findings.finding import numbers_words
from fathom.hosts import local_host
from fathom.metrics import interval_series
from fathom.report._words import time_words, with_micro
from fathom.report.collect._points import carried_tails_ns, families_of, time_spans_of_run
from fathom.report.material import Advice, KeyNumber, Rounds, Side, Verdict
from fathom.runners import OWN_TOOL
from fathom.stats.snia import WINDOW_ROUNDS
from fathom.stats.steadiness import steadiness_words
from fathom.stats.steady import SteadyState, WindowCheck, find_steady_state
from fathom.units import NS_PER_MS, block_words, counted, listed, rate_words, size_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fathom._claims import Claim
    from fathom.findings import Finding
    from fathom.report.material import ReportedRun

__all__ = [
    "NOT_THE_DEVICES",
    "OTHERS_LEFT_OUT",
    "advice_of",
    "device_facts",
    "is_judged",
    "repeat_side",
    "run_command",
    "runs_side",
    "tool_of",
]

_NOT_BEGUN = "it ended before its load began"
OTHERS_LEFT_OUT = "without the runs whose figures are not the device's"
NOT_THE_DEVICES = "not the device's"
"""What stands beside a best figure where not all runs have those of the device."""
_BENEATH = {
    "path": "Target",
    "kind": "Kind",
    "size_bytes": "Size",
    "file_system": "File system",
    "mount_options": "Mount options",
    "device_names": "Device",
    "device_model": "Model",
    "device_serial": "Serial number",
    "device_firmware": "Firmware",
    "device_scheduler": "Scheduler",
    "device_write_cache": "Write cache",
    "device_is_rotational": "Rotating",
    "device_bytes": "Device size",
}
_HOST = {
    "host_name": "Host",
    "kernel": "Kernel",
    "cpu_model": "Processor",
    "cpu_count": "Processors",
    "cpu_governor": "Power scheme",
    "memory_bytes": "Memory",
    "io_backends": "I/O through",
    "tool": "Measured by",
    "origin": "Read from",
}


def device_facts(
    runs: Sequence[ReportedRun], *, is_sample: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return what is known of the targets and the host, each name with its value in words.

    ``is_sample`` says that there are more runs than these, of which less may be true.
    """
    facts: dict[tuple[str, str], None] = {}
    for run in runs:
        for target in run.beneath:
            facts |= dict.fromkeys(_told(target, _BENEATH))
    if runs:
        more = {"tool": tool_of(runs), "io_backends": _engines(runs, is_sample=is_sample)}
        facts |= dict.fromkeys(_told(dict(runs[0].facts) | more, _HOST))
    return tuple(facts)


def _engines(runs: Sequence[ReportedRun], *, is_sample: bool) -> str:
    """Return what the I/O went through: whose that was, unless it is the same of all runs."""
    found: dict[str, list[int]] = {}
    for run in runs:
        name = run.facts.get("io_backends")
        if name:
            found.setdefault(str(name), []).extend([] if run.run_id is None else [run.run_id])
    if len(found) == 1 and not is_sample:
        return next(iter(found))
    return ", ".join(
        f"{name} ({numbers_words(sorted(ids))})" if ids else name for name, ids in found.items()
    )


def tool_of(runs: Sequence[ReportedRun]) -> str:
    """Return what measured, with its version; empty if several did, or nobody knows."""
    tools = {_tool(one) for one in runs}
    return tools.pop() if len(tools) == 1 else ""


def _tool(run: ReportedRun) -> str:
    told = run.result.raw["tool"]
    name = "Fathom" if told["name"] == OWN_TOOL else told["name"]
    return f"{name} {told['version'] or ''}".strip()


def _told(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for name, title in names.items():
        value = row.get(name)
        if value is None or value == "":
            continue
        if name.endswith("bytes"):
            if value:
                yield title, size_words(value)
        elif name == "origin":
            if value != "native":
                yield title, str(value)
        elif name == "device_is_rotational":
            yield title, "yes" if value else "no"
        else:
            yield title, str(value)


def run_command(run: ReportedRun) -> str:
    """Return the command that does the same again."""
    # A profile in a file may be another one meanwhile: of a run that the store has, that is named.
    has_profile = any(one.startswith("-X") for one in run.arguments)
    fleet = _fleet_words(run)
    if run.arguments and not (has_profile and _is_kept(run)):
        return f"{f'fathom run {fleet}' if fleet else 'diskspd'} {shlex.join(run.arguments)}"
    if _is_kept(run):
        # No words of DiskSpd belong to it, as to a request of a program's own.
        return " ".join(filter(None, ("fathom run", fleet, f"@{run.run_id}")))
    return run.result.command_line or f"(the command of {run.label} is not known)"


def _fleet_words(run: ReportedRun) -> str:
    """Return the options of the fleet that measured; of one with certificates, what to put in."""
    names = [str(one["name"]) for one in run.result.raw.get("hosts", ())]
    if not names:
        return ""
    if names == [local_host(number) for number in range(1, len(names) + 1)]:
        return f"--fleet local:{len(names)}"
    return f"--fleet COORDINATOR:PORT --tls FOLDER --hosts {shlex.quote(','.join(names))}"


def _is_kept(run: ReportedRun) -> bool:
    """Whether the store has its request: what another tool measured has none that can be run."""
    return run.run_id is not None and _is_own(run) and run.result.request.knows_options


def advice_of(runs: Sequence[ReportedRun]) -> tuple[Advice, ...]:
    """Return the findings about runs, by the rules that an assessment uses."""
    # Rules look at what was requested and at intervals, which imported runs do not tell.
    own = [one for one in runs if _is_own(one)]
    # Of several targets, too: the rows of such runs have marks.
    found = findings.find([one.result for one in own], [one.run_id for one in own], several=True)
    several = len({one.target for one in found}) > 1
    return tuple(advice_of_finding(one, about_target=several) for one in found)


def advice_of_finding(one: Finding, *, about_target: bool = False) -> Advice:
    """Return a finding as a report shows it: where it was seen, and each run's own evidence."""
    about = f"{one.target}: " if about_target else ""
    cases = [
        f"{numbers_words(case.run_ids).capitalize()}: {case.evidence}"
        if case.run_ids
        else case.evidence
        for case in one.cases
    ]
    more = tuple(cases) if len(cases) > 1 else ()
    return Advice(
        about + one.title,
        with_micro(one.evidence),
        with_micro(one.remedy),
        one.confidence,
        one.source,
        one.where,
        tuple(map(with_micro, more)),
        one.rule,
        one.title,
    )


def _is_own(run: ReportedRun) -> bool:
    """Whether Fathom's engine measured it."""
    raw = run.result.raw
    return bool(raw["request"]["profile"]["time_spans"]) and raw["tool"]["name"] == OWN_TOOL


def is_judged(runs: Sequence[ReportedRun]) -> bool:
    """Whether findings can be looked for: only in what Fathom measured."""
    return all(_is_own(one) for one in runs)


def runs_side(name: str, runs: Sequence[ReportedRun]) -> Side:
    """Return the side of one run, or of several that nobody planned together.

    Each time span of a run has figures of its own, and a row.
    """
    whole = runs
    spans = [span for run in runs for span in time_spans_of_run(run)]
    runs = _told_apart([_with_marks(one) for one in spans])
    first = runs[0]
    claims = [_run_claim(one) for one in runs]
    told = tuple(
        claim.text + _failure_sentence(run) for run, claim in zip(runs, claims, strict=True)
    )
    verdict = Verdict(name, told[0], told[1:])
    return Side(
        name=name,
        verb="run",
        verdict=verdict,
        numbers=_run_numbers(first) if len(runs) == 1 else _best_numbers(runs, len(whole)),
        advice=advice_of(whole),
        runs=tuple(runs),
        is_judged=is_judged(runs),
        tool=tool_of(runs),
        families=families_of((_load_choice(one), one.point) for one in runs),
        rounds=tuple(one for run in runs for one in _stop_rounds(run)),
        device=device_facts(runs),
        commands=tuple(dict.fromkeys(run_command(one) for one in runs)),
        is_barred=any(one.forbidden_by for one in claims),
        failed=_failed(runs),
    )


def _told_apart(runs: Sequence[ReportedRun]) -> list[ReportedRun]:
    """Return the runs with their numbers in their labels, where several have one label."""
    count = Counter(one.label for one in runs)
    return [
        replace(one, label=words, point=replace(one.point, label=words))
        if count[one.label] > 1 and (words := f"{one.label} (run {one.run_id})") and one.run_id
        else one
        for one in runs
    ]


def _load_choice(run: ReportedRun) -> dict[str, str]:
    facts = run.facts
    path = run.beneath[0]["path"] if run.beneath else ""
    if facts.get("block_bytes") is None or facts.get("write_percent") is None:
        return {"Target": path, "Load": "unknown"}
    place = {0: "sequential", 100: "random"}.get(facts["random_percent"], "mixed")
    load = f"{block_words(facts['block_bytes'])} {place}, {facts['write_percent']:g} % writes"
    return {"Target": path, "Load": load}


def _run_claim(run: ReportedRun) -> Claim:
    """Return what a run gave, and what speaks against it; of a file the run has no number."""
    words, number = _run_words(run), run.run_id or 0
    told = ToldRuns({number: told_run(run.result, number)} if _is_own(run) else {})
    return told.headline(words, words, [told.evidence(number, "iops", run.point.iops, "IOPS")])


def _with_marks(run: ReportedRun) -> ReportedRun:
    """Return a run with the findings that speak against its figures: the marks of its row."""
    if run.marks or not _is_own(run):
        return run
    marks = tuple(dict.fromkeys(told_run(run.result, run.run_id).rules))
    return replace(run, marks=marks, point=replace(run.point, marks=marks))


def _run_words(run: ReportedRun) -> str:
    point = run.point
    spans, failure = run.result.time_spans, _failure(run)
    if failure is not None and not point.iops:
        # No rate of nothing.
        return f"{run.label}: {failure}"
    is_early = run.facts.get("outcome") == "interrupted" or not all(one.complete for one in spans)
    early = ", not to its end" if is_early else ""
    words = (
        f"{run.label}{early}: {rate_words(point.iops)} IOPS, {rate_words(point.mib_per_s)} MiB/s"
    )
    if point.mean_ns is not None:
        words += f", {time_words(point.mean_ns)} on average"
    if point.p99_ns is not None:
        few = few_words(0.99, point.ios)
        words += f", 99 of 100 within {time_words(point.p99_ns)}" + (f" ({few})" if few else "")
    return words


def _failure(run: ReportedRun) -> str | None:
    """Return why a run failed, in words; None if it did not.

    What the store knows stands nowhere in the result where a fleet or a verification found it.
    """
    told = [one["message"] for one in run.result.raw.get("failures") or ()]
    told += [one.failure for one in run.result.time_spans if one.failure is not None]
    told += [run.facts["failure"]] if run.facts.get("failure") else []
    if not told and run.facts.get("outcome") == "failed":
        told = ["the store does not know why" if run.result.time_spans else _NOT_BEGUN]
    return one_reason(told[0]).removesuffix(".") if told else None


def _failure_sentence(run: ReportedRun) -> str:
    """Return what goes on behind the sentence of a run that failed; of no rate, that has it."""
    failure = _failure(run)
    return f" It failed: {failure}." if failure is not None and run.point.iops else ""


def _failed(runs: Sequence[ReportedRun]) -> tuple[tuple[str, str], ...]:
    return tuple((one.label, why) for one in runs if (why := _failure(one)) is not None)


def _run_numbers(run: ReportedRun) -> tuple[KeyNumber, ...]:
    point, span = run.point, run.result.time_spans[0] if run.result.time_spans else None
    few = "" if point.p99_ns is None else few_words(0.99, point.ios)
    stalled = "" if point.mean_ns is None or "stalled" not in run.marks else "the target stalled"
    cost = span and span.own_ns_per_io is not None and span.kernel_ns_per_io is not None
    return (
        KeyNumber("IOPS", rate_words(point.iops), point.iops),
        KeyNumber("Throughput", f"{rate_words(point.mib_per_s)} MiB/s", point.mib_per_s),
        replace(_time_number("Mean latency", point.mean_ns), conditions=stalled),
        replace(
            _time_number("99 of 100 I/Os within", point.p99_ns),
            conditions=", ".join(filter(None, (few, stalled))),
        ),
        _time_number(
            "CPU time per I/O",
            (span.own_ns_per_io or 0) + (span.kernel_ns_per_io or 0) if span and cost else None,
        ),
    )


def _time_number(label: str, time_ns: float | None) -> KeyNumber:
    return KeyNumber(label, "not measured" if time_ns is None else time_words(time_ns), time_ns)


def _best_numbers(runs: Sequence[ReportedRun], count: int) -> tuple[KeyNumber, ...]:
    """Return the best of the figures that are a device's; where none is, of all, and so named.

    ``count`` is how many runs there were, each with one time span or several.
    """
    own = [one.point for one in runs if not doubts_of(one.marks)[1]]
    points = own or [one.point for one in runs]
    of = "" if len(own) == len(runs) else OTHERS_LEFT_OUT if own else NOT_THE_DEVICES
    iops, rate = max(one.iops for one in points), max(one.mib_per_s for one in points)
    means = [one.mean_ns for one in points if one.mean_ns is not None]
    tails = carried_tails_ns(points)
    numbers = (
        KeyNumber("Most IOPS", rate_words(iops), iops),
        KeyNumber("Greatest throughput", f"{rate_words(rate)} MiB/s", rate),
        _time_number("Least mean latency", min(means, default=None)),
        _time_number("Least 99th percentile", min(tails, default=None)),
    )
    return (
        *(replace(one, conditions=of) for one in numbers),
        KeyNumber("Runs", f"{count}", count),
    )


def _stop_rounds(run: ReportedRun) -> Iterable[Rounds]:
    """Return the intervals by which a stop rule judged, from the series, if that was kept."""
    stop = run.result.time_spans[0].stop if run.result.time_spans else None
    if stop is None or stop.steady is None:
        return
    series = interval_series(run.result, "iops")
    interval_ns = run.result.raw["time_spans"][0]["interval_ns"]
    count = stop.interval_ns // interval_ns if interval_ns else 0
    if series is None or not count or stop.interval_ns % interval_ns:
        return
    whole = series[: series.size // count * count].reshape(-1, count).mean(axis=1)
    yield Rounds(
        name=run.label,
        step=f"interval of {stop.interval_ns // NS_PER_MS} ms",
        # What completed behind the last interval that was judged is no part of its window.
        values=tuple(float(one) for one in whole[: stop.intervals]),
        window=stop.steady.window_intervals,
        range_percent_limit=stop.steady.range_percent_limit,
        slope_percent_limit=stop.steady.slope_percent_limit,
        is_first=False,
    )


def repeat_side(
    name: str, outcome: Mapping[str, Any] | None, runs: Sequence[ReportedRun], command: str = ""
) -> Side:
    """Return the side of repetitions of one run."""
    runs = [_with_marks(one) for one in runs]
    metrics = (outcome or {}).get("metrics", {})
    rates = tuple(one.point.iops for one in runs)
    headline, sentences = _repeat_sentences(outcome, runs)
    rounds = (
        (Rounds(f"{runs[0].label}: IOPS", "run", rates),) if len(rates) >= WINDOW_ROUNDS else ()
    )
    return Side(
        name=name,
        verb="repeat",
        verdict=Verdict(name, headline, (*sentences, *_alone(rates, outcome))),
        numbers=_repeat_numbers(metrics, len(runs)),
        advice=advice_of(runs),
        runs=tuple(runs),
        is_judged=is_judged(runs),
        tool=tool_of(runs),
        rounds=rounds,
        device=device_facts(runs),
        commands=(
            *([command] if command else []),
            *(
                f"{run_command(first)}  # {counted(1 + len(more), 'time')}"
                for _, (first, *more) in groupby(
                    runs, lambda one: one.arguments or run_command(one)
                )
            ),
        ),
    )


def _repeat_sentences(
    outcome: Mapping[str, Any] | None, runs: Sequence[ReportedRun]
) -> tuple[str, tuple[str, ...]]:
    if not outcome or "iops" not in outcome.get("metrics", {}):
        return f"{counted(len(runs), 'run')}, of which nothing was concluded.", ()
    found = outcome["metrics"]["iops"]
    claims = outcome.get("claims")
    names = ("mean", "low", "high", "confidence")
    known = KnownRate(*(found["estimate"][name] for name in names))
    first = str(claims[0]["text"]) if claims else rate_sentence(len(runs), known)
    more = [str(one["text"]) for one in (claims or ())[1:]]
    more += [f"From run to run the rate varied by {100 * found['coefficient_of_variation']:.1f} %."]
    # Older versions judged fewer rounds than the rules look at.
    if len(runs) >= WINDOW_ROUNDS:
        more += _steady_sentences(outcome, len(runs))
    judged = found.get("steadiness")
    if judged:
        more.append(f"All runs: {steadiness_words(judged['verdict'], judged['reason'])}.")
    if found["outliers"]:
        more.append(_outlier_words([one["index"] for one in found["outliers"]], found, runs))
    more += outcome.get("sentences", ())
    return first, tuple(more)


def _outlier_words(
    places: Sequence[int], found: Mapping[str, Any], runs: Sequence[ReportedRun]
) -> str:
    """Name outliers by their runs in the store; by their order, where runs were deleted since."""
    count = found["estimate"]["runs"]
    is_whole = count == len(runs)
    numbers = [runs[at].run_id if is_whole else None for at in places]
    named = [one for one in numbers if one is not None]
    if len(named) < len(places):
        made = [str(at + 1) for at in places]
        return f"Far from the others: {_runs_words(made)} of the {count} that were made."
    return f"Far from the others: {_runs_words([*map(str, named)])}."


def _runs_words(numbers: Sequence[str]) -> str:
    return f"run{'s' if len(numbers) > 1 else ''} {listed(numbers)}"


def _steady_sentences(outcome: Mapping[str, Any], count: int) -> list[str]:
    """Return whether all tracked figures were steady, if that is known; older stores tell less."""
    is_steady, found = outcome.get("is_steady"), outcome.get("steady")
    if is_steady is None:
        return []
    if found is None:
        return [is_steady_words(is_steady=is_steady)]
    checks = {name: WindowCheck(**one) for name, one in found["checks"].items()}
    return [steady_words(SteadyState(**{**found, "checks": checks}), count)]


def _alone(rates: Sequence[float], outcome: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return that IOPS alone keep the rule, as their figure shows it, where not all figures do."""
    if len(rates) < WINDOW_ROUNDS or (outcome or {}).get("is_steady") is not False:
        return ()
    found = find_steady_state({"iops": rates})
    if not found.is_steady:
        return ()
    window = f"rounds {found.first_round} to {found.rounds}"
    return (f"The rate alone (IOPS) keeps the rules in {window}.",)


def _repeat_numbers(metrics: Mapping[str, Any], count: int) -> tuple[KeyNumber, ...]:
    def mean(name: str) -> float | None:
        return metrics[name]["estimate"]["mean"] if name in metrics else None

    iops, rate = mean("iops"), mean("mib_per_s")
    return (
        KeyNumber("Mean IOPS", "not known" if iops is None else rate_words(iops), iops),
        KeyNumber(
            "Mean throughput", "not known" if rate is None else f"{rate_words(rate)} MiB/s", rate
        ),
        _time_number("Mean latency", mean("mean")),
        _time_number("99th percentile", mean("p99")),
        KeyNumber("Runs", str(count), count),
    )
