"""``fathom trend``: one load on one target over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.common import JsonOption, StoreOption, fail
from fathom.cli.exit_codes import EXIT_INVALID

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    metric: Annotated[
        str | None, typer.Option(help="The figure to look at.", show_default="iops")
    ] = None,
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
        given = {
            "--metric": metric,
            "--baseline": baseline,
            "--alert": alert,
            "--output": output,
            "--overwrite": overwrite,
        }
        _refuse([name for name, one in given.items() if one])
        list_series(store, limit, as_json=as_json)
        return
    asked = Asked(run, metric or "iops", baseline, limit, alert, output, overwrite, as_json)
    show_trend(asked, store)


def _refuse(given: Sequence[str]) -> None:
    """Refuse what would be said of one series where all of them are listed."""
    if given:
        fail(
            f"{given[0]} is for one series: name a run of it, as fathom trend 12 {given[0]}; "
            "without these options the series are listed",
            EXIT_INVALID,
        )
