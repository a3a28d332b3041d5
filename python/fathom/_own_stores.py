"""The stores of results that no run may write, whatever is typed and wherever it saves.

They are those that this process has opened or was told of, the one that the environment names, and
the one that is used if nothing is named. The engine protects each with the files that SQLite keeps
beside it, by identity, and the device that holds them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fathom import _packages
from fathom.errors import RefusedError

__all__ = [
    "BESIDE_STORES",
    "ENVIRONMENT",
    "default_store",
    "file_number",
    "is_nearly_an_address",
    "is_own_store",
    "note_store",
    "own_stores",
    "refuse_own_store",
]

ENVIRONMENT = "FATHOM_STORE"
# https://sqlite.org/tempfiles.html
BESIDE_STORES = ("-wal", "-shm", "-journal")
"""The ends of the names of what SQLite keeps beside a file."""
_ENDS = ("", *BESIDE_STORES)

# What is meant for an address of a database and is none, so that it would be taken for a file: a
# slash or colon too few, a user's name with a password, parameters of libpq.
_NEARLY_AN_ADDRESS = re.compile(
    r"^\s*[A-Za-z][\w+.-]*:/|^\s*(?:post|pg|psql|sqlite)[\w+.-]*(?:://?|//)|:[^@]*@"
    r"|(?:^|\s)(?:host|hostaddr|port|user|dbname|service|sslmode|options)\s*="
    r"|(?:passw|passphrase|secret|token|passfile)\w*\s*=",
    re.IGNORECASE,
)

_noted: dict[str, None] = {}


def default_store() -> Path:
    """Return the file that is used if nothing else is requested."""
    return Path(_packages.platformdirs.user_data_dir("fathom", appauthor=False)) / "runs.sqlite"


def is_nearly_an_address(asked: str) -> bool:
    """Whether this is no address of a database, and yet meant as one: it may hold a password."""
    return "://" not in asked and _NEARLY_AN_ADDRESS.search(asked) is not None


def note_store(where: str | os.PathLike[str] | None) -> None:
    """Take a store as ours until this process ends; a server's database has no file."""
    path = _file(os.fspath(where)) if where else None
    if path is not None:
        _noted[str(path)] = None


def own_stores() -> list[str]:
    """Return the files of all stores that are ours, also of those that are not there."""
    asked = os.environ.get(ENVIRONMENT, "")
    named = _file(asked) if asked else None
    found = [*_noted, str(default_store()), *([] if named is None else [str(named)])]
    return [*dict.fromkeys(found)]


def refuse_own_store(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is a store of ours, or one that SQLite keeps beside it.

    Raises
    ------
    RefusedError
        If it is; also under another name, and where it is not there yet.

    """
    store = _store_of(path)
    if store is not None:
        raise RefusedError(
            f"{path}: it is protected: it belongs to the store of results {store}; name another "
            "file"
        )


def is_own_store(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a store of ours, or one that SQLite keeps beside it.

    Whoever closes one takes the locks from whoever else in this process has it open (close(2)).
    """
    return _store_of(path) is not None


def _store_of(path: str | os.PathLike[str]) -> str | None:
    wanted, number = os.path.realpath(path), file_number(path)
    for store in own_stores():
        for named in dict.fromkeys((store, os.path.realpath(store))):
            for beside in (f"{named}{end}" for end in _ENDS):
                # A path that leads nowhere is compared by its name alone.
                is_same = number is not None and number == file_number(beside)
                if is_same or os.path.realpath(beside) == wanted:
                    return store
    return None


def file_number(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return what tells a file from all others, of the same name too; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _file(address: str) -> Path | None:
    """Return the file of a store's address; None if it has none, or the address is wrong."""
    if is_nearly_an_address(address):
        return None
    if "://" not in address:
        return Path(address).expanduser().absolute()

    try:
        url = _packages.make_url(address)
    except (_packages.ArgumentError, ValueError):
        return None
    is_file = url.drivername == "sqlite" and url.database not in {None, "", ":memory:"}
    return Path(str(url.database)).absolute() if is_file else None
