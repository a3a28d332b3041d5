"""Assessments as sides of a report: one for each target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fathom.findings.finding import Case, Finding
from fathom.report._words import time_words, with_micro
from fathom.report.collect._again import again
from fathom.report.collect._barred import barred_keys, is_forbidden
from fathom.report.collect._points import families_of
from fathom.report.collect._runs import advice_of_finding, device_facts, run_command, tool_of
from fathom.report.material import (
    Family,
    KeyNumber,
    Rounds,
    Side,
    TargetsCompared,
    Verdict,
)
from fathom.stats.snia import WINDOW_ROUNDS
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from fathom.report.material import Advice, Point, ReportedRun
    from fathom.store import Experiment

__all__ = ["assess_sides", "planned_cells", "targets_compared"]

CellPlan = tuple[str, str, str]
"""Of a cell: its key, its part and its label."""


def planned_cells(experiment: Experiment) -> dict[int, CellPlan]:
    """Return what the runs of an assessment measured, by their ids, as far as its outcome tells.

    Rounds of steady state are left out: there are many, and their rates are in the outcome.
    """
    targets = (experiment.outcome or {}).get("targets", ())
    return {
        cell["run_id"]: (cell["key"], cell["part"], cell["label"])
        for target in targets
        for cell in target["cells"]
        if cell["run_id"] is not None and cell["role"] not in ("steady_round", "preconditioning")
    }


def assess_sides(experiment: Experiment, runs: Sequence[ReportedRun]) -> tuple[Side, ...]:
    """Return one side for each target of an assessment, whichever version of the outcome it has."""
    outcome = experiment.outcome or {}
    if "targets" in outcome:
        by_id = {one.run_id: one for one in runs}
        return tuple(_side(experiment, one, by_id) for one in outcome["targets"])
    return _sides_of_runs(experiment, outcome, runs)


def targets_compared(experiment: Experiment) -> TargetsCompared | None:
    """Return the targets of an assessment side by side; None of one target."""
    found = (experiment.outcome or {}).get("comparison")
    if not found:
        return None
    figures = found["figures"]
    return TargetsCompared(
        names=tuple(found["targets"]),
        headline=with_micro(found["headline"]),
        sentences=tuple(map(with_micro, found["sentences"])),
        notes=tuple(map(with_micro, found["notes"])),
        rows=tuple((one["label"], *(with_micro(text) for text in one["texts"])) for one in figures),
        best=tuple(tuple(one["best"]) for one in figures),
        refused=found.get("refused", ""),
    )


def _side(
    experiment: Experiment, target: Mapping[str, Any], by_id: Mapping[int | None, ReportedRun]
) -> Side:
    runs = [
        replace(
            by_id[cell["run_id"]],
            marks=tuple(cell.get("findings", ())),
            point=replace(by_id[cell["run_id"]].point, marks=tuple(cell.get("findings", ()))),
        )
        for cell in target["cells"]
        if cell["run_id"] in by_id
    ]
    verdict = target["verdict"]
    barred = barred_keys(target)
    numbers = tuple(
        KeyNumber(
            one["label"],
            with_micro(one["text"]),
            one["value"],
            one.get("conditions", ""),
            is_barred=one.get("cell_key") in barred,
        )
        for one in target["key_figures"]
    )
    # Of several targets, one can be measured whole where another was lost.
    partial = verdict.get("partial", (experiment.outcome or {}).get("partial")) or ""
    lost = target.get("lost") or ""
    notes = [partial, "" if lost in partial else lost]
    return Side(
        name=target["name"],
        verb="assess",
        verdict=Verdict(
            target["name"],
            with_micro(verdict["headline"]),
            tuple(map(with_micro, verdict["sentences"])),
        ),
        numbers=numbers,
        advice=_advice(target["findings"]),
        runs=tuple(runs),
        is_judged=True,
        families=_saturations(runs, target.get("knees", {})),
        rounds=_rounds(target.get("steady")),
        tool=tool_of(runs),
        device=device_facts(runs),
        commands=_commands(experiment, runs),
        notes=tuple(dict.fromkeys(one for one in notes if one)),
        is_barred=_is_barred(target, barred),
        barred_keys=barred,
    )


def _is_barred(target: Mapping[str, Any], barred: Collection[str]) -> bool:
    """Whether no number that was measured is a device's."""
    done = [one["key"] for one in target["cells"] if one.get("figures") is not None]
    return set(done) <= set(barred) if done else is_forbidden(target["findings"])


def _rounds(steady: Mapping[str, Any] | None) -> tuple[Rounds, ...]:
    points, first = (steady or {}).get("points", {}), (steady or {}).get("first_round", 1)
    since = f", counted from round {first} on" if first > 1 else ""
    return tuple(
        # All points are judged in one window, with which the rounds ended.
        Rounds(f"{one['label']}{since}", "round", tuple(one["iops"]), is_first=False)
        for one in points.values()
        if len(one["iops"]) >= WINDOW_ROUNDS
    )


