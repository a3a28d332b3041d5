"""Sweeps and tunings as sides of a report: cells and points of their outcomes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from fathom._asked import asked_load
from fathom._claims import ToldRuns
from fathom.engine import load_of
from fathom.errors import InvalidRequestError
from fathom.experiments.sweep.claims import sweep_claims
from fathom.experiments.tune.claims import best_points, tune_claims
from fathom.experiments.tune.knee_search import geometric_mean
from fathom.report._words import time_words
from fathom.report.collect._again import again
from fathom.report.collect._loads import asked_settings
from fathom.report.collect._points import carried_tails_ns, families_of, point_of_figures
from fathom.report.collect._runs import advice_of, device_facts, is_judged, tool_of
from fathom.report.material import GridCell, KeyNumber, Point, Side, Verdict
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fathom.experiments.sweep.result import SweepOutcome
    from fathom.experiments.tune.result import PointOutcome, TuningOutcome
    from fathom.report.material import ReportedRun
    from fathom.store import Experiment

__all__ = [
    "cells_of",
    "shown_runs",
    "sweep_sentences",
    "sweep_side",
    "told_sentences",
    "tune_sentences",
    "tune_side",
]

# More whole runs than this take time and tell nobody more: then those of notable cells are shown.
_MOST_RUNS = 24


def cells_of(outcome: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the cells of a sweep, or the points of a tuning."""
    return [*outcome.get("cells", ()), *outcome.get("points", ())]


