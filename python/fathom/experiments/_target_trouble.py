"""Whether a run failed because of its target, so that no other load would do better there."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fathom._addresses import is_address
from fathom.engine import explain, load_of
from fathom.errors import InvalidRequestError, TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_a_bad_target"]

# A target that is in use may be free for the next run.
_PASSING = (errno.EBUSY, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def refuse_a_bad_target(arguments: Sequence[str], failure: str) -> None:
    """Look at the targets of a run that failed before any other succeeded.

    Each is opened as the run opens it, and closed again; nothing is made, read or written.

    Raises
    ------
    TargetError
        If one of them cannot be used; the message is that of the run.

    """
    targets = [target for span in load_of(arguments)["time_spans"] for target in span["targets"]]
    for target in targets:
        if target["path"].startswith(("#", "*")):
            continue
        if is_address(target["path"]):
            _refuse_a_bad_server(target["path"], failure)
            continue
        path = Path(target["path"])
        is_bad = path.is_dir()
        if not is_bad and (path.exists() or not target["create_bytes"]):
            is_bad = not _opens(path, writing=bool(target["write_percent"]))
        elif not is_bad:
            is_bad = not os.access(path.parent, os.W_OK)
        if is_bad:
            raise TargetError(f"{failure}; no other load was tried")


def _refuse_a_bad_server(address: str, failure: str) -> None:
    try:
        explain(["-d1", address])
    except InvalidRequestError as error:
        raise TargetError(f"{failure}; no other load was tried") from error


def _opens(path: Path, *, writing: bool) -> bool:
    # O_NONBLOCK: a pipe would wait for its other end.
    flags = os.O_NONBLOCK | os.O_CLOEXEC | (os.O_RDWR if writing else os.O_RDONLY)
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return error.errno in _PASSING
    return True
