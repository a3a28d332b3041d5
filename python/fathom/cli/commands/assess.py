"""``fathom assess``: what storage is good for."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import fathom
from fathom import runners, tools
from fathom._finite import json_words
from fathom._permission import Permission
from fathom.cli.commands._foresight import refuse_what_cannot_run
from fathom.cli.commands._resumed import (
    refuse_what_a_plan_has,
    resumed_id,
    resumed_permission,
    resumed_runner,
)
from fathom.cli.common import (
    DryRunOption,
    JsonOption,
    StoreOption,
    exit_code,
    fail,
    is_there,
    opened_store,
)
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.fleet_choice import chosen_fleet, resumed_by
from fathom.cli.views.assess import failure_words, show_assessment, show_foreseen
from fathom.cli.views.experiment_line import left_words
from fathom.cli.views.heartbeat import heartbeat
from fathom.cli.views.progress import live_progress
from fathom.experiments import assess as assessing
from fathom.units import MIB, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fathom.experiments.assess import Assessment, Effort, Foreseen
    from fathom.experiments.progress import Progress
    from fathom.fleet.address import FleetAddress
    from fathom.runners.runner import PermittedRunner
    from fathom.store import Store

__all__ = ["Wish", "assess", "assess_and_end", "begun", "effort_of"]


class Wish(NamedTuple):
    """What the command was told."""

    names: list[str]
    effort: Effort
    permission: Permission
    writes: bool
    steady: int
    label: str
    as_json: bool
    beside: dict[str, object] = {}  # noqa: RUF012 - Nobody changes it.
    """What the JSON tells beside the assessment."""


def begun(wish: Wish, where: str | None) -> Assessment:
    """Assess, and show it."""

    def run(store: Store, runner: Any, **told: Any) -> Assessment:  # noqa: ANN401 - Handed on.
        return assessing.assess(
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

    fleet = chosen_fleet()
    _refuse_what_is_written(wish)
    # A fleet's scratch files are on its hosts. What cannot be assessed, the assessment says, after
    # it has made room by removing what a killed one had left; without a store, there was none.
    if fleet is None:
        with suppress(assessing.TargetError) if is_there(where) else nullcontext():
            _tell_less(wish, assessing.foresee(wish.names, wish.effort, writes=wish.writes))
    with opened_store(where) as store:
        return _shown(store, run, fleet, as_json=wish.as_json, beside=wish.beside)


def resumed(
    reference: str, where: str | None, permission: Permission, *, as_json: bool
) -> Assessment:
    """Go on with an assessment, and show it."""
    with opened_store(where, make=False) as store:
        experiment_id = resumed_id(store, "assess", reference)
        fleet = tools.fleet_named(resumed_runner(store, experiment_id, None))
        resumed_permission(store, experiment_id, permission)
        before = assessing.hosts_before(store, experiment_id)

        def run(store: Store, runner: Any, **told: Any) -> Assessment:  # noqa: ANN401 - Handed on.
            return assessing.resume_assess(
                store, experiment_id, runner, permission=permission, **told
            )

        return _shown(store, run, fleet, as_json=as_json, hosts=before)


def _refuse_what_is_written(wish: Wish, *, is_asked: bool = False) -> None:
    """Refuse before the first cell what would be refused at the first that writes."""
    if not wish.writes:
        return
    fleet, loads = chosen_fleet(), assessing.writing_loads(wish.names)
    runner = None if fleet is None else fleet.runner_name()
    refuse_what_cannot_run(loads, wish.permission, runner, is_asked=is_asked)


def _shown(  # noqa: PLR0913 - All but the first three have names.
    store: Store,
    run: Callable[..., Assessment],
    fleet: FleetAddress | None,
    *,
    as_json: bool,
    beside: Mapping[str, object] | None = None,
    hosts: Sequence[str] = (),
) -> Assessment:
    """Run, and show what was found, also if it was interrupted.

    ``hosts`` are those of a fleet that have measured before.
    """
    with live_progress(quiet=as_json) as on_event, _told(quiet=as_json) as tell:
        used = None
        runner: PermittedRunner = runners.NativeRunner(store, on_event=on_event)
        if fleet is not None:
            runner = many = tools.fleet_runner(store, fleet).telling(on_event)
            if hosts:
                # Others may be there as well, or one of these may be gone.
                many.keep_hosts(hosts)
            used = assessing.AssessingFleet(fleet.runner_name(), many.host_count())
        try:
            found = run(store, runner, fleet=used, on_progress=tell, on_abandoned=_tell_abandoned)
        except assessing.AssessmentInterrupted as interruption:
            _show(store, interruption.assessment, beside or {}, as_json=as_json)
            raise
    _show(store, found, beside or {}, as_json=as_json)
    return found


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
    found = assessing.foresee(
        wish.names, wish.effort, writes=wish.writes, steady_seconds=wish.steady
    )
    show_foreseen(found, as_json=wish.as_json)
    _tell_less(wish, found)
    _refuse_what_is_written(wish, is_asked=True)
    if chosen_fleet() is not None and not wish.as_json:
        typer.echo("All hosts of the fleet do so together, each with a scratch file of its own.")


def _tell_less(wish: Wish, found: Foreseen) -> None:
    """Say where a scratch file is smaller than requested, and why."""
    for one in found.plans:
        target, asked = one.target, wish.effort.size_bytes
        if target.is_scratch and target.size_bytes < asked:
            typer.echo(
                f"note: {target.name}: the scratch file has {size_words(target.size_bytes)}, not "
                f"{size_words(asked)}: as much room as it takes has to stay free",
                err=True,
            )


def _show(store: Store, found: Assessment, beside: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        whole = {**beside, "experiment_id": found.experiment_id} | assessing.outcome_of(found)
        typer.echo(json_words(whole))
        return
    show_assessment(found)
    typer.echo(f"\nSaved as experiment e{found.experiment_id} in {store.name}")


def assess(  # noqa: PLR0913 - Each is an option of the command.
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET...", help="Files, folders or devices.")
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="About 30 s.")] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="Up to hours.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="For each target, instead of 120s; 10s at least.")
    ] = None,
    size_mib: Annotated[int | None, typer.Option(help="Of a scratch file, such as 4G.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Also write to what exists: its data are lost.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --write, also recognisable data.")
    ] = False,
    allow_write: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERIAL", help="With --write, the device with this on it, as diskspd says."
        ),
    ] = None,
    steady: Annotated[
        int,
        typer.Option(
            metavar="SECONDS", help="Also go on until steady, at most so long; 20s at least."
        ),
    ] = 0,
    dry_run: DryRunOption = False,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Go on with one that was ended, and try again what failed: e7, its experiment, "
            "or last."
        ),
    ] = None,
    label: Annotated[str | None, typer.Option(help="A word to find the assessment by.")] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure what storage can do, and say what it is good for.

    In a folder a scratch file is made and removed again. A file or device is only read, unless
    --write says otherwise.
    """
    effort = effort_of(quick=quick, thorough=thorough, seconds=seconds, size_mib=size_mib)
    permission = Permission(overwrite, tuple(allow_write or ()))
    _check(targets or [], resume, permission, writes=write)
    given: dict[str, object] = {
        "quick": quick,
        "thorough": thorough,
        "time": seconds,
        "size": size_mib,
    }
    given |= {"write": write, "steady": steady, "dry-run": dry_run, "label": label}
    wish = Wish(targets or [], effort, permission, write, steady, label or "", as_json)

    def run() -> Assessment | None:
        if resume is not None:
            refuse_what_a_plan_has("assessment", targets or [], given)
            return resumed(resume, store, permission, as_json=as_json)
        if dry_run:
            show_plan_of(wish)
            return None
        return begun(wish, store)

    assess_and_end(run)


