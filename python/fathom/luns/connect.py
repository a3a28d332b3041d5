"""The way to a LUN: whether its portal answers, and a block device of the kernel's initiator."""

from __future__ import annotations

import shutil
import socket
import subprocess
from urllib.parse import urlsplit

from fathom import engine
from fathom.luns.steps import LunError

__all__ = ["connect_kernel", "refuse_silent", "writable_name"]

_TIMEOUT_S, _LOGIN_S = 10.0, 60.0
_ISCSI_PORT = 3260


def refuse_silent(address: str) -> None:
    """Refuse an address whose portal takes no connection.

    Raises
    ------
    LunError
        If nobody listens there.

    """
    parts = urlsplit(address)
    where = (parts.hostname or "", parts.port or _ISCSI_PORT)
    try:
        socket.create_connection(where, timeout=_TIMEOUT_S).close()
    except OSError as error:
        raise LunError(f"nobody listens at {where[0]}:{where[1]}: {error}") from error


def writable_name(address: str) -> str:
    """Return what ``--allow-write`` takes for this LUN: its place and size, as the engine sees it.

    Raises
    ------
    InvalidRequestError
        If it cannot be reached.

    """
    (target,) = engine.explain(["-d1", address])["targets"]
    return str(target["device"]["allow_write"][-1])


def connect_kernel(address: str) -> None:
    """Log the kernel's initiator in, so that the LUN becomes a block device (open-iscsi).

    Raises
    ------
    LunError
        If open-iscsi is missing, or refuses.

    """
    program = shutil.which("iscsiadm") or shutil.which("iscsiadm", path="/usr/sbin:/sbin")
    if program is None:
        raise LunError("there is no iscsiadm: install open-iscsi, or measure the address itself")
    parts = urlsplit(address)
    host = parts.hostname or ""
    portal = f"{f'[{host}]' if ':' in host else host}:{parts.port or _ISCSI_PORT}"
    target = parts.path.split("/")[1]
    for words in (
        ("--mode", "discovery", "--type", "sendtargets", "--portal", portal),
        ("--mode", "node", "--targetname", target, "--portal", portal, "--login"),
    ):
        try:
            done = subprocess.run(  # noqa: S603 - iscsiadm; names are checked, and there is no shell.
                [program, *words],
                capture_output=True, text=True, errors="replace", check=False,
                timeout=_LOGIN_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LunError(f"iscsiadm does not answer: {error}") from error
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()
            raise LunError(f"iscsiadm failed: {last[-1] if last else done.returncode}")
