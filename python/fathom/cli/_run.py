"""``fathom run``: one measurement with DiskSpd's arguments, saved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli._shown import show_result

if TYPE_CHECKING:
    from fathom import Result
    from fathom.store import Store

__all__ = ["run"]


def run(
    context: typer.Context,
    *,
    label: Annotated[str, typer.Option(help="A word to find the run by.")] = "",
    no_save: Annotated[bool, typer.Option("--no-save", help="Do not save the run.")] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure once; the arguments are those of diskspd, which diskspd --help lists."""
    if no_save:
        _measure(context.args, None, label, as_json=as_json)
        return
    # Opened first: a store that cannot be used is told before anything is measured.
    with opened_store(store) as opened:
        _measure(context.args, opened, label, as_json=as_json)


def _measure(arguments: list[str], store: Store | None, label: str, *, as_json: bool) -> None:
    ending: BaseException | None = None
    try:
        result = fathom.run(arguments)
    except (fathom.RunFailedError, fathom.RunInterrupted) as error:
        result, ending = error.result, error
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    _show(result, as_json=as_json)
    if store is not None:
        failures = [str(ending)] if isinstance(ending, fathom.RunFailedError) else []
        run_id = store.runs.save(result, arguments, label=label, failures=failures)
        if not as_json:
            typer.echo(f"Saved as run {run_id} in {store.name}")
    if ending is not None:
        fail(ending, exit_code(ending))


def _show(result: Result, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(dict(result.raw), indent=2))
    else:
        show_result(result)
