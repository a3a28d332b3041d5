"""``fathom run``: one measurement with DiskSpd's arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import fathom

if TYPE_CHECKING:
    from fathom import Direction, Result

__all__ = ["run"]

_EXIT_FAILED = 1
_EXIT_REFUSED = 2
_EXIT_INVALID = 3
_NANOS_PER_MILLI = 1_000_000


def run(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result.")] = False,
) -> None:
    """Measure once, with the arguments of diskspd behind ``run``."""
    try:
        result = fathom.run(context.args)
    except fathom.InvalidRequestError as error:
        _fail(error, _EXIT_INVALID)
    except fathom.RefusedError as error:
        _fail(error, _EXIT_REFUSED)
    except fathom.FathomError as error:
        _fail(error, _EXIT_FAILED)
    else:
        if as_json:
            typer.echo(json.dumps(dict(result.raw), indent=2))
        else:
            _show(result)


def _fail(error: Exception, code: int) -> None:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(code)


def _show(result: Result) -> None:
    console = Console()
    for number, span in enumerate(result.time_spans, start=1):
        table = Table(title=f"Time span {number}", caption=f"CPU {span.cpu_percent:.1f} %")
        columns = ("", "IOPS", "MiB/s", "mean ms", "p50 ms", "p99 ms", "p99.9 ms", "max ms")
        for column in columns:
            table.add_column(column, justify="right" if column else "left")
        for name in ("read", "write", "total"):
            table.add_row(name, *_cells(getattr(span, name)))
        console.print(table)
    for warning in result.warnings:
        console.print(f"[bold]Warning:[/bold] {warning.evidence} {warning.remedy}")


def _cells(direction: Direction) -> list[str]:
    cells = [f"{direction.iops:,.0f}", f"{direction.mib_per_s:,.2f}"]
    latency = direction.latency
    if latency is None:
        return [*cells, "-", "-", "-", "-", "-"]
    values_ns = [
        latency.mean_ns,
        *(latency.quantile_ns(quantile) for quantile in (0.5, 0.99, 0.999)),
        latency.max_ns,
    ]
    return [*cells, *(f"{value / _NANOS_PER_MILLI:.3f}" for value in values_ns)]
