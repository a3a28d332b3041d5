"""``fathom gate``: whether saved runs keep their limits, for a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.commands._gate_do import Asked, Outputs, judge_gates
from fathom.cli.common import JsonOption, StoreOption

__all__ = ["gate"]


def gate(  # noqa: PLR0913 - Each is an option of the command.
    runs: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUNS]",
            help="Runs (12 or 12,14), an experiment (e3) or a baseline; without them the newest "
            "with the label of each gate.",
            show_default=False,
        ),
    ] = None,
    *,
    require: Annotated[
        list[str] | None,
        typer.Option(
            help="What has to hold: 'p99<2ms', 'iops>50k'; against the baseline 'iops>-5%', or "
            "'p99' for no worse. May stand several times; the file is then not read."
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What to compare with: a run, experiment or baseline.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="The file with the gates; otherwise fathom.toml of the repository."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this gate of the file. May stand several times."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals, in percent.")] = 95.0,
    any_load: Annotated[
        bool, typer.Option("--any-load", help="Compare saved runs whose loads differ, too.")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write what was found to this file as JUnit XML, too.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write it to this file as Markdown for a pull request, too."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that Fathom did not make.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Judge saved runs by limits, and end with an exit code for a pipeline.

    It ends with 0 if all limits are kept, with 5 if one is broken, and with 7 if of one neither can
    be told. Limits stand in fathom.toml of the repository, or behind --require.
    """
    asked = Asked(require or [], baseline, file, only or [], confidence, any_load)
    judge_gates(runs, asked, Outputs(junit, markdown, overwrite, as_json), store)
