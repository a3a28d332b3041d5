"""``fathom lun``: from an empty controller to a target that can be measured."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import fathom
from fathom import luns
from fathom._permission import Permission
from fathom.cli.common import JsonOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID, EXIT_REFUSED
from fathom.cli.views.runs import console, text_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
_FileOption = Annotated[
    Path | None, typer.Option("--file", help="A TOML file that says all this; options go first.")
]
_ExplainOption = Annotated[
    bool, typer.Option("--explain", "--dry-run", help="Show the plan, and change nothing.")
]
_OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Data of other programs on it may be lost.")
]
_AllowOption = Annotated[
    list[str] | None,
    typer.Option(metavar="DEVICE", help="The block device that may be written, as diskspd says."),
]


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of a LUN, which it gets as its keyword arguments."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(
            name,
            keyword,
            default=None,
            annotation=Annotated[one.kind | None, typer.Option(_word(name), help=one.help)],
        )
        for name, one in _OPTIONS.items()
    ]
    kept = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters = [*added, *kept]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
    return function


def _word(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _provider(
    given: dict[str, object], file: Path | None, permission: Permission | None = None
) -> Provider:

    return luns.provider_of(luns.request_from(given, file), permission or Permission())


def _done(words: Callable[[], None]) -> None:
    """Do it; whatever of Fathom's goes wrong ends the command in words."""
    try:
        words()
    except KeyboardInterrupt as interruption:
        fail("interrupted; what was made is taken away again", exit_code(interruption))
    except fathom.FathomError as error:
        fail(error, exit_code(error))


def _carry(
    provider: Provider,
    steps: Sequence[LunStep],
    *,
    explain: bool,
    as_json: bool,
    is_whole: bool,
) -> None:
    def tell(one: StepDone) -> None:
        if not as_json:
            typer.echo(f"{one.state}: {one.name}")

    if explain:
        done = luns.planned(steps)
        for one in done:
            tell(one)
    else:
        done = luns.carried(steps, tell)
    address = provider.address() if is_whole and not explain else None
    if as_json:
        found = [one._asdict() if hasattr(one, "_asdict") else vars(one) for one in done]
        typer.echo(json.dumps({"steps": found, "address": address}, indent=2))
    elif address is not None:
        typer.echo(address)


@app.command()
@_with_options
def setup(
    *,
    file: _FileOption = None,
    explain: _ExplainOption = False,
    overwrite: _OverwriteOption = False,
    allow_write: _AllowOption = None,
    as_json: JsonOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """Do all steps that are missing, and print the address to measure.

    What exists already is passed over. If a step fails, those that were made are undone.
    """

    def do() -> None:
        provider = _provider(given, file, Permission(overwrite, tuple(allow_write or ())))
        _carry(provider, provider.steps(), explain=explain, as_json=as_json, is_whole=True)

    _done(do)


@app.command()
@_with_options
def create(
    *,
    file: _FileOption = None,
    explain: _ExplainOption = False,
    overwrite: _OverwriteOption = False,
    allow_write: _AllowOption = None,
    as_json: JsonOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """Make the LUN with all that it lies on, and let nobody reach it yet."""

    def do() -> None:
        provider = _provider(given, file, Permission(overwrite, tuple(allow_write or ())))
        steps = [one for one in provider.steps() if one.part == "create"]
        _carry(provider, steps, explain=explain, as_json=as_json, is_whole=False)

    _done(do)


@app.command("map")
@_with_options
def map_(
    *,
    file: _FileOption = None,
    explain: _ExplainOption = False,
    as_json: JsonOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """Let an initiator reach a LUN that exists, and print the address to measure."""

    def do() -> None:
        provider = _provider(given, file)
        steps = provider.steps()
        missing = [one.name for one in steps if one.part == "create" and not one.is_there()]
        if missing:
            fail(f"there is no {missing[0]}: make it with fathom lun create", EXIT_INVALID)
        mapped = [one for one in steps if one.part == "map"]
        _carry(provider, mapped, explain=explain, as_json=as_json, is_whole=True)

    _done(do)


@app.command()
@_with_options
def connect(
    *,
    file: _FileOption = None,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Log the kernel's initiator in, with open-iscsi.")
    ] = False,
    as_json: JsonOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """Print the address of a LUN that is set up, once its portal answers."""

    def do() -> None:
        address = _provider(given, file).address()
        luns.refuse_silent(address)
        if kernel:
            luns.connect_kernel(address)
        typer.echo(json.dumps({"address": address}) if as_json else address)

    _done(do)


@app.command("list")
@_with_options
def list_(
    *,
    file: _FileOption = None,
    as_json: JsonOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """List the LUNs that there are."""

    def do() -> None:
        told = dict(given)
        # Any will do: what is listed is not one of them.
        others = {"path": "/vol/any/lun", "target": "iqn.2026-11.any", "igroup": "any"}
        if file is None:
            told = {**told, **{name: told.get(name) or one for name, one in others.items()}}
        told["initiator"] = told.get("initiator") or "iqn.2026-11.any"
        rows = _provider(told, file).listed()
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
            return
        names = list(rows[0]) if rows else ["target", "lun"]
        numbers = ("lun", "bytes")
        columns = [f"{one}>" if one in numbers else f"{one}~" for one in names]
        console().print(text_table("", columns, [[one[name] for name in names] for one in rows]))

    _done(do)


@app.command()
@_with_options
def remove(
    *,
    file: _FileOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    explain: _ExplainOption = False,
    **given: Any,  # noqa: ANN401 - The options of a LUN.
) -> None:
    """Take a LUN away, the last step first; what others use and what holds other data stays."""

    def do() -> None:
        provider = _provider(given, file)
        steps = provider.steps(is_removal=True)
        if explain:
            for one in reversed([one for one in steps if one.is_there()]):
                reason = one.why_kept()
                words = f"keep {one.name}: {reason}" if reason else f"remove {one.name}"
                typer.echo(f"would {words}")
            return
        if not yes:
            _confirm(provider.request.target or provider.request.path)
        if not luns.taken_away(steps, typer.echo):
            fail("there was nothing to remove", EXIT_FAILED)

    _done(do)


def _confirm(name: str) -> None:
    """Have the name typed; where nobody can type, refuse."""
    if not sys.stdin.isatty():
        fail(f"removing {name} needs its name typed on a terminal, or --yes", EXIT_REFUSED)
    if typer.prompt(f"Its data cannot be reached any more. Type {name} to remove it") != name:
        fail("that was another name; nothing was removed", EXIT_REFUSED)
