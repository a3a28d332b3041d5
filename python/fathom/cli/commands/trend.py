"""``fathom trend``: one load on one target over time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.common import JsonOption, StoreOption

__all__ = ["trend"]


def trend(  # noqa: PLR0913 - Each is an option of the command.
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run of the series (12), an experiment (e3) or a baseline; without it the "
            "series of the store are listed.",
            show_default=False,
        ),
    ] = None,
    *,
    metric: Annotated[str, typer.Option(help="The figure to look at.")] = "iops",
    baseline: Annotated[
        str | None,
        typer.Option(help="What to compare with: a run, experiment or baseline, drawn as a band."),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Not more than this many, newest first.")
    ] = 2000,
    alert: Annotated[
        bool,
        typer.Option(
            "--alert",
            help="End with exit code 5 if the newest level is worse than the one before, or than "
            "the baseline, and with 7 if it cannot be told.",
        ),
    ] = False,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            "--notify",
            help="With --alert, tell mailto:NAME@HOST or a webhook (https://...) if it is worse. "
            "May stand several times.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Draw it to this file: .png, .svg, .pdf, or .json for Vega-Lite.",
            show_default=False,
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that Fathom did not make.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Find where one load on one target changed over time.

    A series are the complete runs of the same load on the same target of the same host, the oldest
    first. Its levels, their changes and what changed with them are told: fathom trend 12
    """
    from fathom.cli.commands._trend_do import Asked, list_series, show_trend  # noqa: PLC0415 - NumPy.

    if run is None:
        list_series(store, limit, as_json=as_json)
        return
    asked = Asked(
        run, metric, baseline, limit, alert, output, overwrite, as_json, tuple(notify or ())
    )
    show_trend(asked, store)
