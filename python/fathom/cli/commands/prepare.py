"""``fathom prepare``: what a target holds, filling it, preconditioning it."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

import fathom
from fathom._finite import json_words
from fathom._permission import Permission
from fathom.cli.commands._prepare_do import (
    Conditioning,
    check_fleet_fill,
    resume_any,
    run_fill,
    run_fleet_fill,
    run_served_fill,
)
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail, is_there, opened_store
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.fleet_choice import chosen_fleet
from fathom.cli.grammar import bytes_of
from fathom.cli.verbs import Passing
from fathom.cli.views.prepare import show_look
from fathom.experiments import prepare as preparing

__all__ = ["app"]


OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Data of others on the target may be lost.")
]
AllowWriteOption = Annotated[
    list[str] | None,
    typer.Option("--allow-write", metavar="DEVICE", help="As the engine's option of this name."),
]
ResumeOption = Annotated[
    str | None, typer.Option(help="Go on with what was ended: its experiment, as e7, or last.")
]

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
    found, failed = [], []
    for target in targets:
        try:
            found.append(preparing.look(target, samples=samples, whole=whole))
        except fathom.FathomError as error:
            failed.append(error)
    if found:
        with opened_store(store) as opened:
            for one in found:
                plan = {"kind": "look", "target": one.target.as_dict()}
                name = f"look {one.target.path}"
                experiment_id = opened.experiments.begin("prepare", name, plan)
                opened.experiments.finish(
                    experiment_id, "complete", outcome=preparing.look_data(one)
                )
    if as_json:
        typer.echo(json_words([preparing.look_data(one) for one in found]))
    else:
        for one in found:
            show_look(one)
    for why in failed:
        typer.echo(f"error: {why}", err=True)
    if failed:
        # Some were looked at: the command has failed in part. None was: as for that one.
        raise typer.Exit(EXIT_FAILED if found else exit_code(failed[0]))


@app.command("fill")
def fill(  # noqa: PLR0913 - Each is an option of the command.
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="A file, also a new one, or a device.")
    ] = None,
    *,
    size: Annotated[
        int | None,
        typer.Option(
            parser=bytes_of, help="Of a new file, such as 10G; of what exists, how much of it."
        ),
    ] = None,
    compress: Annotated[
        float, typer.Option(help="Bytes over what a compressor leaves of them: 2 for half.")
    ] = 1.0,
    dedupe: Annotated[
        float, typer.Option(help="Blocks over different ones: 1.5 if a third repeats.")
    ] = 1.0,
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Only holes, unwritten and zero parts.")
    ] = False,
    overwrite: OverwriteOption = False,
    allow_write: AllowWriteOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Fill a target with data, incompressible unless asked otherwise, and check what stands there.

    What is killed or interrupted goes on with --resume. With --fleet each host makes a file of
    --size, and keeps one that is complete: there, the same command goes on.
    """
    permission = Permission(overwrite, tuple(allow_write or ()))
    if (target is None) == (resume is None):
        fail("name the target, or what to --resume: one of both", EXIT_INVALID)
    try:
        fleet = chosen_fleet()
        if fleet is not None and resume is not None:
            fail("with --fleet, the command goes on that is given once more", EXIT_INVALID)
        if target is None:
            with opened_store(store, make=False) as opened:
                resume_any(opened, resume or "", permission, as_json=as_json)
            return
        asked: preparing.Asked = preparing.Asked(
            size_bytes=size,
            compress_ratio=compress,
            dedupe_ratio=dedupe,
            only_missing=only_missing,
            permission=permission,
        )
        if fleet is not None:
            check_fleet_fill(store, fleet, target, asked)
            with opened_store(store) as opened:
                run_fleet_fill(opened, fleet, target, asked, as_json=as_json)
        elif preparing.is_served_file(target):
            # Its server has the file, and nothing of it is saved.
            run_served_fill(target, asked, as_json=as_json)
        else:
            preparing.check_fill(target, asked)
            with opened_store(store) as opened:
                run_fill(opened, target, asked, as_json=as_json)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


