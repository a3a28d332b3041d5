"""How many databases a machine carries, on the terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from fathom._finite import json_words
from fathom.cli.views.runs import console, local_time, text_table
from fathom.experiments.density.outcome import known_share, share_words
from fathom.units import NS_PER_MS, clock_words, ms_words, rate_words

if TYPE_CHECKING:
    from fathom.experiments.density import Density, DensityPlan, DensityStep

__all__ = ["show_density", "show_foreseen"]

# What a narrow terminal need not have, the first one first.
_SPARE = ("worst ms", "fairness", "least", "most", "CPU %")


def show_foreseen(plan: DensityPlan, *, as_json: bool) -> None:
    """Say what would be done, and until when."""
    seconds = plan.foreseen_s()
    if as_json:
        typer.echo(json_words({"seconds": seconds, "plan": plan.as_dict()}, indent=None))
        return
    counts = ", ".join(map(str, plan.counts))
    what = (
        f"PostgreSQL {plan.version} as {plan.account}, scale {plan.scale}, "
        f"{plan.clients} clients each, {plan.load}"
        if plan.workload is None
        else f"the workload {plan.workload} on each file"
    )
    finish = local_time(time.time() + seconds)
    nouns = plan.noun if plan.counts == (1,) else f"{plan.noun}s"
    typer.echo(f"{counts} {nouns} in {plan.folder}: {what}")
    typer.echo(f"about {clock_words(seconds)}, predicted finish {finish}")


def show_density(found: Density) -> None:
    """Print each step, and what was found in words."""
    unit, noun = found.plan.unit, found.plan.noun
    columns = (
        f"{noun}s>",
        f"{unit}>",
        "of linear %>",
        "least>",
        "most>",
        "fairness>",
        "mean ms>",
        "worst ms>",
        "CPU %>",
        "limit",
    )
    rows = [_row(one, found.steps[0]) for one in found.steps]
    if rows:
        console().print(text_table("", columns, rows, spare=_SPARE))
    for sentence in found.sentences:
        typer.echo(sentence)


def _row(step: DensityStep, first: DensityStep) -> list[str]:
    share = known_share(step, first)
    rates = [one.per_s for one in step.members]
    return [
        str(step.databases),
        rate_words(step.per_s),
        "-" if share is None else share_words(share),
        rate_words(min(rates)),
        rate_words(max(rates)),
        f"{step.fairness:.3f}",
        _milliseconds(step.latency_mean_ms),
        _milliseconds(step.latency_worst_ms),
        f"{step.limit.cpu_percent:.0f}",
        step.limit.resource,
    ]


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else ms_words(value * NS_PER_MS)
