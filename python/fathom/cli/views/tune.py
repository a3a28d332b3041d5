"""Tuning on the terminal: what it will take, what it found and how sure that is."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from fathom._finite import json_words
from fathom._tails import FEW, are_few
from fathom.cli.views.claims import row_mark, show_legend
from fathom.cli.views.runs import console, local_time, text_table
from fathom.units import NS_PER_MS, clock_words, counted, ms_words

if TYPE_CHECKING:
    from fathom.experiments.tune.plan import TuneForecast, TunePlan
    from fathom.experiments.tune.result import TunedPoint, Tuning

__all__ = ["show_tune", "show_tune_forecast"]

# What a narrow terminal need not have, the first one first.
_SPARE = ("MiB/s", "+/- %", "mean ms")
_RATES_MIB_PER_S = (100, 1000)


def show_tune_forecast(
    plan: TunePlan, forecast: TuneForecast, *, short: bool = False, as_json: bool = False
) -> None:
    """Say how many runs there are, until when, and what is written."""
    if as_json:
        typer.echo(json_words({**asdict(forecast), "plan": plan.as_dict()}, indent=None))
        return
    times = [clock_words(one) for one in (forecast.seconds, forecast.least_s, forecast.most_s)]
    finish = local_time(time.time() + forecast.seconds)
    typer.echo(
        f"{counted(forecast.loads, 'load')}, about {counted(forecast.runs, 'run')} "
        f"({forecast.least_runs} to "
        f"{forecast.most_runs}); about {times[0]} ({times[1]} to {times[2]}), predicted finish "
        f"{finish}",
        err=short,
    )
    if short:
        return
    typer.echo(_goal_words(plan))
    for name, values in (("threads", plan.threads), ("depth", plan.depths)):
        typer.echo(f"{name}: {', '.join(str(value) for value in values)}")
    typer.echo(_written_words(forecast))


def _goal_words(plan: TunePlan) -> str:
    share = f"the least {plan.goal.metric} latency within {100 * plan.goal.share:g} % of the"
    if plan.goal.limit_ns is None:
        return f"Looked for: {share} greatest throughput."
    limit = f"{plan.goal.limit_ns / NS_PER_MS:g} ms"
    return f"Looked for: {share} greatest throughput whose {plan.goal.metric} is at most {limit}."


def _written_words(forecast: TuneForecast) -> str:
    if not forecast.writing_s:
        return "Nothing is written, but for a file that is made or filled first."
    written = [
        f"{forecast.writing_s * forecast.write_share * rate / 1024:,.1f} GiB at {rate} MiB/s"
        for rate in _RATES_MIB_PER_S
    ]
    return (
        f"All runs write, {forecast.write_share:.0%} of their I/Os: of reads and writes together, "
        f"these write {' or '.join(written)}."
    )


def show_tune(found: Tuning) -> None:
    """Print all runs, the best load, whether it is confirmed, and why it is the best."""
    columns = ("threads>", "depth>", "IOPS>", "+/- %>", "MiB/s>", "mean ms>", "p99 ms>", "run")
    ordered = sorted(found.points, key=lambda one: (one.threads, one.depth))
    console().print(text_table("", columns, [_row(point) for point in ordered], spare=_SPARE))
    show_legend((point.findings for point in found.points), found.doubts)
    for claim in found.claims:
        typer.echo(claim.text)


def _row(point: TunedPoint) -> list[str]:
    load = [str(point.threads), str(point.depth)]
    if point.figures is None:
        return [*load, "-", "-", "-", "-", "-", f"failed: {point.failure}"]
    figures = point.figures
    half = figures.relative_half_width
    latencies = (figures.latency_mean_ns, figures.latency_p99_ns)
    mean, tail = ("-" if one is None else ms_words(one) for one in latencies)
    few = FEW if are_few(0.99, figures.latency_ios) else ""
    return [
        *load,
        f"{figures.iops:,.0f}",
        "-" if half is None else f"{100 * half:.1f}",
        f"{figures.mib_per_s:,.2f}",
        mean,
        tail + few,
        point.role + row_mark(point.findings),
    ]
