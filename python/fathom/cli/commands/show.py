"""``fathom show``: one run or experiment, with all that is known about it."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fathom._finite import json_words
from fathom.cli.common import JsonOption, StoreOption, opened_store
from fathom.cli.views.experiments import show_outcome, show_plan
from fathom.cli.views.imported import show_imported
from fathom.cli.views.runs import (
    console,
    facts_table,
    local_time,
    runs_table,
    show_result,
    text_table,
)
from fathom.store.references import experiment_number

if TYPE_CHECKING:
    from fathom.store import Store, StoredRun

__all__ = ["ReferenceArgument", "show"]

ReferenceArgument = Annotated[
    str,
    typer.Argument(
        metavar="REFERENCE", help="A run (12), an experiment (e3), a list (12,14) or a baseline."
    ),
]
_HOST = ("host_name", "kernel", "cpu_model", "cpu_count", "cpu_governor", "memory_bytes")


def show(
    reference: ReferenceArgument, *, as_json: JsonOption = False, store: StoreOption = None
) -> None:
    """Show runs or an experiment."""
    with opened_store(store, make=False) as opened:
        experiment_id = experiment_number(reference)
        if experiment_id is not None:
            _experiment(opened, experiment_id, as_json=as_json)
            return
        found = [opened.runs.get(run_id) for run_id in opened.baselines.run_ids(reference)]
        if as_json:
            typer.echo(json_words([run_as_dict(run) for run in found]))
            return
        for run in found:
            _run(run)


def run_as_dict(run: StoredRun) -> dict[str, object]:
    """Return a run, whole, as it is exported."""
    whole: dict[str, object] = {
        "summary": dict(run.summary.columns),
        "arguments": run.arguments,
        "targets": run.targets,
    }
    if run.imported is not None:
        return whole | {"imported": run.imported.to_dict()}
    return whole | {"result": run.result.raw}


def _run(run: StoredRun) -> None:
    summary = run.summary
    terminal = console()
    facts = {
        "label": summary.label,
        "started": local_time(summary.started_at_unix_s),
        "outcome": summary.outcome,
        "failure": summary.failure,
        "arguments": shlex.join(run.arguments),
        **_origin(run),
        "tool_version": summary.columns["tool_version"],
        "io_backends": summary.columns["io_backends"],
        **{name: summary.columns[name] for name in _HOST},
    }
    terminal.print(facts_table(f"Run {summary.id}", facts))
    for target in run.targets:
        beneath = {name: value for name, value in target.items() if name not in _PLACE}
        terminal.print(facts_table(f"Target {target['position'] + 1}", beneath))
    if run.imported is not None:
        show_imported(run.imported)
    else:
        show_result(run.result)


def _origin(run: StoredRun) -> dict[str, object]:
    """Return where an imported run comes from."""
    columns = run.summary.columns
    if run.imported is None:
        # What came from another machine tells its file.
        return {"source_name": columns["source_name"]} if columns["source_name"] else {}
    names = ("origin", "origin_tool", "origin_tool_version", "source_name", "command_line")
    return {name: columns[name] for name in names}


_PLACE = {"run_id", "position"}
_KILLED = "killed: noted as running, but its process is gone; what it saved is whole"


def _experiment(store: Store, experiment_id: int, *, as_json: bool) -> None:
    one = store.experiments.get(experiment_id)
    found = store.runs.list(experiment_id=experiment_id)
    if as_json:
        whole = {**asdict(one), "runs": [dict(run.columns) for run in found]}
        typer.echo(json_words(whole))
        return
    facts = {
        "verb": one.verb,
        "name": one.name,
        "state": _KILLED if one.is_abandoned else one.state,
        "failure": one.failure,
        "started": local_time(one.started_at_unix_s),
        "ended": one.ended_at_unix_s and local_time(one.ended_at_unix_s),
    }
    terminal = console()
    terminal.print(facts_table(f"Experiment e{one.id}", facts))
    if one.plan:
        show_plan(one.plan)
    if one.outcome:
        show_outcome(one.outcome)
    if one.steps:
        rows = [
            [str(step.position + 1), step.label, step.state, step.failure or ""]
            for step in one.steps
        ]
        terminal.print(text_table("Steps", ("step>", "label~", "state", "why~"), rows))
    terminal.print(runs_table(reversed(found)))
