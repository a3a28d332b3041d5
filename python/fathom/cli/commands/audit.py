"""``fathom audit``: who allowed to destroy what."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, listed_store
from fathom.cli.views.runs import console, local_time, text_table

__all__ = ["audit"]


def audit(
    *,
    limit: Annotated[int, typer.Option(help="Not more than so many lines.")] = 50,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """List what was allowed with --overwrite and --allow-write, the newest first.

    A line is written before the run, so that one without a run was refused, or its run not saved.
    """
    with listed_store(store, as_json=as_json) as opened:
        found = opened.overrides.list(limit=limit)
        if as_json:
            typer.echo(json_words([asdict(one) for one in found]))
            return
        if not found:
            typer.echo(f"nothing was allowed in {opened.name}")
            return
    columns = ("when", "who~", "allowed", "target~", "was~", "run", "arguments~")
    rows = [
        [
            local_time(one.at_unix_s),
            f"{one.user_name} ({one.user_id}) on {one.host_name}",
            one.permission,
            one.target_path,
            one.target_identity,
            f"e{one.experiment_id}" if one.experiment_id else str(one.run_id or "none"),
            one.command,
        ]
        for one in found
    ]
    console().print(text_table("", columns, rows, spare=("arguments", "was")))
