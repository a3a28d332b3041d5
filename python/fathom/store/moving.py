"""Moving a store: all of it is copied and read before the file that it was in is removed.

Nobody can save into a store while it is moved, and who waited for that is then told that it is no
longer there. A file appears under its new name once it is whole. So a move that is killed leaves
the old store, or both, and can be repeated.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import stat
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._names import give_new_name
from fathom.store._look import Look
from fathom.store.copying import copy_store
from fathom.store.errors import StoreError, StoreInUseError
from fathom.store.maintenance import Checked, check_store
from fathom.store.store import Store
from fathom.store.where import store_url

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["move_store"]

_BESIDE = ("-wal", "-shm")
_NAMED = 20


def move_store(
    source: str | os.PathLike[str] | None,
    target: str | os.PathLike[str],
    *,
    wait_s: float = 60.0,
) -> Checked:
    """Move a store: copy all of it, read the copy, and only then remove a file that it was in.

    Of one that is named by a link, the file that it leads to is removed, and the link.

    Returns
    -------
    Checked
        What the copy holds; the store of a server stays, as others may use it.

    Raises
    ------
    StoreError
        If there is something at its new place, an experiment goes on in it, or the copy is not
        whole; then nothing is removed.

    """
    named, new = _file_of(source), _file_of(target)
    # What a link leads to is the store; the link alone would leave it where it was.
    old = None if named is None else Path(os.path.realpath(named))
    if new is not None and os.path.lexists(new):
        raise StoreError(f"there is a file {new} already: name another place, or remove it")
    with Store(source, make=False, wait_s=wait_s) as here:
        here.check_writable()
        if old is not None:
            _check_unused(here)
    try:
        with _kept(old):
            if old is not None and new is not None:
                found = _moved_file(old, new)
            else:
                found = _copied(source, target)
            if old is not None and named is not None:
                _remove(old)
                # By any other name another process may have made a store there already.
                if named.is_symlink():
                    named.unlink()
            return found
    except sqlite3.Error as error:
        raise StoreError(f"{old} cannot be moved: {error}; it stays as it was") from error
    except OSError as error:
        words = f"{error.strerror or error}: {error.filename or new}"
        raise StoreError(f"{old or source} cannot be moved: {words}; it stays as it was") from error


def _file_of(where: str | os.PathLike[str] | None) -> Path | None:
    url = store_url(where)
    return Path(str(url.database)).absolute() if url.get_backend_name() == "sqlite" else None


def _check_unused(store: Store) -> None:
    """Refuse where an experiment goes on: its next run would find no store."""
    found = store.experiments.under_way()
    if found:
        raise StoreInUseError(
            f"experiment e{found[0]} goes on in {store.name}: wait for its end, or end it, and "
            "move the store then"
        )


@contextmanager
def _kept(file: Path | None) -> Iterator[None]:
    """Let nobody save into a file; others can read it."""
    if file is None:
        yield
        return
    # Another move may end while this one waits: what is opened then must be there, and be the same.
    before = file.stat()
    # Whoever looks into the file meanwhile, and closes it, would take the locks from this process.
    with closing(Look(file)), closing(_there(file)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        if not (file.exists() and os.path.samestat(before, file.stat())):
            raise StoreError(f"{file} was moved or removed meanwhile: nothing was done")
        yield


def _there(file: Path) -> sqlite3.Connection:
    """Open a file that is there, and make none."""
    return sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, isolation_level=None)


def _moved_file(old: Path, new: Path) -> Checked:
    new.parent.mkdir(parents=True, exist_ok=True)
    with _unfinished(new) as unfinished:
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(_there(old)) as here, closing(_there(unfinished)) as there:
            here.backup(there)
            there.commit()
        found = check_store(unfinished)
        _check_whole(found, old)
        unfinished.chmod(stat.S_IMODE(old.stat().st_mode))
        _put(unfinished, new)
    # It is known by its new name from here on, so that no run takes it for a target.
    with Store(new, make=False):
        pass
    return found


@contextmanager
def _unfinished(new: Path) -> Iterator[Path]:
    """Return a name beside the new one, in a folder that one move at a time has.

    What a move that was killed has left there is removed.
    """
    folder = new.with_name(f".{new.name}.moving")
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StoreInUseError(f"another move to {new} is under way: wait for its end") from None
    try:
        for left in folder.iterdir():
            left.unlink()
        yield folder / new.name
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _put(unfinished: Path, new: Path) -> None:
    """Give a file its name, and never that of another's file."""
    try:
        give_new_name(unfinished, new)
    except FileExistsError:
        raise StoreError(
            f"a file {new} was made meanwhile: the store stays; name another place"
        ) from None
    with suppress(OSError):
        handle = os.open(new.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _copied(source: str | os.PathLike[str] | None, target: str | os.PathLike[str]) -> Checked:
    """Copy to or from a server, where what is there already stays beside it."""
    with Store(source, make=False) as here, Store(target) as there:
        before = check_store(target)
        done = copy_store(here, there)
    if done.left:
        raise StoreError(f"not all of it could be moved, so that it stays: {done.left[0]}")
    faults = check_store(target).faults
    new = [one for one in faults if one not in before.faults]
    found = Checked(len(done.runs), len(done.experiments), new)
    _check_whole(found, source)
    return found


def _check_whole(found: Checked, source: str | os.PathLike[str] | None) -> None:
    """Refuse a copy that lacks something, or has faults that the store itself has not."""
    with Store(source, make=False) as here:
        if (found.runs, found.experiments) != (here.runs.count(), here.experiments.count()):
            raise StoreError("the copy does not hold all of it, so that the store stays")
    # Reading all of it takes long, and nearly always the copy has none.
    if found.faults and len(found.faults) > len(check_store(source).faults):
        shown = "; ".join(found.faults[:_NAMED])
        raise StoreError(f"the copy is not whole, so that the store stays: {shown}")


def _remove(file: Path) -> None:
    for one in (file, *(file.with_name(file.name + end) for end in _BESIDE)):
        one.unlink(missing_ok=True)
