"""``fathom workloads``: what can be run by name."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import workloads as loads_by_name
from fathom._finite import json_words
from fathom.cli.common import JsonOption, fail
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from fathom.workloads import Workload

__all__ = ["workloads"]


def workloads(
    name: Annotated[str | None, typer.Argument(help="Show this one, with its sources.")] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the workloads: those of Fathom, and your own in the folder that is named below."""
    try:
        found = (
            loads_by_name.all_workloads() if name is None else [loads_by_name.find_workload(name)]
        )
    except fathom.FathomError as error:
        fail(error, EXIT_INVALID)
    if as_json:
        typer.echo(json_words([{**asdict(one), "path": str(one.path)} for one in found]))
    elif name is not None:
        typer.echo(_words(found[0]))
    else:
        rows = [[one.name, one.title, str(len(one.steps)), one.size] for one in found]
        console().print(text_table("", ("workload", "what it is", "runs>", "file>"), rows))
        typer.echo(f"Your own: {loads_by_name.user_folder()}/NAME.toml")


def _words(workload: Workload) -> str:
    lines = [workload.title, "", workload.reason, "", "Sources:"]
    lines += [f"- {one}" for one in workload.sources]
    if workload.left_out:
        lines += ["", "Left out:", *(f"- {one}" for one in workload.left_out)]
    lines += ["", f"A file that does not exist yet is created with {workload.size}.", ""]
    for step in workload.steps:
        lines.append(f"diskspd {shlex.join(step.arguments)} TARGET")
    return "\n".join([*lines, "", str(workload.path)])
