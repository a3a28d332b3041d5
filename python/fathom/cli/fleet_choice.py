"""The options of a fleet: declared once, added to each verb that measures, and kept here."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import fathom
from fathom.fleet.address import FleetAddress
from fathom.hosts import rates_sentence

if TYPE_CHECKING:
    from typer.core import TyperOption

__all__ = ["chosen_fleet", "fleet_options", "resumed_by", "tell_fleet", "then_resumed_by"]

_given: dict[str, Any] = {}


def _keep(context: typer.Context, option: typer.CallbackParam, value: Any) -> None:  # noqa: ANN401 - Typer's.
    del context
    _given[option.name or ""] = value


def _with_fleet(
    *,
    fleet: Annotated[
        str | None,
        typer.Option(
            callback=_keep,
            help="Measure from many hosts at once: their coordinator, or local:2 to try it here.",
        ),
    ] = None,
    tls: Annotated[
        str | None,
        typer.Option(
            callback=_keep, help="The folder with the certificates of the fleet, or its client's."
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(callback=_keep, help="The hosts of the fleet that measure; all by default."),
    ] = None,
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap",
            callback=_keep,
            help="Each host uses the whole of a target that hosts share, instead of its own part.",
        ),
    ] = False,
    on_host_loss: Annotated[
        Literal["stop", "continue"],
        typer.Option(callback=_keep, help="What the loss of a host does to a run."),
    ] = "stop",
) -> None:
    del fleet, tls, hosts, overlap, on_host_loss


def fleet_options(*, splits: bool = True) -> list[TyperOption]:
    """Return ``--fleet`` and what belongs to it; what makes no load splits no target."""
    alone = typer.Typer(add_completion=False)
    alone.command()(_with_fleet)
    command: Any = typer.main.get_command(alone)
    found = [
        one
        for one in command.params
        if one.name not in (("help",) if splits else ("help", "overlap"))
    ]
    for option in found:
        option.expose_value = False
    return found


def resumed_by(verb: str, which: str = "last") -> str:
    """Return the command that goes on with an experiment, and names its fleet as it was named."""
    fleet = chosen_fleet()
    return shlex.join(["fathom", verb, "--resume", which, *(fleet.words() if fleet else [])])


def then_resumed_by(verb: str, experiment_id: int) -> str:
    """Return what stands behind a reason, whose remedy it names, for which an experiment ended."""
    return f"; go on then with: {resumed_by(verb, f'e{experiment_id}')}"


def tell_fleet() -> None:
    """Say whose rates are shown, where a fleet measured them."""
    if (fleet := chosen_fleet()) is not None:
        many = f"the {fleet.local_hosts} hosts" if fleet.local_hosts else "all hosts"
        there = " that were there" if fleet.on_host_loss == "continue" else ""
        typer.echo(rates_sentence(f"{many} of the fleet{there}"))


def chosen_fleet() -> FleetAddress | None:
    """Return the fleet that the command names; None if it names none.

    Raises
    ------
    InvalidRequestError
        If the options contradict each other.

    """
    address = _given.get("fleet")
    if address is None:
        alone = [name for name in ("tls", "hosts", "overlap") if _given.get(name)]
        if alone:
            raise fathom.InvalidRequestError(
                f"--{alone[0]} belongs to a fleet: add --fleet ADDRESS"
            )
        return None
    hosts = _given.get("hosts")
    names = tuple(one.strip() for one in str(hosts or "").split(",")) if hosts is not None else ()
    if not all(names):
        raise fathom.InvalidRequestError(
            f"--hosts {hosts!r} leaves a name empty: name the hosts, or leave --hosts out for all"
        )
    return FleetAddress(
        address,
        _given.get("tls"),
        names,
        overlap=bool(_given.get("overlap")),
        on_host_loss=_given.get("on_host_loss", "stop"),
    )
