"""``fathom assess``: what storage is good for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom._permission import Permission
from fathom.cli.commands._assess_do import Wish, begun, resumed, show_plan_of
from fathom.cli.commands._resumed import refuse_what_a_plan_has
from fathom.cli.common import DryRunOption, JsonOption, StoreOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.assess import failure_words
from fathom.experiments import assess as assessing

if TYPE_CHECKING:
    from fathom.experiments.assess import Effort

__all__ = ["assess"]


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

    In a folder, and where nothing has the name yet, a scratch file is made and removed again. What
    exists is only read, unless --write says otherwise.
    """
    effort = _effort(quick=quick, thorough=thorough, seconds=seconds, size_mib=size_mib)
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
    try:
        if resume is not None:
            refuse_what_a_plan_has("assessment", targets or [], given)
            found = resumed(resume, store, permission, as_json=as_json)
        elif dry_run:
            show_plan_of(wish)
            return
        else:
            found = begun(wish, store)
    except KeyboardInterrupt as interruption:
        fail(
            f"{interruption}; what was done is saved: fathom assess --resume last",
            exit_code(interruption),
        )
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if found.failures:
        again = f"try it again with: fathom assess --resume e{found.experiment_id}"
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


def _effort(*, quick: bool, thorough: bool, seconds: float | None, size_mib: int | None) -> Effort:

    if quick and thorough:
        fail("--quick and --thorough exclude each other", EXIT_INVALID)
    if seconds is not None and seconds < 10:  # noqa: PLR2004 - As the help says.
        fail("--time is at least 10s", EXIT_INVALID)
    effort = assessing.EFFORTS["quick" if quick else "thorough" if thorough else "default"]
    if seconds is not None:
        effort = replace(effort, seconds=seconds)
    return replace(effort, size_bytes=size_mib << 20) if size_mib is not None else effort
