"""``fathom delete``: runs and experiments out of the store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, fail, opened_store
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.store.references import experiment_number
from fathom.units import counted

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
        numbers = {one: experiment_number(one) for one in references}
        experiments = [number for number in numbers.values() if number is not None]
        others = [one for one, number in numbers.items() if number is None]
        run_ids = {run_id for one in others for run_id in opened.baselines.run_ids(one)}
        count = len(run_ids) + sum(opened.experiments.get(one).run_count for one in experiments)
        _ask(
            f"Delete {counted(count, 'run')} and {counted(len(experiments), 'experiment')} "
            f"from {opened.name}?",
            yes=yes,
        )
        if run_ids:
            opened.runs.delete(run_ids)
        for experiment_id in experiments:
            opened.experiments.delete(experiment_id)
        if as_json:
            gone = {"runs": count, "run_ids": sorted(run_ids), "experiment_ids": experiments}
            typer.echo(json_words({"deleted": gone}))
            return
        typer.echo(f"deleted {counted(count, 'run')} and {counted(len(experiments), 'experiment')}")


def _ask(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"{question} Nobody can answer here: add --yes", EXIT_INVALID)
    typer.confirm(question, abort=True)
