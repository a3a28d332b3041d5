"""``fathom baseline``: names for runs to compare with."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from fathom._finite import json_words
from fathom.cli.commands.show import ReferenceArgument
from fathom.cli.common import JsonOption, StoreOption, listed_store, opened_store
from fathom.cli.views.runs import console, local_time, text_table

__all__ = ["app"]

app = typer.Typer(help="Names for runs to compare with.", no_args_is_help=True)
_Name = Annotated[str, typer.Argument(metavar="NAME")]


@app.command("set")
def set_(
    name: _Name,
    reference: ReferenceArgument,
    *,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Give a run (12) or an experiment (e3) a name; a name that is in use moves."""
    with opened_store(store, make=False) as opened:
        opened.baselines.set(name, reference)
        if as_json:
            (made,) = (one for one in opened.baselines.list() if one.name == name)
            typer.echo(json_words(asdict(made)))


@app.command("list")
def list_(*, as_json: JsonOption = False, store: StoreOption = None) -> None:
    """List the names."""
    with listed_store(store, as_json=as_json) as opened:
        if as_json:
            typer.echo(json_words([asdict(one) for one in opened.baselines.list()]))
            return
        rows = [
            [
                one.name,
                f"e{one.experiment_id}" if one.run_id is None else str(one.run_id),
                local_time(one.set_at_unix_s),
            ]
            for one in opened.baselines.list()
        ]
        console().print(text_table("", ("baseline~", "stands for", "since"), rows))


@app.command("remove")
def remove(name: _Name, *, as_json: JsonOption = False, store: StoreOption = None) -> None:
    """Remove a name; its runs stay."""
    with opened_store(store, make=False) as opened:
        opened.baselines.delete(name)
        if as_json:
            typer.echo(json_words({"removed": name}))
