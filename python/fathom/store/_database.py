"""Connections to either database, and its faults in our words."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sqlite3
import time
import weakref
from contextlib import closing, contextmanager, suppress
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from fathom._extras import install_line, missing_of
from fathom._files import SQLITE_HEADER, check_regular
from fathom._own_stores import file_number
from fathom._signals import held_back
from fathom._text import without_secrets
from fathom.store._look import Look
from fathom.store._revision import VERSION_TABLE
from fathom.store._rows import as_text
from fathom.store.errors import (
    NoStoreError,
    NotAStoreError,
    NotFoundError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)
from fathom.store.where import address_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import URL, Connection, Engine

__all__ = ["Database", "no_store"]

# A writer keeps the store for milliseconds; who waits so long waits for something that hangs.
_WAIT_S = 60.0
_PIECE_MS = 100
# What SQLite writes beside a file at the least (https://sqlite.org/walformat.html, 2.1).
_LEAST_ROOM_BYTES = 32 << 10
# The index of its log is memory that all who use a file share (https://sqlite.org/walformat.html).
_NOT_SHARED = sqlite3.SQLITE_IOERR_SHMMAP
# SQLite has no number for what a single wrong bit makes of a column's name, or of a text.
_DAMAGE = re.compile(r"no such column: \S+|Could not decode to UTF-8 column '[^']*'")
_IMMUTABLE = "&immutable=1"
_FILE = "fathom_file"
# What a run is saved into.
_NUMBERED = ("experiments", "steps", "runs", "overrides")
_WRITTEN = (*_NUMBERED, "shared_texts", "provenances", "run_targets")
# https://www.postgresql.org/docs/15/errcodes-appendix.html
_PG_FULL = {"53100", "53200"}
_PG_MISSING = "23503"
_PG_READ_ONLY = {"25006", "42501"}
_PG_TOO_LARGE = "22003"
_PG_LOCKED = {"55P03", "57014", "40P01", "40001"}


def no_store(name: str) -> NoStoreError:
    """Return the error that there is no store, with what to do."""
    return NoStoreError(
        f"there is no store {name} yet: fathom run makes it and saves the first run; if there "
        "should be one, name it with --store or FATHOM_STORE"
    )


class _Told(Exception):  # noqa: N818 - It is no error, but what one said.
    """What a driver said, without secrets."""


class Database:
    """One database; every use of it is one transaction."""

    def __init__(self, url: URL, *, wait_s: float = _WAIT_S, make: bool = True) -> None:
        """Prepare for connections; nothing is opened yet.

        Raises
        ------
        NoStoreError
            If the file is missing, and ``make`` is not wanted.
        StoreError
            If the file's folder cannot be made, or a driver is missing.

        """
        self._secrets = address_secrets(url)
        shown = without_secrets(url.render_as_string(hide_password=True), self._secrets)
        self.name = str(url.database) if _is_sqlite(url) else shown
        self.wait_s = wait_s
        self._make = make
        self._made: tuple[int, int] | None = None
        self._look: Look | None = None
        self._is_closed = False
        with self.own_words():
            self.engine = self._sqlite(url) if _is_sqlite(url) else self._postgresql(url)
        event.listen(self.engine, "before_cursor_execute", _only_text, retval=True)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection that sees one state of the store throughout."""
        self._check_open()
        with self.own_words(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Return a connection whose work is saved as a whole, or not at all if anything raises."""
        self._check_open()
        with self.own_words(), self.engine.connect() as connection:
            connection.execution_options(fathom_writes=True)
            with connection.begin():
                yield connection

    def check_writable(self) -> None:
        """See whether something can be saved now.

        Raises
        ------
        StoreError
            If it cannot; the kinds say why.

        """
        with self.writing() as connection:
            # A server that stands by takes a transaction, and refuses to write in it; a role that
            # may only read takes one, too. SQLite tells of a file only when something is written.
            lacking = "" if self.is_sqlite else _lacking(connection)
            if lacking:
                raise StoreError(
                    f"the store {self.name} can only be read ({lacking}): make it writable, or "
                    "name another store with --store"
                )
            if self.is_sqlite:
                same = f"UPDATE {VERSION_TABLE} SET version_num = version_num"  # noqa: S608
                connection.exec_driver_sql(same)

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoreError(f"the store {self.name} was closed: open it again")

    def close(self) -> None:
        """Close all connections; nothing can be read or saved from then on."""
        self._is_closed = True
        # What a signal ends in the midst of it, SQLAlchemy prints with a traceback.
        with held_back():
            self.engine.dispose()
        if self._look is not None:
            self._look.close()

    def abandon(self) -> None:
        """Close all connections, and remove the file if it was made here and is still empty.

        Its lock is held meanwhile: another process that uses it goes on with it.
        """
        self.close()
        if self._made is None:
            return
        path = Path(self.name).absolute()
        with suppress(OSError, sqlite3.Error):
            address = f"{path.as_uri()}?mode=rw"
            lock = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
            with closing(lock):
                try:
                    lock.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    # It had the lock, and no room for a first page: nor has anybody else.
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                        raise
                if file_number(self.name) == self._made and not path.stat().st_size:
                    path.unlink()

    def _sqlite(self, url: URL) -> Engine:
        path = Path(str(url.database))
        try:
            if not path.exists():
                if not self._make:
                    raise no_store(str(path))
                self._made = _make_private(path)
            check_regular(path)
            self._look = Look(path)
            # Whoever never closes a store closes this with it.
            weakref.finalize(self, self._look.close)
            beginning = self._look.read(len(SQLITE_HEADER))
        except FileNotFoundError:
            beginning = b""
        except OSError as error:
            raise StoreError(
                f"the store {path} cannot be opened: {error.strerror}; name another with --store"
            ) from error
        if beginning not in (b"", SQLITE_HEADER):
            if self._look is not None:
                self._look.close()
            raise NotAStoreError(f"{path} is no store of Fathom, and was not changed")
        # What SQLite keeps beside a file stands beside the one that a link leads to.
        if beginning and not _is_writable(path.resolve()):
            engine = self._sqlite_to_read(path.resolve())
        else:
            self._check_locks()
            address = _address(path, mode="rwc" if self._make else "rw")
            engine = sa.create_engine(address, connect_args={"timeout": self.wait_s})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", self._begin_sqlite)
        return engine

    def _check_locks(self) -> None:
        if self._look is not None and not self._look.has_locks():
            self._look.close()
            # Nobody can have saved into it.
            if self._made is not None and file_number(self.name) == self._made:
                Path(self.name).unlink()
            raise StoreError(
                f"the store {self.name} lies on a file system that has no locks "
                f"({os.strerror(errno.ENOLCK)}), or none left: put it on a local one, and name it "
                "there with --store"
            )

    def _sqlite_to_read(self, path: Path) -> Engine:
        """Return an engine that opens the file for each use: what is true of its log changes."""

        def opened() -> sqlite3.Connection:
            address = _reading_address(path)
            if not address.endswith(_IMMUTABLE):
                self._check_locks()
            return sqlite3.connect(address, uri=True, timeout=self.wait_s, check_same_thread=False)

        return sa.create_engine("sqlite://", creator=opened, poolclass=sa.pool.NullPool)

    def _postgresql(self, url: URL) -> Engine:
        if missing_of("postgresql"):
            raise StoreError(
                f"a store in PostgreSQL needs the driver: {install_line('postgresql')}"
            )
        milliseconds = round(self.wait_s * 1000)
        query = dict(url.query)
        options = f"-c lock_timeout={milliseconds} {query.pop('options', '')}".strip()
        # Connections that a server's restart has cut are replaced unseen.
        return sa.create_engine(
            url.set(query=query),
            pool_pre_ping=True,
            # In the encoding of the database, the driver would hand out bytes for SQL_ASCII.
            connect_args={
                "options": options,
                "application_name": "fathom",
                "client_encoding": "utf8",
            },
        )

    def _begin_sqlite(self, connection: Connection) -> None:
        self._check_that_it_is_still_there(connection)
        if not connection.get_execution_options().get("fathom_writes", False):
            connection.exec_driver_sql("BEGIN")
            return
        # A writer takes the lock at once: one that read first could not wait for it (SQLITE_BUSY).
        # It waits in pieces, between which Python looks at signals.
        end_s = time.monotonic() + self.wait_s
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_PIECE_MS}")
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                break
            except OperationalError as error:
                if not _is_busy(error.orig) or time.monotonic() >= end_s:
                    raise
        # Whoever kept it may have moved it meanwhile.
        self._check_that_it_is_still_there(connection)
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(self.wait_s * 1000)}")

    def _check_that_it_is_still_there(self, connection: Connection) -> None:
        """Refuse a file that is no longer the one of this name.

        SQLite would go on with a file that nobody can reach any more, and save runs into it.
        """
        number = file_number(self.name)
        if connection.info.setdefault(_FILE, number) != number:
            raise StoreError(
                f"the store {self.name} was removed or replaced while it was in use: put it back, "
                "or name another store with --store"
            )

    def _has_no_room(self) -> bool:
        try:
            return shutil.disk_usage(Path(self.name).resolve().parent).free < _LEAST_ROOM_BYTES
        except OSError:
            return False

    @contextmanager
    def own_words(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) == _PG_TOO_LARGE:
                raise self._too_large() from None
            if _lacks_its_experiment(error.orig):
                raise StoreError(
                    f"the store {self.name} has no more what this belongs to: its experiment was "
                    "deleted meanwhile"
                ) from None
            # Not ``from error``, which would be printed with it: a driver's words may have secrets.
            raise self._translated(error.orig) from _Told(self._without_secrets(error.orig))
        except sqlite3.Error as error:
            # What was asked of the driver itself, as outside a transaction.
            raise self._translated(error) from error
        except OverflowError:
            raise self._too_large() from None
        # The name of a host that is none, such as "." (encodings.idna).
        except (SQLAlchemyError, UnicodeError) as error:
            words = self._without_secrets(error)
            if self.is_sqlite and isinstance(error, UnicodeDecodeError):
                raise self._damaged(words) from None
            raise StoreError(f"the store {self.name} cannot be used: {words}") from None

    def _too_large(self) -> NotFoundError:
        return NotFoundError(f"{self.name} holds no number as large as that")

    def _without_secrets(self, error: BaseException | None) -> str:
        return without_secrets(str(error).strip(), self._secrets)

    def _translated(self, error: BaseException | None) -> StoreError:
        words = self._without_secrets(error)
        state = str(getattr(error, "sqlstate", None))
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_READONLY or state in _PG_READ_ONLY:
            return StoreError(
                f"the store {self.name} can only be read ({words}): make it writable, or name "
                "another store with --store"
            )
        if code == sqlite3.SQLITE_CORRUPT:
            return self._damaged(words)
        if code == sqlite3.SQLITE_NOTADB:
            return NotAStoreError(f"{self.name} is no store of Fathom, and was not changed")
        # Without room for its index of the log, SQLite tells of an error of the device.
        is_full = code == sqlite3.SQLITE_IOERR and self._has_no_room()
        if is_full or code == sqlite3.SQLITE_FULL or state in _PG_FULL:
            return StoreFullError(
                f"the store {self.name} has no room left ({words}): free some, or name "
                "another store with --store; what was saved before is whole"
            )
        if _is_busy(error) or state in _PG_LOCKED:
            return StoreLockedError(
                f"another program has kept the store {self.name} locked for {self.wait_s:g} s: "
                "end it, or name another store with --store"
            )
        is_gone = code == sqlite3.SQLITE_CANTOPEN and not Path(self.name).exists()
        return no_store(self.name) if is_gone else self._unusable(error, words)

    def _damaged(self, words: str) -> StoreError:
        return StoreError(
            f"the store {self.name} is damaged ({words}): put back a copy of it, save what is "
            "whole with sqlite3's .recover, or name another store with --store"
        )

    def _unusable(self, error: BaseException | None, words: str) -> StoreError:
        if isinstance(error, sqlite3.Error) and (damage := _DAMAGE.match(words)):
            return self._damaged(damage[0])
        if getattr(error, "sqlite_errorcode", 0) != _NOT_SHARED:
            return StoreError(f"the store {self.name} cannot be used: {words}")
        return StoreError(
            f"the store {self.name} lies on a file system that does not share memory between "
            f"programs ({words}), as network file systems may not: put it on a local one, and "
            "name it there with --store"
        )


def _lacks_its_experiment(error: BaseException | None) -> bool:
    is_missing = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
    return is_missing or getattr(error, "sqlstate", None) == _PG_MISSING


def _make_private(path: Path) -> tuple[int, int] | None:
    """Make a new store, and folders that are missing, for their owner alone; return which it is.

    SQLite gives what it keeps beside a file the mode of the file. A store that is there keeps its
    mode: who shares it has said so.
    """
    missing = [one for one in path.parents if not one.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            found = os.fstat(handle)
        finally:
            os.close(handle)
        return found.st_dev, found.st_ino
    return None


def _only_text(
    _connection: Connection,
    _cursor: object,
    statement: str,
    parameters: Any,  # noqa: ANN401 - Of one row or of several, by position or by name.
    _context: object,
    _many: bool,  # noqa: FBT001 - SQLAlchemy calls it so.
) -> tuple[str, Any]:
    """Hand over what databases keep: bytes that are no text, and zeros, become escapes.

    Whole numbers of other libraries become Python's.
    """
    return statement, _as_texts(parameters)


def _as_texts(value: Any) -> Any:  # noqa: ANN401 - The same.
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, dict):
        return {name: _as_texts(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_as_texts, value))
    if isinstance(value, SupportsIndex) and not isinstance(value, int):
        # SQLite takes a number of numpy, such as one of a table of pandas, for a blob, which equals
        # no number. An array of several has no index.
        with suppress(TypeError):
            return index(value)
    return value


def _is_busy(error: BaseException | None) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _lacking(connection: Connection) -> str:
    """Return what keeps a server from saving a run here; nothing if it can."""
    if connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
        return "the server takes no changes"
    may = {f"INSERT on {name}": sa.func.has_table_privilege(name, "INSERT") for name in _WRITTEN}
    for name in _NUMBERED:
        # Whoever may insert is not thereby given numbers for it.
        numbers = sa.func.pg_get_serial_sequence(name, "id")
        may[f"USAGE on {name}_id_seq"] = sa.func.has_sequence_privilege(numbers, "USAGE, UPDATE")
    found = zip(may, connection.execute(sa.select(*may.values())).one(), strict=True)
    lacking = [name for name, is_given in found if is_given is False]
    more = f" and {len(lacking) - 1} more rights" if len(lacking) > 1 else ""
    return f"its role lacks {lacking[0]}{more}" if lacking else ""


def _is_writable(path: Path) -> bool:
    """Whether a store can be written, and with it what SQLite keeps beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _reading_address(path: Path) -> str:
    """Return an address by which a store is read that cannot be written.

    Where nothing can be made beside it, SQLite reads a file with a write-ahead log only if it is
    told that nobody writes: true while there is no log (https://sqlite.org/wal.html, "Read-Only
    Databases").
    """
    log = path.with_name(f"{path.name}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    return f"file:{quote(os.fsencode(path))}?mode=ro" + ("" if has_log else _IMMUTABLE)


def _address(path: Path, **how: str) -> URL:
    """Return an address that says what SQLite may do with a file (https://sqlite.org/uri.html).

    By its plain name it would make an empty one where another process has just moved the store.
    """
    query = {"uri": "true"} | how
    return sa.engine.URL.create("sqlite", database=f"file:{quote(str(path))}", query=query)


def _is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - A driver's object.
    # Transactions are ours: the driver would begin them late, and end them before CREATE TABLE.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # Of a file that is empty yet; others keep theirs. A run with its packed result takes 2 to 5
    # KiB, and what its last page has left is lost.
    connection.execute("PRAGMA page_size = 2048")
    # A saved run survives a power cut; one flush a run costs nothing.
    connection.execute("PRAGMA synchronous = FULL")
