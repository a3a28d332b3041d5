"""The command ``fathom``: one file per verb."""

from __future__ import annotations

from typing import Annotated

import typer

import fathom
from fathom.cli import _run

__all__ = ["app", "main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help=(fathom.__doc__ or "")[:30])
app.command(
    "run",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(_run.run)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - Typer calls it so.
    if wanted:
        typer.echo(f"fathom {fathom.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Measure storage in the lab."""
    del version


def main() -> None:
    """Run the command."""
    app()
