"""Whether a run failed because of its target, so that no other load would do better there.

What only one load meets (a size that the target does not take, a read that its medium lost) leaves
the others to be tried. No load does better where there is no room left, and where nothing can be
written or reached any more.
"""

from __future__ import annotations

import errno
import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathom._addresses import is_address
from fathom._files import size_of
from fathom._hanging import LOOK_S, HangingError, within
from fathom._provenance import is_among_devices
from fathom.engine import explain, load_of
from fathom.errors import InvalidRequestError, TargetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom._request_parts import Target
    from fathom.result import Result

__all__ = ["Trouble", "no_further_load", "refuse_a_bad_target", "target_trouble"]

Trouble = Literal["hangs", "cannot be used"]

# A target that is in use may be free for the next run.
_PASSING = (errno.EBUSY, errno.EINTR, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


# By the kind of an I/O that failed. What is refused before the first I/O depends on the load: a
# file may be smaller, and a load may only read.
_AT_AN_IO = {
    "no_space": "there is no room left to write; make room where the target lies",
    "read_only": "the target takes no writes any more; find out why (dmesg), and make it writable",
}
# Wherever a run meets it.
_ANYWHERE = {
    "not_found": "the target is not there any more; bring it back",
    "gone": "the target is gone; bring it back",
    "unreachable": "the target's server is not reached any more; bring it back",
}


def no_further_load(arguments: Sequence[str], result: Result | None) -> str | None:
    """Return why no other load can be run on the targets of a run that failed, and the remedy.

    None if another may. Nothing is made, read or written.
    """
    for failure in () if result is None else result.raw.get("failures") or ():
        why = _ANYWHERE.get(failure["kind"])
        why = why or (_AT_AN_IO.get(failure["kind"]) if failure.get("code") else None)
        if why is not None:
            return why
    paths = [Path(one) for one in arguments if one.startswith("/")]
    with suppress(HangingError):
        if within(LOOK_S, "look at the targets", lambda: any(map(_is_empty_device, paths))):
            return "the device has no bytes any more; attach it again"
    return None


def _is_empty_device(path: Path) -> bool:
    """Whether a block device has no bytes, as one that was detached and keeps its name."""
    try:
        return path.is_block_device() and not size_of(path)
    except OSError:
        return False


def refuse_a_bad_target(arguments: Sequence[str], failure: str) -> None:
    """Look at the targets of a run that failed before any other succeeded.

    Each is opened as the run opens it, and closed again; nothing is made, read or written.

    Raises
    ------
    TargetError
        If one of them cannot be used; the message is that of the run.

    """
    if target_trouble(arguments) is not None:
        raise TargetError(f"{failure}; no other load was tried")


def target_trouble(arguments: Sequence[str]) -> Trouble | None:
    """Return what keeps one of the targets from being used, whatever the load; None if nothing.

    Nothing is made or written.
    """
    with warnings.catch_warnings():
        # The run has told them.
        warnings.simplefilter("ignore")
        spans = load_of(arguments).profile.time_spans
    targets = [target for span in spans for target in span.targets]
    asked_s = [span.faults.io_timeout_s for span in spans if span.faults.io_timeout_s]
    limit_s = min([LOOK_S, *asked_s])
    try:
        is_bad = within(limit_s, "look at the targets", lambda: any(map(_is_bad, targets)))
    except HangingError:
        return "hangs"
    return "cannot be used" if is_bad else None


def _is_bad(target: Target) -> bool:
    if target.path.startswith(("#", "*")):
        return False
    if is_address(target.path):
        return _is_a_bad_server(target.path)
    path = Path(target.path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        is_made = target.create_bytes and os.access(path.parent, os.W_OK)
        return not is_made or is_among_devices(path)
    except OSError as error:
        return error.errno not in _PASSING
    if not stat.S_ISREG(mode) and not stat.S_ISBLK(mode):
        return True
    return not _opens(path, writing=bool(target.write_percent))


def _is_a_bad_server(address: str) -> bool:
    try:
        explain(["-d1", address])
    except InvalidRequestError:
        return True
    return False


def _opens(path: Path, *, writing: bool) -> bool:
    # O_NONBLOCK: a pipe would wait for its other end.
    flags = os.O_NONBLOCK | os.O_CLOEXEC | (os.O_RDWR if writing else os.O_RDONLY)
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return error.errno in _PASSING
    return True
