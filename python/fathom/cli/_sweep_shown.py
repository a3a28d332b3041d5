"""A sweep on the terminal: what it will take, how far it is, what it found."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from fathom.cli._shown import console, local_time, text_table

if TYPE_CHECKING:
    from fathom.experiments._sweep import Sweep, SweepProgress, SweptCell
    from fathom.experiments._sweep_plan import Forecast, SweepPlan

__all__ = ["SweepLine", "show_forecast", "show_sweep", "time_words"]

_NANOS_PER_MILLI = 1_000_000
_SECONDS_PER_MINUTE = 60
_SHOWN_CELLS = 20
_RATES_MIB_PER_S = (100, 1000)


def time_words(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), _SECONDS_PER_MINUTE)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def show_forecast(
    plan: SweepPlan, forecast: Forecast, *, short: bool = False, as_json: bool = False
) -> None:
    """Say how many cells there are, in which order, until when, and what is written."""
    from fathom.experiments._axes import Grid  # noqa: PLC0415 - Loads NumPy.

    grid = Grid(plan.axes)
    order = [grid.label(cell) for cell in plan.order(len(grid))]
    if as_json:
        typer.echo(json.dumps({**asdict(forecast), "plan": plan.as_dict(), "order": order}))
        return
    times = [time_words(one) for one in (forecast.seconds, forecast.least_s, forecast.most_s)]
    finish = local_time(time.time() + forecast.seconds)
    typer.echo(
        f"{forecast.cells} cells, about {forecast.measured_cells} of them measured; "
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
        f"Cells that write run for about {time_words(forecast.writing_s)}, with "
        f"{forecast.write_share:.0%} of writes: of reads and writes together, these write "
        f"{' or '.join(written)}."
    )


class SweepLine:
    """A bar with the time that is left; where the error output is no terminal, a line now and then.

    The bar counts measured cells.
    """

    def __init__(self) -> None:
        """Draw on the error output, so that results alone go to the standard output."""
        terminal = Console(stderr=True)
        self._told = 0
        self._progress: Progress | None = None
        if terminal.is_terminal:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[figures]}", markup=False),
            )
            self._progress = Progress(*columns, console=terminal, transient=True)
            self._task = self._progress.add_task("sweep", total=None, figures="")

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_reason: object) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()

    def tell(self, progress: SweepProgress) -> None:
        """Show how far it is, and what failed."""
        figures = (
            f"{progress.done} of about {progress.expected:.0f} cells, "
            f"{time_words(progress.remaining_s)} left"
        )
        if progress.failure is not None:
            typer.echo(f"{progress.label} failed: {progress.failure}", err=True)
        if self._progress is not None:
            self._progress.update(
                self._task,
                description=progress.label,
                completed=progress.done,
                total=progress.expected,
                figures=figures,
            )
        elif progress.done * 10 // max(round(progress.expected), 1) > self._told:
            self._told = progress.done * 10 // max(round(progress.expected), 1)
            typer.echo(figures, err=True)


def show_sweep(found: Sweep) -> None:
    """Print all cells, and in words which of them were measured."""
    names = list(found.cells[0].parameters)
    columns = (*(f"{name}>" for name in names), "IOPS>", "+/- %>", "MiB/s>", "mean ms>", "p99 ms>")
    rows = [[*cell.parameters.values(), *_figures(cell)] for cell in found.cells]
    console().print(text_table("", (*columns, "source"), rows))
    parts = [
        f"{found.count(source)} {source}"
        for source in ("measured", "interpolated", "failed", "pending")
        if found.count(source)
    ]
    typer.echo(f"{len(found.cells)} cells: {', '.join(parts)}, in {time_words(found.elapsed_s)}.")
    if found.checked:
        typer.echo(
            f"Of {found.checked} cells that could have been interpolated and were measured to "
            f"check, {found.within} lay within the tolerance."
        )
    wide = sum(cell.is_precise is False for cell in found.cells)
    if wide:
        typer.echo(
            f"{wide} measured cells are not as precise as asked for (marked ~): allow more time "
            "(--longest)."
        )


def _figures(cell: SweptCell) -> list[str]:
    if cell.iops is None or cell.mib_per_s is None:
        return ["-", "-", "-", "-", "-", f"{cell.source}: {cell.failure or ''}".rstrip(": ")]
    width = "-"
    if cell.iops_low is not None and cell.iops_high is not None:
        width = f"{50 * (cell.iops_high - cell.iops_low) / cell.iops:.1f}"
    known = cell.figures
    latencies = (None, None) if known is None else (known.latency_mean_ns, known.latency_p99_ns)
    return [
        f"{cell.iops:,.0f}",
        width,
        f"{cell.mib_per_s:,.2f}",
        *("-" if one is None else f"{one / _NANOS_PER_MILLI:.3f}" for one in latencies),
        cell.source + (" ~" if cell.is_precise is False else ""),
    ]