def _advice(findings: Sequence[Mapping[str, Any]]) -> tuple[Advice, ...]:
    """Return the findings of an outcome; older ones have a finding for each run."""
    by_rule: dict[str, list[Mapping[str, Any]]] = {}
    for one in findings:
        by_rule.setdefault(one["rule"], []).append(one)
    return tuple(advice_of_finding(_merged(mine)) for mine in by_rule.values())


def _merged(mine: Sequence[Mapping[str, Any]]) -> Finding:
    first = mine[0]
    told = [
        case
        for one in mine
        for case in one.get("cases") or [{"evidence": one["evidence"], "run_ids": []}]
    ]
    return Finding(
        rule=first["rule"],
        title=first["title"],
        target=first["target"],
        evidence=first["evidence"],
        remedy=first["remedy"],
        confidence=first["confidence"],
        source=first["source"],
        cases=tuple(Case(one["evidence"], tuple(one["run_ids"])) for one in told),
        run_count=first.get("run_count", 0),
        judged_count=first.get("judged_count", 0),
        left_out_count=first.get("left_out_count", 0),
        shown=first.get("shown", ""),
    )


def _commands(experiment: Experiment, runs: Sequence[ReportedRun]) -> tuple[str, ...]:
    return (again(experiment), *(run_command(one) for one in runs))


_SATURATIONS = {"random": "4K random read", "sequential": "512K sequential read"}


def _saturations(
    runs: Sequence[ReportedRun], knees: Mapping[str, int] | None = None
) -> tuple[Family, ...]:
    """Return the loads of rising depth: random reads, which begin with the baseline, and others.

    ``knees`` are the depths at which the assessment went on to measure, as it knew them.
    """
    depths = {words: (knees or {}).get(name) for name, words in _SATURATIONS.items()}
    pairs: list[tuple[dict[str, str], Point]] = []
    for run in runs:
        family, _, depth = run.key.rpartition("-")
        if run.key == "read-1" or (family in ("random", "sequential") and depth.isdigit()):
            words = _SATURATIONS.get(family, _SATURATIONS["random"])
            pairs.append(({"Load": words}, run.point))
    found = families_of(pairs)
    return tuple(replace(one, knee_depth=depths[one.choice["Load"]]) for one in found)


def _sides_of_runs(
    experiment: Experiment, outcome: Mapping[str, Any], runs: Sequence[ReportedRun]
) -> tuple[Side, ...]:
    """Return the sides of an assessment whose outcome knows no cells: the runs show them."""
    sides = []
    verdicts = {one["target"]: one for one in outcome.get("verdicts", ())}
    for name in experiment.plan["targets"]:
        mine = [one for one in runs if _is_on(one, name)]
        found = verdicts.get(name)
        sentences = tuple(found["sentences"]) if found else ()
        first = found.get("headline") if found else "The assessment did not come to its end."
        if found and first is None:
            first, sentences = sentences[0], sentences[1:]
        findings = [one for one in outcome.get("findings", ()) if _begins(one["target"], name)]
        sides.append(
            Side(
                name=name,
                verb="assess",
                verdict=Verdict(name, first or "", sentences),
                numbers=_numbers(mine),
                advice=_advice(findings),
                runs=tuple(mine),
                is_judged=True,
                families=_saturations(mine),
                tool=tool_of(mine),
                device=device_facts(mine),
                commands=_commands(experiment, mine),
                is_barred=is_forbidden(findings),
            )
        )
    return tuple(sides)


def _is_on(run: ReportedRun, name: str) -> bool:
    return bool(run.beneath) and _begins(run.beneath[0]["path"], name)


def _begins(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name.rstrip('/')}/")


def _numbers(runs: Sequence[ReportedRun]) -> tuple[KeyNumber, ...]:
    by_key = {one.key: one.point for one in runs}
    reads = [
        one for key, one in by_key.items() if key.startswith(("read-1", "random-", "threads-"))
    ]
    reads = [one for one in reads if one.write_percent == 0]
    ordered = [by_key[key] for key in by_key if key.startswith("sequential-") and key[-1].isdigit()]

    def number(
        label: str, point: Point | None, words: Callable[[Point], tuple[str, float] | None]
    ) -> KeyNumber:
        found = None if point is None else words(point)
        return KeyNumber(label, "not measured") if found is None else KeyNumber(label, *found)

    def latency(point: Point) -> tuple[str, float] | None:
        return None if point.mean_ns is None else (time_words(point.mean_ns), point.mean_ns)

    def rate(point: Point) -> tuple[str, float]:
        return f"{rate_words(point.iops)} a second", point.iops

    def width(point: Point) -> tuple[str, float]:
        return f"{rate_words(point.mib_per_s)} MiB/s", point.mib_per_s

    most = max(reads, key=lambda one: one.iops, default=None)
    widest = max(ordered, key=lambda one: one.mib_per_s, default=None)
    return (
        number("One random read of 4 KiB, on average", by_key.get("read-1"), latency),
        number("One write that survives an outage", by_key.get("write-1"), latency),
        number("Random reads of 4 KiB, at most", most, rate),
        number("Random writes of 4 KiB, many at once", by_key.get("random-write"), rate),
        number("Reading in order, at most", widest, width),
    )