@app.command("adopt")
def adopt(
    target: Annotated[str, typer.Argument(metavar="FILE", help="A file of somebody's.")],
    *,
    lose: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Its name without the folder, where nobody can be asked."
        ),
    ] = None,
) -> None:
    """Make a scratch file of one that neither diskspd nor fathom made: its data may be lost.

    Says what it holds, and asks for its name. Not a byte of it is written; runs may write it from
    then on, without --overwrite, until somebody else changes it.
    """
    try:
        reason = preparing.described(target)
        # Held from before it is shown: what is written meanwhile was seen by nobody.
        shown = preparing.seen(target)
        status = Path(target).stat()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(status.st_mtime))
        typer.echo(f"{target}: {status.st_size:,} bytes, changed {when}; {reason or 'not refused'}")
        if lose is None and not sys.stdin.isatty():
            fail("nobody can be asked here: give its name with --lose NAME", EXIT_INVALID)
        if lose is None:
            lose = typer.prompt("Its data may be lost from now on. Type its name to agree")
        preparing.adopt(target, lose=lose, shown=shown)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    typer.echo(f"{target} is a scratch file now")


@app.command(
    "condition",
    cls=Passing,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    options_metavar="[OPTIONS] TARGET...|[WORKLOAD] DISKSPD_ARGUMENTS...",
)
def condition(  # noqa: PLR0913 - Each is an option of the command.
    context: typer.Context,
    *,
    wipc: Annotated[
        bool, typer.Option("--wipc", help="Write the target twice over: 128 KiB, in sequence.")
    ] = False,
    wdpc: Annotated[
        bool, typer.Option("--wdpc", help="Run a load until it is steady: 5 to 25 rounds.")
    ] = False,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="What is to be steady: iops (the default), mib_per_s, mean or p99."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it takes, and write nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    rate: Annotated[
        float | None, typer.Option(metavar="MIB", help="MiB/s for the estimate, if known.")
    ] = None,
    tbw: Annotated[
        float | None, typer.Option(metavar="TB", help="Rated endurance in TB, for the estimate.")
    ] = None,
    overwrite: OverwriteOption = False,
    allow_write: AllowWriteOption = None,
    resume: ResumeOption = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Precondition an SSD as the SNIA's test specification has it, with estimated time and wear.

    --wipc takes targets, --wdpc the load that will be measured: DiskSpd's arguments, or a workload
    and a target. Both may be given with a load. A purge (secure erase, format) before it is yours.
    """
    permission = Permission(overwrite, tuple(allow_write or ()))
    if resume is None and not (wipc or wdpc):
        fail("say what: --wipc, --wdpc, or --resume", EXIT_INVALID)
    if (resume is None) != bool(context.args):
        fail("name the target or the load, or what to --resume: one of both", EXIT_INVALID)
    try:
        if dry_run and not is_there(store):
            # What would be done is said without a store, too; only what was measured is not known.
            doing = Conditioning(None, permission, metric or ["iops"], as_json=as_json)
            doing.foresee(context.args, rate, tbw, wipc=wipc, wdpc=wdpc)
            return
        if resume is not None:
            with opened_store(store, make=False) as opened:
                resume_any(opened, resume, permission, as_json=as_json)
            return
        doing = Conditioning(None, permission, metric or ["iops"], as_json=as_json)
        doing.plan(context.args, wipc=wipc, wdpc=wdpc)
        # A store that is there knows rates; a new one is made once it is known what for.
        with ExitStack() as stack:
            if is_there(store):
                _use(doing, store, stack)
            doing.estimate(rate, tbw)
            doing.refuse(is_asked=dry_run)
            done = []
            if not dry_run and doing.may_write(yes=yes):
                _use(doing, store, stack)
                done = doing.run()
            if as_json:
                doing.show_json(done)
    except fathom.RunInterrupted as interruption:
        fail(interruption, exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _use(doing: Conditioning, where: str | None, stack: ExitStack) -> None:
    """Open the store, unless that was done before."""
    if not doing.has_store:
        doing.use(stack.enter_context(opened_store(where)))
