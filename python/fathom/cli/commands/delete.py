"""``fathom delete``: runs and experiments out of the store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.store.references import experiment_number
from fathom.units import counted

if TYPE_CHECKING:
    from fathom.store import Store

__all__ = ["delete"]


def delete(
    references: Annotated[
        list[str],
        typer.Argument(metavar="REFERENCE...", help="Runs (12 or 12,14), experiments (e3)."),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Delete runs, or experiments with their runs. What a baseline names is kept."""
    with opened_store(store, make=False) as opened:
        named, experiments = _named(opened, references)
        run_ids = named.union(*(opened.baselines.run_ids(f"e{one}") for one in experiments))
        what = f"{counted(len(run_ids), 'run')} and {counted(len(experiments), 'experiment')}"
        _ask(f"Delete {what} from {opened.name}?", yes=yes)
        opened.runs.delete(named, experiment_ids=experiments)
        if as_json:
            gone = {"runs": len(run_ids), "run_ids": sorted(named), "experiment_ids": experiments}
            typer.echo(json_words({"deleted": gone}))
            return
        typer.echo(f"deleted {what}")


def _named(store: Store, references: list[str]) -> tuple[set[int], list[int]]:
    """Return the runs that are named themselves, and the experiments; a list may have both."""
    parts = [part.strip() for reference in references for part in reference.split(",")]
    numbers = {part: experiment_number(part) for part in parts}
    experiments = {number: None for number in numbers.values() if number is not None}
    others = [part for part, number in numbers.items() if number is None]
    named = {run_id for part in others for run_id in store.baselines.run_ids(part)}
    return named, [*experiments]


def _ask(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"{question} Nobody can answer here: add --yes", EXIT_INVALID)
    typer.confirm(question, abort=True)
