"""Users with hashed passwords, and tokens of programs; both have one of two roles."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, get_args

from fathom import _packages
from fathom._files import read_text, replacing
from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ROLES", "Account", "AccountError", "Accounts", "Role"]

Role = Literal["look", "measure"]
ROLES: tuple[Role, ...] = get_args(Role)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_LEAST_CHARACTERS = 12
# What nobody types is not worth a second of hashing.
_MOST_CHARACTERS = 1024
_MOST_MIB = 16
_TOKEN_BYTES = 32
# Passwords are hashed by few at once: each takes 64 MiB.
_hashing = threading.BoundedSemaphore(2)


class AccountError(InvalidRequestError):
    """A user or a token cannot be added, changed or removed; nothing was changed."""


@dataclass(frozen=True)
class Account:
    """A user or a token: its name, its role, and what proves who it is."""

    name: str
    role: Role
    hash: str


class Accounts:
    """The users and tokens of a server's folder."""

    def __init__(self, folder: Path) -> None:
        """Keep them in this folder."""
        self._file = folder / "accounts.json"
        self._read_at: tuple[int, int] | None = None
        self._known: dict[str, list[Account]] = {"users": [], "tokens": []}

    def users(self) -> list[Account]:
        """Return the users by name."""
        return self._all()["users"]

    def tokens(self) -> list[Account]:
        """Return the tokens by name."""
        return self._all()["tokens"]

    def add_user(self, name: str, password: str, role: Role, *, replace: bool = False) -> None:
        """Add a user, or change one.

        Raises
        ------
        AccountError
            If the name or password will not do, or the user is there and is not to be replaced.

        """
        if not _LEAST_CHARACTERS <= len(password) <= _MOST_CHARACTERS:
            raise AccountError(
                f"a password has from {_LEAST_CHARACTERS} to {_MOST_CHARACTERS} characters"
            )
        self._add("users", Account(name, role, _hashed(password)), replace=replace)

    def add_token(self, name: str, role: Role) -> str:
        """Add a token for a program and return it; only its digest is kept.

        Raises
        ------
        AccountError
            If the name will not do, or is taken.

        """
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._add("tokens", Account(name, role, digest(token)), replace=False)
        return token

    def remove(self, kind: Literal["users", "tokens"], name: str) -> None:
        """Remove one.

        Raises
        ------
        AccountError
            If there is none of this name.

        """
        found = self._all()
        rest = [one for one in found[kind] if one.name != name]
        if len(rest) == len(found[kind]):
            raise AccountError(f"there is no {kind[:-1]} {name!r}")
        self._write({**found, kind: rest})

    def user_of(self, name: str, password: str) -> Account | None:
        """Return the user whom name and password prove; it takes as long if there is none."""
        user = next((one for one in self.users() if one.name == name), None)
        expected = _NOBODY if user is None else user.hash
        is_right = _verified(expected, password[:_MOST_CHARACTERS])
        return user if is_right else None

    def token_of(self, token: str) -> Account | None:
        """Return the account of a token."""
        given = digest(token)
        found = [one for one in self.tokens() if secrets.compare_digest(one.hash, given)]
        return found[0] if found else None

    def _add(self, kind: str, account: Account, *, replace: bool) -> None:
        if not _NAME.fullmatch(account.name):
            raise AccountError(
                f"{account.name!r} is no name: letters, digits and . _ @ - are allowed, 64 at most"
            )
        if account.role not in ROLES:
            raise AccountError(f"{account.role!r} is no role: {' or '.join(ROLES)}")
        found = self._all()
        if not replace and any(one.name == account.name for one in found[kind]):
            raise AccountError(f"there is a {kind[:-1]} {account.name!r} already")
        rest = [one for one in found[kind] if one.name != account.name]
        self._write({**found, kind: [*rest, account]})

    def _all(self) -> dict[str, list[Account]]:
        """Return what the file has now: whom another process removes is out at once."""
        try:
            now = self._file.stat()
        except FileNotFoundError:
            return {"users": [], "tokens": []}
        at = (now.st_mtime_ns, now.st_ino)
        if at != self._read_at:
            self._known, self._read_at = self._read(), at
        return self._known

    def _read(self) -> dict[str, list[Account]]:
        try:
            kept = json.loads(read_text(self._file, most_mib=_MOST_MIB))
            return {
                kind: sorted((Account(**one) for one in kept[kind]), key=lambda one: one.name)
                for kind in ("users", "tokens")
            }
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AccountError(
                f"{self._file} is damaged, so that nobody is let in: remove it, and add the users "
                f"again ({error})"
            ) from error

    def _write(self, accounts: dict[str, list[Account]]) -> None:
        kept = {kind: [asdict(one) for one in several] for kind, several in accounts.items()}
        try:
            with replacing(self._file, may_go=self._is_as_read) as unfinished:
                unfinished.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        except FileExistsError as error:
            raise AccountError(
                f"{self._file} was changed meanwhile by another program: try again"
            ) from error

    def _is_as_read(self, file: Path) -> bool:
        """Whether nobody has changed the file since it was read: what they added would be lost."""
        now = file.stat()
        return (now.st_mtime_ns, now.st_ino) == self._read_at


def digest(token: str) -> str:
    """Return what is kept of a token: it is random, so that no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def _hashed(password: str) -> str:
    return _packages.PasswordHasher().hash(password)


def _verified(expected: str, password: str) -> bool:
    with _hashing:
        try:
            return _packages.PasswordHasher().verify(expected, password)
        except (_packages.Argon2Error, _packages.InvalidHashError):
            return False


# The hash of a random password, for names that nobody has.
_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRub2JvZHk$QX6vWTHO2kq8vYjvZ0NwW9Yk3R0lZ2m3mJQfF6S0fK0"
)
