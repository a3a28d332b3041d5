"""A runner by its name: ours, fio, or the path of a DiskSpd."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from fathom import fleet as fleets
from fathom._extras import install_line, missing_of
from fathom._permission import NOTHING, Permission
from fathom.errors import FathomError
from fathom.fleet.address import FLEET_PREFIX, FleetAddress
from fathom.runners.native import NativeRunner
from fathom.tools.diskspd.run import find_diskspd
from fathom.tools.fio.run import find_fio
from fathom.tools.foreign import ForeignRunner

if TYPE_CHECKING:
    from fathom.fleet.runner import FleetRunner
    from fathom.runners.runner import PermittedRunner
    from fathom.store import Store

__all__ = [
    "OWN_RUNNER",
    "fleet_named",
    "fleet_runner",
    "foreign_runner",
    "names_a_program",
    "other_runner",
    "runner_named",
]

OWN_RUNNER = "fathom"
"""The name of our own engine as a runner."""

_OWN = (None, "", OWN_RUNNER)
_FIO = "fio"


def names_a_program(name: str | None) -> bool:
    """Whether a runner's name is the path of a program.

    Others are found on this machine by their name, whoever wrote it down.
    """
    return name not in (*_OWN, _FIO) and fleet_named(name) is None


def fleet_named(name: str | None) -> FleetAddress | None:
    """Return the fleet that a runner's name means; None if it means none.

    Raises
    ------
    InvalidRequestError
        If it is written wrongly.

    """
    is_fleet = name is not None and name.startswith(FLEET_PREFIX)
    return FleetAddress.from_runner(name) if name is not None and is_fleet else None


def runner_named(
    name: str | None, store: Store, permission: Permission = NOTHING
) -> PermittedRunner:
    """Return the runner of this name, which may be our own engine.

    Raises
    ------
    InvalidRequestError
        If there is no such tool, or it is not what its name says.

    """
    own = NativeRunner(store, permission=permission)
    return other_runner(name, store, permission) or own


def other_runner(
    name: str | None, store: Store | None, permission: Permission = NOTHING
) -> ForeignRunner | FleetRunner | None:
    """Return the runner of this name, another tool or a fleet; None for our own engine here.

    Raises
    ------
    InvalidRequestError
        If there is no such tool, or it is not what its name says.
    FathomError
        If what a fleet needs is not installed.

    """
    fleet = fleet_named(name)
    if fleet is None:
        return foreign_runner(name, store, permission)
    return fleet_runner(store, fleet, permission)


def fleet_runner(
    store: Store | None, fleet: FleetAddress, permission: Permission = NOTHING
) -> fleets.FleetRunner:
    """Return the runner of a fleet; it connects with its first run.

    Raises
    ------
    FathomError
        If what it needs is not installed.

    """
    if missing_of("fleet"):
        raise FathomError(f"a fleet needs Dask, which is not installed: {install_line('fleet')}")

    return fleets.FleetRunner(store, fleet, permission)


def foreign_runner(
    name: str | None, store: Store | None, permission: Permission = NOTHING
) -> ForeignRunner | None:
    """Return the runner of this name; None for our own engine.

    Raises
    ------
    InvalidRequestError
        If there is no such tool, or it is not what its name says.

    """
    if name in _OWN:
        return None
    is_fio = PurePath(name or "").name in (_FIO, f"{_FIO}.exe")
    tool = find_fio(name or "") if is_fio else find_diskspd(name or "")
    return ForeignRunner(store, tool, permission)
