"""Filling a file that another host serves: the engine makes it, or keeps it if complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fathom import engine
from fathom._addresses import protocol_of
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.experiments.prepare.filling import Asked

__all__ = ["ServedFill", "fill_served", "is_served_file", "made_by_load"]

# One read is the shortest load that there is.
_LEAST_LOAD = ("-d60", "--stop-ios=1")


@dataclass(frozen=True)
class ServedFill:
    """What became of a file.

    Attributes
    ----------
    path
        Its address.
    size_bytes
        Its size.
    fate
        Whether it was made, made again, or there already as it is wanted.
    written_bytes
        How much was written.

    """

    path: str
    size_bytes: int
    fate: Literal["made", "replaced", "kept"]
    written_bytes: int


def made_by_load(target: str, asked: Asked, length: Sequence[str], why: str) -> list[str]:
    """Return the arguments of a load that makes a file before it reads a little of it.

    Raises
    ------
    InvalidRequestError
        If no size is given, or only parts are to be filled; it begins with ``why``.

    """
    if asked.size_bytes is None or asked.only_missing:
        raise InvalidRequestError(
            f"{why}, and is filled as a whole: give its --size, and leave --only-missing out"
        )
    request = [f"-c{asked.size_bytes}", "-b4K", "-w0", "-W0", "-t1", "-o1", *length]
    if (asked.compress_ratio, asked.dedupe_ratio) != (1.0, 1.0):
        request += [f"--compress={asked.compress_percent}", f"--dedupe={asked.dedupe_percent}"]
    return [*request, target]


def is_served_file(target: str) -> bool:
    """Whether a target is a file on a share or an export."""
    return protocol_of(target) in ("smb", "nfs")


def fill_served(target: str, asked: Asked) -> ServedFill:
    """Make a file of this size with real data; one that is complete is kept.

    Raises
    ------
    InvalidRequestError
        If no size is given, or only parts are to be filled.
    FathomError
        If it holds data of others, or cannot be made.

    """
    request = made_by_load(target, asked, _LEAST_LOAD, f"{target} is served by another host")
    permission = asked.permission
    (file,) = engine.explain(
        request, overwrite=permission.overwrite, allow_write=permission.allow_write
    )["files"]
    engine.run(request, overwrite=permission.overwrite, allow_write=permission.allow_write)
    return ServedFill(target, file["size_bytes"], file["fate"], file["write_bytes"])
