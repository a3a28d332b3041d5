"""Which storage a target is, so that two hosts find out whether they mean the same."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom._addresses import is_address
from fathom._proc import boot_id, mounts
from fathom.engine import explain
from fathom.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["explained_targets", "machine_id"]

_WITHIN = re.compile(
    r"\+unix://|(//([^/@]*@)?|\\\\(\?\\UNC\\)?)(localhost|127\.|\[::1\])", re.IGNORECASE
)


def machine_id() -> str:
    """Return what two processes on one machine have in common, and two machines do not."""
    return boot_id() or os.uname().nodename


def explained_targets(
    request: str, *, overwrite: bool, allow_write: Sequence[str]
) -> dict[str, Any]:
    """Return what the engine says of a run, and for each target which storage it is."""
    asked = Request.from_dict(json.loads(request))
    told = explain(asked, overwrite=overwrite, allow_write=allow_write)
    for target in told["targets"]:
        target["identity"] = _identity(target)
    return told


def _identity(target: dict[str, Any]) -> str:
    """Return a word that is the same on all hosts that mean the same storage, and only there."""
    path = Path(target["path"])
    device = target.get("device") or {}
    known = device.get("wwn") or device.get("serial")
    if is_address(target["path"]):
        return f"disk {known}" if known else _served(target["path"])
    if target["kind"] == "block_device":
        return f"disk {known}" if known else f"{machine_id()} disk {_device_number(path)}"
    try:
        found = path.stat()
        place = f"{found.st_ino}"
    except OSError:
        # It is to be made: its folder and its name tell as much.
        found = path.parent.stat()
        place = f"{found.st_ino}/{path.name}"
    source = _remote_source(found.st_dev)
    if source is not None:
        return f"{source} {place}"
    return f"{machine_id()} {found.st_dev} {place}"


def _served(address: str) -> str:
    """Return the address, which means the same on all hosts unless it stays within one."""
    return f"{machine_id()} {address}" if _WITHIN.search(address) else address


def _device_number(path: Path) -> int:
    try:
        return path.stat().st_rdev
    except OSError:
        return 0


def _remote_source(device: int) -> str | None:
    """Return the server and folder of a file system that is on the network, else None."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for one in mounts():
        if one.number == wanted and (":" in one.source or one.source.startswith("//")):
            return f"{one.kind} {one.source}"
    return None
