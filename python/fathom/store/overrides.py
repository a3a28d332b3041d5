"""Overrides in the store: who allowed to destroy what, by which words, and when.

The lines stay when runs and experiments are deleted.
"""

from __future__ import annotations

import os
import platform
import pwd
import shlex
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom.engine import load_of
from fathom.store._tables import overrides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._permission import Permission
    from fathom.request import Request
    from fathom.store._database import Database

__all__ = ["Override", "Overrides"]


@dataclass(frozen=True)
class Override:
    """One line.

    ``target_identity`` is device and inode of a file, or the number of a device, as it was before;
    ``run_id`` is None if the run was refused, or not saved.
    """

    id: int
    at_unix_s: float
    user_id: int
    user_name: str
    host_name: str
    permission: str
    target_path: str
    target_identity: str
    command: str
    experiment_id: int | None
    run_id: int | None


class Overrides:
    """The overrides of a store."""

    def __init__(self, database: Database) -> None:
        """Work in this database."""
        self._database = database

    def note(
        self,
        permission: Permission,
        arguments: Sequence[str],
        experiment_id: int | None,
        request: Request | None = None,
    ) -> list[int]:
        """Note before a run what is allowed for it, a line for each target that it may write.

        ``request`` is what is run; without it, what the arguments ask for.

        Raises
        ------
        StoreError
            If the store does not take it: then the run is not to begin.

        """
        asked = load_of(arguments) if request is None else request
        written = {
            one.path: None
            for span in asked.profile.time_spans
            for one in span.targets
            if one.write_percent or one.create_bytes or one.extensions.trim_percent
        }
        common = {
            "at_unix_s": time.time(),
            "user_id": os.getuid(),
            "user_name": _user_name(),
            "host_name": platform.node(),
            "permission": shlex.join(permission.words()),
            "command": shlex.join(arguments),
            "experiment_id": experiment_id,
        }
        made = []
        with self._database.writing() as connection:
            for path in written:
                row = {**common, "target_path": path, "target_identity": _identity(path)}
                insert = overrides.insert().values(row).returning(overrides.c.id)
                made.append(int(connection.execute(insert).scalar_one()))
        return made

    def ended(self, ids: Sequence[int], run_id: int | None) -> None:
        """Note which run these became."""
        if not ids or run_id is None:
            return
        with self._database.writing() as connection:
            mine = overrides.c.id.in_(ids)
            connection.execute(overrides.update().where(mine).values(run_id=run_id))

    def list(self, *, experiment_id: int | None = None, limit: int | None = None) -> list[Override]:
        """Return lines, the newest first."""
        query = overrides.select().order_by(overrides.c.id.desc()).limit(limit)
        if experiment_id is not None:
            query = query.where(overrides.c.experiment_id == experiment_id)
        with self._database.reading() as connection:
            return [Override(**row) for row in connection.execute(query).mappings()]


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


def _identity(path: str) -> str:
    if is_address(path):
        return "served by another host"
    try:
        found = Path(path).stat()
    except OSError:
        return "new"
    if stat.S_ISBLK(found.st_mode):
        return f"block device {os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    return f"device {device}, inode {found.st_ino}, {found.st_size} bytes"
