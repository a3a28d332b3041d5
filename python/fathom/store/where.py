"""Which store: what was requested, else ``FATHOM_STORE``, else a file in the user's data folder."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fathom import _packages
from fathom._own_stores import ENVIRONMENT, default_store, is_nearly_an_address
from fathom._text import is_secret, secrets_of, without_secrets
from fathom.store.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = [
    "ENVIRONMENT",
    "address_secrets",
    "default_store",
    "store_file",
    "store_url",
    "whole_name",
]

# https://www.postgresql.org/docs/current/libpq-envars.html
_SECRET_VARIABLES = ("PGPASSWORD", "PGSSLPASSWORD")
_MEMORY = ":memory:"
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


def store_file(where: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a store that is named by its path; None if it is named by an address.

    Raises
    ------
    StoreError
        If the name is empty, or looks like an address that is mistyped, whose password would be a
        file's name.

    """
    asked = _asked(where)
    if is_nearly_an_address(asked):
        raise StoreError(
            "what is given for the store looks like a mistyped address, and is not shown since it "
            "may hold a password: write postgresql://user@host/database, or for a file of such a "
            "name sqlite:////its/path"
        )
    if "://" in asked:
        return None
    return (Path(asked).expanduser() if asked else default_store()).absolute()


def whole_name(where: str) -> str:
    """Return the name of a store by which a process with another folder finds the same one.

    Raises
    ------
    StoreError
        As `store_file`.

    """
    file = store_file(where)
    return where if file is None else str(file)


def _asked(where: str | os.PathLike[str] | None) -> str:
    if where is None:
        return os.environ.get(ENVIRONMENT, "")
    named = os.fspath(where) if isinstance(where, str | os.PathLike) else None
    if not isinstance(named, str):
        raise StoreError(f"a store is a file's path or an address, not {where!r}")
    if not named:
        # It would stand for the store in use, which a move would remove.
        raise StoreError("the name of the store is empty: name a file, or None for the usual one")
    if named == _MEMORY:
        # SQLite's name of a database that is nowhere would be that of a file here.
        raise StoreError(
            f"{_MEMORY} cannot be a store: each use has connections of its own, and would find it "
            f"empty; name a file, in a temporary folder for instance, or ./{_MEMORY} for a file of "
            "this name"
        )
    if "\0" in named or not _is_name(named):
        raise StoreError(
            f"the store cannot have the name {named!r}: name a file whose name is UTF-8 text"
        )
    return named


def _is_name(named: str) -> bool:
    """Whether a store can have this name: it stands in addresses, which are UTF-8 text."""
    try:
        named.encode()
    except UnicodeEncodeError:
        return False
    return True


def store_url(where: str | os.PathLike[str] | None = None) -> _packages.URL:
    """Return the address of a store: a file's path, ``sqlite:///path`` or ``postgresql://...``.

    Raises
    ------
    StoreError
        If the address is of another kind.

    """
    file, asked = store_file(where), _asked(where)
    if file is not None:
        return _packages.URL.create("sqlite", database=str(file))
    try:
        url = _packages.make_url(asked)
    except (_packages.ArgumentError, ValueError) as error:
        raise StoreError(
            f"{_kind(asked)}... is not the address of a store: {_told(error)}"
        ) from None
    in_its_place = url.drivername != "sqlite" and not url.host
    if in_its_place and re.search(":.*@", url.database or ""):
        raise StoreError(
            "the address of the store has a slash too many: postgresql://user@host/database"
        )
    if "@" in (url.host or ""):
        # What stands before the last @ is the password's, and not to be looked up as a host.
        raise StoreError("the address of the store has several @: write those of a password as %40")
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != _MEMORY:
        return url
    shown = without_secrets(url.render_as_string(hide_password=True), address_secrets(url))
    raise StoreError(
        f"{shown} cannot be a store: name a file, or a database as postgresql://user@host/database"
    )


def address_secrets(url: URL) -> tuple[str, ...]:
    """Return the secrets of an address, in each way in which a message may write them."""
    given = [str(url.password)] if url.password else []
    for name, value in url.query.items():
        if is_secret(name):
            given += [value] if isinstance(value, str) else [*value]
    # The driver may take them from here.
    given += [os.environ[name] for name in _SECRET_VARIABLES if os.environ.get(name)]
    return secrets_of(tuple(given))


def _kind(address: str) -> str:
    """Return the part of an address that holds no password."""
    kind = address.split("://", maxsplit=1)[0]
    return f"{kind}://" if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", kind) else "it"


def _told(error: Exception) -> str:
    """Return the words of an error that may quote the address."""
    quoted = re.search(r"(?:given URL string|invalid literal)", str(error))
    return "it cannot be read" if quoted else without_secrets(str(error))
