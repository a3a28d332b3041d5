"""``fathom prepare``: what a target holds, filling it, preconditioning it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli._common import JsonOption, StoreOption, exit_code, fail, opened_store

if TYPE_CHECKING:
    from fathom.prepare import Look

__all__ = ["app"]

_BYTES_PER_MIB = 1 << 20

app = typer.Typer(
    help="Get a target ready: what it holds, fill it, precondition it.", no_args_is_help=True
)


@app.command("look")
def look(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Files or devices.")],
    *,
    whole: Annotated[
        bool, typer.Option("--whole", help="Read all of it, rather than samples.")
    ] = False,
    samples: Annotated[
        int, typer.Option(min=16, help="Of 64 KiB, of targets with more than 256 MiB of data.")
    ] = 1024,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Say what targets hold, and whether a read test on them would measure the device.

    Holes, unwritten and zero parts, and how far the rest compresses and repeats. Nothing is
    written.
    """
    from fathom.prepare import look as look_at  # noqa: PLC0415 - Loads NumPy.
    from fathom.prepare import look_data  # noqa: PLC0415 - The same.

    try:
        found = [look_at(target, samples=samples, whole=whole) for target in targets]
        with opened_store(store) as opened:
            for one in found:
                plan = {"kind": "look", "target": one.target.as_dict()}
                name = f"look {one.target.path}"
                experiment_id = opened.experiments.begin("prepare", name, plan)
                opened.experiments.finish(experiment_id, "complete", outcome=look_data(one))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if as_json:
        typer.echo(json.dumps([look_data(one) for one in found], indent=2))
        return
    for one in found:
        _show(one)


def _show(found: Look) -> None:
    size = found.target.size_bytes / _BYTES_PER_MIB
    kind = "device" if found.target.is_device else "file"
    typer.echo(f"{found.target.path}: {kind} of {size:,.1f} MiB")
    for sentence in found.sentences:
        typer.echo(f"  {sentence}")
