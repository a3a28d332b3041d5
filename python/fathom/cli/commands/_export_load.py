"""The load of saved runs, for another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fathom import tools
from fathom._files import replacing
from fathom.cli.commands.translate import FormChoice as LoadForm
from fathom.cli.commands.translate import show_notes, written
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import StoredRun

__all__ = ["LoadForm", "export_load"]


def export_load(
    runs: Sequence[StoredRun], form: LoadForm, output: Path | None, *, overwrite: bool
) -> None:
    """Write the one load of the runs to a file, or to standard output.

    Raises
    ------
    InvalidRequestError
        If there is no run, if the runs have several loads, or if the load is none of DiskSpd's.

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
        if output.exists() and not overwrite:
            raise InvalidRequestError(f"{output} exists: add --overwrite, or name another file")
        try:
            with replacing(output) as unfinished:
                unfinished.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InvalidRequestError(f"{output}: {error.strerror or error}") from error
    show_notes(notes)
