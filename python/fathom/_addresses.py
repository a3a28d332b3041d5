"""Targets that are no paths (served by others, drives of Windows, disks), and hosts with ports."""

from __future__ import annotations

import os
import re
from ipaddress import IPv6Address

__all__ = ["is_address", "misnomer", "place_of", "protocol_of"]

# As the engine has them (`core/storage/target.rs`); without regard to case.
_SCHEMES = re.compile(r"(smb|iscsi|nfs|nbd|nbds|nbd\+unix|nbds\+unix)://", re.IGNORECASE)

# A drive of Windows, and a disk by its number, as the engine has them; a file of such a name has a
# folder in front of it.
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/].*)?", re.DOTALL)
_DISK = re.compile(r"#[0-9]+")

# A host by name or number, the latter of IPv6 in brackets, with or without a port.
_PLACE = re.compile(
    r"(?:\[(?P<ipv6>[0-9a-fA-F:.%]{2,45})\]|(?P<name>[0-9a-zA-Z._-]{1,253}))"
    r"(?::(?P<port>[0-9]{1,5}))?"
)
_MOST_LABEL, _MOST_PORT = 63, 65_535


def misnomer(target: str | os.PathLike[str]) -> str | None:
    """Return why no run takes a name for a path, and what to do; None if it is one."""
    name = os.fspath(target)
    if _DRIVE.fullmatch(name):
        return (
            f"the target '{name}' starts with a drive letter: drive letters are Windows'; name the "
            "partition's device, such as /dev/sda1, or a file on a mounted file system"
        )
    if _DISK.fullmatch(name):
        return (
            f"{name} is a disk of diskspd --list: name it by its path, such as /dev/nvme0n1, or a "
            f"file of this name as ./{name}"
        )
    return None


def is_address(target: str | os.PathLike[str]) -> bool:
    """Whether a target is an address on the network, and so no path of this host."""
    return protocol_of(target) is not None


def protocol_of(target: str | os.PathLike[str]) -> str | None:
    """Return the scheme of an address in small letters, None of a path of this host."""
    name = os.fspath(target)
    if name.startswith("\\\\"):
        return "smb"
    found = _SCHEMES.match(name)
    return None if found is None else found[1].lower()


def place_of(text: str) -> tuple[str, int | None] | None:
    """Return the host and the port of ``a:80``, ``a``, or ``[::1]:80``; None if it is none of them.

    The host is as it stands there, in brackets of IPv6; a port is none where it is not said.
    """
    found = _PLACE.fullmatch(text)
    port = None if found is None or found["port"] is None else int(found["port"])
    if found is None or (port or 0) > _MOST_PORT:
        return None
    if found["ipv6"] is None:
        labels = found["name"].removesuffix(".").split(".")
        is_host = all(0 < len(one) <= _MOST_LABEL for one in labels)
        return (found["name"], port) if is_host else None
    try:
        IPv6Address(found["ipv6"])
    except ValueError:
        return None
    return f"[{found['ipv6']}]", port
