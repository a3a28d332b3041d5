"""Names of files, given so that nothing that stands at one is lost (renameat2(2)).

Where a file system cannot exchange names, or the system has no such call, there is a look right
before the name is taken: what appears between the two is lost, and nothing later or earlier is.
"""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["exchange_names", "give_new_name"]

# linux/fs.h, fcntl.h
_NOREPLACE, _EXCHANGE = 1, 2
_HERE = -100
# What a system, a file system or a filter of system calls says that has no such call.
_LACKING = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)


def give_new_name(file: Path, name: Path) -> None:
    """Give a file a name in the same folder that is free.

    Raises
    ------
    FileExistsError
        If something stands there, also a link that leads nowhere; it stays, and so does the file.
    OSError
        If the file cannot be called so.

    """
    try:
        _rename(file, name, _NOREPLACE)
    except OSError as error:
        if error.errno not in _LACKING:
            raise
    else:
        return
    try:
        os.link(file, name)
    except FileExistsError:
        raise
    except OSError:
        # Neither can FAT of an old kernel, and some of FUSE.
        if os.path.lexists(name):
            raise FileExistsError(errno.EEXIST, "a file of this name is there", str(name)) from None
        file.rename(name)
    else:
        file.unlink()


def exchange_names(one: Path, other: Path) -> bool:
    """Whether two files have changed their names at one instant; False if that cannot be done here.

    Raises
    ------
    OSError
        If one of them is gone, or may not be called so.

    """
    try:
        _rename(one, other, _EXCHANGE)
    except OSError as error:
        if error.errno not in _LACKING:
            raise
        return False
    return True


def _rename(old: Path, new: Path, flags: int) -> None:
    """Call renameat2(2), which Python has no function for."""
    library = _library()
    if library is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if library.renameat2(_HERE, os.fsencode(old), _HERE, os.fsencode(new), flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(new))


@cache
def _library() -> ctypes.CDLL | None:
    """Return the C library; None if it is older than the call."""
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "renameat2") else None
