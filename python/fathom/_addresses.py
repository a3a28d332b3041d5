"""Targets that are no paths: what other hosts serve, drives of Windows, disks by number."""

from __future__ import annotations

import os
import re

__all__ = ["is_address", "misnomer", "protocol_of"]

# As the engine has them (`core/storage/target.rs`); without regard to case.
_SCHEMES = re.compile(r"(smb|iscsi|nfs|nbd|nbds|nbd\+unix|nbds\+unix)://", re.IGNORECASE)

# A drive of Windows, and a disk by its number, as the engine has them; a file of such a name has a
# folder in front of it.
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/].*)?", re.DOTALL)
_DISK = re.compile(r"#[0-9]+")


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
