"""A runner by its name: ours, fio, or the path of a DiskSpd."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from fathom.runners._diskspd_exe import find_diskspd
from fathom.runners._fio import find_fio
from fathom.runners._foreign import ForeignRunner

if TYPE_CHECKING:
    from fathom.store import Store

__all__ = ["OWN_RUNNER", "foreign_runner"]

OWN_RUNNER = "fathom"
"""The name of our own engine as a runner."""


def foreign_runner(name: str | None, store: Store | None) -> ForeignRunner | None:
    """Return the runner of this name; None for our own engine.

    Raises
    ------
    InvalidRequestError
        If there is no such tool, or it is not what its name says.

    """
    if name in (None, "", OWN_RUNNER):
        return None
    is_fio = PurePath(name or "").name in ("fio", "fio.exe")
    tool = find_fio(name or "") if is_fio else find_diskspd(name or "")
    return ForeignRunner(store, tool)