def shown_runs(outcome: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return which runs of a sweep or tuning are shown whole, each with its load in words.

    All of them if they are few; otherwise the least and the greatest by each figure.
    """
    cells = cells_of(outcome)
    known = {one["run_id"]: one for one in cells if one.get("run_id") and one.get("figures")}
    ids = [*known]
    if len(ids) > _MOST_RUNS:
        ends = [
            end(sorted(told, key=lambda run: known[run]["figures"][name]))
            for name, end in _NOTABLE
            if (told := [run for run in known if known[run]["figures"].get(name) is not None])
        ]
        ids = sorted(set(ends), key=ids.index)
    return [(one, _load_label(known[one])) for one in ids]


_NOTABLE: tuple[tuple[str, Callable[[list[int]], int]], ...] = (
    ("iops", lambda runs: runs[-1]),
    ("mib_per_s", lambda runs: runs[-1]),
    ("iops", lambda runs: runs[0]),
    ("latency_mean_ns", lambda runs: runs[0]),
    ("latency_p99_ns", lambda runs: runs[0]),
    ("latency_p999_ns", lambda runs: runs[-1]),
)


def _load_label(cell: Mapping[str, Any]) -> str:
    if "parameters" not in cell:
        return f"{cell['threads']} x {cell['depth']}"
    return ", ".join(f"{name} {value}" for name, value in cell["parameters"].items())


def _judged(runs: Sequence[ReportedRun]) -> dict[str, Any]:
    """Return the findings in these runs, if there are any to look at."""
    return {"advice": advice_of(runs), "is_judged": is_judged(runs)} if runs else {}


def _judged_note(experiment: Experiment, runs: Sequence[ReportedRun]) -> list[str]:
    """Say so where findings were looked for in some of the runs only."""
    cells = cells_of(experiment.outcome or {})
    count = sum(bool(one.get("run_id") and one.get("figures")) for one in cells)
    if not runs or len(runs) >= count:
        return []
    first = "first in those whose rows have a letter"
    return [f"Findings were looked for in {len(runs)} of {count} runs, {first}."]


def _device(sample: ReportedRun | None, runs: Sequence[ReportedRun]) -> tuple[tuple[str, str], ...]:
    """Return the facts of all runs, or of one where not all are shown."""
    if len(runs) > 1:
        return device_facts(runs)
    return device_facts([sample] if sample else [], is_sample=True)


def sweep_side(
    experiment: Experiment,
    sample: ReportedRun | None,
    commands: Sequence[str],
    runs: Sequence[ReportedRun] = (),
    judged: Sequence[ReportedRun] = (),
) -> Side:
    """Return the side of a sweep.

    ``sample`` is one of its runs, for what all have in common; ``runs`` are those that are shown
    whole, and ``judged`` those in which findings are looked for.
    """
    outcome = experiment.outcome or {}
    grid = tuple(_cell(one, experiment.plan) for one in outcome.get("cells", ()))
    axes = tuple(axis["name"] for axis in experiment.plan["axes"])
    points = [one.point for one in grid if one.point is not None]
    notes = [] if grid else ["The sweep did not come to its end, so that its cells are not known."]
    name = experiment.name if experiment.name != "sweep" else f"sweep e{experiment.id}"
    return Side(
        name=name,
        verb="sweep",
        verdict=Verdict(name, *sweep_sentences(outcome)),
        numbers=_sweep_numbers(grid, points),
        grid=grid,
        axes=axes,
        families=families_of(_with_choice(grid, axes)),
        runs=tuple(runs),
        **_judged(judged),
        tool=_tool(experiment.plan, sample),
        device=_device(sample, runs),
        commands=(again(experiment), *commands),
        notes=(*notes, *_judged_note(experiment, judged)),
    )


def _request(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return what arguments ask for; None of what cannot be read any more."""
    try:
        with warnings.catch_warnings():
            # What is doubtful about the load was told when it was measured.
            warnings.simplefilter("ignore")
            return load_of(arguments).to_dict()
    except InvalidRequestError:
        return None


def _load(request: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the load of a request; nothing is known of what cannot be read any more."""
    if request is None:
        return {"threads": 0, "depth": 0, "block_bytes": None, "write_percent": 0.0}
    asked = asked_load(request)
    return {
        "threads": asked.threads,
        "depth": asked.depth,
        "block_bytes": asked.block_bytes,
        "write_percent": asked.write_percent,
    }


def _cell(cell: Mapping[str, Any], plan: Mapping[str, Any]) -> GridCell:
    parameters = cell["parameters"]
    varied = [f"{axis['option']}{parameters[axis['name']]}" for axis in plan["axes"]]
    request = _request([*varied, *plan.get("arguments", ())])
    load = {"label": _load_label(cell), **_load(request)}
    point = None
    if cell.get("figures"):
        marks = tuple(cell.get("findings", ()))
        point = replace(point_of_figures(cell["figures"], load, cell.get("run_id")), marks=marks)
    elif cell.get("iops") is not None:
        figures = {"iops": cell["iops"], "mib_per_s": cell["mib_per_s"]}
        point = Point(**load, **figures, is_measured=False)
    return GridCell(
        parameters=parameters,
        source=cell["source"],
        point=point,
        failure=cell.get("failure"),
        iops_low=cell.get("iops_low"),
        iops_high=cell.get("iops_high"),
        asked={} if request is None else asked_settings(request),
        estimated_ns={
            name.removeprefix("latency_"): one["value_ns"]
            for name, one in (cell.get("estimated_latency") or {}).items()
        },
    )


def _with_choice(
    grid: Iterable[GridCell], axes: Sequence[str]
) -> Iterable[tuple[dict[str, str], Point]]:
    """Return the points with what is held where the depth, or else the threads, rise."""
    rising = "depth" if "depth" in axes else "threads"
    for cell in grid:
        if cell.point is not None and rising in axes:
            held = {name: value for name, value in cell.parameters.items() if name != rising}
            yield {name.capitalize(): value for name, value in held.items()}, cell.point


def told_sentences(claims: Sequence[Any]) -> tuple[str, tuple[str, ...]]:
    """Return the headline and the rest of claims, as they were made or as they are stored."""
    texts = [one["text"] if isinstance(one, Mapping) else one.text for one in claims]
    return texts[0], tuple(texts[1:])


def sweep_sentences(outcome: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what a sweep says; older outcomes have no claims, so that these are made now."""
    return told_sentences(
        outcome.get("claims") or sweep_claims(cast("SweepOutcome", outcome), ToldRuns())
    )


def _sweep_numbers(grid: Sequence[GridCell], points: Sequence[Point]) -> tuple[KeyNumber, ...]:
    if not points:
        return ()
    means = [one.mean_ns for one in points if one.mean_ns is not None]
    tails = carried_tails_ns(points)
    return (
        _greatest("Most IOPS", points, lambda one: one.iops),
        _greatest("Greatest throughput", points, lambda one: one.mib_per_s, " MiB/s"),
        _least("Least mean latency", means),
        _least("Least 99th percentile", tails),
        KeyNumber("Cells", f"{len(grid)}", len(grid)),
    )


def _greatest(
    label: str, points: Sequence[Point], rate: Callable[[Point], float], unit: str = ""
) -> KeyNumber:
    """Return the greatest rate, and say so if it was interpolated, as the headline does."""
    most = max(points, key=lambda one: (rate(one), one.is_measured))
    conditions = "" if most.is_measured else "interpolated"
    return KeyNumber(label, f"{rate_words(rate(most))}{unit}", rate(most), conditions)


def _least(label: str, values_ns: Sequence[float]) -> KeyNumber:
    least = min(values_ns, default=None)
    return KeyNumber(label, "not measured" if least is None else time_words(least), least)


def _tool(plan: Mapping[str, Any], sample: ReportedRun | None) -> str:
    if plan.get("tool_version"):
        return str(plan["tool_version"])
    return tool_of([sample]) if sample else "Fathom"


def tune_side(
    experiment: Experiment,
    sample: ReportedRun | None,
    commands: Sequence[str],
    runs: Sequence[ReportedRun] = (),
    judged: Sequence[ReportedRun] = (),
) -> Side:
    """Return the side of a tuning; its parts are those of a sweep."""
    outcome, plan = experiment.outcome or {}, experiment.plan
    request = _request(plan.get("arguments", ()))
    pairs = _tuned(outcome, _load(request))
    name = experiment.name if experiment.name != "tune" else f"tuning e{experiment.id}"
    return Side(
        name=name,
        verb="tune",
        verdict=Verdict(name, *tune_sentences(outcome)),
        numbers=_tune_numbers(outcome, plan),
        families=families_of(pairs),
        grid=_tuned_grid([point for _, point in pairs], request),
        axes=("threads", "depth"),
        runs=tuple(runs),
        **_judged(judged),
        tool=_tool(experiment.plan, sample),
        device=_device(sample, runs),
        commands=(again(experiment), *commands),
        notes=tuple(_judged_note(experiment, judged)),
    )


def _tuned(
    outcome: Mapping[str, Any], asked: Mapping[str, Any]
) -> list[tuple[dict[str, str], Point]]:
    """Return one point of each load, in rising order.

    That of the best has the figures that the tuning told; others have the mean of their runs.
    """
    loads: dict[tuple[int, int], list[PointOutcome]] = {}
    for one in outcome.get("points", ()):
        if one.get("figures"):
            loads.setdefault((one["threads"], one["depth"]), []).append(one)
    best = outcome.get("threads"), outcome.get("depth")
    found = []
    for (threads, depth), mine in sorted(loads.items()):
        is_best = (threads, depth) == best
        runs = best_points(cast("TuningOutcome", outcome)) if is_best else mine
        figures = _mean_figures([one["figures"] or {} for one in runs])
        if is_best and outcome.get("iops") is not None:
            # Outcomes of older versions have another mean: what belongs together stays so.
            factor = outcome["iops"] / figures["iops"]
            figures |= {"iops": outcome["iops"], "mib_per_s": factor * figures["mib_per_s"]}
            figures |= {f"latency_{outcome['goal']['metric']}_ns": outcome["latency_ns"]}
        several = f", geometric mean of {len(runs)} runs" if len(runs) > 1 else ""
        label = f"{threads} x {depth}{several}"
        load = {**asked, "label": label, "threads": threads, "depth": depth}
        run_id = runs[0].get("run_id") if len(runs) == 1 else None
        marks = tuple(dict.fromkeys(rule for one in runs for rule in one.get("findings", ())))
        point = replace(point_of_figures(figures, load, run_id), marks=marks)
        found.append(({"Threads": str(threads)}, point))
    return found


def _mean_figures(figures: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the geometric mean of each figure that all runs have."""
    names = [name for name in figures[0] if all(one.get(name) for one in figures)]
    return {name: geometric_mean([one[name] or 1.0 for one in figures]) for name in names}


def _tuned_grid(points: Sequence[Point], request: Mapping[str, Any] | None) -> tuple[GridCell, ...]:
    """Return the loads in rising order."""
    asked = {} if request is None else asked_settings(request)
    return tuple(
        GridCell(
            {"threads": str(one.threads), "depth": str(one.depth)}, "measured", one, asked=asked
        )
        for one in points
    )


def tune_sentences(outcome: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return what a tuning says, as that of a sweep."""
    return told_sentences(
        outcome.get("claims") or tune_claims(cast("TuningOutcome", outcome), ToldRuns())
    )


def _tune_numbers(outcome: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[KeyNumber, ...]:
    if outcome.get("threads") is None or outcome.get("iops") is None:
        return ()
    metric = {"mean": "Mean latency", "p99": "99th percentile"}
    label = metric.get(plan["goal"]["metric"], plan["goal"]["metric"])
    latency_ns = outcome.get("latency_ns")
    return (
        KeyNumber("Threads", str(outcome["threads"]), outcome["threads"]),
        KeyNumber("Outstanding of each", str(outcome["depth"]), outcome["depth"]),
        KeyNumber("IOPS", rate_words(outcome["iops"]), outcome["iops"]),
        KeyNumber(
            label, "not measured" if latency_ns is None else time_words(latency_ns), latency_ns
        ),
        KeyNumber("Runs", str(len(outcome["points"])), len(outcome["points"])),
    )
