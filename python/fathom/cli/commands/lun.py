"""``fathom lun``: from an empty controller to a target that can be measured."""

from __future__ import annotations

import inspect
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import fathom
from fathom import luns
from fathom._finite import json_words
from fathom._permission import Permission
from fathom.cli.commands.assess import Wish, assess_and_end, begun, effort_of
from fathom.cli.common import JsonOption, StoreOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID, EXIT_REFUSED
from fathom.cli.login import log_in
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fathom.luns import LunStep, Provider, StepDone

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Set up a LUN to measure: from an empty controller to its address, step by step.",
)


class _Option(NamedTuple):
    """An option that says something of the LUN: its type, and what it is."""

    kind: type
    help: str


# In the order of ``LunRequest``; each has the name of its field.
_OPTIONS = {
    "on": _Option(str, "Who offers it: tgt, ontap or lio."),
    "path": _Option(str, "Of the LUN: a file or device, or /vol/volume/lun of ontap."),
    "size": _Option(str, "Of the LUN, such as 10G; a file is made with it."),
    "type": _Option(str, "Of the LUN for ontap: linux, windows, vmware, ..."),
    "target": _Option(str, "The iSCSI name of the target, iqn.2026-11.org.lab:disk1."),
    "lun": _Option(int, "The number of the LUN, 1 if left out."),
    "portal": _Option(str, "Where it is reached, if that is not found out."),
    "initiator": _Option(str, "The iSCSI name of who may use it; this host's for ontap."),
    "initiator_address": _Option(str, "Or its address, for tgt: 127.0.0.1 if left out, or ALL."),
    "chap_user": _Option(str, "Who logs in; the secret is in FATHOM_CHAP_PASSWORD or a file."),
    "chap_password_file": _Option(str, "The file that holds the secret of CHAP."),
    "control_port": _Option(int, "Of tgtd, where several run."),
    "controller": _Option(str, "Of ontap: the cluster's management address."),
    "svm": _Option(str, "Of ontap; the only one, if left out."),
    "user": _Option(str, "Of ontap: admin, if left out."),
    "password_file": _Option(str, "Of ontap: else the password is in FATHOM_ONTAP_PASSWORD."),
    "ca": _Option(str, "Certificates that are trusted, else the system's."),
    "node": _Option(str, "Of ontap, whose disks a new aggregate takes; the first, if left out."),
    "aggregate": _Option(str, "Of ontap; made if it does not exist."),
    "disk_count": _Option(int, "Of a new aggregate."),
    "volume": _Option(str, "Of ontap; made if it does not exist."),
    "volume_size": _Option(str, "Of a new volume."),
    "snapshot_reserve": _Option(int, "Of a new volume, as a percentage."),
    "igroup": _Option(str, "The initiator group; made if it does not exist."),
    "igroup_protocol": _Option(str, "Of a new group: iscsi, fcp or mixed."),
    "igroup_type": _Option(str, "Of a new group: linux, windows, vmware, ..."),
}
_Explain = Annotated[
    bool, typer.Option("--explain", "--dry-run", help="Show the plan, and change nothing.")
]
_FOR_ALL: dict[str, tuple[object, object]] = {
    "file": (
        Annotated[
            Path | None,
            typer.Option("--file", help="A TOML file that says all this; options go first."),
        ],
        None,
    ),
}
_FOR_WRITERS: dict[str, tuple[object, object]] = {
    "overwrite": (
        Annotated[
            bool, typer.Option("--overwrite", help="Data of other programs on it may be lost.")
        ],
        False,
    ),
    "allow_write": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="DEVICE", help="The block device that may be written, as diskspd says."
            ),
        ],
        None,
    ),
}
# Of what is listed, one LUN is none: any will do.
_ANY = {"path": "/vol/any/lun", "target": "iqn.2026-11.any", "igroup": "any"}
_ANYONE = {"initiator": "iqn.2026-11.any"}


