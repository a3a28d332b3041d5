"""Targets that another host serves, by their addresses."""

from __future__ import annotations

import os
import re

__all__ = ["is_address", "protocol_of"]

# As the engine has them (`core/storage/target.rs`); without regard to case.
_SCHEMES = re.compile(r"(smb|iscsi|nfs|nbd|nbds|nbd\+unix|nbds\+unix)://", re.IGNORECASE)


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
