"""``fathom tune``: the threads and the queue depth that serve best."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli._shown import console, text_table

if TYPE_CHECKING:
    from fathom.experiments._knee_search import Goal
    from fathom.experiments._tune import TunedPoint, Tuning
    from fathom.store import Store

__all__ = ["tune"]

_NANOS_PER_MILLI = 1_000_000
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)")
_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_MOST_THREADS = 64


def tune(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    threads: Annotated[
        str | None,
        typer.Option(help="Threads to choose from; default: 1 to twice the CPUs, at most 64."),
    ] = None,
    depth: Annotated[str, typer.Option(help="Outstanding I/Os of each thread.")] = "1..128",
    p99: Annotated[
        str | None,
        typer.Option(help="The greatest throughput with at most this 99th percentile: 2ms."),
    ] = None,
    mean: Annotated[
        str | None, typer.Option(help="The greatest throughput with at most this mean: 500us.")
    ] = None,
    longest: Annotated[int, typer.Option(help="The longest time of a run, in seconds.")] = 10,
    precision: Annotated[
        float, typer.Option(help="A run ends once its mean is known to so many percent.")
    ] = 2.0,
    label: Annotated[str | None, typer.Option(help="A word to find the runs by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Find the threads and the queue depth of the knee, or under a limit of latency, and say why.

    The knee is the least latency within 3 % of the greatest throughput. The rest are DiskSpd's
    arguments, of which -t or -o fix one of both, or a target alone, which is read at random.
    """
    from fathom.experiments._tune import plan_tune  # noqa: PLC0415 - Loads NumPy.
    from fathom.experiments._tune import tune as run_tune  # noqa: PLC0415 - The same.
    from fathom.runners import NativeRunner  # noqa: PLC0415 - The same.

    try:
        plan = plan_tune(
            context.args,
            threads or f"1..{min(2 * (os.cpu_count() or 1), _MOST_THREADS)}",
            depth,
            goal=_goal(p99, mean),
            longest_s=longest,
            precision=precision / 100,
        )
        with opened_store(store) as opened:

            def tell(point: TunedPoint) -> None:
                if not as_json:
                    typer.echo(_line(point), err=True)

            found = run_tune(opened, NativeRunner(opened), plan, label=label or "", on_point=tell)
            _show(opened, found, plan.goal, as_json=as_json)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.threads is None:
        fail("no load will do", EXIT_FAILED)


def _goal(p99: str | None, mean: str | None) -> Goal:
    from fathom.experiments._knee_search import Goal  # noqa: PLC0415 - Loads NumPy.

    if p99 is not None and mean is not None:
        fail("give one limit: --p99 or --mean", EXIT_INVALID)
    if p99 is not None:
        return Goal("p99", _time_ns(p99))
    return Goal("mean", None if mean is None else _time_ns(mean))


def _time_ns(text: str) -> float:
    found = _TIME.fullmatch(text)
    if found is None or float(found[1]) == 0:
        fail(f"{text} is no time such as 2ms or 500us", EXIT_INVALID)
    return float(found[1]) * _UNITS_NS[found[2]]


def _line(point: TunedPoint) -> str:
    load = f"{point.role}: {point.threads} threads, depth {point.depth}"
    if point.figures is None:
        return f"{load}: failed: {point.failure}"
    return f"{load}: {point.figures.iops:,.0f} IOPS"


def _show(store: Store, found: Tuning, goal: Goal, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    columns = ("threads>", "depth>", "IOPS>", "MiB/s>", "mean ms>", "p99 ms>", "run")
    ordered = sorted(found.points, key=lambda one: (one.threads, one.depth))
    console().print(text_table("", columns, [_row(point) for point in ordered]))
    if found.threads is not None and found.iops is not None and found.latency_ns is not None:
        sure = "confirmed" if found.is_confirmed else "NOT confirmed"
        typer.echo(
            f"Best: {found.threads} threads, depth {found.depth} (-t{found.threads} "
            f"-o{found.depth}): {found.iops:,.0f} IOPS, {goal.metric} "
            f"{found.latency_ns / _NANOS_PER_MILLI:.3f} ms, {sure} by a run of its own."
        )
    for reason in found.reasons:
        typer.echo(reason)
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")


def _row(point: TunedPoint) -> list[str]:
    load = [str(point.threads), str(point.depth)]
    if point.figures is None:
        return [*load, "-", "-", "-", "-", f"failed: {point.failure}"]
    figures = point.figures
    latencies = (figures.latency_mean_ns, figures.latency_p99_ns)
    return [
        *load,
        f"{figures.iops:,.0f}",
        f"{figures.mib_per_s:,.2f}",
        *("-" if one is None else f"{one / _NANOS_PER_MILLI:.3f}" for one in latencies),
        point.role,
    ]
