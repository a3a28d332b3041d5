"""Tuning on the terminal: what it will take, what it found and how sure that is."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from fathom.cli._experiment_line import time_words
from fathom.cli._shown import console, local_time, text_table

if TYPE_CHECKING:
    from fathom.experiments._tune_plan import TuneForecast, TunePlan
    from fathom.experiments._tune_result import TunedPoint, Tuning

__all__ = ["show_tune", "show_tune_forecast"]

_NANOS_PER_MILLI = 1_000_000
# What a narrow terminal need not have, the first one first.
_SPARE = ("MiB/s", "+/- %", "mean ms")
_RATES_MIB_PER_S = (100, 1000)


def show_tune_forecast(
    plan: TunePlan, forecast: TuneForecast, *, short: bool = False, as_json: bool = False
) -> None:
    """Say how many runs there are, until when, and what is written."""
    if as_json:
        typer.echo(json.dumps({**asdict(forecast), "plan": plan.as_dict()}))
        return
    times = [time_words(one) for one in (forecast.seconds, forecast.least_s, forecast.most_s)]
    finish = local_time(time.time() + forecast.seconds)
    typer.echo(
        f"{forecast.loads} loads, about {forecast.runs} runs ({forecast.least_runs} to "
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
    limit = f"{plan.goal.limit_ns / _NANOS_PER_MILLI:g} ms"
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
    if found.threads is not None and found.iops is not None and found.latency_ns is not None:
        typer.echo(
            f"Best: {found.threads} threads, depth {found.depth} (-t{found.threads} "
            f"-o{found.depth}): {found.iops:,.0f} IOPS, {found.goal.metric} "
            f"{found.latency_ns / _NANOS_PER_MILLI:.3f} ms."
        )
        typer.echo(_confirmation_words(found))
    if found.knee_range is not None:
        typer.echo(_range_words(found))
    for reason in found.reasons:
        typer.echo(reason)


def _confirmation_words(found: Tuning) -> str:
    confirmation = found.confirmation
    if confirmation is None:
        return "NOT confirmed: no run of its own could be made."
    evidence = "; ".join(confirmation.evidence)
    return f"{'Confirmed' if confirmation.is_supported else 'NOT confirmed'}: {evidence}."


def _range_words(found: Tuning) -> str:
    where, noise = found.knee_range, found.confirmation and found.confirmation.noise
    assert where is not None  # noqa: S101 - The caller asked.
    words = (
        f"Warning: this machine is noisier (+/- {100 * (noise or 0):.0f} %) than the "
        f"{100 * found.goal.share:g} % by which the knee is told"
    )
    if where.is_one:
        return f"{words}; all the same, no other load comes into question."
    low = f"{where.low_threads} threads, depth {where.low_depth}"
    high = f"{where.high_threads} threads, depth {where.high_depth}"
    return (
        f"{words}: it lies between {low} ({where.low_threads * where.low_depth} outstanding) and "
        f"{high} ({where.high_threads * where.high_depth}). Quieten the machine (diskspd --doctor "
        "says how), or let runs take longer (--longest, --precision)."
    )


def _row(point: TunedPoint) -> list[str]:
    load = [str(point.threads), str(point.depth)]
    if point.figures is None:
        return [*load, "-", "-", "-", "-", "-", f"failed: {point.failure}"]
    figures = point.figures
    half = figures.relative_half_width
    latencies = (figures.latency_mean_ns, figures.latency_p99_ns)
    return [
        *load,
        f"{figures.iops:,.0f}",
        "-" if half is None else f"{100 * half:.1f}",
        f"{figures.mib_per_s:,.2f}",
        *("-" if one is None else f"{one / _NANOS_PER_MILLI:.3f}" for one in latencies),
        point.role,
    ]
