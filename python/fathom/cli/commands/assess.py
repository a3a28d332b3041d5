"""``fathom assess``: what storage is good for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.assess import failure_words, show_assessment
from fathom.cli.views.progress import live_progress
from fathom.units import MIB

if TYPE_CHECKING:
    from pathlib import Path

    from fathom.experiments.assess import Assessment, Effort
    from fathom.store import Store

__all__ = ["assess"]

_MINUTE_S = 60


def assess(  # noqa: PLR0913 - Each is an option of the command.
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Files, folders or devices.")
    ],
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
        int, typer.Option(metavar="SECONDS", help="Also go on until steady, at most so long.")
    ] = 0,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Measure what storage can do, and say what it is good for.

    In a folder, and where nothing has the name yet, a scratch file is made and removed again. What
    exists is only read, unless --write says otherwise.
    """
    effort = _effort(quick=quick, thorough=thorough, seconds=seconds, size_mib=size_mib)
    if overwrite and not write:
        fail("--overwrite needs --write", EXIT_INVALID)
    if allow_write and not write:
        fail("--allow-write needs --write", EXIT_INVALID)
    from fathom.experiments.assess import AssessmentInterrupted  # noqa: PLC0415 - Loads NumPy.
    from fathom.experiments.assess import assess as assess_targets  # noqa: PLC0415 - The same.
    from fathom.runners import NativeRunner  # noqa: PLC0415 - The same.

    try:
        with opened_store(store) as opened, live_progress(quiet=as_json) as on_event:
            try:
                found = assess_targets(
                    opened,
                    NativeRunner(opened, on_event=on_event),
                    targets,
                    effort,
                    writes=write,
                    overwrite=overwrite,
                    allow_write=allow_write or (),
                    steady_seconds=steady,
                    on_cell=_tell_cell,
                    on_abandoned=_tell_abandoned,
                )
            except AssessmentInterrupted as interruption:
                _show(opened, interruption.assessment, as_json=as_json)
                raise
            _show(opened, found, as_json=as_json)
    except KeyboardInterrupt as interruption:
        fail(f"{interruption}; what was done is saved: fathom list", exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failures:
        fail(failure_words(found), EXIT_FAILED)


def _tell_cell(words: str, number: int, count: int, left_s: float) -> None:
    minutes, rest = divmod(round(max(left_s, 0)), _MINUTE_S)
    typer.echo(f"[{number}/{count}] about {minutes}:{rest:02} left: {words}", err=True)


def _tell_abandoned(path: Path, size_bytes: int) -> None:
    typer.echo(
        f"removed {path} ({size_bytes // MIB} MiB), which an assessment that was killed had left",
        err=True,
    )


def _show(store: Store, found: Assessment, *, as_json: bool) -> None:
    if as_json:
        from fathom.experiments.assess import outcome_of  # noqa: PLC0415 - Loads NumPy.

        whole = {"experiment_id": found.experiment_id} | outcome_of(found)
        typer.echo(json.dumps(whole, indent=2))
        return
    show_assessment(found)
    typer.echo(f"\nSaved as experiment e{found.experiment_id} in {store.name}")


def _effort(*, quick: bool, thorough: bool, seconds: float | None, size_mib: int | None) -> Effort:
    from fathom.experiments.assess import EFFORTS  # noqa: PLC0415 - Loads NumPy.

    if quick and thorough:
        fail("--quick and --thorough exclude each other", EXIT_INVALID)
    if seconds is not None and seconds < 10:  # noqa: PLR2004 - As the help says.
        fail("--time is at least 10s", EXIT_INVALID)
    effort = EFFORTS["quick" if quick else "thorough" if thorough else "default"]
    if seconds is not None:
        effort = replace(effort, seconds=seconds)
    return replace(effort, size_bytes=size_mib << 20) if size_mib is not None else effort
