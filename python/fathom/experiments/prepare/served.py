"""Filling a file that another host serves: the engine makes it, or keeps it if complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fathom import engine
from fathom._addresses import protocol_of
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from fathom.experiments.prepare.filling import Asked

__all__ = ["ServedFill", "fill_served", "is_served_file"]

# One read is the shortest load that there is.
_LEAST_LOAD = ("-b4K", "-w0", "-d60", "-W0", "--stop-ios=1", "-t1", "-o1")


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
    if asked.size_bytes is None or asked.only_missing:
        raise InvalidRequestError(
            f"{target} is served by another host, and is filled as a whole: give its --size, and "
            "leave --only-missing out"
        )
    request = [f"-c{asked.size_bytes}", *_LEAST_LOAD]
    if (asked.compress_ratio, asked.dedupe_ratio) != (1.0, 1.0):
        repeated = round(100 * (1 - 1 / asked.dedupe_ratio))
        request += [f"--compress={asked.compress_percent}", f"--dedupe={repeated}"]
    request.append(target)
    permission = asked.permission
    (file,) = engine.explain(
        request, overwrite=permission.overwrite, allow_write=permission.allow_write
    )["files"]
    engine.run(request, overwrite=permission.overwrite, allow_write=permission.allow_write)
    return ServedFill(target, file["size_bytes"], file["fate"], file["write_bytes"])