def assess_and_end(run: Callable[[], Assessment | None]) -> None:
    """Assess, or show what would be; what goes wrong ends the command in words."""
    try:
        found = run()
    except (fathom.RunInterrupted, fathom.ExperimentInterrupted) as interruption:
        fail(
            f"{interruption}; what was done is saved: {resumed_by('assess')}",
            exit_code(interruption),
        )
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found is not None and found.failures:
        again = f"try it again with: {resumed_by('assess', f'e{found.experiment_id}')}"
        fail(f"{failure_words(found)}; {again}", EXIT_FAILED)


def _check(names: list[str], resume: str | None, permission: Permission, *, writes: bool) -> None:
    if (resume is None) != bool(names):
        fail("name the targets, or the assessment to --resume: one of both", EXIT_INVALID)
    if resume is None and not writes:
        for option, is_given in (
            ("--overwrite", permission.overwrite),
            ("--allow-write", permission.allow_write),
        ):
            if is_given:
                fail(f"{option} needs --write", EXIT_INVALID)


def effort_of(
    *,
    quick: bool = False,
    thorough: bool = False,
    seconds: float | None = None,
    size_mib: int | None = None,
) -> Effort:
    """Return how much to measure."""
    if quick and thorough:
        fail("--quick and --thorough exclude each other", EXIT_INVALID)
    if seconds is not None and seconds < 10:  # noqa: PLR2004 - As the help says.
        fail("--time is at least 10s", EXIT_INVALID)
    effort = assessing.EFFORTS["quick" if quick else "thorough" if thorough else "default"]
    if seconds is not None:
        effort = replace(effort, seconds=seconds)
    return replace(effort, size_bytes=size_mib << 20) if size_mib is not None else effort
