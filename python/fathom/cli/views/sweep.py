"""A sweep on the terminal: what it will take, what it found."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from fathom import experiments
from fathom._finite import json_words
from fathom._tails import FEW, are_few
from fathom.cli.views.claims import row_mark, show_legend
from fathom.cli.views.runs import console, local_time, text_table
from fathom.units import clock_words, counted, ms_words

if TYPE_CHECKING:
    from fathom.experiments.sweep.experiment import Sweep, SweptCell
    from fathom.experiments.sweep.plan import Forecast, SweepPlan

__all__ = ["show_forecast", "show_sweep"]

_SHOWN_CELLS = 20
_RATES_MIB_PER_S = (100, 1000)
# What a narrow terminal need not have, the first one first.
_SPARE = ("mean ms", "MiB/s", "+/- %")
_TAIL = "latency_p99_ns"
_SHOWN_LATENCIES = ("latency_mean_ns", _TAIL)


def show_forecast(
    plan: SweepPlan, forecast: Forecast, *, short: bool = False, as_json: bool = False
) -> None:
    """Say how many cells there are, in which order, until when, and what is written."""
    grid = experiments.Grid(plan.axes)
    order = [grid.label(cell) for cell in plan.order(len(grid))]
    if as_json:
        typer.echo(
            json_words({**asdict(forecast), "plan": plan.as_dict(), "order": order}, indent=None)
        )
        return
    times = [clock_words(one) for one in (forecast.seconds, forecast.least_s, forecast.most_s)]
    finish = local_time(time.time() + forecast.seconds)
    typer.echo(
        f"{counted(forecast.cells, 'cell')}, about {forecast.measured_cells} of them measured; "
        f"about {times[0]} ({times[1]} to {times[2]}), predicted finish {finish}",
        err=short,
    )
    if short:
        return
    typer.echo(_written_words(forecast))
    for axis in plan.axes:
        typer.echo(f"{axis.name}: {', '.join(axis.values)}")
    more = len(order) - _SHOWN_CELLS
    typer.echo("Order by chance" + (", the first of it:" if more > 0 else ":"))
    for one in order[:_SHOWN_CELLS]:
        typer.echo(f"  {one}")


def _written_words(forecast: Forecast) -> str:
    if not forecast.writing_s:
        return "Nothing is written, but for a file that is made or filled first."
    written = [
        f"{forecast.writing_s * forecast.write_share * rate / 1024:,.1f} GiB at {rate} MiB/s"
        for rate in _RATES_MIB_PER_S
    ]
    return (
        f"Cells that write run for about {clock_words(forecast.writing_s)}, with "
        f"{forecast.write_share:.0%} of writes: of reads and writes together, these write "
        f"{' or '.join(written)}."
    )


def show_sweep(found: Sweep) -> None:
    """Print all cells, and in words which of them were measured."""
    names = list(found.cells[0].parameters)
    columns = (*(f"{name}>" for name in names), "IOPS>", "+/- %>", "MiB/s>", "mean ms>", "p99 ms>")
    rows = [[*cell.parameters.values(), *_figures(cell)] for cell in found.cells]
    console().print(text_table("", (*columns, "source"), rows, spare=_SPARE))
    show_legend((cell.findings for cell in found.cells), found.doubts)
    for claim in found.claims:
        typer.echo(claim.text)
    typer.echo(f"It took {clock_words(found.elapsed_s)}.")


def _figures(cell: SweptCell) -> list[str]:
    if cell.iops is None or cell.mib_per_s is None:
        return ["-", "-", "-", "-", "-", f"{cell.source}: {cell.failure or ''}".rstrip(": ")]
    width = "-"
    if cell.iops_low is not None and cell.iops_high is not None:
        # An interval ends at 0, which no mean is below; what is known of the mean does not.
        half = (cell.iops_high - cell.iops_low) / 2 if cell.iops_low else cell.iops_high - cell.iops
        width = f"{100 * half / cell.iops:.1f}"
    return [
        f"{cell.iops:,.0f}",
        width,
        f"{cell.mib_per_s:,.2f}",
        *(_latency(cell, name) for name in _SHOWN_LATENCIES),
        cell.source + (" ~" if cell.is_precise is False else "") + row_mark(cell.findings),
    ]


def _latency(cell: SweptCell, name: str) -> str:
    """Return a latency in milliseconds, marked where it is an estimate."""
    measured: float | None = getattr(cell.figures, name, None)
    if measured is not None:
        ios = cell.figures.latency_ios if cell.figures is not None else None
        mark = FEW if name == _TAIL and are_few(0.99, ios) else ""
        return ms_words(measured) + mark
    estimated = (cell.estimated_latency or {}).get(name)
    return "-" if estimated is None else "\N{ALMOST EQUAL TO}" + ms_words(estimated.value_ns)
