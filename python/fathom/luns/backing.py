"""The file or device behind a LUN: made, or found to hold nothing that anybody would miss."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._files import size_of
from fathom._permission import NOTHING
from fathom.errors import InvalidRequestError
from fathom.grant import WriteGrant
from fathom.luns.request import LEAST_BYTES, bytes_of
from fathom.luns.steps import LunStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from fathom._permission import Permission
    from fathom.luns.request import LunRequest

__all__ = ["backing_step", "refuse_data"]


def backing_step(
    request: LunRequest, is_offered: Callable[[], bool], permission: Permission = NOTHING
) -> LunStep:
    """Return the step of what is behind the LUN; ``is_offered`` says whether it is one already."""
    path = Path(request.path).absolute()
    made: list[os.stat_result] = []

    def is_there() -> bool:
        if not path.exists():
            return False
        _refuse_size(request, path)
        # What a target offers already was looked at when it was set up, and may hold data by now.
        if not is_offered():
            refuse_data(path, permission)
        return True

    def make() -> None:
        if request.size is None:
            raise InvalidRequestError(f"{path} does not exist: --size says how large to make it")
        made.append(_made(path, bytes_of(request.size, "--size")))

    def undo() -> None:
        # Only the file that was made here, and none that has its name now.
        if made and path.exists() and os.path.samestat(path.lstat(), made[0]):
            # Another command may have put a LUN over it meanwhile.
            refuse_data(path, NOTHING)
            path.unlink()

    size = f" of {request.size}" if request.size else ""
    return LunStep(
        f"{'device' if path.is_block_device() else 'file'} {path}{size}",
        is_there,
        make,
        undo,
        why_kept=lambda: "it holds the LUN's data",
        holds_data=True,
    )


def _made(path: Path, size_bytes: int) -> os.stat_result:
    """Make a new file with room for all of it, or none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(path, flags, 0o600)
    try:
        os.posix_fallocate(handle, 0, size_bytes)
        os.fsync(handle)
        return os.fstat(handle)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(handle)


def _refuse_size(request: LunRequest, path: Path) -> None:
    if request.size is None or not (path.is_file() or path.is_block_device()):
        return
    wanted, found = bytes_of(request.size, "--size"), size_of(path)
    if wanted != found:
        raise InvalidRequestError(
            f"{path} exists with {found:,} bytes, and {wanted:,} are wanted: leave out --size, or "
            f"name another {'file' if path.is_file() else 'device'}"
        )


def refuse_data(path: Path, permission: Permission) -> None:
    """Refuse what holds data of others, is mounted or in use: whoever gets the LUN writes there.

    Raises
    ------
    RefusedError
        If the guard would not have it written.

    """
    size = path.stat().st_size if path.is_file() else None
    if size is not None and size < LEAST_BYTES:
        raise InvalidRequestError(f"{path} has {size} bytes, which is no disk")
    allowed = {"overwrite": permission.overwrite, "allow_write": permission.allow_write}
    WriteGrant(["-w100", "-b4K", "-d1", "-W0", str(path)], **allowed).close()  # type: ignore[arg-type]
