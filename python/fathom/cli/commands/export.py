"""``fathom export``: runs as files for other programs."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

import fathom.store as stores
from fathom import tools
from fathom._export import (
    FORMATS,
    TEXT,
    ExportError,
    check_place,
    content_of,
    format_of,
    new_file,
    write_file,
    write_text,
)
from fathom._files import is_empty
from fathom._redact import pseudonyms_of
from fathom._tables import OF_EXPERIMENTS, TABLES, rows_of, rows_of_experiments
from fathom.cli.commands import _places
from fathom.cli.commands._resumed import named_experiment
from fathom.cli.commands.show import run_as_dict
from fathom.cli.commands.translate import FormChoice as LoadForm
from fathom.cli.commands.translate import show_notes, written
from fathom.cli.common import RedactOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.plain import unguarded
from fathom.errors import InvalidRequestError
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._export import Format
    from fathom._frames import Columns
    from fathom._redact import Pseudonyms
    from fathom._tables import TableName
    from fathom.store import Store, StoredRun

__all__ = ["export"]

# Exporting runs and experiments whole, as one file: a store with nothing else in it.


def export_store(
    source: Store, references: Sequence[str], output: Path | None, *, redact: bool
) -> None:
    """Write what is named, or all, to a new file that appears only once it is whole."""
    if output is None or _places.is_output(output):
        fail("a store needs a file: name one with --output, such as e3.sqlite", EXIT_INVALID)
    if redact:
        fail("a store has all names as they are: leave out --redact, or export json", EXIT_INVALID)
    place = _places.place_of(output, _usual_name(references, "sqlite"))
    is_file = _places.is_file(place, is_text=False)
    if is_file and place.is_file() and not is_empty(place.resolve()):
        fail(f"{place} exists, and no store is replaced: name another file", EXIT_INVALID)
    if is_file:
        check_place(place)
    with tempfile.TemporaryDirectory(prefix="fathom-") as folder:
        whole = Path(folder) / place.name
        with stores.Store(whole) as target:
            done = stores.copy_store(source, target, references)
        if is_file:
            with new_file(place) as unfinished:
                shutil.copyfile(whole, unfinished)
    typer.echo(
        f"Exported {counted(len(done.new_runs), 'run')} and "
        f"{counted(len(done.new_experiments), 'experiment')} to {place}"
    )


def _usual_name(references: Sequence[str], suffix: str) -> str:
    return _places.usual_name("export", [*references], "all", suffix)


def _put(content: bytes, place: Path, *, overwrite: bool) -> None:
    """Write to a place, of whichever kind it is."""
    if _places.is_output(place):
        typer.get_binary_stream("stdout").write(content)
    elif not _places.is_nowhere(place):
        with new_file(place, overwrite=overwrite) as unfinished:
            unfinished.write_bytes(content)


# The load of saved runs, for another tool.


def export_load(
    runs: Sequence[StoredRun], form: LoadForm, output: Path | None, *, overwrite: bool
) -> None:
    """Write the one load of the runs to a file, or to standard output.

    Raises
    ------
    InvalidRequestError
        If there is no run, if the runs have several loads, or if the load is none of DiskSpd's.
    ExportError
        If the file cannot be written.

    """
    found = list({json.dumps(run.arguments): run for run in runs}.values())
    if not found:
        raise InvalidRequestError("there is no run to export")
    if len(found) > 1:
        names = ", ".join(str(run.summary.id) for run in found)
        raise InvalidRequestError(f"runs {names} have different loads: name one of them")
    text, notes = written(tools.read_load(found[0].arguments), form)
    if output is None:
        typer.echo(text, nl=False)
    else:
        references = [str(one.summary.id) for one in runs]
        place = _places.place_of(output, _usual_name(references, _SUFFIXES[form]))
        _put(text.encode(), place, overwrite=overwrite)
    show_notes(notes)


_SUFFIXES = {LoadForm.FIO: "fio", LoadForm.DISKSPD: "txt", LoadForm.XML: "xml"}


# Those of tables, of the load for another tool, and of a store.
Form = StrEnum("Form", [*FORMATS, *_SUFFIXES, "store"])  # type: ignore[misc]  # One list.
_STORE = Form("store")
# What a row is: each table of a store, and results whole.
TableChoice = StrEnum("TableChoice", [*TABLES, "whole"])  # type: ignore[misc]  # One list.
_RUNS, _WHOLE = TableChoice("runs"), TableChoice("whole")

_LOADS: dict[Form | None, LoadForm] = {Form(one.value): one for one in _SUFFIXES}


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
            "--output",
            "-o",
            parser=_places.named,
            help="The file, whose name says the form, or a folder for it. - is the standard "
            "output.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="The form, if the file's name does not say it; csv without a file. fio, diskspd "
            "and xml: the load of the runs as a fio job file, a command line, a DiskSpd profile; "
            "store: runs and experiments whole, as one file (.sqlite) that fathom import takes.",
        ),
    ] = None,
    table: Annotated[
        TableChoice,
        typer.Option(
            help="runs: one row each; totals: reads, writes and both of each time span; intervals: "
            "the time series; latencies: the histograms; cells: those of sweeps, also what was "
            "interpolated, and marked so; metrics: the figures of repetitions; whole: everything, "
            "only as json."
        ),
    ] = _RUNS,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that exists.")
    ] = False,
    redact: RedactOption = False,
    store: StoreOption = None,
) -> None:
    """Export runs as tables for other programs; or their load for another tool."""
    with opened_store(store, make=False) as opened:
        if form is _STORE or (form is None and output and output.suffix == ".sqlite"):
            export_store(opened, references or [], output, redact=redact)
            return
        found, left = _runs(opened, references or [])
        names = _pseudonyms(opened, found) if redact else None
        if form in _LOADS:
            if names is not None:
                found = [replace(run, arguments=names.data(run.arguments)) for run in found]
            export_load(found, _LOADS[form], output, overwrite=overwrite)
            _tell_left(left)
            return
        chosen = _chosen(form, output)
        place = None
        if output is not None:
            suffix = chosen if table is _RUNS else f"{table}.{chosen}"
            words = ["redacted"] if redact else references or []
            place = _places.place_of(output, _usual_name(words, suffix))
            _check(place, chosen, overwrite=overwrite)
        rows = _rows(opened, references or [], table, chosen, found, left)
        if names is not None:
            rows = names.data(rows)
        columns = {} if table is _WHOLE else stores.columns_of(table.value)
        _write(rows, columns, chosen, place, overwrite=overwrite)
        _tell_left(left)


def _rows(  # noqa: PLR0913, PLR0917 - Each is a part of what is asked, or of what was found.
    store: Store,
    references: list[str],
    table: TableChoice,
    form: Format,
    found: list[StoredRun],
    left: list[stores.StoreError],
) -> list[dict[str, object]]:
    """Return the rows of a table; what is ``left`` of the runs is emptied where it lacks nothing.

    Raises
    ------
    ExportError
        If the form cannot hold them.
    StoreError
        If none of the runs can be read.

    """
    if table in OF_EXPERIMENTS:
        left.clear()
        return _of_experiments(store, references, table.value)
    if table is _RUNS and left and not references:
        # Of those that nobody can read, the store still has the summaries.
        left.clear()
        return [dict(one.columns) for one in store.runs.list()[::-1]]
    if left and not found:
        raise left[0]
    if table is not _WHOLE:
        return list(rows_of(found, cast("TableName", table.value)))
    if form == "json":
        return [run_as_dict(run) for run in found]
    raise ExportError("whole results can only be exported as json: add --format json")


def _chosen(form: Form | None, output: Path | None) -> Format:
    """Return the form: that which is named, or which the file's name says."""
    if form is not None:
        return form.value
    if _places.suffix_of(output) or (output is not None and _places.is_plain(output)):
        return format_of(cast("Path", output))
    return "csv"


