"""``fathom scale``: one load from more and more hosts of a fleet."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import experiments, tools
from fathom._finite import json_words
from fathom._permission import typed
from fathom.cli.commands._foresight import refuse_what_cannot_run
from fathom.cli.commands._resumed import (
    refuse_what_a_plan_has,
    resumed_id,
    resumed_permission,
    resumed_runner,
)
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED
from fathom.cli.fleet_choice import chosen_fleet, resumed_by, then_resumed_by
from fathom.cli.views.experiment_line import experiment_line
from fathom.cli.views.runs import console, text_table
from fathom.engine import load_of
from fathom.units import ms_words

if TYPE_CHECKING:
    from fathom._permission import Permission
    from fathom.experiments.scale import ScalePoint, Scaling
    from fathom.fleet.address import FleetAddress
    from fathom.fleet.runner import FleetRunner
    from fathom.store import Store

__all__ = ["scale", "show_scaling"]

_DURATION_S = 10


def scale(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    duration: Annotated[int, typer.Option(help="Of each run.")] = _DURATION_S,
    resume: Annotated[
        str | None,
        typer.Option(help="Go on with one that was ended: its experiment, such as e7, or last."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="A word to find the runs by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure one load from 1, 2, 3 and more hosts, and say what each further one brings.

    The arguments are DiskSpd's, for each host; --fleet names the hosts. The share of linear is the
    sum beside what as many hosts would do if none were in the way of another.
    """
    arguments, permission = typed(context.args)
    try:
        if resume is not None:
            given = {"duration": duration if duration != _DURATION_S else None, "label": label}
            refuse_what_a_plan_has("scale", arguments, given)
            with opened_store(store, make=False) as opened:
                found, name = _resumed(opened, resume, permission, quiet=as_json), opened.name
        else:
            words = [f"-d{duration}", *arguments]
            fleet = _usable_fleet(words, permission)
            with opened_store(store) as opened:
                runner = tools.fleet_runner(opened, fleet, permission)
                found, name = _begun(opened, runner, words, label, quiet=as_json), opened.name
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(f"The runs that are done are saved: {resumed_by('scale')}", err=True)
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    show_scaling(found, name, as_json=as_json)
    if found.failure is not None:
        fail(found.failure + then_resumed_by("scale", found.experiment_id), EXIT_FAILED)


def _usable_fleet(words: list[str], permission: Permission) -> FleetAddress:
    """Return the fleet; what it cannot measure is reported before anything begins."""
    fleet = chosen_fleet()
    if fleet is None:
        raise fathom.InvalidRequestError(
            "name the fleet: --fleet ADDRESS --tls FOLDER, or --fleet local:4 to try it"
        )
    load_of(words)
    refuse_what_cannot_run([words], permission, fleet.runner_name())
    return fleet


def _begun(
    store: Store, runner: FleetRunner, words: list[str], label: str | None, *, quiet: bool
) -> Scaling:
    with experiment_line("runs", quiet=quiet) as tell:
        return experiments.measure_scale(store, runner, words, label=label or "", on_progress=tell)


def _resumed(store: Store, reference: str, permission: Permission, *, quiet: bool) -> Scaling:
    experiment_id = resumed_id(store, "scale", reference)
    fleet = tools.fleet_named(resumed_runner(store, experiment_id, None))
    if fleet is None:
        raise fathom.InvalidRequestError(
            f"experiment e{experiment_id} names no fleet to go on with: scale again"
        )
    resumed_permission(store, experiment_id, permission)
    runner = tools.fleet_runner(store, fleet, permission)
    with experiment_line("runs", quiet=quiet) as tell:
        return experiments.resume_scale(store, experiment_id, runner, on_progress=tell)


def show_scaling(found: Scaling, store: str, *, as_json: bool) -> None:
    """Show what each number of hosts did, and what that says."""
    if as_json:
        typer.echo(json_words(asdict(found)))
        return
    columns = ("hosts>", "IOPS>", "MiB/s>", "p99 ms>", "% of linear>")
    console().print(text_table("", columns, [_row(one) for one in found.points]))
    for sentence in experiments.scale_sentences(found):
        typer.echo(sentence)
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store}")


def _row(one: ScalePoint) -> list[str]:
    def shown(value: float | None, form: str, unit: float = 1) -> str:
        return "-" if value is None else format(value / unit, form)

    return [
        str(one.hosts),
        shown(one.iops, ",.0f"),
        shown(one.mib_per_s, ",.2f"),
        "-" if one.latency_p99_ns is None else ms_words(one.latency_p99_ns),
        shown(one.linear_share, ".0f", 0.01),
    ]
