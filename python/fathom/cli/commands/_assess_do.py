"""What ``fathom assess`` does: begun or resumed, told while it lasts, and shown."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from fathom import runners
from fathom.cli.commands._resumed import resumed_id, resumed_permission
from fathom.cli.common import opened_store
from fathom.cli.fleet_choice import chosen_fleet
from fathom.cli.views.assess import show_assessment, show_foreseen
from fathom.cli.views.experiment_line import left_words
from fathom.cli.views.heartbeat import heartbeat
from fathom.cli.views.progress import live_progress
from fathom.experiments.assess import (
    AssessmentInterrupted,
    assess,
    foresee,
    outcome_of,
    resume_assess,
)
from fathom.tools.choose import fleet_runner
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fathom import EventCallback
    from fathom._permission import Permission
    from fathom.experiments.assess import Assessment, Effort
    from fathom.experiments.progress import Progress
    from fathom.runners.runner import PermittedRunner
    from fathom.store import Store

__all__ = ["Wish", "begun", "resumed", "show_plan_of"]


class Wish(NamedTuple):
    """What the command was told."""

    names: list[str]
    effort: Effort
    permission: Permission
    writes: bool
    steady: int
    label: str
    as_json: bool


def begun(wish: Wish, where: str | None) -> Assessment:
    """Assess, and show it."""

    def run(store: Store, runner: Any, **told: Any) -> Assessment:  # noqa: ANN401 - Handed on.
        return assess(
            store,
            runner,
            wish.names,
            wish.effort,
            writes=wish.writes,
            overwrite=wish.permission.overwrite,
            allow_write=wish.permission.allow_write,
            steady_seconds=wish.steady,
            label=wish.label,
            **told,
        )

    with opened_store(where) as store:
        return _shown(store, run, as_json=wish.as_json)


def resumed(
    reference: str, where: str | None, permission: Permission, *, as_json: bool
) -> Assessment:
    """Go on with an assessment, and show it."""
    with opened_store(where, make=False) as store:
        experiment_id = resumed_id(store, "assess", reference)
        resumed_permission(store, experiment_id, permission)

        def run(store: Store, runner: Any, **told: Any) -> Assessment:  # noqa: ANN401 - Handed on.
            return resume_assess(store, experiment_id, runner, permission=permission, **told)

        return _shown(store, run, as_json=as_json)


def _shown(store: Store, run: Callable[..., Assessment], *, as_json: bool) -> Assessment:
    """Run, and show what was found, also if it was interrupted."""
    with live_progress(quiet=as_json) as on_event, _told(quiet=as_json) as tell:
        runner = _runner(store, on_event)
        try:
            found = run(store, runner, on_progress=tell, on_abandoned=_tell_abandoned)
        except AssessmentInterrupted as interruption:
            _show(store, interruption.assessment, as_json=as_json)
            raise
    _show(store, found, as_json=as_json)
    return found


def _runner(store: Store, on_event: EventCallback | None) -> PermittedRunner:
    fleet = chosen_fleet()
    if fleet is not None:
        return fleet_runner(store, fleet).telling(on_event)
    return runners.NativeRunner(store, on_event=on_event)


@contextmanager
def _told(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Return what shows how far it is; through a pipe at least each 10 s."""
    with heartbeat(quiet=quiet) as beat:

        def tell(now: Progress) -> None:
            place = f"[{now.done + 1}/{now.expected:.0f}]"
            words = f"{place} {left_words(now)} left: {now.label}"
            if beat is None:
                typer.echo(words, err=True)
            else:
                beat.say(words, f"{place} {now.label}")

        yield tell


def _tell_abandoned(path: Path, size_bytes: int) -> None:
    typer.echo(
        f"removed {path} ({size_bytes // MIB} MiB), which an assessment that was killed had left",
        err=True,
    )


def show_plan_of(wish: Wish) -> None:
    """Show what it would do."""
    found = foresee(wish.names, wish.effort, writes=wish.writes, steady_seconds=wish.steady)
    show_foreseen(found, as_json=wish.as_json)


def _show(store: Store, found: Assessment, *, as_json: bool) -> None:
    if as_json:
        whole = {"experiment_id": found.experiment_id} | outcome_of(found)
        typer.echo(json.dumps(whole, indent=2))
        return
    show_assessment(found)
    typer.echo(f"\nSaved as experiment e{found.experiment_id} in {store.name}")