# What is left of a verb that Ctrl-C has ended; the others change nothing.
_LEFT = {
    **dict.fromkeys(("setup", "create", "map"), "what was made is taken away again"),
    "remove": "some of it may be gone by now, and the same command removes the rest",
}


class _Asked(NamedTuple):
    """What a verb is given: who offers the LUN, and what may be written."""

    provider: Provider
    permission: Permission


def _verb(
    name: str, *, writes: bool = False, is_of_one: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a verb, with the options of a LUN beside its own.

    One that ``writes`` has the options of the guard. Whatever of Fathom's goes wrong ends the
    command in words.
    """

    def made(function: Callable[..., None]) -> Callable[..., None]:
        def verb(**told: Any) -> None:  # noqa: ANN401 - All options of the command line.
            given = {one: told.pop(one) for one in _OPTIONS}
            file = told.pop("file")
            if not is_of_one:
                others = _ANYONE if file else _ANY | _ANYONE
                given |= {one: given[one] or word for one, word in others.items()}
            overwrite, allowed = told.pop("overwrite", False), told.pop("allow_write", None)
            permission = Permission(overwrite, tuple(allowed or ()))
            try:
                provider = luns.provider_of(luns.request_from(given, file), permission)
                function(_Asked(provider, permission), **told)
            except KeyboardInterrupt as interruption:
                left = _LEFT.get(name)
                fail(f"interrupted; {left}" if left else "interrupted", exit_code(interruption))
            except fathom.FathomError as error:
                fail(error, exit_code(error))

        options = _options(function, _FOR_ALL | (_FOR_WRITERS if writes else {}))
        verb.__doc__ = function.__doc__
        verb.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in options}
        app.command(name)(verb)
        return function

    return made


def _options(
    function: Callable[..., None], more: Mapping[str, tuple[object, object]]
) -> list[inspect.Parameter]:
    """Return the options of a LUN, these, and the function's own."""
    of_lun: dict[str, tuple[object, object]] = {
        name: (
            Annotated[one.kind | None, typer.Option(f"--{name.replace('_', '-')}", help=one.help)],
            None,
        )
        for name, one in _OPTIONS.items()
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    given = [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, (annotation, default) in {**of_lun, **more}.items()
    ]
    own = inspect.signature(function, eval_str=True).parameters.values()
    return [*given, *(one for one in own if one.kind is keyword)]


def _carry(steps: Sequence[LunStep], *, explain: bool, as_json: bool) -> list[StepDone]:
    """Do what is missing, or only say it."""

    def tell(one: StepDone) -> None:
        if not as_json:
            typer.echo(f"{one.state}: {one.name}")

    if not explain:
        return luns.carried(steps, tell)
    done = luns.planned(steps)
    for one in done:
        tell(one)
    return done


def _found(done: Sequence[StepDone], address: str | None) -> dict[str, object]:
    return {"steps": [vars(one) for one in done], "address": address}


def _show(done: Sequence[StepDone], address: str | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json_words(_found(done, address)))
    elif address is not None:
        typer.echo(address)


@_verb("setup", writes=True)
def setup(  # noqa: PLR0913 - Each is an option of the command.
    asked: _Asked,
    *,
    explain: _Explain = False,
    is_assessed: Annotated[
        bool, typer.Option("--assess", help="Then measure it, as fathom assess does.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="With --assess: about 30 s.")] = False,
    write: Annotated[
        bool,
        typer.Option("--write", help="With --assess: also write to it: its data are lost."),
    ] = False,
    label: Annotated[
        str | None, typer.Option(help="With --assess: a word to find the assessment by.")
    ] = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """Do all steps that are missing, and print the address to measure; --assess measures it.

    What exists already is passed over. If a step fails, those that were made are undone.
    """
    if not is_assessed and (quick or write or label is not None):
        fail("--quick, --write and --label are for --assess", EXIT_INVALID)
    request = asked.provider.request
    if is_assessed and request.chap_user is not None:
        log_in(request.chap_user, luns.chap_secret(request))
    steps = asked.provider.steps()
    done = _carry(steps, explain=explain, as_json=as_json)
    if explain:
        _show(done, None, as_json=as_json)
        return
    with _left_set_up():
        address = asked.provider.address()
        if not is_assessed:
            _show(done, address, as_json=as_json)
            return
        if not as_json:
            typer.echo(address)
        permission = asked.permission
        if write and luns.is_new(steps, done):
            # Nothing can be on it that somebody would miss, and it was typed that it is written.
            names = (*permission.allow_write, luns.writable_name(address))
            permission = replace(permission, allow_write=names)
        wish = Wish(
            [address], effort_of(quick=quick), permission, write, 0, label or "", as_json,
            _found(done, address),
        )  # fmt: skip
        assess_and_end(lambda: begun(wish, store))


@contextmanager
def _left_set_up() -> Iterator[None]:
    """Say that the LUN stays where Ctrl-C comes behind the last step."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        words = "interrupted; the LUN is set up, and stays: fathom lun connect prints its address"
        fail(words, exit_code(interruption))


@_verb("create", writes=True)
def create(asked: _Asked, *, explain: _Explain = False, as_json: JsonOption = False) -> None:
    """Make the LUN with all that it lies on, and let nobody reach it yet."""
    steps = [one for one in asked.provider.steps() if one.part == "create"]
    _show(_carry(steps, explain=explain, as_json=as_json), None, as_json=as_json)


@_verb("map")
def map_(asked: _Asked, *, explain: _Explain = False, as_json: JsonOption = False) -> None:
    """Let an initiator reach a LUN that exists, and print the address to measure."""
    steps = asked.provider.steps()
    missing = [one.name for one in steps if one.part == "create" and not one.is_there()]
    if missing:
        fail(f"there is no {missing[0]}: make it with fathom lun create", EXIT_INVALID)
    mapped = [one for one in steps if one.part == "map"]
    done = _carry(mapped, explain=explain, as_json=as_json)
    _show(done, None if explain else asked.provider.address(), as_json=as_json)


@_verb("connect")
def connect(
    asked: _Asked,
    *,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Log the kernel's initiator in, with open-iscsi.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the address of a LUN that is set up, once its portal answers."""
    address = asked.provider.address()
    luns.refuse_silent(address)
    if kernel:
        luns.connect_kernel(address)
    typer.echo(json_words({"address": address}, indent=None) if as_json else address)


@_verb("list", is_of_one=False)
def list_(asked: _Asked, *, as_json: JsonOption = False) -> None:
    """List the LUNs that there are."""
    rows = asked.provider.listed()
    if as_json:
        typer.echo(json_words(rows))
        return
    names = list(rows[0]) if rows else ["target", "lun"]
    numbers = ("lun", "bytes")
    columns = [f"{one}>" if one in numbers else f"{one}~" for one in names]
    console().print(text_table("", columns, [[one[name] for name in names] for one in rows]))


@_verb("remove")
def remove(
    asked: _Asked,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    explain: _Explain = False,
) -> None:
    """Take a LUN away, the last step first; what others use and what holds other data stays."""
    steps = asked.provider.steps(is_removal=True)
    if explain:
        for one in reversed([one for one in steps if one.is_there()]):
            reason = one.why_kept()
            words = f"keep {one.name}: {reason}" if reason else f"remove {one.name}"
            typer.echo(f"would {words}")
        return
    if not yes:
        _confirm(asked.provider.request.target or asked.provider.request.path)
    if not luns.taken_away(steps, typer.echo):
        fail("there was nothing to remove", EXIT_FAILED)


def _confirm(name: str) -> None:
    """Have the name typed; where nobody can type, refuse."""
    if not sys.stdin.isatty():
        fail(f"removing {name} needs its name typed on a terminal, or --yes", EXIT_REFUSED)
    if typer.prompt(f"Its data cannot be reached any more. Type {name} to remove it") != name:
        fail("that was another name; nothing was removed", EXIT_REFUSED)
