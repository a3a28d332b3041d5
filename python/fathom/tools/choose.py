"""A runner by its name: ours, fio, or the path of a DiskSpd."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from fathom._permission import NOTHING, Permission
from fathom.runners.native import NativeRunner
from fathom.tools.diskspd.run import find_diskspd
from fathom.tools.fio.run import find_fio
from fathom.tools.foreign import ForeignRunner

if TYPE_CHECKING:
    from fathom.runners.runner import Runner
    from fathom.store import Store

__all__ = ["OWN_RUNNER", "foreign_runner", "names_a_program", "runner_named"]

OWN_RUNNER = "fathom"
"""The name of our own engine as a runner."""

_OWN = (None, "", OWN_RUNNER)
_FIO = "fio"


def names_a_program(name: str | None) -> bool:
    """Whether a runner's name is the path of a program.

    Others are found on this machine by their name, whoever wrote it down.
    """
    return name not in (*_OWN, _FIO)


def runner_named(name: str | None, store: Store, permission: Permission = NOTHING) -> Runner:
    """Return the runner of this name, which may be our own engine.

    Raises
    ------
    InvalidRequestError
        If there is no such tool, or it is not what its name says.

    """
    own = NativeRunner(store, permission=permission)
    return foreign_runner(name, store, permission) or own


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
