"""``fathom schedule``: timers of systemd and lines of cron for a measurement that repeats."""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

import fathom
from fathom._addresses import is_address
from fathom._finite import json_words
from fathom.cli.common import JsonOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_INVALID
from fathom.cli.login import checked_credentials
from fathom.cli.verbs import VERBS, load
from fathom.cli.views.runs import console, text_table
from fathom.schedule import (
    check_calendar,
    cron_line,
    plan_schedule,
    remove_schedule,
    service_text,
    timer_text,
    unit_folder,
    unit_name,
    write_schedule,
    written_schedules,
)
from fathom.store.references import requested_runs
from fathom.store.where import default_store, whole_name
from fathom.workloads import user_folder

if TYPE_CHECKING:
    from fathom.schedule import Schedule

__all__ = ["app"]

# Where systemd-logind keeps the users whose services outlive their logins.
_LINGERING = Path("/var/lib/systemd/linger")
_CREDENTIALS = "--credentials"
_ENDLESS = ("serve", "fleet")

app = typer.Typer(
    help="Write systemd timers and cron lines for a measurement that repeats.",
    no_args_is_help=True,
)
_Name = Annotated[str, typer.Argument(metavar="NAME", help="A word for it, such as nightly.")]
_Folder = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the units; otherwise the user's, or the system's for root.",
        show_default=False,
    ),
]


@app.command("add")
def add(  # noqa: PLR0913 - Each is an option of the command.
    name: _Name,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- VERB...", help="What to run: a verb with its arguments."),
    ],
    *,
    when: Annotated[
        str,
        typer.Option(
            help="When: hourly, daily, weekly, monthly, 03:30, 'mon 03:30', or a calendar event of "
            "systemd."
        ),
    ] = "daily",
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the units, and write nothing.")
    ] = False,
    cron: Annotated[
        bool, typer.Option("--cron", help="Print the line of a crontab, and write nothing.")
    ] = False,
    folder: _Folder = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a schedule of this name.")
    ] = False,
) -> None:
    """Write a service and its timer, which are then enabled with the commands that are printed.

    The command runs in the current folder, with the store that is in use now. What has to be typed
    for one run, such as --allow-write, is refused.
    """
    if cron and only_print:
        fail("--cron prints a line, and --print the units: choose one of them", EXIT_INVALID)
    try:
        plan = _plan(name, when, command)
        _check_that_it_runs(command)
        if cron:
            typer.echo(cron_line(plan))
            return
        check_calendar(plan.calendar)
        if only_print:
            for kind, text in (("service", service_text(plan)), ("timer", timer_text(plan))):
                typer.echo(f"# {unit_name(name, kind)}\n{text}")
            return
        place = folder or unit_folder()
        for path in write_schedule(plan, place, overwrite=overwrite):
            typer.echo(f"wrote {path}")
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    control = _control()
    typer.echo("to begin, and to end:")
    typer.echo(f"  {control} daemon-reload && {control} enable --now {_shown_timer(name)}")
    there = "" if folder is None else f" --folder {shlex.quote(str(folder))}"
    # What begins with a dash would be an option.
    dashes = " --" if name.startswith("-") else ""
    undo = f"fathom schedule remove{there}{dashes} {shlex.quote(name)}"
    typer.echo(f"  {control} disable --now {_shown_timer(name)} && {undo}")
    if _ends_with_the_login():
        typer.echo("it runs while you are logged in; to have it run always: loginctl enable-linger")


@app.command("list")
def list_(*, folder: _Folder = None, as_json: JsonOption = False) -> None:
    """List the schedules that are written."""
    try:
        place = folder or unit_folder()
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if folder is not None and not folder.is_dir():
        fail(f"there is no folder {folder}", EXIT_INVALID)
    found = written_schedules(place)
    if as_json:
        rows = [{**one._asdict(), "timer": str(one.timer)} for one in found]
        typer.echo(json_words(rows))
        return
    if not found:
        typer.echo(f"there are no schedules in {place}", err=True)
    rows_ = [[one.timer.name, one.calendar, one.command] for one in found]
    console().print(text_table("", ("timer~", "when", "command~"), rows_))


@app.command("remove")
def remove(name: _Name, *, folder: _Folder = None) -> None:
    """Remove the units of a schedule; what it has measured stays."""
    try:
        for path in remove_schedule(name, folder or unit_folder()):
            typer.echo(f"removed {path}")
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    typer.echo(f"if it was enabled: {_control()} disable --now {_shown_timer(name)}")


