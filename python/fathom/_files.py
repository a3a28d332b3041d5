"""Files from outside, read only as far as they can be what they should be; and files written whole.

A file that a user names may be a device, a pipe nobody writes to, or far larger than memory: it is
refused before it is read. What is written replaces what was there in one step, so that a process
that is killed leaves the old file or the new one; and it replaces only what was looked at before.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import _fathom
from fathom._names import exchange_names, give_new_name
from fathom._own_stores import own_stores
from fathom.units import MIB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "SQLITE_HEADER",
    "anything",
    "check_regular",
    "is_empty",
    "is_file",
    "nothing",
    "read_bytes",
    "read_text",
    "replacing",
    "size_of",
    "why_no_file",
]

# https://www.sqlite.org/fileformat2.html#magic_header_string
SQLITE_HEADER = b"SQLite format 3\0"
_UNFINISHED = ".fathom-unfinished-"
# By 4 bytes of ours and 8 characters of mkstemp(3), which no name of a user's file has.
_UNFINISHED_NAME = re.compile(re.escape(_UNFINISHED) + r"[0-9a-f]{8}-[a-z0-9_]{8}")
# Results name hosts, serial numbers and command lines: their owner says who else may read them.
_OWN_MODE = 0o600


def check_regular(path: Path) -> int:
    """Return the size of a file in bytes; a pipe or a device is refused without opening it.

    Raises
    ------
    OSError
        If there is no such file, or it is no regular one; ``strerror`` says which.

    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(21, "it is a folder", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(22, "it is a pipe, a socket or a device, and no file", str(path))
    return found.st_size


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size in bytes of a regular file or a block device, which is opened for reading.

    Raises
    ------
    OSError
        If it is neither, or cannot be opened.

    """
    kind = os.stat(path).st_mode  # noqa: PTH116 - What is given may be no path.
    if not stat.S_ISREG(kind) and not stat.S_ISBLK(kind):
        raise OSError(errno.ENOTBLK, "it is neither a file nor a block device", os.fspath(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(descriptor, 0, os.SEEK_END)
    finally:
        os.close(descriptor)


def why_no_file(path: Path) -> str | None:
    """Return as a clause why no file can be written at a path, such as ``is a folder``.

    A link that leads to nothing yet is written behind it, where there is to be a folder, too.
    """
    if path.is_symlink() and not path.exists():
        real = Path(os.path.realpath(path))
        if real.is_symlink():
            return "is a link that leads back to itself: name a file"
        if not real.parent.is_dir():
            return f"is a link to {real}, and there is no folder {real.parent}"
    if not path.parent.is_dir():
        return f"cannot be written: there is no folder {path.parent}"
    if path.is_dir():
        return "is a folder: name a file in it"
    if path.exists() and not path.is_file():
        return "is a device, a pipe or a socket, and no file: name a file"
    return None


def read_bytes(path: Path, *, most_mib: int) -> bytes:
    """Return what a file holds.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or is larger than that; ``strerror`` says why.

    """
    size = check_regular(path)
    if size <= most_mib * MIB:
        # What was a file a moment ago may be a pipe now; it is not waited for.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            data = file.read(most_mib * MIB + 1)
        size = max(len(data), size)
    if size > most_mib * MIB:
        words = f"it has {size // MIB:,} MiB, and none of its kind has more than {most_mib:,}"
        raise OSError(27, words, str(path))
    return data


def read_text(path: Path, *, most_mib: int) -> str:
    """Return the UTF-8 text that a file holds.

    Raises
    ------
    OSError
        As `read_bytes`.
    UnicodeDecodeError
        If it is no UTF-8.

    """
    return read_bytes(path, most_mib=most_mib).decode("utf-8")


def anything(_path: Path) -> bool:
    """Whatever is there may be replaced."""
    return True


def nothing(_path: Path) -> bool:
    """Nothing may be replaced."""
    return False


def is_file(name: str) -> bool:
    """Whether this names a file; a list of many runs is longer than any name of one."""
    try:
        return Path(name).is_file()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def is_empty(path: Path) -> bool:
    """Whether a file has nothing that could be lost."""
    with suppress(OSError):
        return stat.S_ISREG((found := path.lstat()).st_mode) and not found.st_size
    return False


@contextmanager
def replacing(
    path: Path, *, may_go: Callable[[Path], bool] = anything, keep: bool = False
) -> Iterator[Path]:
    """Return the name of an empty file, which takes the place of ``path`` at the end.

    The name is that of the open file (proc(5)), so that who may write to the folder leads what is
    written nowhere else. It is flushed to storage before (fsync(2)), and nothing is replaced if
    anything raises. What killed processes have left unfinished in this folder is removed. A link
    stays, and what it names is written.

    Only that file is replaced that is there at the beginning, and that may go: what appears, or
    is changed, meanwhile stays. What was written then has another name beside it, with ``keep``;
    also where its folder was moved meanwhile.

    Raises
    ------
    OSError
        If the file cannot be written, ``path`` exists and is no regular file or is a database,
        must never be written, may not go or was changed meanwhile, or another process took the
        unfinished file away.

    """
    real = _behind_links(path)
    before = _seen(real)
    if before is not None:
        _check_replaceable(real)
        if not may_go(real):
            raise FileExistsError(errno.EEXIST, "a file is there, and stays", str(path))
    why = _fathom.forbidden_path(os.fspath(path), own_stores())
    if why is not None:
        raise OSError(errno.EPERM, f"{why}; name another file", str(path))
    _tidy(real.parent)
    handle, unfinished = _begun(real.parent)
    try:
        yield Path(f"/proc/self/fd/{handle}")
        os.fchmod(handle, _OWN_MODE if before is None else stat.S_IMODE(before.st_mode))
        os.fsync(handle)
        _check_there(handle, unfinished, path, keep=keep)
        _put(unfinished, real, before, may_go, keep=keep)
        _flush_folder(real.parent)
    except BaseException:
        _remove_unfinished(handle, unfinished)
        raise
    finally:
        os.close(handle)


def _behind_links(path: Path) -> Path:
    """Return what a path with symbolic links names, also if nothing is there yet."""
    real = Path(os.path.realpath(path))
    if path.exists():
        check_regular(path)
        if not real.exists():
            raise OSError(errno.EINVAL, "it is an open file that has no name", str(path))
    return real


def _seen(real: Path) -> os.stat_result | None:
    """Return what stands at a path without links."""
    try:
        found = real.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a symbolic link that leads nowhere", str(real))
    return found


def _is(before: os.stat_result, path: Path) -> bool:
    """Whether a file is the one that was seen, and has not been written since."""
    with suppress(OSError):
        found = path.lstat()
        now = (found.st_size, found.st_mtime_ns)
        return os.path.samestat(before, found) and now == (before.st_size, before.st_mtime_ns)
    return False


def _put(
    unfinished: Path,
    real: Path,
    before: os.stat_result | None,
    may_go: Callable[[Path], bool],
    *,
    keep: bool,
) -> None:
    """Put a finished file in its place, unless something stands there that was not looked at."""
    if before is None or not os.path.lexists(real):
        with suppress(FileExistsError):
            give_new_name(unfinished, real)
            return
    # Unfinished files are tidied away, and this name is that of another's file for a moment.
    aside = real.with_name(f"fathom-result-{os.urandom(8).hex()}{real.suffix}")
    give_new_name(unfinished, aside)
    try:
        if before is not None and _is(before, real) and _replaced(aside, real, before, may_go):
            return
    except OSError as error:
        words = f"{error.strerror}; what was written or what was there is in {aside}: look at both"
        raise OSError(error.errno, words, str(real)) from error
    words = (
        "since it was looked at, it was changed or another file has taken its place, which stays"
    )
    if keep:
        words += f"; what was written is in {aside}: look at both, and rename the one you want"
    else:
        aside.unlink()
    raise FileExistsError(errno.EEXIST, words, str(real))


def _replaced(
    aside: Path, real: Path, before: os.stat_result, may_go: Callable[[Path], bool]
) -> bool:
    """Whether a file has replaced what was seen. They change places, and then that is looked at.

    So what appears between a look and the exchange goes back. What is left: a program that has
    the old file open, and writes to it after the last look; and where names cannot be exchanged,
    whatever appears between the look and the next call.
    """
    if not exchange_names(aside, real):
        is_seen = _is(before, real)
        if is_seen:
            os.replace(aside, real)  # noqa: PTH105 - The same as Path.replace, with both names.
        return is_seen
    if _is(before, aside) and may_go(aside):
        aside.unlink()
        return True
    exchange_names(aside, real)
    return False


def _check_replaceable(path: Path) -> None:
    """Refuse what no file of ours takes the place of: a store would be lost with all its runs.

    A store is known by SQLite's header alone, since its own mark may still be in the log beside it.
    """
    check_regular(path)
    with suppress(PermissionError), path.open("rb") as file:
        if file.read(len(SQLITE_HEADER)) == SQLITE_HEADER:
            words = "it is a database, such as a store of results, and is not replaced"
            raise OSError(errno.EINVAL, f"{words}; name another file", str(path))


def _begun(folder: Path) -> tuple[int, Path]:
    """Make an unfinished file, and hold its lock, by which others know that it is in use."""
    while True:
        prefix = f"{_UNFINISHED}{os.urandom(4).hex()}-"
        handle, name = tempfile.mkstemp(prefix=prefix, dir=folder)
        fcntl.flock(handle, fcntl.LOCK_EX)
        # Another process may have tidied it away before it was locked.
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)


def _check_there(handle: int, unfinished: Path, path: Path, *, keep: bool) -> None:
    """Raise unless the name is still that of the open file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if os.path.samestat(os.fstat(handle), unfinished.lstat()):
            return
    moved = _name_of(handle)
    if moved is None:
        raise OSError(errno.ESTALE, "another process took the unfinished file away", str(path))
    words = "its folder was moved or replaced meanwhile"
    if keep:
        # What is hidden there would be tidied away.
        aside = moved.with_name(f"fathom-result-{os.urandom(8).hex()}{path.suffix}")
        give_new_name(moved, aside)
        words += f"; what was written is in {aside}"
    raise OSError(errno.ESTALE, words, str(path))


def _name_of(handle: int) -> Path | None:
    """Return the name that an open file has now, whatever became of its folder (proc(5))."""
    with suppress(OSError):
        name = Path(f"/proc/self/fd/{handle}").readlink()
        if os.path.samestat(os.fstat(handle), name.lstat()):
            return name
    return None


def _remove_unfinished(handle: int, unfinished: Path) -> None:
    """Remove an unfinished file, also where its folder was moved; never one with another name."""
    now = _name_of(handle)
    for name in (unfinished, now):
        if name is not None and name.name == unfinished.name:
            with suppress(NotADirectoryError):
                name.unlink(missing_ok=True)


def _tidy(folder: Path) -> None:
    """Remove unfinished files whose process is gone: their lock went with it."""
    for left in folder.glob(f"{_UNFINISHED}*"):
        if not _UNFINISHED_NAME.fullmatch(left.name):
            continue
        with suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    left.unlink()
            finally:
                os.close(handle)


def _flush_folder(folder: Path) -> None:
    # Some file systems flush no folders; the rename itself is done.
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
