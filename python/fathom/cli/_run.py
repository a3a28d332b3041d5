"""``fathom run``: one measurement with DiskSpd's arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import fathom
from fathom.cli._exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_INVALID, EXIT_REFUSED

if TYPE_CHECKING:
    from fathom import Direction, Latency, Result, TimeSpan

__all__ = ["run"]

_NANOS_PER_MILLI = 1_000_000
_LATENCY_COLUMNS = ("mean ms", "p50 ms", "p99 ms", "p99.9 ms", "max ms")
_KINDS = ("read", "write", "total")


def run(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result.")] = False,
) -> None:
    """Measure once; the arguments are those of diskspd, which diskspd --help lists."""
    try:
        result = fathom.run(context.args)
    except fathom.InvalidRequestError as error:
        _fail(error, EXIT_INVALID)
    except fathom.RefusedError as error:
        _fail(error, EXIT_REFUSED)
    except fathom.RunFailedError as error:
        _show(error.result, as_json=as_json)
        _fail(error, EXIT_FAILED)
    except fathom.RunInterrupted as interruption:
        _show(interruption.result, as_json=as_json)
        _fail(interruption, EXIT_INTERRUPTED)
    except fathom.FathomError as error:
        _fail(error, EXIT_FAILED)
    _show(result, as_json=as_json)


def _fail(error: BaseException, code: int) -> NoReturn:
    typer.echo(f"error: {error}", err=True)
    raise typer.Exit(code)


def _show(result: Result, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(dict(result.raw), indent=2))
        return
    console = Console()
    for number, span in enumerate(result.time_spans, start=1):
        if span.measured_ns:
            console.print(_table(number, span))
    for warning in result.warnings:
        # As plain text: names of files may hold what Rich would take for markup.
        about = f" {warning.target}:" if warning.target else ""
        sentences = Text(f"{about} {warning.evidence} {warning.remedy}")
        console.print(Text("Warning:", style="bold") + sentences, soft_wrap=True)


def _table(number: int, span: TimeSpan) -> Table:
    """Return the figures of a time span, and response times where I/Os had a schedule."""
    paced = span.total.response is not None
    caption = f"CPU {span.cpu_percent:.1f} %"
    if paced:
        caption += "; response times count from the scheduled start of each I/O"
    table = Table(title=f"Time span {number}", caption=caption)
    for column in ("", "IOPS", "MiB/s", *_LATENCY_COLUMNS):
        table.add_column(column, justify="right" if column else "left")
    for name in _KINDS:
        direction: Direction = getattr(span, name)
        rates = (f"{direction.iops:,.0f}", f"{direction.mib_per_s:,.2f}")
        table.add_row(name, *rates, *_cells(direction.latency))
        if paced:
            table.add_row("  response", "", "", *_cells(direction.response))
    return table


def _cells(latency: Latency | None) -> list[str]:
    if latency is None:
        return ["-" for _ in _LATENCY_COLUMNS]
    values_ns = [
        latency.mean_ns,
        *(latency.quantile_ns(quantile) for quantile in (0.5, 0.99, 0.999)),
        latency.max_ns,
    ]
    return [f"{value / _NANOS_PER_MILLI:.3f}" for value in values_ns]
