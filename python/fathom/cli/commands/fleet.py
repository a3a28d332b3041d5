"""``fathom fleet``: certificates, the coordinator, the hosts, and who is there."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import fathom
from fathom import fleet as fleets
from fathom._extras import install_line, missing_of
from fathom._finite import json_words
from fathom.cli.common import JsonOption, exit_code, fail
from fathom.cli.exit_codes import EXIT_FAILED, EXIT_INVALID
from fathom.cli.views.fleet import hosts_table
from fathom.cli.views.runs import console
from fathom.fleet.address import DEFAULT_PORT, FleetAddress, host_and_port
from fathom.units import counted

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["app"]

app = typer.Typer(
    help="Measure from many hosts at once: certificates, coordinator, hosts.", no_args_is_help=True
)

FolderOption = Annotated[
    str | None, typer.Option("--tls", help="The folder with the certificates of this host.")
]
NameOption = Annotated[
    str | None,
    typer.Option("--host", help="Which host this is; needed if the folder has several."),
]


@app.command("certificates")
def certificates(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where they are written.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[HOST]...", help="More hosts.", hidden=True)
    ] = None,
    *,
    hosts: Annotated[
        str | None,
        typer.Option(help="The hosts, by name or address: a b c, or a,b,c."),
    ] = None,
    days: Annotated[int, typer.Option(help="How long they are valid.")] = 365,
) -> None:
    """Make certificates: an authority of the fleet, and for each host one of each role.

    A host that measures needs ca.pem and its worker's two files; the coordinator those of its own
    role; and whoever drives the fleet those of a client. ca.key stays with you.
    """
    _need_extra()

    names = [*filter(None, (hosts or "").split(",")), *(more or ())]
    try:
        made = fleets.make_certificates(Path(folder), names, days)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    typer.echo(f"{counted(len(made), 'file')} in {folder}, valid for {counted(days, 'day')}:")
    typer.echo("  ca.pem                 for every host")
    typer.echo("  ca.key                 for nobody: who has it can make any certificate")
    for name in dict.fromkeys(names):
        file = name.replace(":", "_")
        for role in ("coordinator", "worker", "client"):
            typer.echo(f"  {role}-{file}.pem, .key")


@app.command("start")
def start(
    *,
    tls: FolderOption = None,
    host: NameOption = None,
    listen: Annotated[
        str | None,
        typer.Option(help=f"Where it listens; by default its name, and port {DEFAULT_PORT}."),
    ] = None,
) -> None:
    """Start the coordinator, which knows the hosts, until Ctrl-C.

    Only who has a certificate of the fleet gets an answer.
    """
    _need_extra()
    folder = _folder(tls)

    _serve(fleets.serve_coordinator(folder, host, listen, _say))


@app.command("join")
def join(
    coordinator: Annotated[str, typer.Argument(metavar="ADDRESS", help="Of the coordinator.")],
    *,
    tls: FolderOption = None,
    host: NameOption = None,
    listen: Annotated[
        str | None,
        typer.Option(help="Where clients reach this host; by default any free port."),
    ] = None,
) -> None:
    """Let this host measure for the fleet of this coordinator, until Ctrl-C.

    Whoever has a client's certificate can have this account read and write what it may: run it as
    one that may do no more than it needs.
    """
    _need_extra()
    folder = _folder(tls)
    try:
        name, port = host_and_port(coordinator)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if os.geteuid() == 0:
        _say(
            "note: this runs as root, so that a client of the fleet may use every device of this "
            "host: an account of its own with just the targets is safer"
        )

    _serve(fleets.serve_host(folder, f"{name}:{port}", host, listen, _say))


@app.command("show")
def show(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Of the coordinator.")],
    *,
    tls: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the hosts of a fleet: versions, kernels, clocks, and who uses them."""
    _need_extra()

    try:
        found = fleets.shown_hosts(FleetAddress(address, tls))
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    if as_json:
        typer.echo(json_words([asdict(one) for one in found]))
        return
    console().print(hosts_table(found))


def _need_extra() -> None:
    if missing_of("fleet"):
        fail(f"a fleet needs Dask, which is not installed: {install_line('fleet')}", EXIT_FAILED)


def _folder(tls: str | None) -> Path:
    if tls is None:
        fail(
            "name the folder with the certificates: --tls FOLDER (fathom fleet certificates makes "
            "them); there is no fleet without them but --fleet local:2",
            EXIT_INVALID,
        )
    return Path(tls)


def _say(words: str) -> None:
    typer.echo(words, err=True)


def _serve(work: Coroutine[None, None, None]) -> None:
    try:
        asyncio.run(work)
    except fathom.FathomError as error:
        fail(error, exit_code(error))
    except KeyboardInterrupt:
        _say("ended")