def _check(place: Path, form: Format, *, overwrite: bool) -> None:
    """Refuse a place that nothing can be written to, before anything is made for it."""
    if _places.is_file(place, is_text=form in TEXT):
        check_place(place, overwrite=overwrite)


def _write(
    rows: Sequence[dict[str, object]],
    columns: Columns,
    form: Format,
    place: Path | None,
    *,
    overwrite: bool,
) -> None:
    """Write a table to a place, of whichever kind it is."""
    if place is None or (_places.is_output(place) and form in TEXT):
        write_text(rows, form, unguarded(sys.stdout), columns)
    elif _places.is_output(place):
        typer.get_binary_stream("stdout").write(content_of(rows, form, columns))
    elif not _places.is_nowhere(place):
        write_file(rows, form, place, overwrite=overwrite, columns=columns)


def _of_experiments(store: Store, references: list[str], table: str) -> list[dict[str, object]]:
    """Return a table that experiments of one verb have: of those that are named, or of all."""
    verb = OF_EXPERIMENTS[table]
    ids = [one.id for one in store.experiments.list(verb=verb)]
    if references:
        wanted = [named_experiment(one) for one in references]
        wrong = [one for one in wanted if one not in ids]
        if wrong:
            fail(f"experiment e{wrong[0]} is no {verb}: it has no {table}", EXIT_INVALID)
        ids = wanted
    return list(rows_of_experiments(map(store.experiments.get, sorted(ids)), table))


def _pseudonyms(store: Store, runs: list[StoredRun]) -> Pseudonyms:
    names = pseudonyms_of(run.columns for run in store.runs.list())
    for run in runs:
        names.learn_fields(run_as_dict(run))
    return names


def _runs(store: Store, references: list[str]) -> tuple[list[StoredRun], list[stores.StoreError]]:
    """Return the runs that are named, or all, and why others cannot be read."""
    if references:
        ids = {one for reference in references for one in store.baselines.run_ids(reference)}
    else:
        ids = {run.id for run in store.runs.list()}
    found: list[StoredRun] = []
    left: list[stores.StoreError] = []
    for run_id in sorted(ids):
        try:
            found.append(store.runs.get(run_id))
        except stores.NotFoundError:
            # It was deleted meanwhile, and is none of all any more.
            if references:
                raise
        except stores.StoreLockedError:
            raise
        except stores.StoreError as error:
            left.append(error)
    return found, left


def _tell_left(left: Sequence[stores.StoreError]) -> None:
    """End with what was left out, behind what was written."""
    if left:
        for one in left[1:]:
            typer.echo(f"left out: {one}", err=True)
        fail(f"left out: {left[0]}", EXIT_FAILED)
