"""``fathom list``: what the store holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, listed_store
from fathom.cli.views.runs import console, local_time, runs_table, text_table
from fathom.store.glance import newest_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.store import RunSummary, Store

__all__ = ["list_"]


def list_(  # noqa: PLR0913 - Each is an option of the command.
    *,
    label: Annotated[
        str | None,
        typer.Option(help="Only runs with this label or workload; * stands for any text."),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Only runs on a path, device, model or serial that contains this."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Not more than this many, newest first.")] = 50,
    experiments: Annotated[
        bool, typer.Option("--experiments", help="List experiments instead of runs.")
    ] = False,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """List saved runs, or experiments, the newest first."""
    all_runs = not experiments and label is None and device is None
    if all_runs and (newest := newest_runs(store, limit)):
        _runs(newest, as_json=as_json)
        return
    with listed_store(store, as_json=as_json) as opened:
        if experiments:
            _experiments(opened, limit, as_json=as_json)
            return
        found = opened.runs.list(label=label, device=device, limit=limit)
        if found or as_json:
            _runs(found, as_json=as_json)
        else:
            typer.echo(f"no such runs in {opened.name}")


def _runs(found: Sequence[RunSummary], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words([{**run.columns} for run in found]))
    else:
        console().print(runs_table(found))


def _experiments(store: Store, limit: int, *, as_json: bool) -> None:
    found = store.experiments.list(limit=limit)
    if as_json:
        typer.echo(json_words([asdict(one) for one in found]))
        return
    rows = [
        [
            f"e{one.id}",
            local_time(one.started_at_unix_s),
            one.verb,
            one.name,
            "killed" if one.is_abandoned else one.state,
            str(one.run_count),
        ]
        for one in found
    ]
    columns = ("experiment>", "started", "verb", "name~", "state", "runs>")
    spare = ("started", "verb")
    console().print(text_table("", columns, rows, spare=spare))
