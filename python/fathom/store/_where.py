"""Which store: what was asked for, else ``FATHOM_STORE``, else a file in the user's data folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._own_stores import ENVIRONMENT, default_store
from fathom.store._errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

__all__ = ["ENVIRONMENT", "default_store", "store_url"]

_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg")


def store_url(where: str | os.PathLike[str] | None = None) -> URL:
    """Return the address of a store: a file's path, ``sqlite:///path`` or ``postgresql://...``.

    Raises
    ------
    StoreError
        If the address is of another kind.

    """
    from sqlalchemy.engine import URL, make_url  # noqa: PLC0415 - Slow to import.
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415 - The same.

    asked = os.fspath(where) if where else os.environ.get(ENVIRONMENT, "")
    if "://" not in asked:
        path = Path(asked).expanduser() if asked else default_store()
        return URL.create("sqlite", database=str(path.absolute()))
    try:
        url = make_url(asked)
    except (ArgumentError, ValueError) as error:
        raise StoreError(f"{_kind(asked)}... is not the address of a store: {error}") from error
    if url.drivername in _POSTGRESQL:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and url.database != ":memory:":
        return url
    raise StoreError(
        f"{url.render_as_string(hide_password=True)} cannot be a store: "
        "name a file, or a database as postgresql://user@host/database"
    )


def _kind(address: str) -> str:
    """Return the part of an address that holds no password."""
    return address.split("://", maxsplit=1)[0] + "://"