def _plan(name: str, when: str, command: list[str]) -> Schedule:
    verb = command[0]
    if verb in _ENDLESS:
        fail(
            f"fathom {verb} runs until it is stopped: write a service for it instead", EXIT_INVALID
        )
    if verb == "schedule":
        fail("a schedule runs a verb that measures or judges, and no schedule", EXIT_INVALID)
    if verb not in VERBS:
        near = get_close_matches(verb, VERBS, n=1)
        meant = f": did you mean {near[0]}?" if near else ""
        fail(f"there is no verb {verb!r} to schedule{meant}", EXIT_INVALID)
    command = _with_whole_paths(command)
    environment = _of_this_user()
    if file := os.environ.get("FATHOM_CREDENTIALS"):
        environment["FATHOM_CREDENTIALS"] = checked_credentials(file)
    elif os.environ.get("FATHOM_PASSWORD"):
        typer.echo(
            "note: FATHOM_PASSWORD is not written into the schedule: put user and password into a "
            "file with mode 0600, and name it with --credentials",
            err=True,
        )
    return plan_schedule(
        name, when, command, program=_program(), folder=Path.cwd(), environment=environment
    )


def _of_this_user() -> dict[str, str]:
    """Return the variables that lead to this user's store and workloads.

    A timer's or cron's command has none of the variables (HOME, XDG_DATA_HOME, ...) by which they
    are found now.
    """
    store = os.environ.get("FATHOM_STORE") or str(default_store())
    found = {"FATHOM_STORE": whole_name(store)}
    if (own := user_folder()).is_dir():
        found["FATHOM_WORKLOADS"] = str(own.absolute())
    return found


def _check_that_it_runs(command: list[str]) -> None:
    """End as the verb itself would if it refuses its arguments, or the guard its load."""
    verb, *arguments = command
    loaded = load(verb)
    with loaded.make_context(f"fathom {verb}", [*arguments]) as context:
        if isinstance(loaded, TyperGroup):
            name, own, words = loaded.resolve_command(context, [*arguments])
            if own is not None:
                own.make_context(name, words, parent=context).close()
    can_foresee = any(one.name == "dry_run" for one in loaded.params)
    # A server need not be there now.
    if not can_foresee or _is_of_saved_runs(verb, arguments) or any(map(is_address, arguments)):
        return
    done = subprocess.run(  # noqa: S603 - This program.
        [*_program(), verb, "--dry-run", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        # Of a single run, the guard's words are part of what it foresees.
        said = done.stderr.strip() or done.stdout.strip().splitlines()[-1].strip()
        reason = said.removeprefix("error: ")
        fail(f"this would not run today, and is not scheduled: {reason}", done.returncode)


def _is_of_saved_runs(verb: str, arguments: list[str]) -> bool:
    """Whether what is measured, or only read, stands in the store."""
    if verb == "compare":
        return "--run" not in arguments
    return "--resume" in arguments or (verb == "run" and bool(requested_runs(arguments)))


def _with_whole_paths(command: list[str]) -> list[str]:
    """Return a command whose file of credentials is found from everywhere, and can be used."""
    done: list[str] = []
    for word in command:
        option, is_one, file = word.partition("=")
        if done and done[-1] == _CREDENTIALS:
            done.append(checked_credentials(word))
        elif is_one and option == _CREDENTIALS:
            done.append(f"{option}={checked_credentials(file)}")
        else:
            done.append(word)
    return done


def _program() -> list[str]:
    """Return what starts this Fathom."""
    beside = Path(sys.executable).parent / "fathom"
    if beside.is_file():
        return [str(beside)]
    found = shutil.which("fathom")
    return [found] if found else [sys.executable, "-m", "fathom"]


def _control() -> str:
    return "systemctl" if os.geteuid() == 0 else "systemctl --user"


def _ends_with_the_login() -> bool:
    """Whether systemd ends this user's timers with the last login (loginctl(1), enable-linger)."""
    user = os.geteuid()
    try:
        return user != 0 and not (_LINGERING / pwd.getpwuid(user).pw_name).exists()
    except (KeyError, OSError):
        return True


def _shown_timer(name: str) -> str:
    return shlex.quote(unit_name(name, "timer"))
