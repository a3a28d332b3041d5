"""``fathom density``: how many databases a machine carries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import experiments
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
    from fathom.experiments.density import DensityPlan

__all__ = ["density"]


def density(  # noqa: PLR0913 - Each is an option of the command.
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where all is made, and removed again.")
    ],
    *,
    databases: Annotated[
        str, typer.Option(help="How many at once: 1..16, which doubles, or 1,2,3.")
    ] = "1..4",
    seconds: Annotated[int, typer.Option("--time", help="Of each step.")] = 60,
    scale: Annotated[int, typer.Option(help="Of pgbench: 100,000 accounts, about 16 MiB.")] = 10,
    clients: Annotated[int, typer.Option(help="Of pgbench, for each database.")] = 4,
    load: Annotated[
        str,
        typer.Option(
            help="Of pgbench: select-only loads CPUs while all is in memory, simple-update and "
            "tpcb-like also the device."
        ),
    ] = "select-only",
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
        failure = _measured(plan, store, label or "", keep=keep, as_json=as_json)
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        typer.echo("The steps that are done are saved: fathom list --experiments", err=True)
        fail(interruption, exit_code(interruption))
    except KeyboardInterrupt as interruption:
        fail("interrupted; nothing was left behind", exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if failure is not None:
        fail(failure, EXIT_FAILED)


def _measured(
    plan: DensityPlan, where: str | None, label: str, *, keep: bool, as_json: bool
) -> str | None:
    """Measure, show it, and return why it ended early."""

    def tell(words: str) -> None:
        typer.echo(words, err=True)

    with (
        opened_store(where) as opened,
        densities.runner_of(plan, opened, keep=keep, tell=tell) as runner,
        experiment_line("steps", quiet=as_json) as line,
    ):
        found = densities.run_density(opened, runner, plan, label=label, on_progress=line)
    if as_json:
        whole = {"experiment_id": found.experiment_id, "plan": plan.as_dict()}
        typer.echo(
            json.dumps(
                {**whole, **densities.outcome_of(plan, found.steps, found.failure)}, indent=2
            )
        )
    else:
        show_density(found)
        typer.echo(f"Saved as experiment e{found.experiment_id} in {opened.name}")
    return found.failure
