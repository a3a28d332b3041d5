"""A file that somebody else has made becomes a scratch file, because a person says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom._hanging import LIMIT_S, within
from fathom._own_stores import own_stores
from fathom.engine import explain
from fathom.errors import InvalidRequestError, RefusedError
from fathom.experiments.prepare.target import refuse_address, target_facts

if TYPE_CHECKING:
    import os

__all__ = ["adopt", "described", "seen"]


def _load(path: str) -> list[str]:
    # No byte is written: the load only says what would be.
    return ["-w100", "-b1", "-d1", "-W0", path]


def described(path: str | os.PathLike[str]) -> str | None:
    """Return why the engine would not write to a file, or None if it would.

    Raises
    ------
    InvalidRequestError
        If there is no such file.

    """
    refuse_address(path)
    target = target_facts(path)
    if target.is_device:
        raise InvalidRequestError(
            f"{target.path} is a device: name it by --allow-write in each run that writes it"
        )
    for found in explain(_load(target.path))["targets"]:
        if found["verdict"]["is_refused"]:
            return str(found["verdict"]["reason"])
    return None


def seen(path: str | os.PathLike[str]) -> _fathom.Seen:
    """Hold and watch a file, from before a person is shown what it holds until it is adopted.

    Raises
    ------
    InvalidRequestError
        If it cannot be opened, or is no regular file.

    """
    refuse_address(path)
    target = target_facts(path)
    if target.is_device:
        raise InvalidRequestError(f"{target.path} is a device, and no file")
    try:
        return within(LIMIT_S, f"look at '{target.path}'", lambda: _fathom.Seen(target.path))
    except OSError as error:
        raise InvalidRequestError(f"{target.path}: {error.strerror or error}") from error


def adopt(path: str | os.PathLike[str], *, lose: str, shown: _fathom.Seen | None = None) -> None:
    """Make a scratch file of a file: from now on its data may be lost.

    Not a byte of it is written; it is marked in the state in which it is. Who changes it afterwards
    makes it their own again.

    Parameters
    ----------
    path
        A regular file with data.
    lose
        The name of the file, without its folder, as a person has typed it.
    shown
        The file as this person was shown it; otherwise as it is at this moment.

    Raises
    ------
    RefusedError
        If the name is another one, or the file is in use, a store of results, cannot be marked, or
        was changed since it was shown.

    """
    refuse_address(path)
    target = target_facts(path)
    if target.is_device or lose != Path(path).name:
        raise RefusedError(
            f"{target.path} was not adopted: its name, {Path(path).name}, was not given"
        )
    looked = seen(target.path) if shown is None else shown
    _fathom.adopt_targets(_load(target.path), own_stores(), looked)
