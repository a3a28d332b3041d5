"""``fathom density``: how many databases a machine carries."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import experiments
from fathom._finite import json_words
from fathom.cli.commands._resumed import refuse_what_a_plan_has, resumed_id
from fathom.cli.common import (
    DryRunOption,
    JsonOption,
    StoreOption,
    exit_code,
    fail,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.density import show_density, show_foreseen
from fathom.cli.views.experiment_line import experiment_line
from fathom.experiments import density as densities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fathom.experiments.density import Density, DensityPlan
    from fathom.store import Store

__all__ = ["density"]

_COUNTS, _SECONDS, _SCALE, _CLIENTS, _LOAD = "1..4", 60, 10, 4, "select-only"


def density(  # noqa: PLR0913 - Each is an option of the command.
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where all is made, and removed again.")
    ],
    *,
    databases: Annotated[
        str, typer.Option(help="How many at once: 1..16, which doubles, or 1,2,3.")
    ] = _COUNTS,
    seconds: Annotated[int, typer.Option("--time", help="Of each step.")] = _SECONDS,
    scale: Annotated[
        int, typer.Option(help="Of pgbench: 100,000 accounts, about 16 MiB.")
    ] = _SCALE,
    clients: Annotated[int, typer.Option(help="Of pgbench, for each database.")] = _CLIENTS,
    load: Annotated[
        str,
        typer.Option(
            help="Of pgbench: select-only loads CPUs while all is in memory, simple-update and "
            "tpcb-like also the device."
        ),
    ] = _LOAD,
    synthetic: Annotated[
        str | None,
        typer.Option(help="Load files with this workload in place of databases."),
    ] = None,
    size: Annotated[
        str | None, typer.Option(help="Of each file, instead of the workload's own.")
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(help="Under which root has databases run: who called sudo, else nobody."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave what was made; all is ended.")
    ] = False,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Go on with one that was ended, in this folder: e7, its experiment, or last."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="A word to find it by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Load more and more databases at once, and say how many this machine carries.

    Private PostgreSQL clusters are made in the folder, loaded with pgbench, ended and removed; no
    other server is touched.
    """
    if size is not None and synthetic is None:
        fail("--size needs --synthetic: databases have a --scale", EXIT_INVALID)
    try:
        if resume is not None:
            planned = {"label": label, "dry-run": dry_run, "synthetic": synthetic}
            planned |= {"size": size, "account": account, "databases": databases != _COUNTS}
            planned |= {"time": seconds != _SECONDS, "scale": scale != _SCALE}
            planned |= {"clients": clients != _CLIENTS, "load": load != _LOAD}
            refuse_what_a_plan_has("density", (), planned)
            _end(_resumed(resume, folder, store, keep=keep, as_json=as_json))
            return
        if synthetic is not None:
            of_databases = {"account": account is not None, "scale": scale != _SCALE}
            of_databases |= {"clients": clients != _CLIENTS, "load": load != _LOAD}
            _refuse_of_databases(of_databases)
        plan = densities.plan_density(
            densities.DensityPlan(
                folder=folder,
                counts=experiments.parse_counts("--databases", databases),
                seconds=seconds,
                kind="postgresql" if synthetic is None else "files",
                scale=scale,
                clients=clients,
                load=load,
                workload=synthetic,
                size=size,
                account=account,
            )
        )
        if dry_run:
            show_foreseen(plan, as_json=as_json)
            return
        _end(_measured(plan, store, label or "", keep=keep, as_json=as_json))
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo(
            "The steps that are done are saved: fathom density --resume last FOLDER", err=True
        )
        fail(interruption, exit_code(interruption))
    except KeyboardInterrupt as interruption:
        fail("interrupted; nothing was left behind", exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _refuse_of_databases(given: Mapping[str, bool]) -> None:
    name = next((name for name, is_given in given.items() if is_given), None)
    if name is not None:
        fail(f"--{name} is of databases, and --synthetic loads files: leave one out", EXIT_INVALID)


def _end(found: Density) -> None:
    if found.failure is not None:
        again = f"fathom density --resume e{found.experiment_id} {shlex.quote(found.plan.folder)}"
        fail(f"{found.failure.rstrip('.')}; try again with: {again}", EXIT_FAILED)


def _measured(
    plan: DensityPlan, where: str | None, label: str, *, keep: bool, as_json: bool
) -> Density:
    with (
        opened_store(where) as store,
        densities.runner_of(plan, store, keep=keep, tell=_tell) as runner,
        experiment_line("steps", quiet=as_json) as line,
    ):
        found = densities.run_density(store, runner, plan, label=label, on_progress=line)
    _show(store, found, as_json=as_json)
    return found


def _resumed(
    reference: str, folder: str, where: str | None, *, keep: bool, as_json: bool
) -> Density:
    """Go on with one; the folder is typed again, as a store may be somebody else's."""
    with opened_store(where, make=False) as store:
        experiment_id = resumed_id(store, "density", reference)
        plan = densities.resumed_plan(store, experiment_id, folder)
        with (
            densities.runner_of(plan, store, keep=keep, tell=_tell) as runner,
            experiment_line("steps", quiet=as_json) as line,
        ):
            found = densities.resume_density(store, runner, plan, experiment_id, on_progress=line)
    _show(store, found, as_json=as_json)
    return found


def _tell(words: str) -> None:
    typer.echo(words, err=True)


def _show(store: Store, found: Density, *, as_json: bool) -> None:
    if as_json:
        whole = {"experiment_id": found.experiment_id, "plan": found.plan.as_dict()}
        outcome = densities.outcome_of(found.plan, found.steps, found.failure)
        typer.echo(json_words({**whole, **outcome}))
        return
    show_density(found)
    typer.echo(f"Saved as experiment e{found.experiment_id} in {store.name}")
