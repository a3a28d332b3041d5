"""Under which account a database runs: PostgreSQL refuses to be started by root."""

from __future__ import annotations

import os
import pwd
import subprocess
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from fathom.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Account", "account_for", "refuse_unreachable"]

# Of these the first that there is: who called sudo, else one that owns nothing.
_NOBODY = "nobody"


class _Identity(TypedDict, total=False):
    user: int
    group: int
    extra_groups: Sequence[int]


class Account(NamedTuple):
    """An account by its name and numbers."""

    name: str
    uid: int
    gid: int

    def identity(self) -> _Identity:
        """Return what makes ``subprocess`` start a program under it; nothing if it is our own."""
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def account_for(name: str | None = None) -> Account:
    """Return the account under which databases run.

    Raises
    ------
    InvalidRequestError
        If there is no such account, it is root's, or this process may not start others' programs.

    """
    is_root = os.geteuid() == 0
    wanted = name or (os.environ.get("SUDO_USER") if is_root else None)
    if wanted is None or (name is None and wanted == "root"):
        wanted = _NOBODY if is_root else None
    try:
        found = pwd.getpwuid(os.geteuid()) if wanted is None else pwd.getpwnam(wanted)
    except KeyError:
        raise InvalidRequestError(
            f"there is no account {wanted or os.geteuid()}: name another with --account"
        ) from None
    if found.pw_uid == 0:
        raise InvalidRequestError("PostgreSQL refuses to run as root: name another with --account")
    if not is_root and found.pw_uid != os.geteuid():
        raise InvalidRequestError(f"only root can run databases as {wanted}: leave out --account")
    return Account(found.pw_name, found.pw_uid, found.pw_gid)


def refuse_unreachable(account: Account, folder: Path) -> None:
    """Refuse a folder into which the account may not go.

    Raises
    ------
    InvalidRequestError
        It names the folder and what to do.

    """
    words = ["/bin/sh", "-c", 'cd -- "$1"', "sh", str(folder)]
    tried = subprocess.run(  # noqa: S603 - Our own words.
        words,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        **account.identity(),
    )
    if tried.returncode:
        raise InvalidRequestError(
            f"the account {account.name} may not enter {folder}: take a folder that it can reach, "
            "or name another account with --account"
        )
