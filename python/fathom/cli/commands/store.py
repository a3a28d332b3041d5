"""``fathom store``: copy, check, compact and move stores."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

import fathom
import fathom.store as stores
from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.store.where import store_file
from fathom.units import counted, size_words

__all__ = ["app"]

app = typer.Typer(help="Copy, check, compact and move stores.", no_args_is_help=True)
# A line on the error output for each so many runs.
_TOLD_RUNS = 1000


@app.command("copy")
def copy(
    source: Annotated[
        str,
        typer.Argument(metavar="FROM", help="A file, or postgresql://user@host/database."),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="The same; a file that is missing is made.")
    ],
    references: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE]...",
            help="Runs (12 or 12,14), experiments (e3), baselines; all of it if left out.",
        ),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Copy runs, experiments and baselines to another store, of SQLite or PostgreSQL.

    What is there already stays: a copy that was ended can be repeated. Numbers stay where they are
    free. For example: fathom store copy runs.sqlite postgresql://me@db/lab e3
    """
    file = store_file(source)
    if file is not None and not file.exists():
        fail(f"there is no store {file}: check the name", EXIT_INVALID)
    told = 0

    def tell(done: stores.Copied) -> None:
        nonlocal told
        if len(done.new_runs) // _TOLD_RUNS > told:
            told = len(done.new_runs) // _TOLD_RUNS
            typer.echo(f"{counted(len(done.new_runs), 'run')} copied", err=True)

    with opened_store(source, make=False) as here, opened_store(target) as there:
        done = stores.copy_store(here, there, references or [], on_copied=tell)
        where = there.name
    if as_json:
        typer.echo(json_words(asdict(done)))
        return
    before = len(done.runs) - len(done.new_runs)
    typer.echo(
        f"Copied {counted(len(done.new_runs), 'run')}, "
        f"{counted(len(done.new_experiments), 'experiment')} and "
        f"{counted(done.new_baselines, 'baseline')} to {where}; {counted(before, 'run')} "
        f"{'was' if before == 1 else 'were'} there already"
    )
    for kind, numbers in (("e", done.experiments), ("", done.runs)):
        for old, new in numbers.items():
            if old != new:
                typer.echo(f"{kind}{old} is {kind}{new} there")
    for words in done.left:
        typer.echo(words, err=True)


@app.command("check")
def check(*, as_json: JsonOption = False, store: StoreOption = None) -> None:
    """Read all of a store, and say what is wrong with it; the exit code is then 1."""
    try:
        found = stores.check_store(store)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if as_json:
        typer.echo(json_words(asdict(found)))
    else:
        typer.echo(
            f"read {counted(found.runs, 'run')} and {counted(found.experiments, 'experiment')}"
        )
        for words in found.faults:
            typer.echo(words)
    if found.faults:
        fail(
            f"{counted(len(found.faults), 'fault')}; what is whole can be copied: "
            "fathom store copy",
            EXIT_FAILED,
        )


@app.command("compact")
def compact(*, as_json: JsonOption = False, store: StoreOption = None) -> None:
    """Pack older results as new ones are, and give free space back to the file system."""
    told = 0

    def tell(count: int) -> None:
        nonlocal told
        if count // _TOLD_RUNS > told:
            told = count // _TOLD_RUNS
            typer.echo(f"{counted(count, 'run')} packed", err=True)

    try:
        done = stores.compact_store(store, tell)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if as_json:
        typer.echo(json_words(asdict(done)))
        return
    sizes = f"{size_words(done.before_bytes)} became {size_words(done.after_bytes)}"
    typer.echo(f"packed {counted(done.runs, 'run')}; {sizes}")


@app.command("move")
def move(
    source: Annotated[
        str,
        typer.Argument(metavar="FROM", help="A file, or postgresql://user@host/database."),
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same; no file that is there.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Move a store to another place, and remove its file once the copy was read whole.

    The database of a server stays, as others may use it.
    """
    try:
        found = stores.move_store(source, target)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if as_json:
        typer.echo(json_words(asdict(found)))
        return
    typer.echo(
        f"moved {counted(found.runs, 'run')} and {counted(found.experiments, 'experiment')} to "
        f"{target}"
    )
    for words in found.faults:
        typer.echo(f"it was damaged before: {words}", err=True)
