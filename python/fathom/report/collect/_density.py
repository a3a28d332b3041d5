"""How many databases a machine carries, as a side of a report."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from fathom.experiments.density.outcome import share_words
from fathom.report.collect._runs import advice_of, device_facts
from fathom.report.material import DensityPoint, KeyNumber, Side, Verdict
from fathom.units import rate_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fathom.report.material import ReportedRun
    from fathom.store import Experiment

__all__ = ["density_side", "unfinished_words"]


def density_side(experiment: Experiment, runs: Sequence[ReportedRun]) -> Side:
    """Return the side of a density experiment; ``runs`` are those of files, databases have none."""
    plan, outcome = experiment.plan, experiment.outcome or {}
    points = tuple(map(_point, _with_linear(outcome.get("steps", ()))))
    unit = str(outcome.get("unit", "TPS"))
    sentences = tuple(outcome.get("sentences", ()))
    headline = sentences[0] if sentences else unfinished_words(experiment)
    return Side(
        name=experiment.name or f"density e{experiment.id}",
        verb="density",
        verdict=Verdict(plan["folder"], headline, sentences[1:]),
        numbers=_numbers(points, unit),
        advice=advice_of(runs) if runs else (),
        is_judged=bool(runs),
        finds_none="Of databases none are looked for: what ended them stands in words.",
        device=(*_facts(plan), *(device_facts(runs, is_sample=True) if runs else ())),
        commands=(_command(plan),),
        densities=points,
        per_s=unit,
        notes=() if experiment.state == "complete" else (unfinished_words(experiment),),
    )


def unfinished_words(experiment: Experiment) -> str:
    """Say why an experiment did not come to its end."""
    return f"It did not come to its end: {(experiment.failure or experiment.state).rstrip('.')}."


def _with_linear(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    first = steps[0] if steps else {}
    found = []
    for one in steps:
        linear = first["per_s"] / first["databases"] * one["databases"]
        is_known = linear > 0 and not first.get("disturbed") and not one.get("disturbed")
        found.append(
            {**one, "linear": linear, "share": one["per_s"] / linear if is_known else None}
        )
    return found


def _point(step: Mapping[str, Any]) -> DensityPoint:
    return DensityPoint(
        databases=step["databases"],
        per_s=step["per_s"],
        linear_per_s=step["linear"],
        linear_share=step["share"],
        fairness=step["fairness"],
        latency_mean_ms=step["latency_mean_ms"],
        resource=step["limit"]["resource"],
        evidence=step["limit"]["evidence"],
        members=tuple(
            (one["name"], one["per_s"], one["latency_mean_ms"]) for one in step["members"]
        ),
    )


def _numbers(points: Sequence[DensityPoint], unit: str) -> tuple[KeyNumber, ...]:
    if not points:
        return ()
    first, last = points[0], points[-1]
    each, share = first.per_s / first.databases, last.linear_share
    of_one = "Of one" if first.databases == 1 else f"Each of {first.databases} together"
    return (
        KeyNumber(of_one, f"{rate_words(each)} {unit}", each),
        KeyNumber(f"Of {last.databases} together", f"{rate_words(last.per_s)} {unit}", last.per_s),
        KeyNumber("Of linear", "-" if share is None else f"{share_words(share)} %", share),
        KeyNumber("Fairness (Jain)", f"{last.fairness:.3f}", last.fairness),
        KeyNumber("At its limit", last.resource),
    )


def _facts(plan: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    names = {
        "folder": "Folder",
        "version": "PostgreSQL",
        "account": "Account",
        "load": "Load",
        "scale": "Scale",
        "clients": "Clients each",
        "workload": "Workload",
        "size": "Size of each file",
        "seconds": "Seconds each",
    }
    is_files = plan["kind"] != "postgresql"
    hidden = {"load", "scale", "clients"} if is_files else set()
    shown = {name: plan.get(name) for name in names if name not in hidden}
    return tuple((names[name], str(one)) for name, one in shown.items() if one)


def _command(plan: Mapping[str, Any]) -> str:
    words = ["fathom", "density", "--databases", ",".join(map(str, plan["counts"]))]
    words += ["--time", f"{plan['seconds']}s"]
    if plan["kind"] == "postgresql":
        words += ["--scale", str(plan["scale"]), "--clients", str(plan["clients"])]
        words += ["--load", plan["load"]]
    else:
        words += ["--synthetic", plan["workload"]]
        words += ["--size", plan["size"]] if plan.get("size") else []
    return shlex.join([*words, plan["folder"]])
