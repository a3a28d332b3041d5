"""``fathom export``: runs as files for other programs."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli._common import StoreOption, opened_store
from fathom.cli._show import run_as_dict

if TYPE_CHECKING:
    from fathom._tables import TableName
    from fathom.store import Store, StoredRun

__all__ = ["export"]


class FormatChoice(StrEnum):
    """The forms."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    XLSX = "xlsx"


class TableChoice(StrEnum):
    """What a row is."""

    RUNS = "runs"
    INTERVALS = "intervals"
    LATENCIES = "latencies"
    WHOLE = "whole"


_TABLES: dict[TableChoice, TableName] = {
    TableChoice.RUNS: "runs",
    TableChoice.INTERVALS: "intervals",
    TableChoice.LATENCIES: "latencies",
}


def export(  # noqa: PLR0913 - Each is an option of the command.
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE]...",
            help="Runs (12 or 12,14), experiments (e3), baselines; all runs if left out.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file; its name says the form.", show_default=False
        ),
    ] = None,
    form: Annotated[
        FormatChoice | None,
        typer.Option(
            "--format", help="The form, if the file's name does not say it; csv without a file."
        ),
    ] = None,
    table: Annotated[
        TableChoice,
        typer.Option(
            help="runs: one row each; intervals: the time series; latencies: the histograms; "
            "whole: everything, only as json."
        ),
    ] = TableChoice.RUNS,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that exists.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Export runs as csv, json, parquet or xlsx."""
    from fathom._export import ExportError, format_of, write_file, write_text  # noqa: PLC0415
    from fathom._tables import rows_of  # noqa: PLC0415

    with opened_store(store) as opened:
        chosen = form.value if form else (format_of(output) if output else "csv")
        found = _runs(opened, references or [])
        if table is not TableChoice.WHOLE:
            rows = list(rows_of(found, _TABLES[table]))
        elif chosen == "json":
            rows = [run_as_dict(run) for run in found]
        else:
            raise ExportError("whole results can only be exported as json: add --format json")
        if output:
            write_file(rows, chosen, output, overwrite=overwrite)
        else:
            write_text(rows, chosen, sys.stdout)


def _runs(store: Store, references: list[str]) -> list[StoredRun]:
    if references:
        ids = {one for reference in references for one in store.baselines.run_ids(reference)}
    else:
        ids = {run.id for run in store.runs.list()}
    return [store.runs.get(run_id) for run_id in sorted(ids)]
